"""The one exception that means: the user can mend this."""


class Mistake(ValueError):
    """Something the user gave is wrong. The message is one line: what came, what was wanted, where to change it.

    The command line prints the message without a traceback and exits with status 2; `--debug` shows the traceback.
    """
