"""Files that say what a cell is: Parquet, JSON Lines and Excel."""

import json
import warnings
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any
from zipfile import BadZipFile

from .archives import Source
from .asked import Asked

__all__ = ["named", "read_excel", "read_json_lines", "read_parquet", "without_texts"]


def named(names: Sequence[str], source: Source) -> list[str]:
    """Return the names of columns but for a first one without any, which is an index of pandas."""
    _refuse_repeated_names(names, source)
    rest = list(names[not names[0] :])
    if "" in rest:
        raise ValueError(
            f"column {names.index('', 1) + 1} of {source} has no name: write one into the header, "
            "or remove a separator too many."
        )
    return rest


def without_texts(frame: Any, asked: Asked) -> Any:
    """Return a frame without the texts that mean that there is nothing."""
    frame = frame.copy()
    for name in frame.columns:
        if frame[name].dtype.kind not in "biufcmM":
            nothing = frame[name].isin(asked.missing_texts(name))
            frame[name] = frame[name].mask(nothing)
    return frame


def read_parquet(source: Source) -> Any:
    """Return a frame of a Parquet file, with an index that has a name as a column."""
    try:
        import pyarrow
        from pyarrow import parquet

        table = parquet.read_table(source.path if source.content is None else source.open())
    except ImportError as error:
        raise ImportError("Parquet needs pyarrow: pip install 'certivote[cli]'.") from error
    except (ValueError, OSError) as error:
        raise ValueError(f"{source} is not a readable Parquet file: {error}") from error
    _refuse_repeated_names(table.column_names, source)
    for column in table.schema:
        if pyarrow.types.is_nested(column.type):
            raise ValueError(
                f"column {column.name!r} of {source} holds several values in each row "
                f"({column.type}): leave it out of the file, or write each into a column."
            )
    frame = table.to_pandas()
    frame = frame.reset_index(drop=frame.index.names == [None])
    frame.columns = [str(name) for name in frame.columns]
    return frame


def read_json_lines(source: Source) -> Any:
    """Return a frame of a file with an object of JSON on each line."""
    import pandas as pd

    rows = []
    with source.open() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number} of {source} is not JSON: {error}.") from error
            if not isinstance(row, dict):
                raise ValueError(f'line {number} of {source} is no row such as {{"age": 3}}.')
            for name, value in row.items():
                if isinstance(value, list | dict):
                    raise ValueError(
                        f"column {name!r} of {source} holds several values on line {number}: leave "
                        "it out of the file, or write each into a column."
                    )
            rows.append(row)
    if not rows:
        raise ValueError(f"{source} is empty.")
    return pd.DataFrame(rows)


def read_excel(source: Source) -> tuple[Any, str]:
    """Return the first sheet of an Excel file, and a remark if there are others."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise ImportError("Excel needs openpyxl: pip install 'certivote[excel]'.")
    try:
        with warnings.catch_warnings():  # of styles and the like, which are no data
            warnings.simplefilter("ignore")
            with source.open() as file, pd.ExcelFile(file, engine="openpyxl") as book:
                sheets = [str(name) for name in book.sheet_names]
                settings: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
                cells = book.parse(0, header=None, dtype=object, **settings)
    except (ValueError, KeyError, OSError, BadZipFile) as error:
        raise ValueError(f"{source} is not a readable Excel file: {error}.") from error
    cells = cells.dropna(how="all")
    if cells.empty:
        raise ValueError(f"the first sheet of {source}, {sheets[0]!r}, is empty.")
    header = ["" if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    frame = cells.iloc[1:].reset_index(drop=True).set_axis(header, axis=1)
    remark = f"{source} has {len(sheets)} sheets: only the first one, {sheets[0]!r}, is read"
    return frame, remark if len(sheets) > 1 else ""


def _refuse_repeated_names(names: Sequence[str], source: Source) -> None:
    repeated = [repr(name) for name, times in Counter(names).items() if name and times > 1]
    if repeated:
        raise ValueError(
            f"{source} has several columns called {' or '.join(repeated)}: rename them."
        )
