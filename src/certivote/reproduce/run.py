"""Run the cells that are missing, a task at a time."""

from collections.abc import Callable, Sequence

from ..datasets import list_datasets, load
from .protocol import LEARNERS, Record, prepare, run_cell
from .records import RecordStore

__all__ = ["check_names", "run"]


def check_names(kind: str, names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names, all known ones if there are none, and refuse an unknown one.

    Parameters
    ----------
    kind : str
        What they are, for the error.
    names : sequence of str
        The names asked for.
    known : sequence of str
        The names that there are.
    """
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
    """Run what is not in the store yet, and return all of it.

    Parameters
    ----------
    store : RecordStore
        Where results are kept.
    datasets, learners : sequence of str
        What to run; everything if empty.
    solver : str, default="lbfgs"
        How bounds are minimised.
    n_jobs : int, default=None
        How many trees are trained at the same time.
    progress : callable, default=None
        Called as ``progress(dataset, learner, record)`` before a cell with None, and after it.

    Returns
    -------
    list of Record
        The cells, in the order of the table.
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
