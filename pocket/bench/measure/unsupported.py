"""A run that no trainer here can do, found before any training."""


class Unsupported(ValueError):
    """The message is one line: what was asked for, and what would be possible."""
