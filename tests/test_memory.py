"""Memory after very many requests: what the first of them took is all that is ever taken.

TIDERACE_MEMORY_REQUESTS=10000000 asks for as many as the target says; by default it is fewer.
"""

import contextlib
import os
import time

import pytest

from raw_client import Connection, request

pytestmark = pytest.mark.slow  # hundreds of thousands of requests

REQUESTS = int(os.environ.get("TIDERACE_MEMORY_REQUESTS") or 200_000)
BATCH = 500
KINDS, HEAD = 10, 4  # of requests in a batch; which of them is HEAD


def one_batch():
    """Requests of every usual kind, whose answers take the same bytes each time."""
    kinds = [request("/k.bin"), request("/a.txt"), request("/absent"), request("/dir"),
             request("/k.bin", method="HEAD"), request("/k.bin", "Range: bytes=5-104"),
             request("/a.txt", "If-None-Match: *"), request("/a.txt?query=1&other=2"),
             request("/k.bin", "Accept-Encoding: gzip, br", "User-Agent: memory/1.0"),
             request("/a.txt", method="POST", body=b"unasked for")]
    assert len(kinds) == KINDS and kinds[HEAD].startswith(b"HEAD ")
    return b"".join(kinds[i % KINDS] for i in range(BATCH))


class Counting(Connection):
    received = 0

    def receive_some(self, until, size=262144):
        before = len(self.buffer)
        goes_on = super().receive_some(until, size)
        self.received += len(self.buffer) - before
        return goes_on


def bytes_answered(connection, batch):
    """How many bytes the answers to one batch have."""
    connection.send(batch)
    for number in range(BATCH):
        connection.read_answer("HEAD" if number % KINDS == HEAD else "GET")
    assert not connection.buffer
    return connection.received


def send_and_receive(socket, batch, expected):
    """One batch, pipelined, to which `expected` bytes are answered."""
    socket.sendall(batch)
    received = 0
    while received < expected:
        data = socket.recv(1 << 20)
        assert data, "the server closed"
        received += len(data)
    assert received == expected


@pytest.mark.timeout(900)
def test_memory_is_flat_after_very_many_requests(serve, site, sanitized, tmp_path):
    server = serve(site, "--access-log", tmp_path / "access.log", "--log-rotate", "64MiB")
    batch = one_batch()
    with Counting(server.address) as connection:
        expected = bytes_answered(connection, batch)
        connection.socket.settimeout(60)
        for _ in range(100):
            send_and_receive(connection.socket, batch, expected)
        before = server.pss_bytes()
        began = time.monotonic()
        for _ in range(REQUESTS // BATCH):
            send_and_receive(connection.socket, batch, expected)
        after = server.pss_bytes()
    print(f"{REQUESTS} requests in {time.monotonic() - began:.1f} s: {before} bytes before, "
          f"{after} after, {after - before:+} of them")
    if not sanitized:
        assert after - before < 128 << 10


@pytest.mark.parametrize("target, answers", [("/k.bin", 60), ("/middle.bin", 60)])
def test_what_very_many_leave_unread_costs_little(serve, site, sanitized, target, answers):
    """Each of 1,000 connections pipelines 60 requests and reads none of their answers."""
    server = serve(site, "--max-connections", "2000", threads=1)
    with server.connect() as honest, contextlib.ExitStack() as stack:
        assert honest.get("/a.txt").body == b"hello\n"
        before = server.pss_bytes()
        most = 0
        for number in range(1_000):
            one = stack.enter_context(server.connect(receive_bytes=4096))
            one.send(request(target) * answers)
            if number % 50 == 0:
                assert honest.get("/a.txt").body == b"hello\n"
                most = max(most, server.pss_bytes() - before)
        assert honest.get("/a.txt").body == b"hello\n"
        most = max(most, server.pss_bytes() - before)
    print(f"at most {most} bytes more")
    if not sanitized:
        assert most < 16 << 20
