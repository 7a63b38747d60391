"""Whether what was written is what comes out, up to what another machine may compute."""

from collections.abc import Mapping
from typing import Any

__all__ = ["close"]


def close(claimed: Any, computed: Any) -> bool:
    """Tell whether a claimed value is the computed one: floats nearly, all else exactly."""
    if isinstance(computed, Mapping):
        return (
            isinstance(claimed, Mapping)
            and set(claimed) == set(computed)
            and all(close(claimed[name], value) for name, value in computed.items())
        )
    if isinstance(computed, list | tuple):
        return (
            isinstance(claimed, list | tuple)
            and len(claimed) == len(computed)
            and all(map(close, claimed, computed))
        )
    if type(computed) is float and type(claimed) in (int, float):
        return bool(abs(claimed - computed) <= 1e-9 * max(abs(computed), 1e-300))
    return type(claimed) is type(computed) and bool(claimed == computed)
