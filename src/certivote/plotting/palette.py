"""The colours of data, from the palette of Okabe and Ito, which survives colour blindness.

Lines and markers differ in shape too, for print in black and white.
"""

__all__ = ["BLUE", "ORANGE", "SKY", "VERMILION"]

BLUE = "#0072B2"
SKY = "#56B4E9"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
