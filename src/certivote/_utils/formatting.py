"""Numbers as text, rounded to the safe side, and text that cannot steer a terminal."""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

# Control characters, separators of lines, overrides of the direction, and halves of a character.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return one line of text with visible escapes for what could steer a terminal.

    An escape character, for one, becomes the four characters ``\x1b``. A line break is escaped too:
    a name must not pass for a line of its own.
    """
    return _UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def printable_lines(text: str) -> str:
    """Return text of several lines, each as `printable` returns it."""
    return "\n".join(map(printable, text.split("\n")))


def format_up(value: float, digits: int = 4) -> str:
    """Return a bound as text, rounded up at its last digit.

    Parameters
    ----------
    value : float
        The bound.
    digits : int, default=4
        The number of digits after the point.

    Returns
    -------
    str
        A decimal number that is never below the value.

    Examples
    --------
    >>> from certivote import format_up
    >>> format_up(0.08601, digits=3)
    '0.087'
    """
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(float(value)).quantize(step, rounding=ROUND_CEILING):f}"


def format_down(value: float, digits: int = 4) -> str:
    """Return a lower limit as text, rounded down at its last digit."""
    step = Decimal(1).scaleb(-digits)
    return f"{Decimal(float(value)).quantize(step, rounding=ROUND_FLOOR):f}"


def format_confidence(delta: float) -> str:
    """Return ``1 − delta`` as text in percent, rounded down."""
    with localcontext() as context:
        context.prec = 400
        percent = 100 * (1 - Decimal(repr(float(delta))))
        percent = percent.quantize(Decimal("0.000001"), rounding=ROUND_FLOOR)
        return f"{percent.normalize():f}%"
