"""Run the cells that are missing, a task at a time."""

from collections.abc import Callable, Sequence

from ..datasets import list_datasets, load
from .protocol import LEARNERS, MINIMISED, Record, prepare, run_cell
from .records import RecordStore

__all__ = ["check_names", "run", "time_spent"]


def check_names(kind: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names, all known ones if there are none, and refuse an unknown one."""
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {kind} {name!r}: choose among {', '.join(known)}.")
    return list(names) or list(known)


def run(
    store: RecordStore,
    datasets: Sequence[str] = (),
    learners: Sequence[str] = (),
    solver: str = "lbfgs",
    n_jobs: int | None = None,
    progress: Callable[[str, str, Record | None], None] | None = None,
) -> list[Record]:
    """Run what is not in the store yet, and return all of it in the order of the table.

    No datasets or learners are all of them. ``progress(dataset, learner, record)`` is called before
    a cell with None, and after it with its record.

    Examples
    --------
    >>> from certivote.reproduce import RecordStore, run
    >>> run(RecordStore("records"), ["iris"])
    Traceback (most recent call last):
    ValueError: ...
    """
    datasets = check_names("task", datasets, list_datasets())
    learners = check_names("learner", learners, LEARNERS)
    tell = progress or (lambda dataset, learner, record: None)
    records = []
    for name in datasets:
        found = {learner: store.read(name, learner, solver) for learner in learners}
        if None in found.values():
            tell(name, "voters", None)
            data = load(name)
            sample = prepare(data, n_jobs)
        for learner in learners:
            record = found[learner]
            if record is None:
                tell(name, learner, None)
                record = run_cell(data, sample, learner, solver, n_jobs)
                store.write(record, solver)
            tell(name, learner, record)
            records.append(record)
    return records


def time_spent(records: Sequence[Record]) -> dict[str, float]:
    """Return the seconds of training and voting, and of learning the weights."""
    voters = {
        record.dataset: record.voter_seconds for record in records if record.learner != "mincq"
    }

    def learning(*learners: str) -> float:
        return sum(record.seconds for record in records if record.learner in learners)

    return {
        "voters": sum(voters.values()),
        "bounds": learning(*MINIMISED),
        "cb-boost": learning("cb-boost"),
        "mincq": learning("mincq"),
        "mincq voters": sum(
            record.voter_seconds
            for record in records
            if record.learner == "mincq" and record.voter_seconds != voters.get(record.dataset)
        ),
    }
