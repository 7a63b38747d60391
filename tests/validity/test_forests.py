"""Two thousand forests whose votes, compiled, must be what each of their trees predicts."""

import pytest
from hypothesis import HealthCheck, given, settings

from forests import check_forest, forests


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=forests())
def test_votes_are_what_each_tree_predicts(case):
    check_forest(case, worth=0)
