"""``certivote bound`` and ``certivote plan``: certificates from a few numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.formatting import format_up
from . import options
from .output import CERTIFICATE, note, print_json, print_table, say

if TYPE_CHECKING:
    from ..bounds import MomentBound

__all__ = ["bound", "plan"]

# Gibbs risk, joint error and KL.
_Moments = tuple[float, float, float]


@options.command
def bound(
    gibbs: options.Gibbs,
    m: Annotated[int, typer.Option("-m", "--samples", help="The number of examples.")],
    disagreement: options.Disagreement = None,
    joint_error: options.JointError = None,
    kl: options.Kl = None,
    delta: options.Delta = options.DELTA,
    constant: options.Constant = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compute every certificate that four numbers determine."""
    from ..bounds import list_moment_bounds

    if m < 1:
        raise ValueError(f"-m must be at least 1 example, got {m}.")
    moments = _moments(gibbs, disagreement, joint_error, kl)
    values = {
        name: min(1.0, _moment_bound(name, delta, constant).from_moments(*moments, m))
        for name in list_moment_bounds()
    }
    if as_json:
        print_json(values)
        return
    rows = [
        [name, format_up(value) + ("" if value < 1.0 else " (says nothing)")]
        for name, value in values.items()
    ]
    print_table(["bound", "risk at most"], rows)


