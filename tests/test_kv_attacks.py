"""examples/kv against clients that attack it, or that use it in other ways than its own tests.

What is right is what Redis does, where Redis has an answer; else what README.md says.
"""

import socket
import ssl

import pytest

from kv_kills import encode
from test_kv import SECONDS_MAX, client_of, connect, kv, redis  # noqa: F401

# As a browser sends them; the last line of each would be executed.
HTTP = [
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n\r\nFLUSHALL\r\n",
    b"POST /\r\nFLUSHALL\r\n",
    b"Host: a\r\nFLUSHALL\r\n",
    b"GET / HTTP/1.1\r\nFLUSHALL\r\n",
    b"OPTIONS / HTTP/1.1\r\nFLUSHALL\r\n",
    b"PUT /k HTTP/1.1\r\n\r\nFLUSHALL\r\n",
    b"SET /k HTTP/1.1\r\n\r\nFLUSHALL\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nFLUSHALL\r\n",
    b"\x16\x03\x01\x02\x00\r\nFLUSHALL\r\n",
]


@pytest.mark.parametrize("sent", HTTP)
def test_what_a_browser_sends_is_not_executed(kv, sent):  # noqa: F811
    server = kv()
    r = client_of(server)
    r.set("kept", 1)
    for _ in range(3):
        with connect(server) as browser:
            browser.sendall(sent)
            browser.shutdown(socket.SHUT_WR)
            assert browser.recv(1000) == b"", "closed, without an answer"
    assert r.keys() == ["kept"]
    server.check_health()
    lines = [line for line in server.stderr.splitlines() if "no command" in line]
    assert len(lines) == 1 and "127.0.0.1:" in lines[0], "a page must not fill the log"


def test_a_tls_handshake_is_refused_at_once(kv):  # noqa: F811
    with connect(kv()) as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def test_a_person_may_type_commands(kv):  # noqa: F811
    with connect(kv()) as raw, raw.makefile("rb") as heard:
        raw.sendall(b"SET key 'a b'\r\nGET key\r\nget HTTP\r\n")
        assert heard.read(19) == b"+OK\r\n$3\r\na b\r\n$-1\r\n"
