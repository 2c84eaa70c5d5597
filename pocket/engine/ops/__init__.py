"""Operators: forward beside backward, one idea a file."""
