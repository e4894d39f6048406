"""A model's lists for definitions that rank them otherwise: read again from its file."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.load_tables import load_recommendations
from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import create_view
from concord.metrics_core.evaluation.list_rankings import ModelLists
from concord.pipeline.params.model import ListsFile, Params
from concord.pipeline.params.paths import ModelFiles
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.running.outputs import spill_folder
from concord.pipeline.stages.evaluate import definition_means
from concord.pipeline.stages.load import file_sink, input_policies, lists_file, read_conventions


class ListFiles:
    """Files of a model's lists: the stored one, and one for each other ranking.

    Raises
    ------
    InputError
        If the model's own file is missing or unknown; `file` raises if it cannot be ranked so.
    """

    def __init__(self, params: Params, model: str, folder: Path) -> None:
        entry = params.models[model]
        assert isinstance(entry, ListsFile)
        self.params, self.entry, self.folder = params, entry, folder
        self.table = lists_file(params, model, entry)
        self.stored = ModelFiles.of_model(params.results, model).lists
        self.files: dict[Ranking, Path] = {}

    def file(self, ranking: Ranking) -> Path:
        """Return the file of the lists under a ranking."""
        first, *others = self.params.resolved_conventions.rankings
        has_same_copies = first.duplicates in {ranking.duplicates, "error"}  # or no copies at all
        if (
            not others
            and has_same_copies
            and first == ranking._replace(duplicates=first.duplicates)
        ):
            return self.stored
        if ranking not in self.files:
            conventions = replace(
                read_conventions(self.params),
                overrides={},
                **{name: value for name, value in ranking._asdict().items() if name != "exclude"},
            )
            path = self.folder / f"{len(list(self.folder.iterdir()))}.parquet"
            with isolated_connection() as connection, file_sink(path, self.table.path) as sink:
                policies, order = input_policies(self.params), self.entry.order
                load_recommendations(
                    connection, self.table, policies, conventions, sink, order=order
                )
            self.files[ranking] = path
        return self.files[ranking]

    def frame(self, ranking: Ranking) -> pl.DataFrame:
        """Return the lists under a ranking."""
        return pl.read_parquet(self.file(ranking), glob=False)


@contextmanager
def model_lists(params: Params, models: Iterable[str]) -> Iterator[dict[str, ModelLists]]:
    """Yield the lists of each model, ranked as definitions need; raises as `ListFiles`."""
    with spill_folder() as folder, ExitStack() as stack:

        def lists_of(model: str) -> ModelLists:
            files = ListFiles(params, model, Path(folder))
            ranked = [files.stored]  # the lists as they were ranked last

            def rank(ranking: Ranking) -> DuckDBPyConnection:
                ranked[0] = files.file(ranking)
                connection = stack.enter_context(connect(reads=ranked))
                create_view(connection, "lists", ranked[0])
                return connection

            return ModelLists(
                rank,
                lambda conventions, definitions: definition_means(
                    params, model, ranked[0], conventions, definitions
                ),
            )

        yield {model: lists_of(model) for model in models}
