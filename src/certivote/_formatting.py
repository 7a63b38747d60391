"""Numbers as text, rounded to the safe side."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext


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


def format_confidence(delta: float) -> str:
    """Return ``1 − delta`` as text in percent, rounded down."""
    with localcontext() as context:
        context.prec = 400
        percent = 100 * (1 - Decimal(repr(float(delta))))
        percent = percent.quantize(Decimal("0.000001"), rounding=ROUND_FLOOR)
        return f"{percent.normalize():f}%"
