# SPDX-License-Identifier: BSD-2-Clause
# Shared by tests of docs/json: schemas that also refuse members without a description.
"""Validators(folder)[name] validates a JSON value strictly."""
import json
import os

import jsonschema


def strict(schema, schemas):
    """The schema with references replaced, and without members that the schema does not name."""
    if isinstance(schema, list):
        return [strict(part, schemas) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: value if key in ("enum", "const", "required") else
              {name: strict(part, schemas) for name, part in value.items()} if key == "properties" else strict(value, schemas)
              for key, value in schema.items()}
    if "$ref" in schema:
        other = strict(schemas[schema.pop("$ref").replace(".schema.json", "")], schemas)
        schema["properties"] = {**other["properties"], **schema.get("properties", {})}
        schema["required"] = sorted({*other.get("required", ()), *schema.get("required", ())})
        schema["type"] = other["type"]
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    schema.pop("$id", None)
    return schema


class Validators(dict):
    def __init__(self, folder):
        super().__init__()
        self.schemas = {}
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                self.schemas[name.replace(".schema.json", "")] = json.load(file)
        for name, schema in self.schemas.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self[name] = jsonschema.Draft202012Validator(strict(schema, self.schemas))

    def wrong(self, name, value):
        """Returns what is wrong with the value; None: nothing."""
        for error in self[name].iter_errors(value):
            # Of alternatives, the one that the type chooses.
            if error.context:
                near = [part for part in error.context if list(part.absolute_path) != ["type"]]
                chosen = {part.schema_path[0] for part in error.context if list(part.absolute_path) == ["type"]}
                near = [part for part in near if part.schema_path[0] not in chosen] or near
                error = near[0] if near else error
            return f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        return None

    def members(self):
        """All names of members in all schemas."""
        found = set()

        def walk(schema):
            if isinstance(schema, list):
                for part in schema:
                    walk(part)
            elif isinstance(schema, dict):
                if isinstance(schema.get("properties"), dict):
                    found.update(schema["properties"])
                for part in schema.values():
                    walk(part)
        for schema in self.schemas.values():
            walk(schema)
        return found
