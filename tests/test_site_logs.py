"""What the logs of a file's sites say, and Server-Timing: the real program."""

import json
import re
import signal

import pytest

from h2_client import Client
from server import wait_until
from test_sites import HERE, SERVER, make, sites  # noqa: F401

SITE = """
[[site]]
hosts = ["one.example"]
root = "www"
route = [{ path = "/in", respond = "in" }]
[[site]]
default = true
respond = "other"
"""


@pytest.fixture
def logged(sites, make, tmp_path):  # noqa: F811
    """logged(keys of [log]) starts a server; its lines are in access.log."""
    make("www/index.html", "one")

    class Logged:
        def __init__(self, keys, text):
            self.head = SERVER + HERE + '[log]\naccess = "access.log"\nflush = "1ms"\n'
            self.server = sites(text, head=self.head + keys)

        def reload(self, keys, text=SITE):
            (tmp_path / "tiderace.toml").write_text(self.head + keys + text)
            self.server.signal(signal.SIGHUP)
            self.waits_for("the configuration was read again")

        def waits_for(self, text):
            wait_until(lambda: text in self.server.stderr, what=text)

        def lines(self, count):
            file = tmp_path / "access.log"
            wait_until(lambda: len(file.read_text().splitlines()) == count, what=f"{count} lines")
            return file.read_text().splitlines()

    return lambda keys, text=SITE: Logged(keys, text)


def test_a_line_has_the_fields_that_were_chosen(logged):
    fields = '["site", "route", "path", "query", "status", "bytes_in", "method"]'
    it = logged(f'format = "json"\nfields = {fields}\n')
    it.server.of("one.example", "/in/x?a=1")
    it.server.of("other.example", "/")
    first, second = map(json.loads, it.lines(2))
    assert first == {
        "site": "one.example",
        "method": "GET",
        "path": "/in/x",
        "query": "a=1",
        "status": 200,
        "route": "/in",
        "bytes_in": 0,
    }
    assert (second["site"], second["route"]) == ("default", "")


def test_values_of_queries_are_left_out(logged):
    it = logged("redact_query = true\n")
    it.server.of("one.example", "/?user=ann&token=s3cret", "Referer: http://a/?session=s3cret")
    (line,) = it.lines(1)
    assert "s3cret" not in line and "ann" not in line
    assert '"GET /?user=&token= HTTP/1.1"' in line and '"http://a/?session="' in line


def test_answers_that_are_skipped_are_few(logged):
    it = logged('skip = { status = "2xx", sample = 0.1 }\n')
    for _ in range(50):
        it.server.of("one.example", "/")
    for _ in range(3):
        it.server.of("one.example", "/absent")
    lines = it.lines(8)
    assert [" 200 " in line for line in lines].count(True) == 5


def test_another_file_changes_them_while_it_serves(logged):
    it = logged("")
    it.server.of("one.example", "/?a=1")
    it.reload('format = "json"\nfields = ["target"]\nredact_query = true\n')
    it.server.of("one.example", "/?a=2")
    lines = it.lines(2)
    assert '"GET /?a=1 HTTP/1.1" 200 ' in lines[0]
    assert lines[1] == '{"target":"/?a="}'


def test_slow_requests_are_warnings_where_the_nearest_table_says_so(logged, make):  # noqa: F811
    slow = """
[[site]]
hosts = ["one.example"]
slow = "1us"
respond = "one"
route = [{ path = "/quick", slow = "off", respond = "quick" }]
[[site]]
default = true
respond = "other"
"""
    # Without an access log.
    it = logged('slow = "1h"\n', slow)
    it.server.of("one.example", "/quick")
    it.server.of("b.example", "/")
    it.server.of("one.example", "/a?token=1")
    it.waits_for("a request was slow")
    (line,) = re.findall("warning http: a request was slow .*", it.server.stderr)
    assert " method=GET path=/a site=one.example route=" in line
    assert line.endswith(" status=200 duration_ms=0 left_out=0")


def test_a_program_that_is_down_is_a_line_and_a_number(logged, make):  # noqa: F811
    it = logged("", '[[site]]\nroute = [{ path = "/", fastcgi = "unix:/absent/php.sock" }]\n')
    for _ in range(20):
        assert it.server.get("/").status in (502, 503)
    it.server.stop()
    faults = re.findall("warning cgi: .*", it.server.stderr)
    assert len(faults) == 2, faults
    assert faults[0].startswith("warning cgi: a program gave no answer program=")
    assert "warning cgi: the same fault of a program again count=19 program=" in faults[1]


TIMED = """
[[site]]
default = true
root = "www"
server_timing = ["127.0.0.0/8", "::1"]
route = [
    { path = "/others", server_timing = "10.0.0.0/8", respond = "others" },
    { path = "/off", server_timing = "off", respond = "off" },
]
"""


def test_server_timing_is_for_those_who_are_listed(logged):
    it = logged("", TIMED)

    def timing(target):
        return it.server.of("a", target).get("server-timing")

    duration = re.compile(r"total;dur=\d+\.\d{3}")
    for target in ("/", "/absent"):
        assert duration.fullmatch(timing(target))
    for target in ("/others", "/off"):
        assert timing(target) is None
    with Client(it.server.address) as client:
        shown, hidden = (client.answer(client.get(target)) for target in ("/", "/others"))
        assert duration.fullmatch(shown.get(b"server-timing") or shown.get("server-timing"))
        assert "server-timing" not in dict(hidden.fields)
