"""A start over TCP, as impatient clients meet it: refused, then served, never reset."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading

import pytest

from certificates import Authority
from raw_client import Connection
from raw_client import request as get
from server import STAY_ROOT, wait_until
from tls_client import TlsConnection, client_context

TLS = pytest.param(True, id="tls", marks=pytest.mark.skipif(not shutil.which("openssl"),
                                                             reason="openssl is not here"))
LOOPS = 4
CLIENTS = 4
WAITING = 20  # attempts a client, that are refused while the start is held up
SERVED = 30  # answers a client, once it goes on


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """(the flags of a server with a certificate, what its clients trust)"""
    authority = Authority(tmp_path_factory.mktemp("authority"), "tide")
    pair = authority.issue("site", ("localhost", "127.0.0.1"))
    return ["--tls", pair.flag], client_context(authority.file)


@pytest.fixture
def held_port():
    """A port for servers to come, that nothing else gets meanwhile: it is bound, as theirs are
    before they listen, which shares it."""
    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


class HeldStart:
    """A server that has bound its port, and waits for the passwords that a pipe will bring."""

    def __init__(self, binary, site, port, pipe, flags):
        os.mkfifo(pipe)
        self.pipe = None
        self.process = subprocess.Popen(
            [binary, "serve", *STAY_ROOT, site, "--listen", f"127.0.0.1:{port}", "--quiet",
             "--threads", str(LOOPS), "--accept", "reuseport", "--basic-auth", pipe, *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.path = pipe

    def wait_until_it_reads(self):
        def opened():
            assert self.process.poll() is None, self.process.stderr.read()
            try:
                self.pipe = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # nothing reads it yet
                return False
            return True
        wait_until(opened, what="the server at its passwords")

    def go_on(self):
        os.write(self.pipe, b"ada:$2y$04$" + b"a" * 53 + b"\n")
        os.close(self.pipe)
        self.pipe = None

    def end(self):
        if self.pipe is not None:
            os.close(self.pipe)
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(60)
        self.process.stderr.close()
        return status


class Hammer(threading.Thread):
    """Connects in a tight loop. An attempt is refused by the kernel, or answered in whole; anything
    else is in `broken`."""

    def __init__(self, port, context):
        super().__init__()
        self.address, self.context = ("127.0.0.1", port), context
        self.refused = self.served = 0
        self.broken = []
        self.stopped = False

    def connect(self):
        if self.context is None:
            return Connection(self.address)
        return TlsConnection(self.address, self.context)

    def run(self):
        while not self.stopped and self.served < SERVED and not self.broken:
            try:
                with self.connect() as connection:
                    connection.send(get("/a.txt"))
                    assert connection.read_answer().status == 401
                self.served += 1
            except ConnectionRefusedError:
                if self.served:
                    self.broken.append("refused after it had served")
                self.refused += 1
            except (OSError, AssertionError) as error:
                self.broken.append(repr(error))


@contextlib.contextmanager
def hammers(port, context):
    all_of_them = [Hammer(port, context) for _ in range(CLIENTS)]
    for one in all_of_them:
        one.start()
    try:
        yield all_of_them
    finally:
        for one in all_of_them:
            one.stopped = True
        for one in all_of_them:
            one.join()


def wait_until_served(clients):
    wait_until(lambda: all(client.served >= SERVED or client.broken for client in clients),
               what="clients that are served")
    assert [client.broken for client in clients] == [[]] * CLIENTS


def wait_until_refused(clients):
    """Each of them, from now on, and more than once."""
    before = [client.refused for client in clients]
    wait_until(lambda: all(client.refused >= count + WAITING or client.broken
                           for client, count in zip(clients, before, strict=True)),
               what="clients that are refused")


def wait_until_one_ended(servers):
    wait_until(lambda: any(server.process.poll() is not None for server in servers),
               what="the end of one")


@pytest.mark.parametrize("tls", [pytest.param(False, id="clear"), TLS])
def test_what_is_accepted_during_a_start_is_served(binary, site, tmp_path, request, held_port, tls):
    flags, context = request.getfixturevalue("secure") if tls else ([], None)
    for start in range(3):
        with hammers(held_port, context) as clients:
            server = HeldStart(binary, site, held_port, tmp_path / f"passwords{start}", flags)
            try:
                server.wait_until_it_reads()
                wait_until_refused(clients)
                server.go_on()
                wait_until_served(clients)
            finally:
                assert server.end() == 0


@pytest.mark.parametrize("tls", [pytest.param(False, id="clear"), TLS])
def test_of_two_starts_at_once_one_has_the_port(binary, site, tmp_path, request, held_port, tls):
    """Both have bound it when the passwords arrive. One serves every client, however many loops
    it has; the other reports it in a sentence."""
    flags, context = request.getfixturevalue("secure") if tls else ([], None)
    for start in range(5):
        with hammers(held_port, context) as clients:
            both = [HeldStart(binary, site, held_port, tmp_path / f"passwords{start}-{i}", flags)
                    for i in range(2)]
            try:
                for each in both:
                    each.wait_until_it_reads()
                for each in both:
                    each.go_on()
                wait_until_one_ended(both)
                wait_until_served(clients)
                winner, loser = sorted(both, key=lambda each: each.process.poll() is not None)
                assert winner.process.poll() is None and loser.process.returncode == 1
                assert loser.process.stderr.read() == (
                    f"tiderace: listen on 127.0.0.1:{held_port}: address already in use; another "
                    "program listens there; stop it or choose another address\n")
            finally:
                ends = sorted(each.end() for each in both)
            assert ends == [0, 1]
