"""``certivote predict``: the labels of a saved vote."""

from pathlib import Path
from typing import Any

from .data import read_table
from .models import category_names, feature_names, load_model, match_columns

__all__ = ["predict_data"]


def predict_data(model: Path, data: str, drop: list[str], shares: bool, quiet: bool) -> Any:
    """Return a frame with the predicted label of each row, and the vote shares if asked for.

    Parameters
    ----------
    model : Path
        A model that certify wrote, or any classifier.
    data : str
        A file or a built-in name. Columns that the model does not use are ignored.
    drop : list of str
        Columns to leave out, for a model that does not know the names of its columns.
    shares : bool
        Whether to add the share of the vote of each class.
    quiet : bool
        Whether to leave out the notes, such as that loading a model runs code.
    """
    import pandas as pd

    vote = load_model(model, quiet)
    if isinstance(vote, list | tuple):
        raise ValueError(f"{model} holds several classifiers: certify them first.")
    table = read_table(
        data,
        drop=drop,
        features=feature_names(vote),
        names_only=category_names(vote),
        as_read=category_names(vote) is None,
        labelled=False,
        quiet=quiet,
    )
    X = match_columns(vote, table)
    columns: dict[str, Any] = {"prediction": vote.predict(X)}
    if shares:
        for label, share in zip(vote.classes_, vote.predict_proba(X).T, strict=True):
            columns[f"share {label}"] = share
    return pd.DataFrame(columns)
