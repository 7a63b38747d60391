"""The commands, put together. What is heavy is imported when a command runs."""

from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from .certify import certify
from .compare import compare
from .compare_models import compare_models
from .datasets import datasets
from .moments import bound, plan
from .options import Debug, Jobs, Quiet, command
from .predict import predict
from .verify import verify

__all__ = ["app"]

app = typer.Typer(
    name="certivote",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Majority votes of classifiers with a certificate: with 95% confidence, this vote errs on "
    "a new example with probability at most x.",
    epilog="Start with `certivote certify`: it needs nothing.",
)


def _show_version(value: bool) -> None:
    if value:
        print(f"certivote {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    pass


_EXAMPLES = {
    certify: "certify customers.csv --target churned --drop id",
    predict: "predict my-certificate/model.joblib new.csv --out labels.csv",
    verify: "verify certificate.json --model model.joblib --data customers.csv",
    compare: "compare customers.csv --target churned --share-delta",
    compare_models: "compare-models old.joblib new.joblib --data new.csv --target churned",
    bound: "bound --gibbs .2 --disagreement .3 -m 1000 --kl 2",
    plan: "plan --target 0.25 --gibbs 0.1 --disagreement 0.12 --kl 2",
    datasets: "datasets",
}
for _run, _example in _EXAMPLES.items():
    app.command(epilog=f"Example: certivote {_example}")(_run)


@app.command(epilog="Example: certivote reproduce glass wdbc --learners lacasse,2r")
@command
def reproduce(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="The tasks to run; all 16 if none is named.")
    ] = None,
    learners: Annotated[
        str | None,
        typer.Option(
            help="Learners separated by commas, all if not given: mcallester, seeger, lacasse, "
            "cb-boost, mincq, masegosa, 2r."
        ),
    ] = None,
    solver: Annotated[str, typer.Option(help="How bounds are minimised, such as cocob.")] = "lbfgs",
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("results"),
    reference: Annotated[
        Path | None,
        typer.Option(
            help="The authors' cells, a CSV file. Without it: reference/table1.csv beside the "
            "folder in $CERTIVOTE_DATA."
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reproduce Table 1 and the figures of Viallard et al., ECML PKDD 2021.

    An interrupted run goes on where it stopped.
    """
    from ..reproduce.command import reproduce as run

    names = [name.strip() for name in (learners or "").split(",") if name.strip()]
    run(tasks or [], names, solver, jobs, out, reference, quiet)
