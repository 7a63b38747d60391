"""The commands, their options and their help. What is heavy is imported when a command runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from .options import (
    Categorical,
    CertifySize,
    Constant,
    Data,
    Debug,
    Delta,
    Drop,
    Jobs,
    Json,
    NVoters,
    Prior,
    Quiet,
    Seed,
    Target,
    VoterKind,
    command,
    complete_bound,
    complete_data,
    fail,
    print_json,
)

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


@app.command(epilog="Example: certivote certify customers.csv --target churned --drop id")
@command
def certify(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            autocompletion=complete_data,
            help="A CSV or Parquet file with one row per example, or a built-in name: digits, "
            "breast-cancer (the default), or one of `certivote datasets`.",
        ),
    ] = None,
    target: Target = None,
    drop: Drop = None,
    categorical: Categorical = None,
    bound: Annotated[
        str,
        typer.Option(
            autocompletion=complete_bound,
            help="The certificate to minimise. best, the default, gave the smallest over the "
            "paper's 16 tasks: it tests the prior vote with most of delta, and lets the weights be "
            "learned with the rest. lacasse learns them by the paper's bound. Choose before you "
            "look: docs/choosing.md and `certivote compare` tell more.",
        ),
    ] = "best",
    delta: Delta = 0.05,
    constant: Constant = "exact",
    voters: Annotated[
        str | None,
        typer.Option(
            help="trees (the default: each on all of part A), forest (bootstrapped), extra-trees, "
            "or stumps (ten thresholds per column)."
        ),
    ] = None,
    n_voters: NVoters = None,
    prior: Prior = "uniform",
    certify_size: Annotated[
        float | None,
        typer.Option(
            help="The share of the rows that certify, 0.5 if not given; the others train."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A .joblib file with fitted voters, or with a vote that certify wrote: then all "
            "of DATA certifies, and must be new to them. Loading it runs code that is in it: name "
            "only a file that you trust.",
        ),
    ] = None,
    data_option: Annotated[
        str | None, typer.Option("--data", help="The same as DATA.", show_default=False)
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for the results: DATA-certificate if not given.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Turn a table into a vote with a certificate: model.joblib, certificate.json, report.html.

    Part of the rows trains the voters; the others learn their weights and certify them. Missing
    values and categories are handled, by what the training rows say.
    """
    from .certify import Request, certify_data, print_result

    if data is not None and data_option is not None:
        raise ValueError("DATA and --data are the same thing: give one of them.")
    if data is None:
        data = data_option
    if model is not None and data is None:
        raise ValueError("--model needs DATA that is new to it: give a file.")
    if model is not None:
        training = {"--voters": voters, "--n-voters": n_voters, "--certify-size": certify_size}
        for option, value in training.items():
            if value is not None:
                raise ValueError(f"{option} is for training: with --model nothing is trained.")
        if prior == "learned":
            raise ValueError(
                "--prior learned needs training rows: with --model nothing is trained."
            )
    result = certify_data(
        Request(
            data="breast-cancer" if data is None else data,
            target=target,
            drop=drop or [],
            categorical=categorical or [],
            bound=bound,
            delta=delta,
            constant=constant,
            voters=voters or "trees",
            n_voters=n_voters,
            prior=prior,
            certify_size=0.5 if certify_size is None else certify_size,
            model=model,
            seed=seed,
            jobs=jobs,
            out=out,
            quiet=quiet or as_json,
            verbose=0 if quiet or as_json else 1,
        )
    )
    if as_json:
        print_json(result)
    else:
        print_result(result, quiet)


