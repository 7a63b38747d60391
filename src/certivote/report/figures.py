"""The numbers that a claim is made of, and where it comes from: names, meanings, values."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .._utils.formatting import format_confidence, format_up
from ..bounds.evidence import Setting
from ..certificate import Certificate
from ..certificate.provenance import shown

__all__ = ["Row", "label", "origin", "rows"]


class Row(NamedTuple):
    """A value of the certificate, under its name there, and how it is shown: in full if None."""

    label: str
    meaning: str
    field: str
    value: Any
    shown: str | None = None


def label(name: str) -> str:
    """Return a name as the beginning of a line."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def rows(certificate: Certificate) -> Iterator[Row]:
    """Yield each number that the claim is made of."""
    bound, kl = certificate.risk_bound, certificate.kl
    meaning = "the bound on the probability of error on a new example"
    yield Row("Error at most", meaning, "risk_bound", bound, format_up(bound))
    meaning, shown = "1 − δ, how often a claim made in this way is true", certificate.delta
    yield Row("Confidence", meaning, "confidence", certificate.confidence, format_confidence(shown))
    own = certificate.bound_object
    if certificate.total_delta is not None:
        meaning = "the probability that any of the claims fails, over the draw of the sample"
        yield Row("δ of all claims", meaning, "total_delta", certificate.total_delta)
    for name, value in sorted(certificate.bound_parameters.items(), key=lambda x: x[0] != "delta"):
        setting = own.settings.get(name) or Setting(label(name))
        if name == "delta" and certificate.total_delta is not None:
            setting = Setting("δ", "the part of it that the bound on the error has")
        text = "not set" if value is None else None
        yield Row(setting.label, setting.meaning, f"bound_parameters.{name}", value, text)
    samples = certificate.n_samples
    yield Row("Examples m", "in the certification sample", "n_samples", samples)
    yield Row("Voters n", "in the vote", "n_voters", certificate.n_voters)
    for name, figure, value in own.described(certificate.evidence):
        if not (figure.is_size and value == samples):
            text = None if figure.digits is None else figure.show(value)
            yield Row(figure.label, figure.meaning, f"evidence.{name}", value, text)
    meaning = "divergence of the weights from the prior, in nats: 0 if they are the same"
    yield Row("KL", meaning, "kl", kl, f"{kl:.4f}")


def origin(certificate: Certificate) -> Iterator[Row]:
    """Yield where the certificate comes from."""
    words = shown(certificate.provenance)
    for name, value in certificate.provenance.items():
        text = None if words[name] == value else words[name]
        yield Row(label(name), "", f"provenance.{name}", value, text)
    for name in ("statistics_sha256", "votes_sha256"):
        digest = getattr(certificate, name)
        if digest is not None:
            what = "counts" if name.startswith("statistics") else "votes"
            yield Row(f"SHA-256 of {what}", "", name, digest)
