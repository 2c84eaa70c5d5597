"""Series become plots."""
