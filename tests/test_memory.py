"""Memory after very many requests: what the first of them took is all that is ever taken.

TIDERACE_MEMORY_REQUESTS=10000000 asks for as many as the target says; by default it is fewer.
"""

import os
import time

import pytest

from raw_client import request

REQUESTS = int(os.environ.get("TIDERACE_MEMORY_REQUESTS") or 200_000)
BATCH = 500


def one_batch():
    """Requests of every usual kind, whose answers take the same bytes each time."""
    kinds = [request("/k.bin"), request("/a.txt"), request("/absent"), request("/dir"),
             request("/k.bin", method="HEAD"), request("/k.bin", "Range: bytes=5-104"),
             request("/a.txt", "If-None-Match: *"), request("/a.txt?query=1&other=2"),
             request("/k.bin", "Accept-Encoding: gzip, br", "User-Agent: memory/1.0"),
             request("/a.txt", method="POST", body=b"unasked for")]
    return b"".join(kinds[i % len(kinds)] for i in range(BATCH))


def send_and_receive(connection, batch, expected):
    """One batch, pipelined. Returns the bytes answered: `expected`, where that is known."""
    socket = connection.socket
    socket.sendall(batch)
    received = 0
    while expected is None or received < expected:
        try:
            data = socket.recv(1 << 20)
        except TimeoutError:
            assert expected is None, f"{received} of {expected} bytes"
            break
        assert data, "the server closed"
        received += len(data)
    return received


@pytest.mark.timeout(900)
def test_memory_is_flat_after_very_many_requests(serve, site, sanitized, tmp_path):
    server = serve(site, "--access-log", tmp_path / "access.log", "--log-rotate", "64MiB")
    batch = one_batch()
    with server.connect() as connection:
        connection.socket.settimeout(2)
        expected = send_and_receive(connection, batch, None)
        connection.socket.settimeout(60)
        for _ in range(100):
            send_and_receive(connection, batch, expected)
        before = server.pss_bytes()
        began = time.monotonic()
        for _ in range(REQUESTS // BATCH):
            send_and_receive(connection, batch, expected)
        after = server.pss_bytes()
    print(f"{REQUESTS} requests in {time.monotonic() - began:.1f} s: {before} bytes before, "
          f"{after} after, {after - before:+} of them")
    if not sanitized:
        assert after - before < 128 << 10
