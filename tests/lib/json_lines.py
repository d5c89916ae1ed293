"""Hold lines of bpk --json against the schema: json_lines.py SCHEMA [FILE].

Knows the words of JSON Schema, draft 2020-12, that the schema uses, and refuses others.
Prints each violation, or the number of lines.
"""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
         "integer": int, "number": (int, float)}
NOTES = {"$schema", "$defs", "title", "description"}


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name in ("boolean",) or not isinstance(value, bool))


def equal(a, b):
    return type(a) is type(b) and a == b


class Schema:
    def __init__(self, root):
        self.root = root

    def resolve(self, ref):
        assert ref.startswith("#/"), ref
        found = self.root
        for key in ref[2:].split("/"):
            found = found[key]
        return found

    def holds(self, value, schema):
        return not list(self.faults(value, schema, ""))

    def members(self, value, schema, at):
        """Members of an object, and those that no word names."""
        patterns = schema.get("patternProperties", {})
        for key, member in value.items():
            named = [s for pattern, s in patterns.items() if re.search(pattern, key)]
            if key in schema.get("properties", {}):
                named.append(schema["properties"][key])
            for one in named:
                yield from self.faults(member, one, f"{at}.{key}")
            if not named and schema.get("additionalProperties", True) is False:
                yield f"{at}.{key} is unknown"

    def faults(self, value, schema, at):
        for word, want in schema.items():
            if word == "type":
                names = want if isinstance(want, list) else [want]
                if not any(is_type(value, name) for name in names):
                    yield f"{at}: {value!r} is no {want}"
            elif word == "const":
                if not equal(value, want):
                    yield f"{at}: {value!r} is not {want!r}"
            elif word == "enum":
                if not any(equal(value, one) for one in want):
                    yield f"{at}: {value!r} is not in {want}"
            elif word == "minimum":
                if isinstance(value, (int, float)) and value < want:
                    yield f"{at}: {value} is below {want}"
            elif word == "required":
                if isinstance(value, dict):
                    yield from (f"{at}.{key} is missing" for key in want if key not in value)
            elif word == "items":
                if isinstance(value, list):
                    for i, one in enumerate(value):
                        yield from self.faults(one, want, f"{at}[{i}]")
            elif word == "anyOf":
                if not any(self.holds(value, one) for one in want):
                    yield f"{at}: no choice of anyOf holds"
            elif word == "allOf":
                for one in want:
                    yield from self.faults(value, one, at)
            elif word == "if":
                if self.holds(value, want):
                    yield from self.faults(value, schema["then"], at)
            elif word == "$ref":
                yield from self.faults(value, self.resolve(want), at)
            elif word not in NOTES | {"then", "properties", "patternProperties",
                                      "additionalProperties"}:
                raise SystemExit(f"the schema has the word {word}")
        if isinstance(value, dict) and ("properties" in schema or "patternProperties" in schema):
            yield from self.members(value, schema, at)


def refuse(text):
    raise ValueError(f"{text} is no JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key is repeated in {keys}")
    return dict(pairs)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        root = json.load(file)
    schema = Schema(root)
    source = open(sys.argv[2], "rb") if len(sys.argv) > 2 else sys.stdin.buffer
    count, bad = 0, False
    for count, line in enumerate(source, 1):
        value = json.loads(line.decode("utf-8"), parse_constant=refuse, object_pairs_hook=unique)
        for fault in schema.faults(value, root, ""):
            print(f"line {count}: {fault}: {line.decode()[:400]}")
            bad = True
    print(count)
    return 1 if bad else 0


sys.exit(main())
