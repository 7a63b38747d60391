"""Parameters of bounds and solvers in scikit-learn's way, without scikit-learn; and δ.

`get_params`, `set_params` and a constructor that keeps what it is given are all that `clone`,
`GridSearchCV` and the estimators around such an object ask for: they ask for methods, not for a
class. `sklearn.base.BaseEstimator` has the same ones; but to import it takes ten times as long as
to import numpy, and commands that only do arithmetic, such as ``certivote bound``, should start in
the time of numpy.
"""

import inspect
import numbers
from collections import defaultdict
from copy import deepcopy
from typing import Any, Self

__all__ = ["Parametrised", "check_claimed_delta", "check_delta"]

_WIDTH = 80


class Parametrised:
    """An object that keeps the arguments of its constructor as attributes of the same names."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Return the names of the parameters, sorted, and their defaults."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {
            argument.name: argument.default
            for argument in sorted(arguments, key=lambda argument: argument.name)
            if argument.kind in named
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether the parameters of a parameter are returned too, as ``name__inner``.
        """
        params: dict[str, Any] = {}
        for name in self._defaults():
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params()
                params |= {f"{name}__{key}": inner[key] for key in inner}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return the object itself.

        Parameters
        ----------
        **params
            The parameters; ``name__inner`` is one of a parameter.
        """
        own = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, inside, inner = key.partition("__")
            if name not in own:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}: it has "
                    f"{', '.join(own) or 'none'}."
                )
            if inside:
                nested[name][inner] = value
            else:
                own[name] = value
        for name, changes in nested.items():
            if not hasattr(own[name], "set_params"):
                raise ValueError(
                    f"{name} is {own[name]!r}, which has no parameter {next(iter(changes))!r}: "
                    "give an object that has."
                )
            own[name].set_params(**changes)
        for name in params:
            if name in own:
                setattr(self, name, own[name])
        return self

    def copied(self, **changes: Any) -> Self:
        """Return a new object with copies of the parameters, some of them changed."""
        return type(self)(**deepcopy(self.get_params(deep=False))).set_params(**changes)

    def __repr__(self) -> str:
        """Return the call that makes it: parameters that are not the default, in lines of 80."""
        start = f"{type(self).__name__}("
        items = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if repr(getattr(self, name)) != repr(default)
        ]
        line = f"{start}{', '.join(items)})"
        if len(line) <= _WIDTH:
            return line
        items[-1] += ")"
        lines = [start + items[0]]
        for item in items[1:]:
            if len(f"{lines[-1]}, {item},") <= _WIDTH:
                lines[-1] += f", {item}"
            else:
                lines[-1] += ","
                lines.append(" " * len(start) + item)
        return "\n".join(lines)


def check_delta(delta: float) -> float:
    """Return delta if it is a probability strictly between 0 and 1."""
    if not isinstance(delta, numbers.Real) or not 0.0 < float(delta) < 1.0:
        raise ValueError(f"delta must be a number strictly between 0 and 1, got {delta!r}.")
    return float(delta)


def check_claimed_delta(delta: float) -> float:
    """Return delta, and refuse one above ½ where a claim is asked for: it is its confidence.

    A bound holds at any delta, and takes it; but nobody claims what is more likely to fail.
    """
    if check_delta(delta) > 0.5:
        raise ValueError(
            f"delta must be the probability that the certificate may fail, at most 0.5, got "
            f"{delta!r}: did you mean {1.0 - float(delta):.6g}?"
        )
    return float(delta)