@app.command(
    epilog="Example: certivote predict my-certificate/model.joblib new.csv --out labels.csv"
)
@command
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            help="The model.joblib that certify wrote. Loading it runs code that is in it: name "
            "only a file that you trust."
        ),
    ],
    data: Data,
    drop: Drop = None,
    shares: Annotated[
        bool, typer.Option("--shares", help="Add the share of the vote of each class.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The CSV file to write; standard output if not given.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Predict the label of each row with a saved vote, as CSV."""
    from .._utils.files import write_whole
    from .._utils.formatting import printable, printable_lines
    from .predict import check_out, predict_data

    check_out(out, model, data)
    frame = predict_data(model, data, drop or [], shares, quiet or as_json)
    text = frame.to_json(orient="records") if as_json else frame.to_csv(index=False)
    if out is None:
        # A file or a pipe has the labels as they are, as with ls.
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
    else:
        write_whole(out, text)
        if not quiet:
            print(f"Written: {printable(str(out))}", file=sys.stderr)


@app.command(
    epilog="Example: certivote verify certificate.json --model model.joblib --data customers.csv"
)
@command
def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate.json to check.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="The model.joblib that was written with it. Loading it runs code that is in it: "
            "name only a file that you trust."
        ),
    ] = None,
    data: Annotated[str | None, typer.Option(help="The data that it was made from.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> int:
    """Check a certificate: its arithmetic alone, or the votes too with the model and the data.

    The arithmetic is right in a file that is made up from beginning to end, too. What nobody can
    check, a certificate assumes.

    The exit status is 0 if what was checked is right, 1 if it is not, 2 if nothing could be
    checked.
    """
    from .output import say
    from .verify import verify_file

    result = verify_file(certificate, model, data, quiet or as_json)
    if as_json:
        print_json(result)
    elif not quiet:
        for text in result["checked"]:
            say(f"checked: {text}")
        if result["holds"] is not False:
            for text in result["not_checked"]:
                say(f"not checked: {text}")
            say(result["verdict"], style="bold")
            say("It claims: " + result["statement"])
            if model is not None:
                say("It assumes:")
                for text in result["assumptions"]:
                    say(f"  - {text}")
    if not as_json:
        for text in result.get("findings", ()):
            say(f"found, and throws doubt on the claim: {text}", style="bold red")
    if result["holds"] is False and not as_json:
        fail(f"the certificate does not hold up: {result['reason']}")
    return 1 if result["holds"] is False else 0


@app.command(epilog="Example: certivote compare customers.csv --target churned --share-delta")
@command
def compare(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            autocompletion=complete_data,
            help="A CSV or Parquet file, or a built-in name; breast-cancer if not given.",
        ),
    ] = "breast-cancer",
    target: Target = None,
    drop: Drop = None,
    categorical: Categorical = None,
    delta: Delta = 0.05,
    constant: Constant = "exact",
    share_delta: Annotated[
        bool,
        typer.Option(
            "--share-delta",
            help="Share delta out evenly, so that all certificates hold at once and the smallest "
            "may be claimed.",
        ),
    ] = False,
    voters: VoterKind = "trees",
    n_voters: NVoters = None,
    prior: Prior = "uniform",
    certify_size: CertifySize = 0.5,
    test_size: Annotated[
        float,
        typer.Option(help="The share of the rows that test, where DATA has no test rows."),
    ] = 0.25,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for the results: DATA-comparison if not given.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Certify every bound and learner on the same voters and split, with test risks beside."""
    from .compare import FILES, compare_data, print_comparison, write_comparison
    from .compare import as_json as plain
    from .data import read_table
    from .output import check_folder

    table = read_table(data, target, drop or [], categorical or [], quiet=quiet or as_json)
    folder = out or Path(f"{table.name.replace(':', '-')}-comparison")
    check_folder(folder, FILES)
    result = compare_data(
        table,
        voters,
        n_voters,
        prior,
        delta,
        constant,
        share_delta,
        certify_size,
        test_size,
        seed,
        jobs,
        verbose=0 if quiet or as_json else 1,
    )
    if as_json:
        write_comparison(result, folder)
        print_json(plain(result))
    else:
        print_comparison(result, folder, quiet)


@app.command(epilog="Example: certivote bound --gibbs .2 --disagreement .3 -m 1000 --kl 2")
@command
def bound(
    gibbs: Annotated[float, typer.Option(help="The Gibbs risk r: how often a drawn voter errs.")],
    m: Annotated[int, typer.Option("-m", "--samples", help="The number of examples.")],
    disagreement: Annotated[
        float | None, typer.Option(help="How often exactly one of two drawn voters errs.")
    ] = None,
    joint_error: Annotated[
        float | None, typer.Option(help="How often both of two drawn voters err.")
    ] = None,
    kl: Annotated[float, typer.Option(help="The divergence of the weights from the prior.")] = 0.0,
    delta: Delta = 0.05,
    constant: Constant = "exact",
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compute every certificate that four numbers determine."""
    from .._utils.formatting import format_up
    from .moments import bounds_of, joint_error_of
    from .output import print_table

    e = joint_error_of(gibbs, disagreement, joint_error)
    values = bounds_of(gibbs, e, kl, m, delta, constant)
    if as_json:
        print_json({name: min(1.0, value) for name, value in values.items()})
        return
    rows = [
        [name, format_up(min(1.0, value)) + ("" if value < 1.0 else " (says nothing)")]
        for name, value in values.items()
    ]
    print_table(["bound", "risk at most"], rows)


@app.command(epilog="Example: certivote plan --target 0.25 --gibbs 0.1 --disagreement 0.12 --kl 2")
@command
def plan(
    target: Annotated[float, typer.Option(help="The risk that you want to claim.")],
    pilot: Annotated[
        Path | None,
        typer.Option(help="A certificate.json whose errors, or moments and KL, are assumed."),
    ] = None,
    risk: Annotated[
        float | None, typer.Option(help="The error to assume of a finished vote, to be tested.")
    ] = None,
    gibbs: Annotated[float | None, typer.Option(help="The Gibbs risk to assume.")] = None,
    disagreement: Annotated[float | None, typer.Option(help="The disagreement to assume.")] = None,
    joint_error: Annotated[float | None, typer.Option(help="The joint error to assume.")] = None,
    kl: Annotated[
        float | None, typer.Option(help="The divergence of the weights to assume; 0 if not given.")
    ] = None,
    bound: Annotated[
        str | None, typer.Option(help="One bound; all if not given.", autocompletion=complete_bound)
    ] = None,
    delta: Delta = 0.05,
    constant: Constant = "exact",
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Say how many certification examples a claim would need, from a pilot or assumed moments."""
    from . import moments
    from .output import print_table, say

    if sum(source is not None for source in (pilot, risk, gibbs)) != 1:
        raise ValueError(
            "give either --pilot, or --gibbs with --disagreement or --joint-error, or --risk."
        )
    if gibbs is None and (disagreement, joint_error, kl) != (None, None, None):
        raise ValueError(
            "--disagreement, --joint-error and --kl go with --gibbs: leave them out here."
        )
    assumed: tuple[float, float, float] | float
    if pilot is not None:
        assumed = moments.pilot(pilot)
    elif risk is not None:
        assumed = risk
    else:
        assert gibbs is not None
        assumed = (gibbs, moments.joint_error_of(gibbs, disagreement, joint_error), kl or 0.0)
    if isinstance(assumed, float):
        result = moments.plan_test(target, assumed, delta, bound)
    else:
        result = moments.plan(target, assumed, delta, constant, bound)
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
    print_table(["bound", f"examples for a claim of {target:g}"], rows)
    if not quiet and isinstance(assumed, float):
        say("This assumes that the vote errs as often as before: a plan, not a promise.")
    elif not quiet:
        say(
            "This assumes that Gibbs risk, joint error and KL stay as they are: a plan, not a "
            "promise. Larger samples usually allow weights with a larger KL."
        )


@app.command(epilog="Example: certivote datasets")
@command
def datasets(quiet: Quiet = False, as_json: Json = False, debug: Debug = False) -> None:
    """List the built-in data sets, and which of them are on this machine."""
    from .data import list_builtin
    from .output import print_table, say

    found = list_builtin()
    if as_json:
        print_json(found)
        return
    headings = ["name", "rows", "test rows", "features", "classes"]
    rows = [
        [entry["name"], *("not here" if entry[key] is None else str(entry[key]) for key in keys)]
        for entry in found
        for keys in (("rows", "test_rows", "features", "classes"),)
    ]
    print_table(headings, rows)
    if not quiet and any(entry["rows"] is None for entry in found):
        say(
            "Those that are not here are downloaded on first use, or read from the folder in "
            "$CERTIVOTE_DATA."
        )


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
    document: Annotated[
        Path | None, typer.Option(help="Also write the page of the results here.")
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(
            help="Instead of Table 1: certify by every bound that there is, and write the tables "
            "into this page, between its marks."
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Reproduce Table 1 and the figures of Viallard et al., ECML PKDD 2021.

    An interrupted run goes on where it stopped.
    """
    if certificates is not None:
        from ..reproduce.certificates import certificates as certify_all

        certify_all(certificates, tasks or [], jobs, quiet)
        return
    from ..reproduce.command import reproduce as run

    names = [name.strip() for name in (learners or "").split(",") if name.strip()]
    run(tasks or [], names, solver, jobs, out, reference, document, quiet)
