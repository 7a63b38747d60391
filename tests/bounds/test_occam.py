"""The test of each single voter at its part of δ."""

import numpy as np
import pytest
from scipy.stats import binomtest

from certivote import Certificate, VoteStatistics, certify, minimize
from certivote.bounds import OccamBound, get_bound
from certivote.statistics import OutOfBagStatistics


def losses_of(seed=0, m=300, n=6):
    rng = np.random.default_rng(seed)
    return rng.random((m, n)) < rng.uniform(0.02, 0.5, size=n)


@pytest.mark.parametrize("given", [False, True])
def test_the_best_voter_is_chosen_and_tested_at_its_prior(given):
    for seed in range(20):
        losses = losses_of(seed)
        prior = (
            np.random.default_rng(seed).dirichlet(np.full(6, 0.5)) if given else np.full(6, 1 / 6)
        )
        limits = [
            binomtest(int(k), 300, alternative="less").proportion_ci(1 - 0.05 * p).high
            for k, p in zip(losses.sum(axis=0), prior, strict=True)
        ]
        result = minimize(OccamBound(), VoteStatistics.from_losses(losses), prior)
        assert result.value == pytest.approx(min(limits), abs=1e-9)
        assert result.weights.tolist() == np.eye(6)[int(np.argmin(limits))].tolist()
        assert result.n_iter == 0


def test_it_says_nothing_of_several_voters():
    statistics = VoteStatistics.from_losses(losses_of())
    bound = OccamBound()
    assert bound.value(statistics, [0.5, 0.5, 0, 0, 0, 0]) == 1.0
    with pytest.raises(ValueError, match="weights must be on one voter for the bound 'occam'"):
        certify(statistics, weights=np.full(6, 1 / 6), bound=bound)


def test_a_voter_that_the_prior_excludes_is_none_to_choose():
    losses = losses_of()
    losses[:, 0] = False
    prior = np.r_[0.0, np.full(5, 0.2)]
    assert minimize(OccamBound(), VoteStatistics.from_losses(losses), prior).weights[0] == 0.0


def test_its_file_is_verified_and_forged_ones_are_refused(tmp_path):
    statistics = VoteStatistics.from_losses(losses_of())
    certificate = certify(statistics, bound="occam")
    certificate.to_json(tmp_path / "occam.json")
    again = Certificate.from_json(tmp_path / "occam.json")
    assert again == certificate
    again.verify(statistics=statistics)
    assert again.evidence.keys() == {"voter_errors", "voter_size"}
    bound, weights, prior = OccamBound(), again.weights, np.full(6, 1 / 6)
    for evidence in ({"voter_errors": 3}, {**again.evidence, "more": 1}):
        with pytest.raises(ValueError, match="voter_errors and voter_size"):
            bound.from_evidence(evidence, weights, prior)
    with pytest.raises(ValueError, match="errors must be between 0 and"):
        bound.from_evidence({"voter_errors": 301, "voter_size": 300}, weights, prior)
    with pytest.raises(ValueError, match="on one voter"):
        bound.from_evidence(again.evidence, prior, prior)


def test_voters_on_different_examples_are_refused():
    in_bag = np.random.default_rng(0).random((300, 6)) < 0.3
    statistics = OutOfBagStatistics.from_losses(losses_of(), in_bag)
    with pytest.raises(ValueError, match="'occam' needs voter errors"):
        get_bound("occam").value(statistics, np.eye(6)[0])
