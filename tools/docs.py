"""Builds the documents site, which ./dev docs serves.

The pages are docs/ and all that it links to in this repository: another document becomes a page
below repository/, a source a page that shows it, and a public header its page of the reference
(docs_reference.py). The keys of a configuration file have pages, too (docs_keys.py). Links are
rewritten to these pages; mkdocs reports one that leads nowhere, and the build fails.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import docs_keys
import docs_reference
import suite_needs
from children import BUILD, ROOT

HOME = BUILD / "docs"
PAGES = HOME / "pages"
SITE = HOME / "site"
FIRST = ("ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md", "SECURITY.md", "CHANGELOG.md")
PICTURES = {".svg", ".png"}
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".md": "markdown", ".yml": "yaml"}
LANGUAGES |= {".yaml": "yaml", ".cmake": "cmake", ".sql": "sql", ".html": "html", ".js": "js"}
CODE = re.compile(r"```.*?^```|`[^`\n]*`", re.S | re.M)
LINK = re.compile(r"(?<=\]\()([^)#\s]*)(#[^)\s]*)?(?=\))")
HIDDEN = "---\nsearch:\n  exclude: true\n---\n"  # search does not find a page that is only linked


def file_of(path):
    """A folder stands for its README.md, if there is one."""
    readme = path / "README.md"
    return readme if path.is_dir() and readme.exists() else path


def place_of(path):
    """The page of a file or folder of this repository, below PAGES."""
    inner = path.relative_to(ROOT)
    place = pathlib.Path(*inner.parts[1:]) if inner.parts[0] == "docs" else "repository" / inner
    if inner.as_posix() in docs_reference.public():
        place = "reference" / inner.relative_to("tiderace")
    if path.is_dir():
        return place / "index.md"
    if path.suffix == ".md" or path.suffix in PICTURES:
        return place
    return place.with_name(place.name + ".md")


def relative(place, page):
    """The link from one page to another."""
    return os.path.relpath(place, page.parent)


def with_links(text, page, target_of, named=None):
    """`text` with each link outside code changed to the page of what `target_of` makes of it, and
    the first `code` that is one of `named` a link."""
    named = dict(named or {})

    def name(code):
        found = re.fullmatch(r"`(?:[\w:]+::)?(\w+)(?:::\w+|<\w*>|\(.*\))?`", code)
        header, anchor = named.pop(found[1], (None, "")) if found else (None, "")
        return f"[{code}]({relative(place_of(header), page)}#{anchor})" if header else code

    def link(match):
        name, anchor = match[1], match[2] or ""
        if not name or "://" in name or name.startswith("mailto:"):
            return match[0]
        target = target_of(name)
        return match[0] if target is None else relative(place_of(target), page) + anchor

    kept = []

    def keep(code):
        begun = text[text.rfind("\n", 0, code.start()) + 1 : code.start()]
        kept.append(code[0] if begun.endswith("[") or begun.startswith("#") else name(code[0]))
        return f"\0{len(kept) - 1}\0"

    prose = LINK.sub(link, CODE.sub(keep, text))
    return re.sub("\0([0-9]+)\0", lambda mark: kept[int(mark[1])], prose)


class Collection:
    """Writes pages, and the pages that they link to."""

    def __init__(self):
        self.seen = set()
        self.waiting = []
        self.reference, self.named = {}, {}
        self.add_reference()

    def add_reference(self):
        """A page for each public header; a name that several have leads to none of them."""
        ambiguous = set()
        for header in docs_reference.public():
            self.reference[ROOT / header], anchors = docs_reference.page_of(header)
            self.add(ROOT / header)
            ambiguous |= anchors.keys() & self.named.keys()
            self.named |= {name: (ROOT / header, anchor) for name, anchor in anchors.items()}
        for name in list(self.named):
            if name in ambiguous or name.islower() and "_" not in name:
                del self.named[name]

    def add(self, path):
        path = file_of(path.resolve())
        if path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)
        return path

    def write_all(self):
        while self.waiting:
            path = self.waiting.pop()
            page = PAGES / place_of(path)
            page.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix in PICTURES:
                shutil.copy(path, page)
            else:
                page.write_text(self.text_of(path))

    def text_of(self, path):
        name = path.relative_to(ROOT).as_posix()
        if path.is_dir():
            inner = sorted(it for it in path.iterdir() if not it.name.startswith("."))
            links = "".join(f"- [{it.name}]({it.name})\n" for it in inner)
            text = f"# {name}/\n\n{links}"
            return HIDDEN + with_links(text, place_of(path), lambda to: self.add(path / to))
        if path in self.reference:
            return with_links(self.reference[path], place_of(path), self.linked_from(path.parent))
        if path.suffix != ".md":
            language = LANGUAGES.get(path.suffix, "text")
            return f"{HIDDEN}# {name}\n\n````{language}\n{path.read_text()}````\n"
        hidden = HIDDEN if name.startswith("bench/results/") else ""
        named = self.named if path.parent == ROOT / "docs" else None
        target_of = self.linked_from(path.parent)
        return hidden + with_links(path.read_text(), place_of(path), target_of, named)

    def linked_from(self, folder):
        def target(name):
            path = (folder / name).resolve()
            return self.add(path) if path.exists() and path.is_relative_to(ROOT) else None

        return target


def write_keys():
    """A page for each key of a configuration file."""
    made = docs_keys.pages(docs_keys.read_schema())
    (PAGES / "keys").mkdir(exist_ok=True)
    for name, text in made.items():
        (PAGES / "keys" / name).write_text(text)


def sections():
    """The last sections of the navigation, which no hand keeps."""
    named = (ROOT / "docs/mkdocs.yml").read_text()
    others = [it.name for it in sorted((ROOT / "docs").glob("*.md")) if it.name not in named]
    lines = ["  - More:", *(f"      - {name}" for name in others)] if others else []
    decisions = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    lines.append("  - Reference:")
    lines.append("      - keys/index.md")
    for name, headers in docs_reference.groups().items():
        lines.append(f"      - {name.removeprefix('tiderace/')}:")
        lines += [f"          - {place_of(ROOT / header)}" for header in headers]
    lines.append("  - The project:")
    lines += [f"      - repository/{name}" for name in FIRST]
    lines += ["  - Decisions:", "      - decisions/README.md"]
    lines += [f"      - decisions/{it.name}" for it in decisions]
    return "\n".join(lines) + "\n"


def build():
    """Makes SITE; the status of mkdocs."""
    broken = suite_needs.docs_environment()
    if broken:
        sys.exit(f"docs: cannot install mkdocs-material: {broken.why()}, see {broken.log}")
    shutil.rmtree(PAGES, ignore_errors=True)
    pages = Collection()
    for path in [*(ROOT / name for name in FIRST), *(ROOT / "docs").rglob("*.md")]:
        pages.add(path)
    pages.write_all()
    write_keys()
    shutil.copy(ROOT / "docs/site.css", PAGES)
    config = HOME / "mkdocs.yml"
    config.write_text((ROOT / "docs/mkdocs.yml").read_text() + sections())
    words = [BUILD / "venv-docs/bin/python", "-m", "mkdocs", "build", "--strict", "--quiet"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([*words, "-f", config], env=quiet, check=False).returncode


if __name__ == "__main__":
    sys.exit(build())
