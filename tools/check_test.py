"""The files that `./dev check` checks, and the ones that it reports."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check  # noqa: E402


def test_a_header_is_looked_at_through_the_source_of_its_name():
    paths = ["tiderace/net/connection.h", "tiderace/net/connection.cc", "README.md"]
    assert check.sources_of(paths) == ["tiderace/net/connection.cc"]


def test_a_header_without_a_source_is_not_looked_at():
    assert check.sources_of(["tiderace/net/transport.h"]) == []


def test_each_file_with_an_error_is_named_once():
    said = [
        f"{check.ROOT}/a/b.cc:3:1: error: wrong [some-check]\n{check.ROOT}/a/b.cc:1:1: note: here",
        f"{check.ROOT}/a/b.cc:9:1: fatal error: no file\n{check.ROOT}/c.h:9:2: error: wrong",
    ]
    assert check.files_in(said) == ["a/b.cc", "c.h"]


def test_a_complaint_without_a_place_is_told_all_the_same():
    assert check.files_in(["clang-tidy fell over"]) == ["see above"]


def test_a_file_that_is_not_there_is_refused():
    words = [sys.executable, str(check.ROOT / "tools/check.py"), "no_such.cc"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "no file no_such.cc" in said.stderr
