"""The command `concord`. Each command imports what it needs when it runs, so that help answers at once."""

import argparse
import sys
from collections.abc import Callable, Sequence

Command = Callable[[argparse.Namespace], None]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the command line names."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if "command" not in chosen:
        parser.print_help()
        return
    from pipeline.stage import run

    sys.argv = [sys.argv[0], *(["--debug"] if chosen.debug else [])]
    run(lambda: chosen.command(chosen))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="concord",
        description="Recommender evaluation that is pinned, reproducible and explainable. "
        "The pipeline itself runs by `dvc repro`.",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands")
    _add(commands, "metrics", _metrics, "the metrics, their formulas and sources")
    presets = _add(commands, "presets", _presets, "the named conventions, or the knobs of one")
    presets.add_argument("name", nargs="?", help="a preset, such as standard")
    explain = _add(commands, "explain", _explain, "how one user's number came about")
    explain.add_argument("user", help="a user's id")
    explain.add_argument("metric", help="a label, such as nDCG@10")
    explain.add_argument("--model", required=True, help="a model of params.yaml")
    return parser


def _add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, command: Command, said: str) -> argparse.ArgumentParser:  # fmt: skip
    parser = commands.add_parser(name, help=said, description=said)
    parser.set_defaults(command=command)
    return parser


def _metrics(_: argparse.Namespace) -> None:
    from metrics_core.catalogue import CATALOGUE

    _print_table(
        ("metric", "formula", "conventions", "source"),
        [(m.name, m.formula, ", ".join(m.knobs), m.source) for m in CATALOGUE],
    )


def _presets(chosen: argparse.Namespace) -> None:
    from metrics_core.conventions import KNOB
    from metrics_core.presets import describe, preset, presets
    from pipeline.checks import refuse

    if chosen.name is None:
        _print_table(("preset", "stands for"), [(name, describe(name)) for name in presets()])
        return
    try:
        knobs = preset(chosen.name).knobs()
    except ValueError as error:
        what, fix = str(error).split("\n  fix: ")
        raise refuse("command line", what, fix) from None
    rows = [
        (name, _word(value), KNOB[name].means(value) or KNOB[name].sentence)
        for name, value in knobs.items()
    ]
    _print_table(("convention", "value", "meaning"), rows)


def _explain(chosen: argparse.Namespace) -> None:
    from pathlib import Path

    import polars as pl

    import metrics_core as mc
    from pipeline.checks import refuse
    from pipeline.params import read_params

    params = read_params()
    if chosen.model not in params.models:
        known = ", ".join(params.models)
        raise refuse(
            "command line", f"{chosen.model!r} is not among the models", f"name one of: {known}"
        )
    paths = [
        Path(params.results.lists) / f"{chosen.model}.parquet",
        Path(params.results.data) / "truth.parquet",
    ]
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise refuse(missing[0], "is not there yet", "run `dvc repro` first")
    lists, truth = (pl.read_parquet(path, glob=False) for path in paths)
    try:
        mc.explain(lists, truth, user=chosen.user, metric=chosen.metric, conventions=params.pinned)
    except ValueError as error:
        raise refuse(
            "command line", str(error), "name a user of the data and a metric of the catalogue"
        ) from None


def _word(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_word(inner)}" for name, inner in value.items())
    return "null" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)


if __name__ == "__main__":
    main()
