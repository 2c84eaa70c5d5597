"""Records become tables, series and intervals; everything shown can be recomputed from them."""
