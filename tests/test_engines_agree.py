"""Every engine answers the same bytes: one corpus, good and bad, against the answers of epoll."""

import re
import time

import pytest

from raw_client import request
from server import Server
from strict_cases import CASES

DATE = re.compile(rb"(?m)^Date: [^\r]*\r$")
BOUNDARY = re.compile(rb"boundary=([^\r]+)\r")  # drawn for each answer
TAG = re.compile(rb"(?m)^ETag: ([^\r]*)\r$")


def good_requests(tag):
    """Typical requests to a static server, one or several on a connection."""
    targets = ["/", "/a.txt", "/k.bin", "/big.bin", "/next.txt", "/nothing", "/.hidden",
               "/a.txt?b=c", "/%61.txt", "/../a.txt", "/a.txt/", "/.well-known/tiderace.json"]
    for target in targets:
        for method in ("GET", "HEAD", "OPTIONS"):
            yield f"{method} {target}", request(target, method=method)
    for part in ("bytes=0-0", "bytes=-5", "bytes=100-", "bytes=0-1,3-4", "bytes=9999999-",
                 "lines=1-2"):
        yield f"range {part}", request("/k.bin", f"Range: {part}")
    for conditions in (f"If-None-Match: {tag}", f"If-Match: {tag}", 'If-Match: "other"',
                       "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT",
                       "If-Unmodified-Since: Tue, 14 Nov 2000 22:13:20 GMT"):
        yield conditions, request("/a.txt", conditions)
    for coding in ("gzip", "br", "zstd", "identity;q=0", "*"):
        yield f"accepts {coding}", request("/k.bin", f"Accept-Encoding: {coding}")
    yield "pipelined", b"".join(request(t) for t in ("/a.txt", "/big.bin", "/nothing", "/k.bin"))
    yield "HTTP/1.0", b"GET /a.txt HTTP/1.0\r\n\r\n"
    yield "close", request("/a.txt", "Connection: close") + request("/k.bin")


def heard(server, data):
    """All bytes that come back when this is sent and the sending direction ends."""
    with server.connect() as connection:
        connection.send(data)
        connection.finish_sending()
        until = time.monotonic() + 100
        while not connection.ended:
            connection.receive_some(until)
        text = DATE.sub(b"Date: then\r", bytes(connection.buffer))
        for boundary in BOUNDARY.findall(text):
            text = text.replace(boundary, b"between")
        return text


def answers(server):
    tag = TAG.search(heard(server, request("/a.txt")))[1].decode()
    corpus = {**dict(good_requests(tag)), **{case.name: case.data for case in CASES}}
    assert len(corpus) > 500
    return {name: heard(server, data) for name, data in corpus.items()}


@pytest.fixture(scope="session")
def of_epoll(binary, site, tmp_path_factory):
    server = Server(binary, site, folder=tmp_path_factory.mktemp("agreed"), engine="epoll")
    try:
        yield answers(server.wait_ready())
        server.stop()
    finally:
        server.kill()


@pytest.mark.sanitizers
def test_every_engine_answers_the_bytes_that_epoll_answers(serve, site, of_epoll, engine):
    given = answers(serve(site, engine=engine))
    differing = [name for name in of_epoll if given[name] != of_epoll[name]]
    assert not differing, "\n".join(
        f"{name}:\n  {engine}: {given[name][:300]}\n  epoll: {of_epoll[name][:300]}"
        for name in differing[:3])
