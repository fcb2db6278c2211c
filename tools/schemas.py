"""The one place that touches jsonschema (untyped): check values against a JSON schema."""

import importlib
from typing import Any


def schema_problems(schema: dict[str, Any], value: Any) -> str:
    """What is wrong with a value, in words; empty when it fits.

    References are resolved inside the schema only: a schema that came from a foreign server must not make this
    process fetch addresses.
    """
    jsonschema = importlib.import_module("jsonschema")
    referencing = importlib.import_module("referencing")
    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    try:
        errors = sorted(validator.iter_errors(value), key=str)
    except Exception as error:  # an unresolvable reference, or a schema that is none
        return f"the tool's own schema can not be used: {error}"
    return "; ".join(f"{error.json_path}: {error.message}" for error in errors)
