"""CSV files: read once, and refused where a cell or a row is not what it seems."""

import warnings
from collections.abc import Sequence
from typing import Any

from .archives import Source
from .asked import Asked
from .layout import Layout
from .quotes import refuse_swallowed_rows

__all__ = ["read_csv", "read_verbatim"]


def read_csv(source: Source, layout: Layout, asked: Asked, as_text: Sequence[str]) -> Any:
    """Return a frame of what is asked for, with some columns as text."""
    nothing = {name: asked.missing_texts(name) for name in layout.names}
    marks = {"na_values": nothing, "keep_default_na": False}
    frame = _read(source, layout, as_text, **marks)
    refuse_swallowed_rows(source, layout, frame)
    if asked.as_read:
        return frame
    # What pandas takes for true and false is text too, as it is written in the file.
    truths = [name for name in frame.columns if frame[name].dtype in (bool, object)]
    if truths:
        frame[truths] = _read(source, layout, truths, **marks)[truths]
    return frame


def read_verbatim(source: Source, layout: Layout, names: Sequence[str]) -> Any:
    """Return some columns as they are written."""
    # What has no other column to count its rows by is read with one.
    chosen = list(names) or [name for name in layout.names if name][:1]
    return _read(source, layout, chosen, na_filter=False, usecols=chosen)[list(names)]


def _read(source: Source, layout: Layout, as_text: Sequence[str], **settings: Any) -> Any:
    """Return a frame by pandas, with some columns as text, and refuse a broken file in words."""
    import pandas as pd

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
