"""Around a run's process: started, watched, ended, and its record written."""
