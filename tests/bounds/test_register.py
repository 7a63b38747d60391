"""A bound that is not the library's: registered, it goes wherever the others go."""

import math

import numpy as np
import pytest

from certivote import Certificate, certify, minimize
from certivote.bounds import MomentBound, get_bound, list_bounds, list_moment_bounds, register
from certivote.bounds.evaluation import Evaluation
from reference import REFERENCES, Reference, four_e, sqrt

from ..solvers import test_all_solvers as solvers
from ..validity import test_validity as validity
from .test_all_bounds import BoundKit, MomentBoundKit


class PinskerBound(MomentBound):
    """``4(e_S + √(ψ/2))``, ``ψ = [2KL + ln(c₂(m)/δ)]/m``: above the tandem bound everywhere."""

    name = "of one's own"
    formula = "4(e_S + √([2KL + ln(c₂(m)/δ)]/2m))"
    reference = "Masegosa, Lorenzen, Igel & Seldin, NeurIPS 2020, arXiv:2007.13532"

    @staticmethod
    def oracle(gibbs_risk, joint_error):
        return 4 * joint_error

    def evaluate_moments(self, moments, kl):
        m = moments.joint_size
        width = math.sqrt(self.radius(2, kl, m) / 2)
        # The width is √(KL/m + …), of which the derivative in KL is 1/(2m·width).
        return Evaluation(4 * (moments.joint_error + width), joint_error=4.0, kl=2 / (m * width))


PINSKER = Reference(
    value=lambda s: 4 * (s.e + sqrt(s.psi(2) / 2)),
    oracle=four_e,
    region=lambda s: lambda e, d: 4 * e <= PINSKER.value(s),
)


@pytest.fixture(autouse=True, scope="module")
def _known(registry):
    register(PinskerBound)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(REFERENCES, "of one's own", PINSKER)
        yield
    del registry["of one's own"]


only = pytest.mark.parametrize("name", ["of one's own"])


@only
class TestBound(BoundKit):
    pass


@only
class TestMomentBound(MomentBoundKit):
    pass


@only
@pytest.mark.parametrize("constant", ["maurer", "exact"])
class TestValidity(validity.ValidityKit):
    pass


@pytest.mark.parametrize(("solver_name", "bound_name"), solvers.pairs_with(["of one's own"]))
class TestSolvers(solvers.SolverKit):
    pass


@pytest.mark.parametrize("bound_name", ["of one's own"])
class TestDescended(solvers.DescendedBoundKit):
    pass


@pytest.mark.parametrize("bound_name", ["of one's own"])
class TestKnownAnswers(solvers.MomentBoundKit):
    pass


def test_it_is_listed_last():
    assert list_bounds()[-1] == list_moment_bounds()[-1] == "of one's own"
    assert get_bound("of one's own", delta=0.01).delta == 0.01
    assert register(PinskerBound) is PinskerBound


def test_a_taken_name_is_refused():
    class Other(PinskerBound):
        name = "tandem"

    with pytest.raises(ValueError, match="'tandem' is taken"):
        register(Other)
    assert type(get_bound("tandem")) is not Other


def test_its_certificates_are_written_read_and_verified(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2_000)
    votes = np.where(rng.random((2_000, 9)) < 0.15, 1 - y[:, None], y[:, None])
    certificate = certify(votes, y, bound="of one's own")
    assert certify(votes, y, bound="tandem").risk_bound < certificate.risk_bound < 1
    assert (
        certificate.risk_bound
        == minimize("of one's own", get_bound("of one's own").count(votes, y)).value
    )
    certificate.to_json(tmp_path / "certificate.json")
    again = Certificate.from_json(tmp_path / "certificate.json")
    assert again == certificate
    again.verify(votes, y)
    assert "of one's own" in str(again)
