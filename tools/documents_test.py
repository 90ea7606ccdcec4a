"""The documents tell the truth as far as a script can see: programs compile, links lead on."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def programs():
    for document in DOCUMENTS:
        for found in re.finditer(r"```cpp\n(.*?)```", document.read_text(), re.S):
            if "int main" in found.group(1):
                yield pytest.param(found.group(1), id=document.name)


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.parametrize("program", programs())
def test_a_program_in_a_document_compiles(program, tmp_path):
    source = tmp_path / "program.cc"
    source.write_text(program)
    words = ["g++", "-std=c++23", "-Wall", "-Wextra", "-fsyntax-only", f"-I{ROOT}", str(source)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_the_repository_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


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
