"""The HTML page of a certificate."""

from .report import report, write_report

__all__ = ["report", "write_report"]
