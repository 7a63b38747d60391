"""Which three assumptions matter most, of any certificate."""

import numpy as np
import pytest

from certivote import MajorityVoteClassifier
from certivote.certificate.provenance import (
    FROZEN,
    MODEL,
    NEW_DATA,
    SPLIT,
    assumptions_of,
    main_assumptions,
)


@pytest.mark.parametrize("looks", [{}, {"look": 3, "delta_of_all_looks": 0.05}])
@pytest.mark.parametrize("origin", [None, SPLIT, FROZEN, NEW_DATA, MODEL])
@pytest.mark.parametrize("statistics", [None, "out of bag"])
def test_they_are_three_of_all(origin, statistics, looks):
    provenance = {"voters_from": origin, "statistics": statistics, **looks}
    provenance = {name: value for name, value in provenance.items() if value is not None}
    texts = [text for text, _ in main_assumptions(provenance)]
    everything = assumptions_of(provenance, "The weights may have been learned.")
    assert len(set(texts)) == 3
    assert set(texts) <= set(everything)
    assert ("classifier" in texts[1]) == (origin == MODEL)


def test_that_of_later_rows_is_the_first_where_the_split_was_by_time():
    provenance = {"voters_from": SPLIT, "split_by_time": "day"}
    everything = assumptions_of(provenance, "The weights may have been learned.")
    first, *_ = main_assumptions(provenance)
    assert first[0].startswith("The latest rows by 'day' certify")
    assert "order in time" in first[1]
    assert first[0] in everything
    assert any("drawn independently" in text for text in everything)


def test_no_check_is_on_two_of_them_and_none_on_the_last():
    topics = [topics for _, topics in main_assumptions({})]
    flat = sum(topics, ())
    assert len(flat) == len(set(flat)) == 7
    assert topics[-1] == ()


def test_the_checks_of_a_fit_are_on_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    certificate = MajorityVoteClassifier("trees", n_voters=5, random_state=0).fit(X, y).certificate_
    topics = {topic for _, topics in main_assumptions(certificate.provenance) for topic in topics}
    assert certificate.checks
    assert set(certificate.checks) <= topics
