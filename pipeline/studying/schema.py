"""The JSON Schema of study.yaml, for editors."""

from typing import Any

from concord.pipeline.studying.model import StudyFile


def study_schema() -> dict[str, Any]:
    """What pydantic knows of the keys; a data set may be a plain text, the folder."""
    schema = StudyFile.model_json_schema()
    datasets = schema["properties"]["datasets"]
    folder = {"type": "string", "minLength": 1}
    datasets["additionalProperties"] = {"anyOf": [folder, datasets["additionalProperties"]]}
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "study.yaml of Concord"
    return schema
