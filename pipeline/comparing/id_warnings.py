"""What the ids of lists say: files that are the same, ids that are written otherwise than in the truth."""

from collections.abc import Iterator, Mapping

from pipeline.comparing.evaluations import Evaluation
from pipeline.comparing.phrases import counted, listed
from pipeline.comparing.warning import NOTICE, SERIOUS, Row, warning


def id_warnings(evaluations: Mapping[str, Evaluation]) -> Iterator[Row]:
    yield from _same_file(evaluations)
    yield from _spelled_otherwise(evaluations)
    yield from _no_common_item(evaluations)
    yield from _not_in_catalogue(evaluations)


def _same_file(evaluations: Mapping[str, Evaluation]) -> Iterator[Row]:
    models = list(evaluations)
    hashes = {m: evaluations[m].quality.get("sha256") for m in models}
    for n, model in enumerate(models):
        twins = [m for m in models[n + 1 :] if hashes[m] and hashes[m] == hashes[model]]
        if twins and hashes[model] not in [hashes[m] for m in models[:n]]:
            yield warning(
                "same_file",
                SERIOUS,
                [model, *twins],
                f"{listed([model, *twins])} are the same file, byte for byte.",
                "name the file that each model left, or remove the copies",
            )


def _spelled_otherwise(evaluations: Mapping[str, Evaluation]) -> Iterator[Row]:
    for kind in ("users", "items"):
        counts = {m: _fit(e, kind).get("alike", 0) for m, e in evaluations.items()}
        who = [model for model, count in counts.items() if count]
        if who:
            most = max(who, key=counts.__getitem__)
            yield warning(
                "spelled_otherwise",
                SERIOUS,
                who,
                f"Up to {counted(counts[most], kind.removesuffix('s'))} of the lists ({most}) would match the truth "
                "but for capitals or leading zeros; as they are, they do not.",
                "write ids alike in all files",
            )


def _no_common_item(evaluations: Mapping[str, Evaluation]) -> Iterator[Row]:
    fits = {model: _fit(each, "items") for model, each in evaluations.items()}
    who = [model for model, fit in fits.items() if fit.get("listed") and not fit["known"]]
    if who:
        yield warning(
            "no_common_item",
            SERIOUS,
            who,
            "No item of the lists stands in the truth, for any user.",
            "check that both files name items by the same ids",
        )


def _not_in_catalogue(evaluations: Mapping[str, Evaluation]) -> Iterator[Row]:
    rows = {m: e.summary.get("fit", {}).get("unknown_items") or 0 for m, e in evaluations.items()}
    who = [model for model, count in rows.items() if count]
    if who:
        most = max(who, key=rows.__getitem__)
        yield warning(
            "not_in_catalogue",
            NOTICE,
            who,
            f"Up to {counted(rows[most], 'row')} of the lists ({most}) hold items that the catalogue lacks; "
            "`input.unknown_items: keep` let them pass. Coverage and Gini of the catalogue leave them out.",
            "add them to the catalogue, or leave them out of the lists",
        )


def _fit(evaluation: Evaluation, kind: str) -> Mapping[str, int]:
    found: Mapping[str, int] = evaluation.summary.get("fit", {}).get(kind, {})
    return found
