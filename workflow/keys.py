"""Write the table of keys in config/README.md from the schemas; `--check` says if it is old.

python workflow/keys.py [--check]
"""

import sys
from pathlib import Path

from headwater.core.config import load_schema

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "config/README.md"
MARK = "<!-- keys: written by `make keys` from workflow/schemas -->\n"


def kind(schema):
    """Return the type of a key in words, with its range."""
    if "enum" in schema:
        return "one of " + ", ".join(f"`{v}`" for v in schema["enum"])
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(kind(s) for s in schema.get("anyOf") or schema["oneOf"])
    name = schema.get("type", "any")
    name = " or ".join(name) if isinstance(name, list) else name
    if name == "array" and "items" in schema:
        name = f"list of {kind(schema['items'])}"
    limits = [
        f"{sign} {schema[key]}"
        for key, sign in (
            ("minimum", "≥"),
            ("exclusiveMinimum", ">"),
            ("maximum", "≤"),
            ("exclusiveMaximum", "<"),
        )
        if key in schema
    ]
    return " ".join([name, *limits])


def default(schema):
    """Return the default of a key as text."""
    if "default" not in schema or schema["default"] == {}:
        return ""
    text = str(schema["default"])
    return f"`{text}`" if len(text) <= 60 else "see the schema"


def rows(schema, prefix=""):
    """Yield one table row per key, in the order of the schema."""
    for key, part in schema.get("properties", {}).items():
        name = f"{prefix}{key}"
        nested = part.get("type") == "object" and "properties" in part
        listed = part.get("type") == "array" and "properties" in part.get("items", {})
        text = " ".join(part.get("description", part.get("title", "")).split())
        yield f"| `{name}` | {'block' if nested else kind(part)} | {default(part)} | {text} |"
        if nested:
            yield from rows(part, name + ".")
        if listed:
            yield from rows(part["items"], name + "[].")
        named = part.get("additionalProperties")
        if isinstance(named, dict) and "properties" in named:
            yield from rows(named, name + ".NAME.")


def text():
    """Return the whole file with a fresh table."""
    head = README.read_text().split(MARK)[0]
    schema = load_schema(ROOT / "workflow/schemas/config.schema.yaml")
    table = [
        "| key | type and range | default | what it sets |",
        "|---|---|---|---|",
        *rows(schema),
    ]
    return head + MARK + "\n" + "\n".join(table) + "\n"


if __name__ == "__main__":
    fresh = text()
    if "--check" not in sys.argv:
        README.write_text(fresh)
    elif README.read_text() != fresh:
        sys.exit("config/README.md is not in step with workflow/schemas; run `make keys`")
