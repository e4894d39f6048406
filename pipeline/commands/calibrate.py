"""`concord calibrate FILE`: which offline metric, cutoff and definition agreed with past A/B experiments?"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from concord.metrics_core.analyses.calibrate import Agreement, Calibration, calibrated
from concord.metrics_core.analyses.calibrate_experiments import (
    PINNED,
    Experiment,
    offline_of,
    read_experiments,
    revision_of,
)
from concord.metrics_core.errors import InputError, Problem, in_words
from concord.metrics_core.results.comparison import Comparison
from concord.pipeline.commands.leaderboard import comparison_of
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.dvc.revision import comparison_at
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import refuse_folder, write_named_table
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing import numbers

SHOWN = 12  # rows of an online metric
_DIGITS = 2


def calibrate(file: str, csv: str | None, *, force: bool) -> None:
    """Prints the labels that agreed best with each online metric, and what may be said of it; all rows go to `csv`.

    Raises
    ------
    InputError : the file cannot be read, or names a model or a revision that is not there; `csv` may not be written
    """
    refuse_folder("--csv", csv)
    experiments = read_experiments(Path(file))
    params = read_params()
    today = comparison_of(params)
    comparisons = {"": today, **_former(experiments, today)}
    offline = offline_of(experiments, comparisons)
    found = calibrated(offline, today.primary[0], today.confidence)
    warn_if_stale(params)
    if csv is not None:
        write_named_table("--csv", csv, found.table, force=force)
    _print(found, len(experiments))


def _former(experiments: Sequence[Experiment], today: Comparison) -> dict[str, Comparison]:
    """Every revision that is named, read once; all that are not there are refused at once."""
    places: dict[str, str] = {}
    for each in experiments:
        for named in (each.control, each.treatment):
            _, revision = revision_of(named, today.models)
            places.setdefault(revision, each.where)
    places.pop("", None)
    found: dict[str, Comparison] = {}
    problems: list[Problem] = []
    for revision, where in places.items():
        try:
            found[revision] = comparison_at(revision)
        except InputError as error:
            problems += [Problem(where, f"{each.where}: {each.what}", each.fix) for each in error.problems]  # fmt: skip
    if problems:
        raise InputError(problems)
    return found


def _print(found: Calibration, given: int) -> None:
    out = console()
    out.print(f"{len(found.experiments)} of {in_words(given, 'experiment')} compared", style="bold")
    for each in found.skipped:
        out.print(f"skipped: {each.experiment}: {each.why}")
    for online in found.online:
        rows = found.of(online)
        out.print()
        shown = list(_shown(rows, found.reference))
        share = f"{100 * found.confidence:.12g} %"
        head = (online, "definition", "signs", f"{share} interval", "tau", f"{share} interval", "p")  # fmt: skip
        print_table(head, [_cells(row) for row in shown])
        if len(rows) > len(shown):
            out.print(f"… {len(rows) - len(shown)} more: `--csv FILE` writes all")
        out.print()
        for sentence in found.sentences[online]:
            out.print(sentence)


def _shown(rows: Sequence[Agreement], reference: str) -> Iterator[Agreement]:
    """The best, and the label that decides today wherever it stands."""
    for place, row in enumerate(rows):
        if place < SHOWN or (row.label, row.definition) == (reference, PINNED):
            yield row


def _cells(row: Agreement) -> tuple[str, ...]:
    return (
        row.label,
        row.definition,
        f"{row.agree}/{row.n}",
        numbers.interval(row.low, row.high, _DIGITS) or numbers.MISSING,
        numbers.signed(row.tau, _DIGITS),
        numbers.signed_interval(row.tau_low, row.tau_high, _DIGITS) or numbers.MISSING,
        numbers.p_value(row.p_tau_best),
    )
