"""Which three assumptions matter most, of any certificate."""

import pytest

from certivote.certificate.provenance import (
    FROZEN,
    NEW_DATA,
    SPLIT,
    assumptions_of,
    main_assumptions,
)


@pytest.mark.parametrize("looks", [{}, {"look": 3, "delta_of_all_looks": 0.05}])
@pytest.mark.parametrize("origin", [None, SPLIT, FROZEN, NEW_DATA])
@pytest.mark.parametrize("statistics", [None, "out of bag"])
def test_they_are_three_of_all_in_the_same_order(origin, statistics, looks):
    provenance = {"voters_from": origin, "statistics": statistics, **looks}
    provenance = {name: value for name, value in provenance.items() if value is not None}
    texts = [text for text, _ in main_assumptions(provenance)]
    everything = assumptions_of(provenance, "The weights may have been learned.")
    assert len(set(texts)) == 3
    assert [text for text in everything if text in texts] == texts


def test_no_check_is_on_two_of_them_and_none_on_the_last():
    topics = [topics for _, topics in main_assumptions({})]
    flat = sum(topics, ())
    assert len(flat) == len(set(flat)) == 5
    assert topics[-1] == ()
