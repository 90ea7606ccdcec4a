"""The programs of docs/tutorial. Its later chapters build examples/todo (test_todo.py)."""

import http.client
import json
import re
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from example_program import Example

TUTORIAL = Path(__file__).resolve().parent.parent / "docs/tutorial"


@pytest.fixture
def run_chapter(binary, tmp_path):
    running = []

    def start(name):
        program = binary.parent / f"tests/tutorial_{name}"
        if not program.exists():
            pytest.fail(f"{program} is not built")
        running.append(Example(program, "127.0.0.1:0", folder=tmp_path, cwd=TUTORIAL / name))
        place = running[0].wait_ready().places()[0]

        def ask(method, path, body=None, kind=None):
            client = http.client.HTTPConnection(*place, timeout=60)
            client.request(method, path, body, {"Content-Type": kind} if kind else {})
            answer = client.getresponse()
            answer.text = answer.read().decode()
            client.close()
            return answer
        return ask

    yield start
    try:
        for program in running:
            program.stop()
    finally:
        for program in running:
            program.kill()


def test_hello(run_chapter):
    ask = run_chapter("hello")
    assert ask("GET", "/").text == "Nothing to do.\n"
    assert ask("GET", "/hello/ann").text == "hello, ann\n"
    assert ask("GET", "/nothing").status == 404


def test_lists(run_chapter):
    ask = run_chapter("lists")
    made = ask("POST", "/api/todos", '{"text":"buy tea"}', "application/json")
    assert (made.status, made.headers["Location"]) == (201, "/api/todos/1")
    assert ask("GET", "/api/todos").text == '[{"id":1,"text":"buy tea","done":false}]'
    wrong = ask("POST", "/api/todos", json.dumps({"text": "x" * 201}), "application/json")
    assert wrong.status == 422
    assert json.loads(wrong.text)["errors"][0]["name"] == "text"


def test_pages(run_chapter):
    answer = run_chapter("pages")("GET", "/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<li>buy &lt;fresh&gt; tea</li>" in answer.text
    assert '<li class="done">sail</li>' in answer.text


def test_forms(run_chapter):
    ask = run_chapter("forms")

    def send(path, **fields):
        return ask("POST", path, urllib.parse.urlencode(fields),
                   "application/x-www-form-urlencoded")

    answer = send("/", text="buy tea")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    page = ask("GET", "/").text
    place = re.search(r'action="(/items/\d+)"', page).group(1)
    assert 'class="done"' not in page
    assert send(place, done="true").status == 303
    assert 'class="done"' in ask("GET", "/").text
    assert send(place).status == 303
    assert "Nothing to do." in ask("GET", "/").text
    assert send(place).status == 404


def test_the_sentence_about_a_wrong_name_is_as_the_chapter_shows_it(binary, tmp_path):
    folder = tmp_path / "templates"
    folder.mkdir()
    text = (TUTORIAL / "pages/templates/list.html").read_text()
    (folder / "list.html").write_text(text.replace("<h1>{{ user }}", "<h1>{{ usr }}"))
    done = subprocess.run([binary.parent / "tests/tutorial_pages", "127.0.0.1:0"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    chapter = (TUTORIAL / "3-pages.md").read_text()
    shown = re.search(r"(?m)(?:^    .*\n)+", chapter[chapter.index("    app: page"):]).group()
    assert done.stderr == "".join(line[4:] + "\n" for line in shown.splitlines())
