"""The options of ``--certification oob``: voters that are trained on bags of all rows."""

from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

__all__ = ["bagged_voters"]

_FORESTS = {"forest": RandomForestClassifier, "extra-trees": ExtraTreesClassifier}
_KINDS = ("trees", *_FORESTS)


def bagged_voters(
    kind: str | None, n_voters: int | None, bag_size: float | None, n_jobs: int | None
) -> dict[str, Any]:
    """Return the arguments of a vote whose voters are trained on bags, trees if None."""
    if kind is not None and kind not in _KINDS:
        raise ValueError(
            f"--voters must be one of {', '.join(_KINDS)} with --certification oob, got {kind!r}."
        )
    if n_voters is not None and n_voters < 1:
        raise ValueError(f"--n-voters must be at least 1, got {n_voters}.")
    if bag_size is not None and not 0.0 < bag_size < 1.0:
        raise ValueError(f"--bag-size must be a share between 0 and 1, got {bag_size}.")
    if kind not in _FORESTS:
        sizes = {"n_voters": n_voters, "bag_size": bag_size}
        own = {name: value for name, value in sizes.items() if value is not None}
        return {"certification": "oob", **own}
    forest = _FORESTS[kind](n_voters or 100, bootstrap=True, max_samples=bag_size, n_jobs=n_jobs)
    return {"certification": "oob", "voters": forest}
