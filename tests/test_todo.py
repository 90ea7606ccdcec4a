"""examples/todo over a real port, by a browser without JavaScript, and over TLS."""

import http.client
import json
import ssl
import subprocess
import urllib.parse

import pytest
from openapi_spec_validator import validate

from certificates import Authority
from test_browser import SCREENS, Visit

PASSWORD = "correct horse"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def settings(folder):
    return {"TODO_PASSWORD": PASSWORD, "TODO_DATABASE": f"sqlite:{folder}/todo.db"}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return tmp_path_factory.mktemp("todo-database")


@pytest.fixture
def todo(run_example, shelf):
    return run_example("todo", "127.0.0.1:0", env=settings(shelf))


class Person:
    """Keeps the one cookie, as a browser would."""

    def __init__(self, place, secure=None):
        self.place, self.secure, self.cookie = place, secure, None

    def ask(self, method, path, form=None, data=None):
        fields = {"Cookie": self.cookie} if self.cookie else {}
        body = None
        if form is not None:
            fields, body = fields | FORM, urllib.parse.urlencode(form)
        if data is not None:
            fields, body = fields | {"Content-Type": "application/json"}, json.dumps(data)
        client = (http.client.HTTPSConnection(*self.place, timeout=60, context=self.secure)
                  if self.secure else http.client.HTTPConnection(*self.place, timeout=60))
        client.request(method, path, body, fields)
        answer = client.getresponse()
        answer.text = answer.read().decode()
        client.close()
        if answer.headers["Set-Cookie"]:
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        return answer

    def sign_in(self, name):
        answer = self.ask("POST", "/sign-in", {"name": name, "password": PASSWORD})
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        return self


def test_lists_are_kept_by_name_and_shown_escaped(todo):
    ann = Person(todo.places()[0])
    assert ann.ask("GET", "/").headers["Location"] == "/sign-in"
    ann.sign_in("ann")
    made = ann.ask("POST", "/api/todos", data={"text": "<i>tea"})
    assert made.status == 201
    place = made.headers["Location"]
    page = ann.ask("GET", "/")
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "&lt;i&gt;tea" in page.text
    assert ann.ask("PATCH", place, data={"done": True}).status == 204
    assert json.loads(ann.ask("GET", "/api/todos").text)[0]["done"] is True
    bob = Person(todo.places()[0]).sign_in("bob")
    assert bob.ask("GET", "/api/todos").text == "[]"
    assert bob.ask("DELETE", place).status == 404
    assert ann.ask("POST", "/sign-out").status == 303
    assert ann.ask("GET", "/api/todos").status == 401


def test_without_a_password_it_does_not_start(binary):
    done = subprocess.run([binary.parent / "examples/todo/todo"], env={}, capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "todo: set TODO_PASSWORD\n")


def test_a_database_that_cannot_be_opened_is_one_sentence(binary, tmp_path):
    done = subprocess.run([binary.parent / "examples/todo/todo"], capture_output=True, text=True,
                          env=settings(tmp_path / "nowhere"), timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("todo: ") and done.stderr.count("\n") == 1


def test_its_document_is_valid_openapi(todo):
    document = json.loads(Person(todo.places()[0]).ask("GET", "/openapi.json").text)
    validate(document)
    assert document["components"]["schemas"]["NewItem"]["properties"]["text"] == {
        "type": "string", "minLength": 1, "maxLength": 200}


def test_it_serves_over_tls(run_example, tmp_path):
    authority = Authority(tmp_path, "harbour")
    pair = authority.issue("site")
    served = run_example("todo", "127.0.0.1:0", pair.certificate, pair.key,
                         env=settings(tmp_path))
    secure = ssl.create_default_context(cafile=authority.file)
    person = Person(("localhost", served.places()[0][1]), secure)
    assert person.sign_in("ann").ask("GET", "/").status == 200


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_works_without_javascript_on_every_screen(chromium, todo, scheme, screen):
    host, port = todo.places()[0]
    with Visit(chromium, scheme, screen, javascript=False) as visit:
        page = visit.page
        visit.go(f"http://localhost:{port}/")
        visit.picture(f"todo-sign-in-{scheme}-{screen}")
        page.fill("[name=name]", f"{scheme}-{screen}")
        page.fill("[name=password]", PASSWORD)
        page.click("text=Sign in")
        for text in ("Buy tea", "Call the harbour about the berth for the long weekend", "x" * 120):
            page.fill("[name=text]", text)
            page.click("text=Add")
        page.click("[aria-label='Done: Buy tea']")
        visit.picture(f"todo-list-{scheme}-{screen}")
        assert page.locator("li.done").inner_text().split("\n")[1] == "Buy tea"
        assert not visit.is_wider_than_the_screen()
        assert (visit.brightness() > 180) == (scheme == "light")
        page.click("[aria-label='Remove Buy tea']")
        assert page.locator("li").count() == 2
        page.click("text=Sign out")
        assert page.url.endswith("/sign-in")
        assert visit.complaints == []
