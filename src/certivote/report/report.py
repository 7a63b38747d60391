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
from typing import Any

import numpy as np

from .._utils.files import write_whole
from .._utils.formatting import format_confidence, format_up
from ..bounds import Bound, get_bound, list_bounds
from ..certificate import Certificate
from ..solvers import MinimizeResult

__all__ = ["report", "write_report"]

# Known names of bound parameters and evidence: a label, and what it is in a few words.
_PARAMETERS = {
    "delta": ("δ", "the probability that the claim fails, over the draw of the sample"),
    "constant": ("Constant c₂(m)", "“maurer” is 2√m, “exact” is the smaller ξ(m)"),
    "cells": ("Cells", "fixed in advance: K₀, the margin 2γ√(K₀+1), and the share of δ"),
    "shares": ("Shares of δ", "of each certificate; the smallest of them counts"),
    "candidates": ("Candidates", "the votes that were fixed in advance, by their weights"),
}
_EVIDENCE = {
    "gibbs_risk": ("Gibbs risk r", "how often a voter drawn by the weights errs"),
    "joint_error": ("Joint error e", "how often two voters drawn by the weights both err"),
    "disagreement": ("Disagreement d", "how often exactly one of the two errs"),
    "gibbs_size": ("Examples behind r", "fewer than all where not every voter could be asked"),
    "joint_size": ("Examples behind e", "fewer than all where not every pair could be asked"),
    "disagreement_size": ("Examples behind d", "may include examples without a label"),
    "winner": ("Winner", "the certificate that was the smallest; all of them share δ"),
    "vote_errors": ("Errors of the vote", "on how many of the examples its prediction was wrong"),
    "margin_loss": ("Margin loss ℓ", "how often a vote drawn near this one errs, or nearly does"),
    "margin_size": ("Examples behind ℓ", "all of them"),
    "cell": ("Cell", "the one of the cells, counted from 0, that gives the smallest bound"),
    "concentration": ("Concentration K", "how near to this vote the drawn ones are"),
}
_MOMENTS = ("gibbs_risk", "joint_error", "disagreement")
_SIZES = ("gibbs_size", "joint_size", "disagreement_size", "margin_size", "vote_size")

# What may stand in a formula, what it looks like there, and what it means.
_SYMBOLS = (
    ("_S", "subscript S", "as measured on the certification examples"),
    ("C(", "C", "the C-bound, 1 − (1 − 2r)²/(1 − 2d), where r = e + d/2"),
    ("sup", "sup", "the worst case: the largest value over the set in braces"),
    ("kl₃", "kl₃", "divergence over three outcomes: both of two voters err, one errs, none errs"),
    ("kl⁺", "kl⁺(a|ψ)", "the largest b whose divergence kl(a‖b) is at most ψ"),
    ("kl⁻", "kl⁻(a|ψ)", "the smallest b whose divergence kl(a‖b) is at most ψ"),
    ("Beta⁻¹", "Beta⁻¹", "the quantile of a beta distribution: the binomial test of k errors in m"),
    ("/M", "M", "the number of votes, fixed in advance, of which this is the best"),
    ("A_i", "A_i(δ·s_i)", "the i-th certificate at its share of δ; the winner is named below"),
    ("Dir(", "Dir(Kq)", "the Dirichlet distribution of votes around q, the nearer the larger K"),
    ("ℓ_", "ℓ", "how often a vote drawn near this one has an erring weight of at least ½ − γ"),
    ("ε", "ε", "the probability that one drawn near a vote that errs has a smaller one"),
    ("cells", "cells", "pairs of K₀ and γ that are fixed in advance, each with its part δ_c of δ"),
    ("ψ", "ψ", "what chance may do: it grows with KL and with 1/δ, and shrinks with m"),
)

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
<li>It is not the error on one class or one group of examples, which may be higher.</li>
<li>It says nothing about examples that come from elsewhere, or from a time when the data have
changed.</li>
<li>It is no probability for one given example. Neither are the shares of the vote: a share of 0.9
does not mean that the answer is right nine times in ten.</li>
</ul>
</section>"""


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
    symbols = (
        (_symbols(symbol), _text(meaning))
        for mark, symbol, meaning in _SYMBOLS
        if mark in bound.formula
    )
    return (
        f'<p class="formula">{_symbols(bound.formula)}</p>',
        _definitions(symbols, "symbols"),
        f'<p class="note">Reference: {_linked(bound.reference)}</p>',
    )


def _figures(certificate: Certificate) -> str:
    bound = certificate._bound()
    winner = certificate.evidence.get("winner")
    won = []
    if isinstance(winner, str) and winner in list_bounds():
        won = [f"<h3>The winner: {_text(winner)}</h3>", *_formula(get_bound(winner))]
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
    for name, value in sorted(certificate.bound_parameters.items(), key=lambda x: x[0] != "delta"):
        label, meaning = _PARAMETERS.get(name, (_label(name), "a parameter of the bound"))
        yield label, meaning, _field(f"bound_parameters.{name}", value)
    yield "Examples m", "in the certification sample", _field("n_samples", m)
    yield "Voters n", "in the vote", _field("n_voters", n)
    for name, value in certificate.evidence.items():
        if name in _SIZES and value == m:
            continue
        label, meaning = _EVIDENCE.get(name, (_label(name), "evidence that the bound is made of"))
        shown = f"{value:.4f}" if name in _MOMENTS else None
        yield label, meaning, _field(f"evidence.{name}", value, shown)
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
    lines = f"""from certivote import Certificate

