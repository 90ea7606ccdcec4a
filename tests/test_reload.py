"""A configuration that is read again while it is served: SIGHUP, the real program, real clients."""

import signal

import pytest

from server import wait_until
from test_sites import HERE, SERVER, make, sites  # noqa: F401

DONE = "the configuration was read again"
REFUSED = "the configuration was refused"


class Reloads:
    """Writes the file of a server and waits until it was taken, or refused."""

    def __init__(self, server, folder, head=SERVER + HERE):
        self.server = server
        self.file = folder / "tiderace.toml"
        self.head = head

    def said(self, sentence):
        return self.server.stderr.count(sentence)

    def write(self, text, head=None):
        new = self.file.with_suffix(".new")
        new.write_text((self.head if head is None else head) + text)
        new.rename(self.file)

    def ask(self, text, head=None):
        """Whether the file was taken."""
        before = self.said(DONE), self.said(REFUSED)
        self.write(text, head)
        self.server.signal(signal.SIGHUP)
        wait_until(
            lambda: (self.said(DONE), self.said(REFUSED)) != before, what="an answer to SIGHUP"
        )
        return self.said(DONE) > before[0]


@pytest.fixture
def reloads(sites, tmp_path):  # noqa: F811
    """reloads(text) starts the server of a file."""

    def start(text, **more):
        head = more.get("head", SERVER + HERE)
        return Reloads(sites(text, **more), tmp_path, head)

    return start


ONE = """
[[site]]
hosts = ["one.example"]
root = "one"
"""
TWO = """
[[site]]
hosts = ["two.example"]
root = "two"
"""


@pytest.fixture
def folders(make):  # noqa: F811
    make("one/index.html", "one")
    make("two/index.html", "two")
    return make


def test_new_requests_are_of_the_new_file_on_old_connections_too(reloads, folders):
    each = reloads(ONE)
    with each.server.connect() as kept:
        assert kept.get("/", host="one.example").text == "one"
        assert kept.get("/", host="two.example").status == 421
        assert each.ask(ONE + TWO + "response.set.X-New = 'yes'\n")
        assert kept.get("/", host="one.example").text == "one"
        answer = kept.get("/", host="two.example")
        assert (answer.text, answer.get("X-New")) == ("two", "yes")
        assert each.ask(TWO)
        assert kept.get("/", host="one.example").status == 421


def test_a_broken_file_changes_nothing_and_lists_all_that_is_wrong(reloads, folders):
    each = reloads(ONE)
    broken = ONE + 'indx = "a"\nlisting = 5\n'
    assert not each.ask(broken)
    assert 'has no key \\"indx\\"' in each.server.stderr
    assert "listing expects true or false" in each.server.stderr
    assert not each.ask(ONE + '[[site]]\nhosts = ["b.example"]\nroot = "missing"\n')
    assert not each.ask("[[site]\n")
    assert each.server.of("one.example").text == "one"
    assert each.ask(TWO)
    assert each.server.of("two.example").text == "two"


def test_what_needs_a_restart_is_refused_by_its_key(reloads, folders):
    each = reloads(ONE)
    head = SERVER.replace("threads = 1", "threads = 2\nname_field = false") + HERE
    assert not each.ask(TWO, head)
    for key in ("server.threads", "server.name_field"):
        assert f"{key} has another value: it needs a restart" in each.server.stderr
    assert each.server.of("one.example").text == "one"


def test_a_rate_goes_on_counting(reloads, folders):
    rate = 'rate = { limit = "1/min", burst = 2 }\n'
    each = reloads(ONE + rate)
    statuses = [each.server.of("one.example").status]
    assert each.ask(ONE + rate + "response.set.X-New = 'yes'\n" + TWO)
    statuses += [each.server.of("one.example").status for _ in range(2)]
    assert statuses == [200, 200, 429]
