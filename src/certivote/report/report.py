"""The HTML page of a certificate: one file that a reader can judge, print and verify."""

import base64
import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.files import write_whole
from .._utils.formatting import format_confidence, format_up, printable_lines
from ..certificate import Certificate
from ..certificate.provenance import MODEL, main_assumptions, subject_of
from ..solvers import MinimizeResult
from . import figures, plots
from .columns import Reading
from .scale import Scale
from .sheet import Sheet

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

__all__ = ["report", "write_report"]


def report(
    certificate: Certificate,
    *,
    optimisation: MinimizeResult | None = None,
    details: Mapping[str, str] | None = None,
    table: Mapping[str, Any] | None = None,
) -> str:
    """Return the page of a certificate: self-contained HTML, without scripts or outside files.

    The page says what is claimed, what that means and what it does not, what must be true for it,
    the figures behind it, and how to verify it. It holds the certificate itself. The same
    certificate gives the same page.

    Parameters
    ----------
    certificate : Certificate
        The certificate. Its arithmetic is verified first: `CertificateError` if it does not hold
        up.
    optimisation : MinimizeResult, default=None
        How the weights of the certificate were found; its history is drawn, if they were learned.
    details : mapping of str to str, default=None
        What else the page shows, such as who made the model. Three names are special: under
        ``"certificate"``, ``"model"`` and ``"data"`` the names of these files, which then stand
        in the commands that verify the certificate.
    table : mapping, default=None
        How the table was read that the examples are from: ``"rows"``, their number;
        ``"classes"``, how many there are of each; ``"columns"``, a list with the ``"name"`` of each
        column, its ``"kind"`` (number, category, date, text, target or dropped), the number of
        ``"missing"`` values and a ``"note"``, which may be empty.

    Returns
    -------
    str
        The page. Without matplotlib it has no plots, and says so where there would be some.

    Examples
    --------
    >>> import numpy as np
    >>> from certivote import VoteStatistics, certify
    >>> from certivote.report import report
    >>> losses = np.random.default_rng(0).random((2000, 50)) < 0.2
    >>> certificate = certify(VoteStatistics.from_losses(losses))
    >>> page = report(certificate, details={"data": "patients.csv"})
    >>> "certivote verify certificate.json --model model.joblib --data patients.csv" in page
    True
    """
    template = _template()
    certificate.verify()
    _check_optimisation(certificate, optimisation)
    # The digests of the files beside a certificate are none of this one's, which is inside of one.
    text = replace(certificate, files={}).to_json()
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    main = main_assumptions(certificate.provenance)
    bound, neighbours = certificate.bound_object, certificate.neighbours
    beside = () if neighbours is None else neighbours.sentences
    winner = bound.winner(certificate.evidence)
    page = template.render(
        certificate=certificate,
        details={str(name): str(value) for name, value in (details or {}).items()},
        table=None if table is None else Reading(table),
        style=(files(__package__) / "report.css").read_text(encoding="utf-8"),
        as_it_is=certificate.provenance.get("voters_from") == MODEL,
        subject=subject_of(certificate.provenance),
        main=main,
        beside=beside,
        scale=neighbours and Scale(certificate.risk_bound, neighbours),
        sheet=Sheet(certificate) if certificate.families else None,
        rest=[text for text in certificate.assumptions if text not in dict(main)],
        bound=bound,
        winner=winner,
        rows=figures.rows(certificate),
        origin=figures.origin(certificate),
        plots=_plots(certificate, optimisation),
        text=text,
        encoded=base64.b64encode(text.encode("utf-8")).decode("ascii"),
    )
    return f"{page}\n"


def write_report(
    certificate: Certificate,
    path: str | os.PathLike[str],
    *,
    optimisation: MinimizeResult | None = None,
    details: Mapping[str, str] | None = None,
    table: Mapping[str, Any] | None = None,
) -> None:
    """Write the page of a certificate to a file, whole or not at all.

    Parameters
    ----------
    certificate, optimisation, details, table
        As in `report`.
    path : path-like
        Where to write it.

    Examples
    --------
    >>> from certivote import certify
    >>> from certivote.report import write_report
    >>> write_report(certify([1, 0] * 50, [1, 0] * 50), "certificate.html")
    """
    page = report(certificate, optimisation=optimisation, details=details, table=table)
    write_whole(path, page)


def _check_optimisation(certificate: Certificate, result: MinimizeResult | None) -> None:
    if result is None:
        return
    weights = np.asarray(result.weights)
    if weights.shape != certificate.weights.shape or not np.allclose(weights, certificate.weights):
        raise ValueError("optimisation must be the result that gave the certificate its weights.")


def _plots(
    certificate: Certificate, optimisation: MinimizeResult | None
) -> list[plots.Plot] | None:
    """Return the plots of the page, None if they cannot be drawn here."""
    worth = list(plots.worth_drawing(certificate, optimisation))
    try:
        return [plots.draw(name, drawing) for name, drawing in worth]
    except ImportError:
        return None


# --- the template --------------------------------------------------------------------------------


def _template() -> "Template":
    """Return the page to be filled in, where whatever is put in is escaped."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "the page of a certificate needs jinja2: pip install 'certivote[plot]'."
        ) from error
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "basename": os.path.basename,
        "confidence": format_confidence,
        "full": _full,
        "label": figures.label,
        "nearest": "{:.4f}".format,
        "linked": _linked,
        "quoted": shlex.quote,
        "repr": repr,
        "symbols": _symbols,
        "up": format_up,
    }
    source = (files(__package__) / "page.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(source)


def _visible(value: object) -> object:
    """Return text without what is no Unicode (a file name may be) or turns the writing around."""
    return value if hasattr(value, "__html__") else printable_lines(str(value))


def _full(value: object) -> str:
    """Return a value of the certificate as its file has it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _symbols(formula: str) -> "Markup":
    """Return a formula with ``r_S`` as a subscript."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"_(\w+)", r"<sub>\1</sub>", str(escape(formula))))


def _linked(reference: str) -> "Markup":
    """Return a reference with a link to its DOI or arXiv number."""
    from markupsafe import Markup, escape

    text = str(escape(reference))
    text = re.sub(r"doi:([^\s,&]+)", r'<a href="https://doi.org/\1">doi:\1</a>', text)
    text = re.sub(r"arXiv:([\w./-]+)", r'<a href="https://arxiv.org/abs/\1">arXiv:\1</a>', text)
    return Markup(text)
