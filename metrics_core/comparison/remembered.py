"""The inputs that a Comparison remembers, for its methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

from concord.metrics_core.comparison.call import ComparisonCall
from concord.metrics_core.comparison.compute import build_comparison
from concord.metrics_core.comparison.described_inputs import describe_inputs
from concord.metrics_core.comparison.inputs import ComparisonInput, table_settings
from concord.metrics_core.comparison.replicate_config import (
    REPLICATES,
    parse_truths,
    split_replicates,
)
from concord.metrics_core.data.arguments import open_table, split_truth
from concord.metrics_core.data.hashes import hash_frame
from concord.metrics_core.data.model import lists_of
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_methods import analysis, load_function
from concord.metrics_core.results.text_format import join_names


@dataclass(frozen=True)
class RememberedInputs:
    """The call of `compare`, and the hash of each of its tables at that time."""

    call: ComparisonCall
    hashes: Mapping[str, str]

    def run(self, name: str, /, **arguments: Any) -> Any:
        """Return the result of an analysis of the unchanged inputs."""
        self._refuse_changes(self._least_call())
        function = analysis(name)
        known, unit = signature(function).parameters, self.call.options.unit
        if unit and "unit" not in known:
            problem = f"needs users as the unit, and the unit is {join_names([*unit])}"
            raise refuse(f"comparison.{name}", problem, "compare lists of users")
        given = {name: value for name, value in self._arguments().items() if name in known}
        return function(**{**given, **arguments})

    def one_model(self, model: str) -> dict[str, Any]:
        """Return the lists of a model, or of one replicate, with their ground truth."""
        arguments = self._arguments()
        lists, replicates = split_replicates(arguments["models"])
        if model not in lists:
            fix = f"name one of {join_names([*lists])}"
            raise refuse("model", f"{model!r} has no lists of its own", fix)
        replicate_of = {
            name: (owner, number)
            for owner, names in replicates.items()
            for number, name in names.items()
        }
        owner, number = replicate_of.get(model, (model, NO_FOLD))
        truths = parse_truths(arguments["truth"])
        columns = {**(self.call.columns or {})}
        own = {"recs": columns.pop(owner)} if owner in columns else {}
        return {
            "recs": lists[model],
            "truth": truths.get(NO_FOLD, truths.get(number)),
            "columns": {n: v for n, v in columns.items() if n not in self.call.models} | own,
        }

    def compare_again(self, **options: Any) -> Comparison:
        """Return the comparison of the unchanged inputs with other options."""
        call = replace(self.call, options=replace(self.call.options, gate=None, **options))
        inputs = self._refuse_changes(call)
        return remember(build_comparison(inputs), call, inputs)

    def save(self, comparison: Comparison, path: Path) -> Path:
        """Write the decision of the unchanged inputs as one file."""
        return _write(path, comparison, self._refuse_changes(self.call))

    def _least_call(self) -> ComparisonCall:
        """Return the call without what depends on its results: panel, gate, segments and checks."""
        rules = replace(self.call.options, gate=None, segments=None, checks=None, acknowledge=None)
        return replace(self.call, options=replace(rules, panel=False))

    def _refuse_changes(self, call: ComparisonCall) -> ComparisonInput:
        """Return the evaluated inputs of a call.

        Raises
        ------
        InputError
            A table has changed since the comparison.
        """
        inputs = call.evaluate()
        now = input_hashes(inputs)
        fix = "compare again: this comparison is that of other data"
        raise_problems(
            Problem(name, "has changed since the comparison", fix)
            for name in {**self.hashes, **now}
            if now.get(name) != self.hashes.get(name)
        )
        return inputs

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of an analysis; filtered tables as opened ones."""
        call, options = self.call, self.call.options
        lists, replicates = split_replicates(call.models)
        names, where = table_settings(
            call.columns, options.where, lists, call.side_data, replicates
        )

        def filtered(name: str, data: Any) -> Any:
            if data is None or not where.get(name):
                return data
            role = "recs" if name in lists else name
            return replace(open_table(name, data, names, role=role), where=where[name])

        read = {name: filtered(name, lists_of(each)) for name, each in lists.items()}
        models = {
            model: {REPLICATES: {number: read[name] for number, name in numbers.items()}}
            if (numbers := replicates.get(model))
            else read[model]
            for model in call.models
        }
        truth: Any = call.truth
        if where.get("truth"):
            truths = {
                fold: _map_first(filtered, each) for fold, each in parse_truths(truth).items()
            }
            truth = truths.get(NO_FOLD, {REPLICATES: truths})
        return {
            "models": models,
            "truth": truth,
            **call.side_data,
            "train": filtered("train", call.train),
            "baseline": call.baseline,
            "conventions": call.conventions,
            "columns": call.columns,
            "segments": options.segments,
            "input": options.input,
            "unit": options.unit,
            "words": options.words,
            "confidence": options.confidence,
            "title": options.title,
        }


@dataclass(frozen=True)
class RememberedValues:
    """The values of another tool, which can be saved."""

    inputs: ComparisonInput

    def save(self, comparison: Comparison, path: Path) -> Path:
        """Write the decision as one file."""
        return _write(path, comparison, self.inputs)


def _write(path: Path, comparison: Comparison, inputs: ComparisonInput) -> Path:
    write = load_function("decision.write_decision", "write_decision")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    try:
        write(temporary, comparison, inputs)
        return temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def with_inputs(
    comparison: Comparison, remembered: RememberedInputs | RememberedValues
) -> Comparison:
    """Attach the inputs to a comparison, and return it."""
    vars(comparison)["_inputs"] = remembered
    return comparison


def remember(comparison: Comparison, call: ComparisonCall, inputs: ComparisonInput) -> Comparison:
    """Return the comparison with its inputs, and with what was chosen for it."""
    chosen = replace(comparison, chosen=call.chosen)
    return with_inputs(chosen, RememberedInputs(call, input_hashes(inputs)))


def _map_first(filtered: Callable[[str, Any], Any], truth: Any) -> list[Any]:
    """Return the filtered ground truth, and the tables with more judgements as they are."""
    first, others = split_truth(truth)
    return [filtered("truth", first), *others.values()]


def input_hashes(inputs: ComparisonInput) -> dict[str, str]:
    """Return the content id of each table: of a file, or of the columns of a frame."""
    named = inputs.data.named_users
    users = {} if named is None else {"users of the truth": hash_frame(read_frame(named))}
    return users | {
        f"{'' if each.role == 'lists' else each.role} {each.name}".strip(): each.sha256
        for each in describe_inputs(inputs)
    }
