"""The HTML page of a certificate: one file that a reader can judge, print and verify."""

import base64
import contextlib
import io
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.files import write_whole
from .._utils.formatting import format_confidence, format_up
from ..bounds import Bound
from ..bounds.evidence import Setting
from ..certificate import Certificate
from ..certificate.provenance import subject_of
from ..solvers import MinimizeResult

if TYPE_CHECKING:
    from ..plotting.base import Display

__all__ = ["report", "write_report"]

_SIZE = (4.8, 4.0)
# Matplotlib draws text and axes in this colour; the page puts its own in the place.
_INK = "#010203"
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "certivote",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
}


def report(
    certificate: Certificate,
    *,
    optimisation: MinimizeResult | None = None,
    details: Mapping[str, str] | None = None,
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
        How the weights of the certificate were found; its history is drawn.
    details : mapping of str to str, default=None
        What else the page shows, such as who made the model. Three names are special: under
        ``"certificate"``, ``"model"`` and ``"data"`` the names of these files, which then stand
        in the commands that verify the certificate.

    Returns
    -------
    str
        The page. Without matplotlib it has no plots, and says so.

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
    certificate.verify()
    _check_optimisation(certificate, optimisation)
    details = {str(name): str(value) for name, value in (details or {}).items()}
    style = (files(__package__) / "report.css").read_text(encoding="utf-8")
    body = "\n".join(
        (
            _claim(certificate, details),
            _meaning(certificate),
            _assumptions(certificate),
            _figures(certificate),
            _plots(certificate, optimisation),
            _verification(certificate, details),
        )
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Certificate of a majority vote: error at most {format_up(certificate.risk_bound)}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def write_report(
    certificate: Certificate,
    path: str | os.PathLike[str],
    *,
    optimisation: MinimizeResult | None = None,
    details: Mapping[str, str] | None = None,
) -> None:
    """Write the page of a certificate to a file, whole or not at all.

    Parameters
    ----------
    certificate, optimisation, details
        As in `report`.
    path : path-like
        Where to write it.
    """
    write_whole(path, report(certificate, optimisation=optimisation, details=details))


def _check_optimisation(certificate: Certificate, result: MinimizeResult | None) -> None:
    if result is None:
        return
    weights = np.asarray(result.weights)
    if weights.shape != certificate.weights.shape or not np.allclose(weights, certificate.weights):
        raise ValueError("optimisation must be the result that gave the certificate its weights.")


# --- pieces of text ------------------------------------------------------------------------------


def _text(value: object) -> str:
    """Return any text, safe in HTML; what is no Unicode (a file name may be) is spelled out."""
    return escape(str(value).encode("utf-8", "backslashreplace").decode("utf-8"))


def _field(name: str, value: object, shown: str | None = None) -> str:
    """Return a figure of the certificate, marked with its name and its value in full."""
    full = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return (
        f'<data data-field="{_text(name)}" value="{_text(full)}">'
        f"{_text(full if shown is None else shown)}</data>"
    )


def _label(name: str) -> str:
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _symbols(formula: str) -> str:
    """Return a formula as HTML, with ``r_S`` as a subscript."""
    return re.sub(r"_(\w+)", r"<sub>\1</sub>", _text(formula))


def _linked(reference: str) -> str:
    """Return a reference as HTML, with a link to its DOI or arXiv number."""
    linked = re.sub(r"doi:([^\s,&]+)", r'<a href="https://doi.org/\1">doi:\1</a>', _text(reference))
    return re.sub(r"arXiv:([\w./-]+)", r'<a href="https://arxiv.org/abs/\1">arXiv:\1</a>', linked)


def _definitions(pairs: Iterable[tuple[str, str]], kind: str) -> str:
    """Return a list of names and what they stand for, both as HTML."""
    items = [f"<dt>{name}</dt><dd>{meaning}</dd>" for name, meaning in pairs]
    return "\n".join([f'<dl class="{kind}">', *items, "</dl>"]) if items else ""


# --- sections ------------------------------------------------------------------------------------


def _claim(certificate: Certificate, details: Mapping[str, str]) -> str:
    number = format_up(certificate.risk_bound)
    before, _, after = certificate.claim.rpartition(number)
    shown = _field("risk_bound", certificate.risk_bound, number)
    lines = [
        "<header>",
        '<p class="kind">Certificate of a majority vote</p>',
        f'<h1 id="claim">{_text(before)}{shown}{_text(after)}</h1>',
    ]
    if certificate.vacuous:
        lines.append(
            '<p class="vacuous" role="note"><strong>This certificate is vacuous: it says nothing '
            "about this vote.</strong> Every vote errs with probability at most 1.</p>"
        )
    if certificate.findings:
        found = (f"<li>{_text(text)}</li>" for text in certificate.findings)
        lines += [
            '<div class="findings" role="note">\n<p><strong>This was found, and throws doubt on '
            "the claim.</strong> Unless it can be explained, the claim may be false.</p>\n<ul>",
            *found,
            "</ul>\n</div>",
        ]
    shown_details = ((_text(_label(name)), _text(value)) for name, value in details.items())
    return "\n".join([*lines, _definitions(shown_details, "details"), "</header>"])


def _meaning(certificate: Certificate) -> str:
    confidence = format_confidence(certificate.delta)
    return f"""<section>
<h2>What it says</h2>
<ul>
<li>It bounds the probability of error on a new example that is drawn like the certification
examples.</li>
<li>It is about the weighted hard vote, as <code>predict</code> gives it: each voter names one
class, and the class with the largest total weight is taken.</li>
<li>The confidence is over the draw of the certification sample: of all the samples that could have
been drawn, a claim made in this way is true for at least {confidence}.</li>
</ul>
<h3>What it does not say</h3>
<ul>
<li>It is not an estimate of the error. It is a ceiling, and the error is probably lower.</li>
{_not_said(certificate)}
<li>It says nothing about examples that come from elsewhere, or from a time when the data have
changed.</li>
<li>It is no probability for one given example. Neither are the shares of the vote: a share of 0.9
does not mean that the answer is right nine times in ten.</li>
</ul>
</section>"""


def _not_said(certificate: Certificate) -> str:
    """Return what a claim about all examples, or about one class or group, leaves open."""
    subject = subject_of(certificate.provenance)
    if subject:
        return f"<li>It is about examples of {_text(subject)} only, and not about others.</li>"
    return (
        "<li>It is not the error on one class or one group of examples, which may be higher.</li>"
    )


def _assumptions(certificate: Certificate) -> str:
    items = (
        f'<li><label><input type="checkbox"><span>{_text(text)}</span></label></li>'
        for text in certificate.assumptions
    )
    return "\n".join(
        [
            "<section>\n<h2>What must be true for it</h2>",
            "<p>The claim holds if all of this does. No computation can check it; tick off what "
            "you have made sure of.</p>",
            '<ul class="ticks">',
            *items,
            "</ul>\n</section>",
        ]
    )


def _formula(bound: Bound) -> tuple[str, ...]:
    """Return the formula of a bound, its symbols and its reference."""
    symbols = ((_symbols(symbol), _text(meaning)) for symbol, meaning in bound.symbols)
    return (
        f'<p class="formula">{_symbols(bound.formula)}</p>',
        _definitions(symbols, "symbols"),
        f'<p class="note">Reference: {_linked(bound.reference)}</p>',
    )


def _figures(certificate: Certificate) -> str:
    bound = certificate.bound_object
    winner = bound.winner(certificate.evidence)
    won = []
    if winner is not None:
        won = [f"<h3>The winner: {_text(winner.name)}</h3>", *_formula(winner)]
    rows = "\n".join(
        f'<tr><th scope="row"><div><b>{_text(label)}</b> <span>{_text(meaning)}</span></div></th>'
        f"<td>{value}</td></tr>"
        for label, meaning, value in _rows(certificate)
    )
    return "\n".join(
        [
            "<section>\n<h2>The figures behind it</h2>",
            f"<table>\n<tbody>\n{rows}\n</tbody>\n</table>",
            '<p class="note">The bound is rounded up and the confidence down; the others are '
            "rounded to the nearest. The certificate at the end of this page has them all in "
            "full.</p>",
            f"<h3>The bound: {_field('bound', certificate.bound)}</h3>",
            *_formula(bound),
            *won,
            "<h3>Where it comes from</h3>",
            _definitions(_origin(certificate), "origin"),
            "</section>",
        ]
    )


def _rows(certificate: Certificate) -> Iterable[tuple[str, str, str]]:
    """Yield label, meaning and value, as HTML, of each number that the claim is made of."""
    bound, m, n = certificate.risk_bound, certificate.n_samples, certificate.n_voters
    yield (
        "Error at most",
        "the bound on the probability of error on a new example",
        _field("risk_bound", bound, format_up(bound)),
    )
    yield (
        "Confidence",
        "1 − δ, how often a claim made in this way is true",
        _field("confidence", certificate.confidence, format_confidence(certificate.delta)),
    )
    own = certificate.bound_object
    for name, value in sorted(certificate.bound_parameters.items(), key=lambda x: x[0] != "delta"):
        setting = own.settings.get(name) or Setting(_label(name))
        yield setting.label, setting.meaning, _field(f"bound_parameters.{name}", value)
    yield "Examples m", "in the certification sample", _field("n_samples", m)
    yield "Voters n", "in the vote", _field("n_voters", n)
    for name, figure, value in own.described(certificate.evidence):
        if not (figure.is_size and value == m):
            shown = None if figure.digits is None else figure.show(value)
            yield figure.label, figure.meaning, _field(f"evidence.{name}", value, shown)
    yield (
        "KL",
        "divergence of the weights from the prior, in nats: 0 if they are the same",
        _field("kl", certificate.kl, f"{certificate.kl:.4f}"),
    )


def _origin(certificate: Certificate) -> Iterable[tuple[str, str]]:
    for name, value in certificate.provenance.items():
        yield _text(_label(name)), _field(f"provenance.{name}", value)
    digest = f"<code>{_field('statistics_sha256', certificate.statistics_sha256)}</code>"
    yield "SHA-256 of counts", digest
    if certificate.votes_sha256 is not None:
        digest = f"<code>{_field('votes_sha256', certificate.votes_sha256)}</code>"
        yield "SHA-256 of votes", digest
    yield "Made by", f"certivote {_field('certivote_version', certificate.certivote_version)}"


def _verification(certificate: Certificate, details: Mapping[str, str]) -> str:
    name = details.get("certificate", "certificate.json")
    model, data = details.get("model", "model.joblib"), details.get("data", "DATA")
    command = f"certivote verify {shlex.quote(name)}"
    whole = f"{command} --model {shlex.quote(model)} --data {shlex.quote(data)}"
    kind = certificate.provenance.get("statistics")
    lines = f"""from certivote import Certificate

certificate = Certificate.from_json({name!r})
certificate.verify()          # the arithmetic
"""
    if kind is None:
        lines += "certificate.verify(votes, y)  # the votes and labels as well"
        given = """<code>votes</code> are the labels that the voters predict for the certification
examples, and <code>y</code> the true ones."""
    else:
        lines += "certificate.verify(statistics=statistics)  # the counts as well"
        given = f"""<code>statistics</code> are those that were certified, of the kind
“{_text(kind)}”, counted again."""
    # The digests of the files beside a certificate are none of this one's, which is inside of one.
    text = replace(certificate, files={}).to_json()
    encoded = base64.b64encode(text.encode("utf-8", "backslashreplace")).decode("ascii")
    return f"""<section>
<h2>How to verify it</h2>
<h3>From the certificate alone</h3>
<pre>{_text(command)}</pre>
<ul>
<li>Checked: the arithmetic, which is KL from the weights and the prior, and the bound from its
evidence. It was right when this page was written.</li>
<li>Not checked: votes, labels and voters. A certificate that is made up from beginning to end
passes.</li>
</ul>
{_with_the_data(whole) if kind is None else ""}
<h3>In Python</h3>
<p>{given} An error says that the certificate does not hold up.</p>
<pre>{_text(lines)}</pre>
<p>The certificate itself is in the file of this page, with all weights and numbers in full.</p>
<div class="screen">
<p><a download="{_text(os.path.basename(name))}" href="data:application/json;base64,{encoded}">Save
the certificate</a></p>
<details>
<summary>Show the certificate</summary>
<pre id="certificate">{_text(text)}</pre>
</details>
</div>
</section>"""


def _with_the_data(command: str) -> str:
    return f"""<h3>With the model and the data</h3>
<pre>{_text(command)}</pre>
<ul>
<li>Checked: the votes are taken and counted again, and must be those that were certified; so must
the split, and a prior that was not given by the user.</li>
<li>Not checked: what must be true for the claim, as listed above: what the voters were trained on,
how the examples were drawn, and that a prior given by the user was fixed in advance.</li>
</ul>"""


# --- plots ---------------------------------------------------------------------------------------


def _plots(certificate: Certificate, optimisation: MinimizeResult | None) -> str:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        drawn = [
            "<p>There are no plots on this page: it was written where matplotlib is not installed "
            "(<code>pip install 'certivote[plot]'</code>).</p>"
        ]
    else:
        drawn = _drawn(certificate, optimisation)
    return "\n".join(["<section>\n<h2>Plots</h2>", *drawn, "</section>"])


def _drawn(certificate: Certificate, optimisation: MinimizeResult | None) -> list[str]:
    from ..plotting import OptimisationDisplay, PlaneDisplay, WeightsDisplay

    drawn = []
    # A bound on something else than moments has no such plane.
    with contextlib.suppress(ValueError):
        drawn.append(_figure("plane", lambda ax: PlaneDisplay.from_certificate(certificate, ax=ax)))
    drawn.append(_figure("weights", lambda ax: WeightsDisplay.from_certificate(certificate, ax=ax)))
    if optimisation is not None:
        drawn.append(
            _figure("optimisation", lambda ax: OptimisationDisplay.from_result(optimisation, ax=ax))
        )
    return drawn


def _figure(name: str, draw: "Callable[[Any], Display]") -> str:
    """Return a figure in which `draw` has drawn on the axes that it is given, with its texts."""
    from matplotlib import style
    from matplotlib.figure import Figure

    from ..plotting.palette import BLUE

    file = io.StringIO()
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=_SIZE, layout="constrained")
        display = draw(figure.subplots())
        figure.savefig(file, format="svg")
    # Only what is drawn, in the page's colours; several figures must not share ids.
    drawing = file.getvalue()
    drawing = drawing[drawing.index("<g ") :].rstrip()
    drawing = drawing.replace(_INK, "currentColor").replace(BLUE.lower(), "var(--blue)")
    for before in (' id="', 'href="#', "url(#"):
        drawing = drawing.replace(before, f"{before}{name}-")
    width, height = (72 * inches for inches in _SIZE)
    return f"""<figure>
<svg role="img" aria-label="{_text(display.description)}" viewBox="0 0 {width:g} {height:g}">
{drawing}
<figcaption>{_text(display.caption)}</figcaption>
</figure>"""
