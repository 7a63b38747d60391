"""The command line: ``certivote``."""

import sys


def main() -> None:
    """Run the command line on the arguments of the process."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit("certivote: the command line needs typer: pip install 'certivote[cli]'.")
    from .app import app

    app(prog_name="certivote")
