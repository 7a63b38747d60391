"""Claims under a shift, against the worst distribution on two outcomes."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr

from certivote import VoteStatistics, certify
from certivote.claims import ShiftFamily, shifted

RISKS = (1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.95, 0.999)
RADII = (0.0, 1e-9, 1e-3, 0.05, 0.3, 2.0)


def divergence(distance, q, p):
    """The distance of a new distribution (q, 1−q) from (p, 1−p)."""
    if distance == "kl":
        return float(rel_entr(q, p) + rel_entr(1 - q, 1 - p))
    return abs(q - p) if distance == "tv" else (q - p) ** 2 / (p * (1 - p))


def worst(distance, risk_bound, radius):
    """The largest q that is near enough to any p up to the certificate, by search."""
    best = 0.0
    for p in np.unique([risk_bound, *np.linspace(0.0, risk_bound, 200)[1:]]):
        if divergence(distance, 1.0, p) <= radius:
            return 1.0
        best = max(best, brentq(lambda q, p=p: divergence(distance, q, p) - radius, p, 1.0))
    return best


@pytest.mark.parametrize("distance", ["kl", "tv", "chi2"])
@pytest.mark.parametrize("risk_bound", RISKS)
def test_nothing_that_near_is_worse(distance, risk_bound):
    for radius in RADII:
        found, expected = shifted(risk_bound, distance, radius), worst(distance, risk_bound, radius)
        # Where the radius is tiny the divergence itself is known to 1e-14 only.
        assert expected - 1e-11 <= found <= expected + 1e-6
        assert risk_bound <= found <= 1.0


def test_the_direction_of_the_divergence():
    """KL(P'‖P), the new distribution first: the other direction is smaller for large errors."""
    limit = shifted(0.7, "kl", 0.05)
    assert divergence("kl", limit, 0.7) == pytest.approx(0.05, abs=1e-9)
    assert limit > 0.8367  # the other direction gives 0.8287


def test_the_claim_is_that_of_the_certificate_and_takes_no_delta():
    y = np.arange(300) % 2
    predicted = np.where(np.arange(300) < 20, 1 - y, y)
    plain = certify(predicted, y)
    asked = [ShiftFamily(distance=distance, radius=0.05) for distance in ("kl", "tv", "chi2")]
    certificate = certify(predicted, y, claims=asked)
    assert certificate.risk_bound == plain.risk_bound
    assert certificate.total_delta is None
    for claim, distance in zip(certificate.claims[1:], ("kl", "tv", "chi2"), strict=True):
        assert claim.upper == pytest.approx(worst(distance, plain.risk_bound, 0.05), abs=1e-6)
        assert claim.about == f"error under a shift {distance}=0.05"
    certificate.verify(predicted, y)


def test_the_sentence_has_no_larger_radius_than_the_claim():
    y = np.arange(300) % 2
    radii = (0.0512345678, 0.0512345679)
    asked = [ShiftFamily(distance="tv", radius=radius) for radius in radii]
    _, one, two = certify(y, y, claims=asked).claims
    assert "at most 0.0512345678 from" in one.statement
    assert "at most 0.0512345679 from" in two.statement


def test_counts_alone_carry_a_shift():
    losses = np.random.default_rng(0).random((400, 5)) < 0.1
    certificate = certify(
        VoteStatistics.from_losses(losses), claims=[ShiftFamily(distance="tv", radius=0.1)]
    )
    assert certificate.claims[1].upper == pytest.approx(certificate.risk_bound + 0.1)
    with pytest.raises(ValueError, match="claims need votes and labels"):
        certify(VoteStatistics.from_losses(losses), claims=["recall"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"distance": "l2"}, "must be one of 'kl', 'tv', 'chi2'"),
        ({"radius": -0.1}, "radius of a shift"),
        ({"radius": math.nan}, "radius of a shift"),
        ({"radius": "0.1"}, "radius of a shift must be a number"),
        ({"delta": 0.01}, "neither a part"),
        ({"evidence": {"a": 1}}, "neither a part"),
    ],
)
def test_what_is_no_shift_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ShiftFamily(**settings)
