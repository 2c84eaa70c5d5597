"""Tables, plots and answers become one offline page."""
