"""What the paper says about its results (§5.2), tested on its own table and on ours."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .table import Cell

__all__ = ["SENTENCES", "Sentence", "Verdict"]

Cells = Mapping[tuple[str, str], Cell]
OWN = ("mcallester", "seeger", "lacasse")
ALL = (*OWN, "cb-boost", "mincq", "masegosa", "2r")


class Verdict(NamedTuple):
    """Whether a sentence is true of a table, and the figures that decide it."""

    holds: bool
    because: str


class Sentence(NamedTuple):
    """A sentence of the paper, with what tests it."""

    text: str
    test: Callable[[Cells], Verdict]


def _tasks(cells: Cells) -> list[str]:
    return list(dict.fromkeys(dataset for dataset, _ in cells))


def _exceptions(cells: Cells, holds: Callable[[str], bool]) -> Verdict:
    failing = [task for task in _tasks(cells) if not holds(task)]
    count = f"on {len(_tasks(cells)) - len(failing)} of {len(_tasks(cells))} tasks"
    return Verdict(not failing, count + (f"; not on {', '.join(failing)}" if failing else ""))


def _bound(cells: Cells, task: str, learner: str) -> float:
    return cells[task, learner].bound


def _risk(cells: Cells, task: str, learner: str) -> float:
    # As printed, to three digits.
    return round(cells[task, learner].test_risk, 3)


def _mean(cells: Cells, learner: str, what: str) -> float:
    tasks = _tasks(cells)
    return float(sum(getattr(cells[task, learner], what) for task in tasks)) / len(tasks)


def _worst_is_algorithm_1(cells: Cells) -> Verdict:
    return _exceptions(
        cells,
        lambda task: (
            _bound(cells, task, "mcallester")
            == max(_bound(cells, task, learner) for learner in OWN)
        ),
    )


def _algorithm_3_is_tightest(cells: Cells) -> Verdict:
    return _exceptions(
        cells,
        lambda task: (
            _bound(cells, task, "lacasse")
            < min(_bound(cells, task, "mcallester"), _bound(cells, task, "seeger"))
        ),
    )


def _lowest_risks_but_three(cells: Cells) -> Verdict:
    named = {"letter:DvsO", "fash:COvsSH", "fash:SAvsBO"}
    higher = {
        task
        for task in _tasks(cells)
        if _risk(cells, task, "lacasse") > min(_risk(cells, task, learner) for learner in OWN)
    }
    listed = ", ".join(task for task in _tasks(cells) if task in higher) or "none"
    return Verdict(higher <= named, f"it has not the lowest risk of the three on: {listed}")


def _gibbs_has_the_lowest_bounds(cells: Cells) -> Verdict:
    return _exceptions(
        cells,
        lambda task: (
            _bound(cells, task, "2r") == min(_bound(cells, task, learner) for learner in ALL)
        ),
    )


def _gibbs_has_the_largest_risks(cells: Cells) -> Verdict:
    return _exceptions(
        cells,
        lambda task: (
            _risk(cells, task, "2r") == max(_risk(cells, task, learner) for learner in ALL)
        ),
    )


def _tighter_than_masegosa(cells: Cells) -> Verdict:
    tasks = _tasks(cells)
    tighter = [t for t in tasks if _bound(cells, t, "lacasse") < _bound(cells, t, "masegosa")]
    means = _mean(cells, "lacasse", "bound"), _mean(cells, "masegosa", "bound")
    return Verdict(
        len(tighter) > len(tasks) / 2,
        f"tighter on {len(tighter)} of {len(tasks)} tasks; mean bound {means[0]:.3f} against "
        f"{means[1]:.3f}",
    )


def _like_masegosa(cells: Cells) -> Verdict:
    gaps = {
        task: abs(cells[task, "lacasse"].test_risk - cells[task, "masegosa"].test_risk)
        for task in _tasks(cells)
    }
    largest = max(gaps, key=lambda task: gaps[task])
    return Verdict(
        gaps[largest] < 0.02, f"the risks differ by at most {gaps[largest]:.3f} ({largest})"
    )


def _better_than_empirical(learner: str) -> Callable[[Cells], Verdict]:
    def test(cells: Cells) -> Verdict:
        tasks = _tasks(cells)
        worse_bound = [t for t in tasks if _bound(cells, t, "lacasse") >= _bound(cells, t, learner)]
        worse_risk = [t for t in tasks if _risk(cells, t, "lacasse") > _risk(cells, t, learner)]
        risks = _mean(cells, "lacasse", "test_risk"), _mean(cells, learner, "test_risk")
        return Verdict(
            not worse_bound and not worse_risk,
            f"a lower bound on {len(tasks) - len(worse_bound)} and no higher risk on "
            f"{len(tasks) - len(worse_risk)} of {len(tasks)} tasks"
            + (f" (higher on {', '.join(worse_risk)})" if worse_risk else "")
            + f"; mean risk {risks[0]:.3f} against {risks[1]:.3f}",
        )

    return test


def _mincq_is_near_1(cells: Cells) -> Verdict:
    bounds = {task: _bound(cells, task, "mincq") for task in _tasks(cells)}
    low = [task for task, bound in bounds.items() if bound < 0.9]
    text = f"at least 0.9 on {len(bounds) - len(low)} of {len(bounds)} tasks"
    return Verdict(not low, text + (f"; below on {', '.join(low)}" if low else ""))


SENTENCES = (
    Sentence("Algorithm 1 provides the worst bound of the three.", _worst_is_algorithm_1),
    Sentence(
        "Algorithm 3 always provides tighter bounds than Algorithms 1 and 2.",
        _algorithm_3_is_tightest,
    ),
    Sentence(
        "Except for letter:DvsO, fash:COvsSH and fash:SAvsBO, Algorithm 3 leads to the lowest test "
        "risks (of the three).",
        _lowest_risks_but_three,
    ),
    Sentence("2r gives the lowest bounds among all the algorithms …", _gibbs_has_the_lowest_bounds),
    Sentence("… but at the price of the largest risks.", _gibbs_has_the_largest_risks),
    Sentence(
        "Compared to Masegosa's approach, Algorithm 3 tends to provide tighter bounds …",
        _tighter_than_masegosa,
    ),
    Sentence("… and similar performances, in the same order of magnitude.", _like_masegosa),
    Sentence(
        "Algorithm 3 outputs better results than CB-Boost …", _better_than_empirical("cb-boost")
    ),
    Sentence("… and than MinCq …", _better_than_empirical("mincq")),
    Sentence("… for which the bounds are close to 1.", _mincq_is_near_1),
)