certificate = Certificate.from_json({name!r})
certificate.verify()          # the arithmetic
certificate.verify(votes, y)  # the votes and labels as well"""
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
<h3>With the model and the data</h3>
<pre>{_text(whole)}</pre>
<ul>
<li>Checked: the votes are taken and counted again, and must be those that were certified; so must
the split, and a prior that was not given by the user.</li>
<li>Not checked: what must be true for the claim, as listed above: what the voters were trained on,
how the examples were drawn, and that a prior given by the user was fixed in advance.</li>
</ul>
<h3>In Python</h3>
<p><code>votes</code> are the labels that the voters predict for the certification examples, and
<code>y</code> the true ones. An error says that the certificate does not hold up.</p>
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
        drawn.append(
            _figure(
                "plane",
                lambda ax: PlaneDisplay.from_certificate(certificate, ax=ax),
                "Plane of joint error and disagreement: where the sample is, where the truth may "
                "be, and the worst case, at which the bound is taken.",
                "The dot is the joint error and disagreement of the sample. With "
                f"{format_confidence(certificate.delta)} confidence the true ones are in the "
                "shaded region, and the certificate is the bound at its worst point.",
            )
        )
    drawn.append(
        _figure(
            "weights",
            lambda ax: WeightsDisplay.from_certificate(certificate, ax=ax),
            "The weights of the voters, the heaviest first, and their prior.",
            "How the vote is shared out among the voters, and how the prior shares it.",
        )
    )
    if optimisation is not None:
        end = "It converged" if optimisation.converged else f"It stopped: {optimisation.message}"
        if certificate.evidence.get("winner") == "heldout":
            end += ". The test of a vote fixed in advance was smaller, and is what is certified"
        drawn.append(
            _figure(
                "optimisation",
                lambda ax: OptimisationDisplay.from_result(optimisation, ax=ax),
                "What the solver minimised, at each iteration.",
                "How the bound fell while the weights were learned; where it jumps up, the solver "
                f"starts from another point. {end}. The certificate holds in any case.",
            )
        )
    return drawn


def _figure(name: str, draw: Callable[[Any], object], description: str, caption: str) -> str:
    """Return a figure in which `draw` has drawn on the axes that it is given."""
    from matplotlib import style
    from matplotlib.figure import Figure

    from ..plotting._axes import BLUE

    file = io.StringIO()
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=_SIZE, layout="constrained")
        draw(figure.subplots())
        figure.savefig(file, format="svg")
    # Only what is drawn, in the page's colours; several figures must not share ids.
    drawing = file.getvalue()
    drawing = drawing[drawing.index("<g ") :].rstrip()
    drawing = drawing.replace(_INK, "currentColor").replace(BLUE.lower(), "var(--blue)")
    for before in (' id="', 'href="#', "url(#"):
        drawing = drawing.replace(before, f"{before}{name}-")
    return f"""<figure>
<svg role="img" aria-label="{_text(description)}" viewBox="0 0 {72 * _SIZE[0]:g} {72 * _SIZE[1]:g}">
{drawing}
<figcaption>{_text(caption)}</figcaption>
</figure>"""
