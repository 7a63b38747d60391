"""The scale of errors: everything in sight, in order, and apart."""

import itertools
import math

import pytest

from certivote.bounds import clopper_pearson
from certivote.certificate import Neighbours
from certivote.report.scale import Scale

# Errors, those of the baseline, and examples.
COUNTS = [
    *((0, 800, 2000), (1, 5000, 10_000), (0, 3, 2000), (54, 114, 476), (420, 340, 1700)),
    *((30, 31, 100), (600, 400, 1000), (0, 0, 5), (3, 2400, 5000), (2, 40_000, 100_000)),
    *((7, 60, 100), (0, 6_000_000, 10_000_000), (9, 9, 10), (20, 20, 20)),
]


def neighbours(errors, baseline_errors, m, fixed=True):
    both = max(0, errors + baseline_errors - m)
    return Neighbours(
        errors=errors,
        n_samples=m,
        baseline="no",
        baseline_from="part A",
        baseline_errors=baseline_errors,
        only_vote_errs=errors - both,
        only_baseline_errs=baseline_errors - both,
        delta=0.05,
        fixed=fixed,
    )


@pytest.fixture(params=COUNTS, ids=lambda counts: "{} and {} of {}".format(*counts))
def made(request):
    """A scale, its neighbours, and the certificate on it."""
    errors, _, m = request.param
    beside, bound = neighbours(*request.param), clopper_pearson(errors, m)
    return Scale(bound, beside), beside, bound


def test_all_is_in_sight_and_in_order(made):
    scale, beside, bound = made
    values = sorted([bound, beside.observed, beside.baseline_error, *beside.interval, 0.0])
    places = [scale.place(value) for value in values]
    assert places == sorted(places)
    assert places[0] >= 0.0
    assert places[-1] <= 100.0


def test_a_certificate_is_apart_from_both_ends(made):
    scale, beside, bound = made
    assert scale.place(bound) >= 5.0
    if beside.baseline_error > 2.0 * bound:
        assert scale.place(beside.baseline_error) - scale.place(bound) >= 8.0
    longest = max(bound, beside.baseline_error, beside.interval[1])
    assert scale.place(longest) >= 60.0, "no more room than is needed"


def test_ticks_are_few_round_and_where_they_say(made):
    scale, *_ = made
    assert 2 <= len(scale.ticks) <= 6
    for place, label in scale.ticks:
        assert scale.place(float(label)) == place
        assert label == "0" or len(label.strip("0.")) <= 3
    assert len({label for _, label in scale.ticks}) == len(scale.ticks)
    places = sorted(place for place, _ in scale.ticks)
    gaps = [b - a for a, b in itertools.pairwise(places)]
    assert min(gaps) >= 10.0, "labels need room on a phone"


@pytest.mark.parametrize(("baseline_errors", "log"), [(10, False), (95, False), (500, True)])
def test_the_scale_is_logarithmic_only_where_a_certificate_would_be_squeezed(baseline_errors, log):
    scale = Scale(0.01, neighbours(5, baseline_errors, 1000, fixed=False))
    assert scale.log == log
    if log:
        low = next(place for place, label in scale.ticks if label == "0.1")
        per_decade = low - next(place for place, label in scale.ticks if label == "0.01")
        assert scale.place(0.02) - scale.place(0.01) == pytest.approx(
            per_decade * math.log10(2), abs=0.02
        )
    else:
        assert scale.place(0.01) == pytest.approx(2.0 * scale.place(0.005), abs=0.02)


def test_a_vacuous_certificate_is_at_the_end():
    assert Scale(1.0, neighbours(3, 4, 10, fixed=False)).place(1.0) == 100.0
