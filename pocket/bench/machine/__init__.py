"""What the runs ran on."""
