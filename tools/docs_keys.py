"""The pages of the keys of a configuration file, from what `tiderace schema` prints.

A page for each key: what it is for, its form, its default, where it may stand, its flag, what nginx
and Caddy call it, an example. tests/test_config_schema.py gives the examples to `tiderace check`.
"""

import json
import os
import subprocess

from children import BUILD, ROOT

TITLES = {"file_cache": "[server.file_cache]", "certificate": "[[tls.certificate]]"}
TITLES |= {"route": "[[site.route]]", "preset": "[preset.NAME]"}
FORMS = {
    "#/$defs/time": 'a time: `"500ms"`, `"10s"`, `"2m"`, `"1h"`, `"1d"`',
    "#/$defs/size": 'a size: `"4096"` (bytes), `"64KiB"`, `"1MiB"`, `"1GiB"`; `"64KB"` is 64,000',
}
NAMES = {
    "string": "a string",
    "boolean": "`true` or `false`",
    "array": "a list",
    "number": "a number",
    "object": "a table",
}


def program():
    """A tools program of this checkout: the newest, or one that is built for it."""
    found = [it for it in BUILD.glob("*/tiderace-tools") if os.access(it, os.X_OK)]
    if not found:
        subprocess.run([ROOT / "dev", "build", "release", "tiderace-tools"], check=True)
        found = list(BUILD.glob("*/tiderace-tools"))
    return max(found, key=lambda it: it.stat().st_mtime)


def read_schema():
    done = subprocess.run([program(), "schema"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def toml(value):
    if isinstance(value, dict):
        pairs = (f"{name(key)} = {toml(inner)}" for key, inner in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def name(key):
    return key if key.replace("-", "").replace("_", "").isalnum() else json.dumps(key)


def form(text):
    """The form of a value, for a person."""
    if text.get("$ref") in FORMS:
        return FORMS[text["$ref"]]
    if "$ref" in text:
        return "a table"
    if "anyOf" in text:
        parts = [form(it) for it in text["anyOf"] if it.get("$ref") != "#/$defs/variable"]
        return ", or ".join(parts)
    if "const" in text:
        return f"`{json.dumps(text['const'])}`"
    if "enum" in text:
        return ", ".join(f"`{json.dumps(it)}`" for it in text["enum"])
    if text["type"] == "integer":
        return f"a whole number from {text['minimum']:,} to {text['maximum']:,}"
    if isinstance(text["type"], list):
        return " or ".join(NAMES[it] for it in text["type"])
    if text["type"] == "array" and "$ref" in text["items"]:
        return "a list of tables"
    return NAMES[text["type"]]


def words_of(text):
    """{"nginx": "listen", "flag": "--listen"}"""
    return dict(it.split(": ", 1) for it in text.get("$comment", "").split("; ") if it)


def title(table):
    if table == "top":
        return "the top of the file"
    if table in ("response", "rate", "auth", "skip"):
        return table
    return TITLES.get(table, f"[[{table}]]" if table in ("site", "listen") else f"[{table}]")


def example(table, key, text):
    if "examples" not in text:
        return ""
    line = f"{name(key)} = {toml(text['examples'][0])}\n"
    if table == "skip":
        return f"[log]\nskip.{line}"
    if table in ("response", "rate", "auth"):
        return f"[[site]]\n{table}.{line}"
    begin = "" if table == "top" else title(table) + "\n"
    path = 'path = "/api"\n' if table == "route" and key != "path" else ""
    return begin + path + line


def tables_of(schema):
    """{table: {key: its schema}}, in the order of the file."""
    tables = {"top": schema["properties"]}
    for table, text in schema["$defs"].items():
        if "properties" in text:
            tables[table] = text["properties"]
    return tables


def cell(text):
    return text.replace("|", "\\|")


def page(table, key, tables):
    text = tables[table][key]
    words = words_of(text)
    # A setting of a site that routes and presets also have has one page.
    where = [title(table)]
    if table in ("site", "route"):
        where += [title(it) for it in ("route", "preset") if it != table and key in tables[it]]
    initial = f"`{toml(text['default'])}`" if "default" in text else words.get("unset", "none")
    tables_text = ", ".join(f"`{it}`" for it in where)
    rows = [("value", form(text)), ("default", initial), ("in", tables_text)]
    rows += [(label, f"`{words[who]}`") for who, label in
             (("flag", "flag"), ("nginx", "in nginx"), ("Caddy", "in Caddy")) if who in words]
    cells = "".join(f"| {left} | {cell(right)} |\n" for left, right in rows)
    shown = example(table, key, text)
    shown = f"\n```toml\n{shown}```\n" if shown else ""
    about = text["description"][0].upper() + text["description"][1:]
    return f"# {key}\n\n`{title(table)}`: {about}.\n\n| | |\n|---|---|\n{cells}{shown}"


def pages(schema):
    """{"site.root.md": its text, …} and an index of them."""
    tables = tables_of(schema)
    made, index = {}, []
    for table, keys in tables.items():
        if table == "preset":
            continue
        index.append(f"\n## {title(table)}\n\n| key | |\n|---|---|\n")
        for key, text in keys.items():
            owner = "site" if table == "route" and key in tables["site"] else table
            file = f"{owner}.{key}.md".removeprefix("top.")
            made[file] = page(owner, key, tables)
            index.append(f"| [`{key}`]({file}) | {cell(text['description'])} |\n")
    head = "# The keys of a file\n\nAll keys of a [configuration file](../sites.md), by table.\n"
    return {"index.md": head + "".join(index), **made}
