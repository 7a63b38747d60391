"""``certivote compare-models``: a new model beside the one that it shall replace, as a gate."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._utils.files import file_sha256
from . import options
from .certify import copy_model, without_findings, write_results
from .output import (
    CERTIFICATE,
    MODEL,
    OLD_MODEL,
    REPORT,
    SAFE_MODEL,
    claim_of,
    is_safe,
    print_json,
    results_folder,
    say,
)

if TYPE_CHECKING:
    from ..certificate import Certificate
    from ..claims import Claim
    from ..tables import Table
    from ..tables.asked import Asked

__all__ = ["compare_models"]


@options.command
def compare_models(
    old: Annotated[
        Path, typer.Argument(help=f"The file of the model that there is. {options.RUNS_CODE}")
    ],
    new: Annotated[Path, typer.Argument(help="The file of the model that may replace it.")],
    data: Annotated[
        list[str],
        typer.Option(
            help="The table that both are asked for: its rows must be new to both. Repeatable, for "
            "the files of one table."
        ),
    ],
    target: options.Target = None,
    margin: Annotated[
        float,
        typer.Option(
            help="How much more often the new model may err, as a difference of probabilities "
            "between 0 and 1. Fix it before you look."
        ),
    ] = 0.0,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    na_values: options.NaValues = None,
    keep_na: options.KeepNa = False,
    drop_missing_target: options.DropMissingTarget = False,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="The column that says which rows belong together, such as a patient: one row of "
            "each is drawn. The claims are about a random row of a new group. Repeatable: "
            "then about a new combination."
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The label of the data for which the models answer 1, or the second of their two "
            "labels, where they answer otherwise than the data is written."
        ),
    ] = None,
    delta: options.Delta = options.DELTA,
    seed: Annotated[
        int, typer.Option(help="The seed of the draw from groups. Fix it before you look.")
    ] = options.SEED,
    out: options.Out = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Certify a new model, and how much more often it errs than an old one on the same rows.

    Nine tenths of delta are for the difference, one is for the error of the new model. Written are
    certificate.json, which is about the new model, report.html, and both models.

    The exit status is 0 if it is shown that the new model is not worse by more than the margin, 1
    if it is not shown, 2 for errors: so it can be a gate in a pipeline.
    """
    from .._utils.validation import check_number

    check_number("--margin", margin, 0.0, 1.0)
    asked = options.asked(
        drop,
        categorical,
        target=target,
        group=group,
        na_values=na_values,
        keep_na=keep_na,
        drop_missing_target=drop_missing_target,
    )
    gate = _Gate(old, new, delta, seed, positive)
    result = gate.run(data, asked, out, quiet or as_json)
    certificate, claim = result["certificate"], result["difference"]
    shown = claim.upper <= margin
    if as_json:
        said = {"shown": shown, "margin": margin, "difference": claim.to_dict()}
        said |= {"statement": claim_of(certificate), "certificate": certificate.to_dict()}
        print_json({**said, "files": result["files"]})
    else:
        _print_result(certificate, claim, result["files"], shown, margin, quiet)
    return 0 if shown else 1


@dataclass
class _Gate:
    """Two model files, and how they are compared."""

    old: Path
    new: Path
    delta: float
    seed: int
    positive: str | None

    def run(self, data: list[str], asked: "Asked", out: Path | None, quiet: bool) -> dict[str, Any]:
        """Compare the models on a table, and write the results."""
        from ..bounds import bound_at
        from .models import load_model, read_for

        bound_at(None, self.delta).check_parameters()
        files, models, tables = self._files(), [], []
        for path in (self.old, self.new):
            models.append(load_model(path, quiet))
            if isinstance(models[-1], list | tuple):
                raise ValueError(f"{path} holds several classifiers: give one model.")
            with _about(path):
                tables.append(read_for(models[-1], data, asked, self.positive))
        table = tables[1]
        folder = results_folder(out, table.name, "difference", (*files, REPORT, CERTIFICATE))
        for path in (self.old, self.new):
            if any((folder / name).exists() and path.samefile(folder / name) for name in files):
                raise ValueError(f"{path} would be written over: name another folder with --out.")
        with without_findings(table, quiet, []) as found:
            certificate = table.annotate(self._certified(models, tables))
            found += certificate.findings
        details = {"data": ", ".join(data), "model": MODEL, "from": str(self.new)}
        page = {"details": details, "table": table.reading or None}
        certificate, written = write_results(folder, files, certificate, page)
        return {
            "certificate": certificate,
            "difference": certificate.claims[1],
            "files": [str(path) for path in written],
        }

    def _files(self) -> dict[str, Callable[[Path], object]]:
        """Return how the two models are written beside the certificate, as they are now."""
        names = [SAFE_MODEL if is_safe(self.new) else MODEL, f"{OLD_MODEL}{self.old.suffix}"]
        return {
            name: partial(copy_model, path, file_sha256(path) if path.is_file() else None)
            for name, path in zip(names, (self.new, self.old), strict=True)
        }

    def _certified(self, models: list[Any], tables: list["Table"]) -> "Certificate":
        """Certify the new model, and its difference to the old one."""
        from ..claims import DifferenceFamily
        from ..classifiers import certify_model, shares_of_difference
        from .models import blame, compared

        same = self.old.stem == self.new.stem
        family = DifferenceFamily(old="old" if same else self.old.stem)
        model, table = models[1], tables[1]
        with _about(self.old):
            by = {family.old: compared(models[0], tables[0], self.positive)}
        try:
            return certify_model(
                *(model, table.X, table.y),
                delta=self.delta,
                positive=self.positive,
                groups=table.groups,
                seed=self.seed,
                claims=[family],
                by=by,
                shares=shares_of_difference(family),
            )
        except Exception:
            with _about(self.new):
                blame(model, table, self.positive)
            raise


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Say in an error which of the models it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _print_result(
    certificate: "Certificate",
    claim: "Claim",
    files: list[str],
    shown: bool,
    margin: float,
    quiet: bool,
) -> None:
    """Print what was found, both claims, and the verdict last."""
    for text in certificate.findings:
        say(f"Found, and throws doubt on the claim: {text}", style="bold red")
    if not quiet:
        counts = claim.evidence
        say(
            f"On {counts['n_samples']} rows only the new model errs {counts['only_new_errs']} "
            f"times, and only the old one {counts['only_old_errs']} times."
        )
        say(f"Written to {Path(files[0]).parent}: {', '.join(Path(file).name for file in files)}.")
    say(claim_of(certificate))
    say(f"With the same confidence, at once: {claim.statement}", style="bold")
    verdict = "It is shown" if shown else "It is not shown"
    say(f"{verdict} that the new model is not worse by more than {margin:g}.", style="bold")