@options.command
def plan(
    target: Annotated[float, typer.Option(help="The risk that you want to claim.")],
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="A certificate.json, or its folder, whose errors, or moments and KL, are assumed."
        ),
    ] = None,
    risk: Annotated[
        float | None, typer.Option(help="The error to assume of a finished vote, to be tested.")
    ] = None,
    gibbs: options.GibbsIfAny = None,
    disagreement: options.Disagreement = None,
    joint_error: options.JointError = None,
    kl: options.Kl = None,
    bound: Annotated[
        str | None,
        typer.Option(help="One bound; all if not given.", autocompletion=options.complete_bound),
    ] = None,
    delta: options.Delta = options.DELTA,
    power: Annotated[
        float | None,
        typer.Option(
            help="The probability with which a test succeeds, 0.8 if not given; for --risk, and a "
            "pilot whose errors were counted."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="A picture to write, such as plan.png: how sure the claim is, by the number of "
            "examples."
        ),
    ] = None,
    constant: options.Constant = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say how many certification examples a claim needs, from a pilot or from what is assumed.

    Where errors are counted, with so many examples, and with every larger number up to twice as
    many, the claim succeeds with the probability --power if the error is what was assumed. From
    moments it is a plan only: with so many it would be made if these came out as they were.

    Where more than the error is to be claimed at once (--claim, --abstain), the error has half of
    delta: plan with that.
    """
    from ..certificate.provenance import group_words

    if sum(source is not None for source in (pilot, risk, gibbs)) != 1:
        raise ValueError(
            "give either --pilot, or --gibbs with --disagreement or --joint-error, or --risk."
        )
    if gibbs is None and (disagreement, joint_error, kl) != (None, None, None):
        raise ValueError(
            "--disagreement, --joint-error and --kl go with --gibbs: leave them out here."
        )
    assumed: _Moments | float
    said: dict[str, str] = {}
    if pilot is not None:
        assumed, said = _read_pilot(pilot)
    elif risk is not None:
        assumed = risk
    else:
        assert gibbs is not None
        assumed = _moments(gibbs, disagreement, joint_error, kl)
    if isinstance(assumed, float):
        result = _plan_test(target, assumed, delta, bound, 0.8 if power is None else power)
    elif power is not None or plot is not None:
        raise ValueError(
            "--power and --plot are for a test of errors: give --risk, or such a pilot."
        )
    else:
        result = _plan_moments(target, assumed, delta, constant, bound)
    unit = f"groups ({group_words(said['grouped_by'])})" if said else "examples"
    result |= said
    if plot is not None:
        _draw(result, plot, unit)
    if as_json:
        print_json(result)
        return
    beyond = "more than 10¹²"
    if isinstance(assumed, float) and assumed >= target:
        beyond = f"no number is enough: it errs on {assumed:.1%}"
    rows = [
        [name, beyond if needed is None else f"{needed:,}"]
        for name, needed in result["samples_needed"].items()
    ]
    who = "command" if isinstance(assumed, float) else "bound"
    print_table([who, f"{unit} for a claim of {target:g}"], rows)
    if not quiet and isinstance(assumed, float) and assumed < target:
        say(
            f"With so many certification {unit}, or up to twice as many, the claim succeeds with "
            f"probability {result['power']:g} or more, if the vote errs on {assumed:.2%}. certify "
            f"trains on the other {unit if said else 'rows'}: in all it takes twice as many, or "
            "ten thirds of it where that is 5,000 or more."
        )
    elif not quiet and not isinstance(assumed, float):
        say(
            "This assumes that Gibbs risk, joint error and KL stay as they are: a plan, not a "
            "promise. Larger samples usually allow weights with a larger KL."
        )


def _moments(
    gibbs: float, disagreement: float | None, joint_error: float | None, kl: float | None
) -> _Moments:
    """Return the moments of a vote, the joint error from ``e = r − d/2`` if it is not given."""
    if (disagreement is None) == (joint_error is None):
        raise ValueError("give either --disagreement or --joint-error.")
    if disagreement is not None:
        largest = 2.0 * gibbs * (1.0 - gibbs)
        if not 0.0 <= disagreement <= largest + 1e-12:
            raise ValueError(
                f"--disagreement must be between 0 and 2r(1−r), here {largest:g}: two voters drawn "
                f"alike do not disagree more often; got {disagreement:g}."
            )
        joint_error = max(0.0, gibbs - disagreement / 2.0)
    assert joint_error is not None
    return gibbs, joint_error, 0.0 if kl is None else kl


def _moment_bound(name: str, delta: float, constant: str | None) -> "MomentBound":
    """Return a bound that moments and KL determine."""
    from ..bounds import MomentBound, bound_at, list_moment_bounds

    chosen = bound_at(name, delta, constant)
    if not isinstance(chosen, MomentBound):
        raise ValueError(f"--bound must be one of {', '.join(list_moment_bounds())}, got {name!r}.")
    return chosen


def _read_pilot(path: Path) -> tuple[_Moments | float, dict[str, str]]:
    """Return the moments of a certificate that holds up, or the share of tested errors.

    Beside them stands what its examples were grouped by, if they were.
    """
    from ..bounds import HeldoutBound, list_moment_bounds
    from ..certificate import Certificate

    certificate = Certificate.from_json(path / CERTIFICATE if path.is_dir() else path)
    certificate.verify()
    said = {name: text for name, text in certificate.provenance.items() if name == "grouped_by"}
    if "vote_errors" in certificate.evidence:
        return float(certificate.evidence["vote_errors"]) / certificate.n_samples, said
    if certificate.gibbs_risk is None or certificate.joint_error is None:
        raise ValueError(
            f"{path} is by the bound {certificate.bound!r}, which knows no moments to plan with: "
            f"give a pilot by {HeldoutBound.name}, or by one of {', '.join(list_moment_bounds())}."
        )
    size, m = certificate.evidence["joint_size"], certificate.n_samples
    if size != m:
        raise ValueError(
            f"{path} is of {m:,} examples, and its moments count as those of {size:,}: how many "
            "examples a claim needs does not follow from such statistics. Give a pilot of examples "
            "that were held back (certify --certification split)."
        )
    return (certificate.gibbs_risk, certificate.joint_error, certificate.kl), said


def _plan_test(
    target: float, risk: float, delta: float, bound: str | None, power: float
) -> dict[str, Any]:
    """Return how many examples a test of a vote that errs so often needs, by what tests it.

    A classifier as it is has all of delta, and so has a vote that was weighed on the rows that
    trained it, as by default; other voters have the share that their test has.
    """
    from ..bounds import HeldoutBound, bound_at
    from ..bounds.parameters import check_claimed_delta
    from ..planning import samples_to_test

    check_claimed_delta(delta)
    name = HeldoutBound.name
    if bound not in (None, name):
        raise ValueError(f"--bound must be {name} where errors were tested, got {bound!r}.")
    default = bound_at(None, delta)
    bounds = {"certify": default.for_learned_prior(), "certify --voters trees": default}
    tests = {command: own.winner({"winner": name}) for command, own in bounds.items()}
    deltas = {command: float(test.delta) for command, test in tests.items() if test is not None}
    deltas["certify --model"] = delta
    return {
        "target": target,
        "risk": risk,
        "power": power,
        "deltas": deltas,
        "samples_needed": {
            command: samples_to_test(target, risk, own, power) for command, own in deltas.items()
        },
    }


def _draw(result: dict[str, Any], path: Path, unit: str) -> None:
    """Write a picture of how sure the claim of a learned vote is to succeed, if it can."""
    if result["samples_needed"]["certify"] is None:
        note(f"{path} is not written: no number of {unit} is enough, so there is nothing to draw.")
        return
    from matplotlib.figure import Figure

    from ..plotting import PlanDisplay

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    PlanDisplay.from_plan(
        result["target"],
        result["risk"],
        result["deltas"]["certify"],
        result["power"],
        unit=unit,
        ax=figure.add_subplot(),
    )
    figure.savefig(path, dpi=150)


def _plan_moments(
    target: float, moments: _Moments, delta: float, constant: str | None, bound: str | None
) -> dict[str, Any]:
    """Return how many certification examples each bound, or one, would need for a claim."""
    from ..bounds import list_moment_bounds
    from ..planning import samples_needed

    needed = {
        name: samples_needed(_moment_bound(name, delta, constant), target, *moments)
        for name in (list_moment_bounds() if bound is None else [bound])
    }
    names = ("gibbs_risk", "joint_error", "kl")
    return {
        "target": target,
        **dict(zip(names, moments, strict=True)),
        "samples_needed": needed,
    }
