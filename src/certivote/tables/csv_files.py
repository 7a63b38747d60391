"""CSV files: read once, and refused where a cell or a row is not what it seems."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from .archives import Source
from .asked import USUALLY_MISSING, Asked
from .layout import Layout
from .quotes import is_one_row_a_line, refuse_swallowed_rows, refuse_torn_rows

__all__ = ["LARGE", "read_csv", "read_verbatim"]

# So many bytes are worth another reader; so many rows tell what columns hold; so much at a time.
LARGE, _FIRST, _BLOCK = 1 << 22, 1000, 1 << 22
# Whole numbers below this are exact as floats.
_EXACT = 2**53


def read_csv(source: Source, layout: Layout, asked: Asked, as_text: Sequence[str]) -> Any:
    """Return a frame of what is asked for, with some columns as text."""
    nothing = {name: asked.missing_texts(name) for name in layout.names}
    marks = {"na_values": nothing, "keep_default_na": False}
    frame, one_row_a_line = _read_large(source, layout, asked, as_text, marks)
    by_pandas = frame is None
    if by_pandas:
        frame = _read(source, layout, as_text, **marks)
    if not one_row_a_line:
        refuse_swallowed_rows(source, layout, frame)
    if by_pandas:  # pyarrow takes no others
        refuse_torn_rows(source, layout)
    if asked.as_read or not by_pandas:
        return frame
    # What pandas takes for true and false is text too, as it is written in the file.
    truths = [name for name in frame.columns if frame[name].dtype in (bool, object)]
    if truths:
        frame[truths] = _read(source, layout, truths, **marks)[truths]
    return frame


def _read_large(
    source: Source, layout: Layout, asked: Asked, as_text: Sequence[str], marks: dict[str, Any]
) -> tuple[Any, bool]:
    """Return a frame of a large file by pyarrow, which is faster; None if pandas is to look.

    The second part of what is returned tells whether it is known that no row has several lines.

    By what pandas makes of the first rows each column is one of numbers, or of categories as they
    are written. Where the rest of the file, or what is asked, is not of this kind, pandas reads all
    of it: what comes out is the same.
    """
    usual = asked.na_values is None and not (asked.keep_na or asked.as_read)
    if not usual or len(layout.names) < 2 or source.size < LARGE or find_spec("pyarrow") is None:
        return None, False
    import pandas as pd

    first = _read(source, layout, as_text, nrows=_FIRST, **marks)
    types = {name: _arrow_type(first[name]) for name in layout.names}
    table = _parsed(source, layout, types, several_lines=False)
    one_row_a_line = table is not None and is_one_row_a_line(source, len(table))
    if not one_row_a_line:
        table = _parsed(source, layout, types, several_lines=True)
        if table is None:
            return None, False
    columns = {name: _column(table[name], first[name].dtype.kind) for name in layout.names}
    if any(column is None for column in columns.values()):
        return None, False
    return pd.DataFrame(columns, copy=False), one_row_a_line


def _parsed(source: Source, layout: Layout, types: dict[str, Any], several_lines: bool) -> Any:
    """Return a table of pyarrow, of which rows may have several lines; None if it cannot be."""
    import pyarrow as pa
    from pyarrow import csv

    names = layout.names
    read = csv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=_BLOCK)
    parse = csv.ParseOptions(delimiter=layout.separator, newlines_in_values=several_lines)
    convert = csv.ConvertOptions(
        column_types=types,
        null_values=list(USUALLY_MISSING),
        strings_can_be_null=True,
        decimal_point=layout.decimal,
    )
    try:
        with source.open() as file:
            return csv.read_csv(file, read, parse, convert)
    except pa.ArrowInvalid:
        return None


def _arrow_type(first: Any) -> Any:
    """Return what a column is for pyarrow, by its first rows as pandas reads them."""
    import pyarrow as pa

    if first.dtype.kind not in "iuf" or first.isna().all():
        return pa.dictionary(pa.int32(), pa.string())
    return pa.int64() if first.dtype.kind == "i" and first.abs().max() >= _EXACT else pa.float64()


def _column(values: Any, kind: str) -> Any:
    """Return a column for pandas; None if it holds what pandas would read otherwise."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        if values.null_count == len(values):
            return np.full(len(values), np.nan)
        return values.unify_dictionaries().to_pandas()
    array = values.to_numpy()
    if array.dtype.kind != "f":
        return pd.Series(array, copy=False)
    largest = max(-np.fmin.reduce(array), np.fmax.reduce(array))
    inexact = kind in "iu" and largest >= _EXACT and pa.types.is_floating(values.type)
    # Of texts such as NAN pandas makes no number.
    if inexact or np.count_nonzero(np.isnan(array)) != values.null_count:
        return None
    return pd.Series(array, copy=False)


def read_verbatim(source: Source, layout: Layout, names: Sequence[str]) -> Any:
    """Return some columns as they are written."""
    # What has no other column to count its rows by is read with one.
    chosen = list(names) or [name for name in layout.names if name][:1]
    return _read(source, layout, chosen, na_filter=False, usecols=chosen)[list(names)]


def _read(source: Source, layout: Layout, as_text: Sequence[str], **settings: Any) -> Any:
    """Return a frame by pandas, with some columns as text, and refuse a broken file in words."""
    import pandas as pd

    # As pyarrow, and pandas since 3.1: the nearest float.
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        settings["float_precision"] = "round_trip"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                source.path if source.content is None else source.open(),
                compression=None,
                sep=layout.separator,
                decimal=layout.decimal,
                header=0,
                names=layout.names,
                index_col=False,
                low_memory=False,
                dtype=dict.fromkeys(as_text, "str"),
                encoding="utf-8-sig",
                **settings,
            )
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} is not UTF-8 (byte {error.object[error.start]:#04x}): save it as UTF-8, for "
            f"example with iconv -f latin1 -t utf-8."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{source} is empty.") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        refuse_swallowed_rows(source, layout, unclosed="EOF inside string" in str(error))
        raise ValueError(f"{source} is not a readable CSV file: {str(error).strip()}.") from error
