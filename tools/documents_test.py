"""The documents tell the truth as far as a script can see: programs compile, links lead on."""

import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
YET_TO_MAKE = ("build/", "examples/hello")
FOREIGN_COMMAND = re.compile(r"^\W*(curl|certbot|testssl|nghttp|openssl|cmake)\b")
FOREIGN_FLAGS = {"gtest", "gc-sections"}  # GoogleTest's --gtest_filter, and the linker's


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_program_is_compiled_and_run(document):
    name = str(document.relative_to(ROOT))
    if "```cpp\n" not in document.read_text() or document.parent.name == "tutorial":
        return  # a chapter shows pieces of files, which are built as they stand: see below
    lists = [ROOT / "tests/documents/CMakeLists.txt", *ROOT.glob("tiderace/**/CMakeLists.txt")]
    taken = re.findall(r"DOCUMENT (?:\$\{PROJECT_SOURCE_DIR\}/)?(\S+)", "".join(map(read, lists)))
    assert name in taken, "tiderace_document_programs() compiles the blocks of a document"


def read(path):
    return path.read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_repository_lead_somewhere(document):
    # A lambda in code looks like a link.
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_folders_that_are_named_exist(document):
    for quoted in re.findall(r"`([^`\n]+)`", document.read_text()):
        for word in quoted.split():
            folder, slash, _ = word.partition("/")
            if folder and slash and (ROOT / folder).is_dir() and not word.startswith(YET_TO_MAKE):
                assert (ROOT / word.rstrip("/.,:")).exists(), word


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_flags_that_are_named_exist(document):
    for line in document.read_text().splitlines():
        if not FOREIGN_COMMAND.search(line):
            for flag in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]+)", line):
                assert f'"{flag}"' in ours() or f"--{flag}" in ours() or flag in FOREIGN_FLAGS, flag


@functools.cache
def ours():
    """The sources in which our programs' flags stand."""
    places = ("dev", "server/**/*.cc", "examples/*/*.cc", "tests/seeds/*.cc", "*/*.py")
    return "".join(path.read_text() for place in places for path in sorted(ROOT.glob(place)))


def test_the_commands_that_are_named_exist():
    script = (ROOT / "dev").read_text()
    for document in DOCUMENTS:
        for command in re.findall(r"\./dev ([a-z]+)", document.read_text()):
            assert f"cmd_{command}()" in script or command == "help", (document.name, command)


def test_the_page_asks_for_nothing_outside():
    for page in (ROOT / "site").rglob("*"):
        if page.suffix in (".html", ".css", ".js"):
            text = page.read_text()
            fetched = re.findall(
                r"""(?:src|href|fetch\(|url\(|@import)[=\s]*['"(]*(\w+:)?//""", text
            )
            assert not fetched, page


def test_what_is_written_here_instead_is_a_piece_of_the_programs():
    text = (ROOT / "docs/coming-from.md").read_text()
    programs = "".join(re.findall(r"```cpp\n(.*?)```", text, re.S))
    rows = re.findall(r"^\|.*\| (.*) \|$", text, re.M)
    assert len(rows) > 90
    for pieces in rows:
        # `next()` explains, and a link leads to another page.
        for piece in re.findall(r"(?<!\[)`([^`]+)`(?!\])", pieces):
            named = piece in ("co_await", "const Request&", "next()", "serve", ".tls")
            assert named or piece in programs, piece


CHAPTERS = sorted((ROOT / "docs/tutorial").glob("[0-9]-*.md"))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.name)
def test_a_chapters_code_is_that_of_the_programs_it_links_to(chapter):
    # CMake builds these programs, and tests/test_tutorial.py and test_todo.py run them.
    text = chapter.read_text()
    linked = re.findall(r"\]\(([^)#]+\.(?:cc|h|html|sql))\)", text)
    sources = [(chapter.parent / target).read_text() for target in linked]
    blocks = re.findall(r"```(?:cpp|html|sql)\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        assert any(block.rstrip() in source for source in sources), block


SERVICE = ROOT / "examples/todo"


@pytest.mark.parametrize("name", ["main.cc", "migrations/0001_items.sql", "todo.cc", "todo.h"])
def test_the_chapters_show_the_whole_program(name):
    text = "".join(map(read, CHAPTERS))
    shown = "".join(re.findall(r"```\w+\n(.*?)```", text, re.S)).splitlines()
    for line in (SERVICE / name).read_text().splitlines():
        assert line in shown or not line or line.startswith("//"), line
