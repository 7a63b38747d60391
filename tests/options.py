"""Options of the command line that many tests give."""


def trees(number):
    """So many trees: voters that are trained in no time."""
    return ("--voters", "trees", "--n-voters", str(number))
