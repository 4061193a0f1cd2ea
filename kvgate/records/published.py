"""The JSON Schema of a record's front matter, for editors and for records kept elsewhere."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from kvgate.records.address import SITE
from kvgate.records.schema import FrontMatter

__all__ = ["ADDRESS", "record_schema"]

ADDRESS = f"{SITE}schema/record.schema.json"
"""Where the schema is published; a record names it for the editor of whoever writes it."""


def record_schema() -> dict[str, Any]:
    """The schema as JSON Schema 2020-12, made from the model that records are read with.

    It says as much as JSON Schema can; versions, names of the catalogue and what needs other
    records remain the linter's.
    """
    schema = FrontMatter.model_json_schema(schema_generator=_Written)
    definitions = schema["$defs"]
    for name in ("Hit", "Miss"):
        definitions[name]["oneOf"] = [{"required": ["run"]}, {"required": ["file"]}]
    definitions["Affects"]["not"] = {"required": ["fixed", "last_affected"]}
    schema["dependentRequired"] = {"hits": ["rule"], "misses": ["rule"], "rule": ["hits", "misses"]}
    schema["allOf"] = [
        {
            "if": _status("superseded", "withdrawn"),
            "then": {"required": ["reason"]},
            "else": {"not": {"required": ["reason"]}},
        },
        {
            "if": _status("superseded"),
            "then": {"required": ["related"], "properties": {"related": {"contains": _SUCCESSOR}}},
        },
        {"if": _status("active"), "then": {"required": ["verified"]}},
    ]
    schema["title"] = "kvgate record"
    return {"$schema": GenerateJsonSchema.schema_dialect, "$id": ADDRESS, **schema}


_SUCCESSOR = {"properties": {"type": {"const": "superseded-by"}}}


def _status(*values: str) -> dict[str, Any]:
    return {"properties": {"status": {"enum": list(values)}}, "required": ["status"]}


class _Written(GenerateJsonSchema):
    """Without what the models allow in Python alone: in a file, a key that is there has a value."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])
