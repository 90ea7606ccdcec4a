"""Requests that have arrived at SIGTERM are answered, and then their connections end in order.

The server stands still (SIGSTOP) while requests come and SIGTERM does: it finds all of them at
once, as on a machine where it had no turn in between.
"""

import contextlib
import shutil
import signal
import socket
from pathlib import Path

import pytest

from certificates import Authority
from h2_client import NO_ERROR, Client
from raw_client import request
from server import wait_until
from tls_client import TlsConnection, client_context

EACH = 15  # connections of each kind


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here")
    return Authority(tmp_path_factory.mktemp("stop"), "tide")


@contextlib.contextmanager
def standing_still(server):
    tasks = list(Path(f"/proc/{server.pid}/task").iterdir())
    server.signal(signal.SIGSTOP)
    try:
        wait_until(lambda: all((task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
                               for task in tasks), what="a server that stands still")
        yield
    finally:
        server.signal(signal.SIGCONT)


def connect_all(server, kinds, context_of):
    """EACH of every kind, and the kind's name: "h1", "h2", and the same over TLS."""
    def connect(kind):
        version, _, tls = kind.partition(" ")
        if version == "h1":
            return TlsConnection(server.address, context_of("http/1.1")) if tls else \
                server.connect()
        sock = socket.create_connection(server.address, 60)
        if tls:
            sock = context_of("h2").wrap_socket(sock, server_hostname="localhost")
        return Client(server.address, sock=sock)
    return [(kind, connect(kind)) for kind in kinds for _ in range(EACH)]


def ask(kind, connection):
    """The number of the stream, over HTTP/2."""
    return connection.send(request("/a.txt")) if kind.startswith("h1") else \
        connection.get("/a.txt")


def is_answered_as_the_last(kind, connection, asked):
    """Whether the answer has "Connection: close" depends on which of the two a loop sees
    first; so it is tested where that is known (H1Life.ARequestThatMeetsADrain…)."""
    if kind.startswith("h1"):
        return (connection.read_answer().body == b"hello\n" and connection.wait_end() and
                not connection.was_reset)
    return (bytes(connection.answer(asked).body) == b"hello\n" and
            connection.wait_goaway() == NO_ERROR)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_what_has_arrived_is_answered(serve, site, engine, tls, threads, request):
    flags, context_of = [], None
    if tls:
        authority = request.getfixturevalue("authority")
        flags = ["--tls", authority.issue(f"stop-{engine}-{threads}", ("localhost",)).flag]
        context_of = lambda protocol: client_context(authority.file, alpn=[protocol])
    kinds = ["h1 tls", "h2 tls"] if tls else ["h1", "h2"]
    server = serve(site, *flags, engine=engine, threads=threads)
    with contextlib.ExitStack() as stack:
        kept = connect_all(server, kinds, context_of)
        for kind, connection in kept:
            stack.enter_context(connection)
            asked = ask(kind, connection)
            if kind.startswith("h1"):
                assert connection.read_answer().status == 200
            else:
                assert connection.answer(asked).status == 200
        with standing_still(server):
            # A handshake takes more than one turn, so TLS connections are open already.
            fresh = connect_all(server, kinds, context_of) if not tls else []
            for _, connection in fresh:
                stack.enter_context(connection)
            asked = [(kind, connection, ask(kind, connection)) for kind, connection in kept + fresh]
            server.signal(signal.SIGTERM)
        lost = [kind for kind, connection, stream in asked
                if not is_answered_as_the_last(kind, connection, stream)]
        assert not lost
    assert server.wait_exit() == 0
