"""Stage `reference`: chance, most popular items and best possible lists; it reads no model."""

from dataclasses import replace

from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError, format_count, refuse
from concord.metrics_core.evaluation.reference import compute_references
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.reference import NAMES, References
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import reference_file
from concord.pipeline.params.read import refuse_values
from concord.pipeline.running.outputs import prepare_folders, remove_background, write_json
from concord.pipeline.stages.evaluation_data import evaluation_data
from concord.pipeline.stages.load import read_conventions


def main(params: Params) -> str:
    """Write reference.json; return what it holds as text."""
    refuse_values(params)
    prepare_folders(params.results, params.results.reference)
    remove_background(params)
    references = compute(params)
    content = {
        "values_version": VALUES_VERSION,
        "fingerprint": params.resolved_conventions.fingerprint,
        "references": to_plain(references),
    }
    write_json(reference_file(params), content)
    if references is None:
        return "none: folds have different ground truths, or no metric has references"
    means = references.values
    known = {kind for each in means for kind in NAMES if vars(each)[kind] is not None}
    names = [name for kind, name in NAMES.items() if kind in known]
    return f"{', '.join(names)} of {format_count(len(means), 'metric')}"


def compute(params: Params) -> References | None:
    """Return the references of the loaded tables; None if there are none."""
    conventions = replace(params.resolved_conventions, exclude=read_conventions(params).exclude)
    lists_unknown_items = params.input.unknown_items == "keep"
    try:
        return compute_references(
            params.list_labels,
            conventions,
            evaluation_data(params),
            lists_unknown_items=lists_unknown_items,
        )
    except InputError:
        raise
    except ValueError as error:
        fix = "change the convention that is named, or the data"
        raise refuse(f"{PARAMS}: conventions", str(error), fix) from error
