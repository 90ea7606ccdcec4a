"""Handlers whose arguments cannot be given do not compile, and one sentence says what to write."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG = shutil.which("clang++-19") or shutil.which("clang++")
FLAGS = ["-std=c++23", f"-I{ROOT}"]
HEAD = """#include "tiderace/app.h"
using namespace tiderace::http;
struct User { int id; };
struct Mine { int id; };
"""
BY_VALUE = "take it by value"
RIGHT = [
    "[](Session session) { return session.exists() ? 1 : 0; }",
    "[](Json<User> user) { return user->id; }",
    "[](const Mine& mine) { return mine.id; }",
    "[](Mine& mine, const Request&) { return ++mine.id; }",
]
WRONG = [
    "[](const Session& session) { return session.exists(); }",
    "[](Session& session) { return session.exists(); }",
    "[](const Json<User>& user) { return user->id; }",
    "[](const Query<User>& user) { return user->id; }",
    "[](const Body& body) { return body.text(); }",
    "[](const Cookies& all) { return all.get(\"a\").has_value(); }",
    "[](Multipart&) { return 1; }",
]


def clang(*words, text):
    return subprocess.run([CLANG, *FLAGS, *words, "-"], input=text, capture_output=True, text=True,
                          check=False)


@pytest.fixture(scope="module", name="compile_text")
def fixture_compile_text(tmp_path_factory):
    """Compiles a text behind HEAD, which is read once."""
    if CLANG is None:
        pytest.skip("clang is not installed")
    head = tmp_path_factory.mktemp("head") / "head.pch"
    made = clang("-x", "c++-header", "-o", head, text=HEAD)
    assert made.returncode == 0, made.stderr
    return lambda text: clang("-x", "c++", "-fsyntax-only", "-include-pch", head, text=text)


def route(handler):
    return f'void f(App& app) {{ app.post<"/">({handler}); }}'


def middleware(handler):
    return f"void f(App& app) {{ app.use({handler}); }}"


@pytest.mark.parametrize("handler", RIGHT)
def test_what_a_handler_may_take_compiles(compile_text, handler):
    done = compile_text(route(handler))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", [*map(route, WRONG), middleware("[](const Session&) {}")])
def test_a_reference_to_what_is_made_for_the_call_is_one_error(compile_text, text):
    done = compile_text(text)
    assert done.returncode != 0
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1 and BY_VALUE in errors[0], done.stderr
