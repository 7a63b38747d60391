"""Names of columns that a table lacks."""

import difflib
from collections.abc import Mapping, Sequence

__all__ = ["require", "require_all"]

# How alike a name is to one that may be meant: one slip in four letters.
_NEAR = 0.75


def require(who: str, name: str, names: Sequence[str], path: str) -> None:
    """Refuse the name of a column that a table lacks, and say which is meant."""
    if name in names:
        return
    lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=_NEAR)
    hint = (
        f"did you mean {lower[near[0]]!r}?"
        if near
        else f"it has {', '.join(names[:8])}" + (", …" if len(names) > 8 else ".")
    )
    raise ValueError(f"{who} asks for a column {name!r}, which {path} does not have: {hint}")


def require_all(
    features: Sequence[str], names: Sequence[str], path: str, otherwise: Mapping[str | None, str]
) -> None:
    """Refuse a table that lacks columns of a model, or has them for something else."""
    for name in features:
        if name in otherwise:
            raise ValueError(
                f"the model asks for the column {name!r}, which {otherwise[name]} here."
            )
    lacking = [name for name in features if name not in names]
    if len(lacking) > 1:
        listed = ", ".join(map(repr, lacking[:8])) + (", …" if len(lacking) > 8 else "")
        raise ValueError(
            f"the model asks for {len(lacking)} columns that {path} does not have: {listed}. Is "
            "this the table that it is for?"
        )
    for name in lacking:
        require("the model", name, names, path)
