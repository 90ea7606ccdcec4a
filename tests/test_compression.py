"""Compression on the fly: coding x method x range x condition x state of the cache, and clients
that misbehave, against the real program. What it sends is decoded by other libraries."""

import gzip
import os
import socket
import time

import brotli
import pytest
import zstandard

from server import wait_until

CODINGS = ("gzip", "br", "zstd")
LINES = b"".join(b"%d: the tide comes in, and goes out again\n" % i for i in range(1300))
TEXT = LINES[:57_244]
METHODS = ("GET", "HEAD")


def decode(coding, body):
    if coding is None:
        return body
    if coding == "gzip":
        return gzip.decompress(body)
    if coding == "br":
        return brotli.decompress(body)
    return zstandard.ZstdDecompressor().decompressobj().decompress(body)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a.css", "b.css", "photo.png", "with.css"):
        (root / name).write_bytes(TEXT)
    (root / "with.css.gz").write_bytes(gzip.compress(b"put there by hand"))
    (root / "small.css").write_bytes(TEXT[:1000])
    (root / "large.css").write_bytes(TEXT * 200)
    (root / "list").mkdir()
    for i in range(200):
        (root / "list" / f"file-{i}.txt").write_bytes(b"x")
    # A file that changed within the last two seconds may still be changing.
    wait_until(lambda: time.time() > os.stat(root / "a.css").st_ctime + 3.1, 10, "files at rest")
    return root


def get(server, target, coding=None, *fields, method="GET"):
    accept = [f"Accept-Encoding: {coding}"] if coding else []
    return server.get(target, *accept, *fields, method=method)


def warm(server, target, coding):
    """Asks until the compressed one comes."""
    return wait_until(lambda: (a := get(server, target, coding)).get("content-encoding") and a,
                      20, f"{target} in {coding}", 0.05)


@pytest.mark.quick
def test_every_combination(serve, folder):
    server = serve(folder)
    plain = get(server, "/a.css")
    assert plain.get("vary") == "Accept-Encoding" and plain.body == TEXT
    for coding in CODINGS:
        cold = get(server, "/a.css", coding)  # never waits: plain, or ready already
        assert decode(cold.get("content-encoding"), cold.body) == TEXT
        assert cold.get("vary") == "Accept-Encoding"
        hot = warm(server, "/a.css", coding)
        assert decode(coding, hot.body) == TEXT
        assert len(hot.body) < len(TEXT) / 3
        etag = hot.get("etag")
        assert etag != plain.get("etag") and not etag.startswith("W/")
        # (fields, status, what the body is a part of, its first and last byte)
        cases = [
            ((), 200, hot, None),
            ((f"If-None-Match: {etag}",), 304, hot, None),
            ((f"If-None-Match: W/{etag}",), 304, hot, None),
            (('If-None-Match: "x"',), 200, hot, None),
            ((f"If-None-Match: {plain.get('etag')}",), 304, plain, None),
            ((f"If-Match: {etag}",), 200, hot, None),
            (('If-Match: "x"',), 412, None, None),
            ((f"If-Modified-Since: {hot.get('last-modified')}",), 304, hot, None),
            (("Range: bytes=10-99", f"If-Range: {etag}"), 206, hot, (10, 99)),
            (("Range: bytes=10-99", f"If-Range: {plain.get('etag')}"), 206, plain, (10, 99)),
            (("Range: bytes=10-99", 'If-Range: "x"'), 200, hot, None),
            (("Range: bytes=10-99",), 206, plain, (10, 99)),
            (("Range: bytes=999999-",), 416, None, None),
            ((f"If-None-Match: {etag}", "Range: bytes=0-1"), 304, hot, None),
        ]
        for fields, status, of, part in cases:
            for method in METHODS:
                answer = get(server, "/a.css", coding, *fields, method=method)
                where = (coding, method, fields)
                if method == "HEAD" and status in (206, 416):
                    assert answer.status == 200, where
                    continue
                assert answer.status == status, where
                if of is None:
                    continue
                assert answer.get("etag") == of.get("etag"), where
                assert answer.get("vary") == "Accept-Encoding", where
                if status == 304:
                    continue
                assert answer.get("content-encoding") == of.get("content-encoding"), where
                body = of.body if part is None else of.body[part[0]:part[1] + 1]
                assert int(answer.get("content-length")) == len(body), where
                if method == "GET":
                    assert answer.body == body, where
                assert answer.get("accept-ranges") == "bytes", where


def test_a_changed_file_is_never_mixed_up(serve, folder):
    server = serve(folder, "--cache-check", "0s")
    warm(server, "/a.css", "gzip")
    for i in range(5):
        text = TEXT[:20_000] + b"%d" % i
        (folder / "a.css").write_bytes(text)
        answer = get(server, "/a.css", "gzip")
        assert decode(answer.get("content-encoding"), answer.body) == text
    again = warm(server, "/a.css", "gzip")
    assert decode("gzip", again.body) == text


def test_what_is_left_alone(serve, folder):
    server = serve(folder, "--compress-max", "1MiB", "--cache-control", "b.css=no-transform")
    for target in ("/photo.png", "/small.css", "/large.css", "/b.css"):
        for _ in range(3):
            answer = get(server, target, "br, gzip")
            assert answer.get("content-encoding") is None and answer.get("vary") is None
            assert len(answer.body) == os.stat(folder / target[1:]).st_size
            time.sleep(0.05)
    assert gzip.decompress(get(server, "/with.css", "br, gzip").body) == b"put there by hand"


def test_flags(serve, folder):
    off = serve(folder, "--compress", "off")
    assert get(off, "/a.css", "gzip").get("vary") is None
    one = serve(folder, "--compress", "zstd,gzip", "--listing")
    assert warm(one, "/a.css", "br, zstd, gzip").get("content-encoding") == "zstd"
    listing = get(one, "/list/", "br, zstd")
    assert listing.get("content-encoding") == "zstd" and "Accept-Encoding" in listing.all("vary")
    assert b"file-199.txt" in decode("zstd", listing.body)
    assert b"file-199.txt" in get(one, "/list/").body


@pytest.mark.quick
def test_hostile_values_are_answered(serve, folder):
    server = serve(folder, "--listing")
    for value in HOSTILE:
        answer = get(server, "/list/", value)
        assert answer.status in (200, 400), value
        if answer.status == 200:
            assert b"file-0.txt" in decode(answer.get("content-encoding"), answer.body), value


HOSTILE = [
    "gzip;q=99999999999", "gzip;q=-1", ";;;;", ",", "gzip" * 1000, "*;q=0", "gzip;q=0.0000",
    "\"gzip\"", "gzip;q", "gzip,,,;q=1", "gzip\t;\tq=1", "identity;q=0, *;q=0", "\x80\xff",
]


def test_the_folder_is_believed_only_if_it_is_right(serve, folder, tmp_path):
    kept = tmp_path / "kept"
    first = serve(folder, "--compress-cache", kept)
    body = warm(first, "/a.css", "gzip").body
    first.stop()
    (file,) = kept.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600 and kept.stat().st_mode & 0o777 == 0o700
    good = file.read_bytes()
    for bad in (good[:-1], good + b"x", good[:-5] + b"wrong", b""):
        file.write_bytes(bad)
        server = serve(folder, "--compress-cache", kept)
        assert warm(server, "/a.css", "gzip").body == body
        server.stop()
        assert file.read_bytes() == good  # written anew


def test_clients_that_vanish_leave_nothing(serve, folder):
    server = serve(folder, "--listing")
    for coding in CODINGS:
        get(server, "/list/", coding)

    def vanish(count):
        for i in range(count):
            coding = CODINGS[i % 3]
            with socket.create_connection(server.address, 10) as peer:
                target = ("/list/", "/large.css", "/a.css")[i // 3 % 3]
                peer.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n"
                             f"Accept-Encoding: {coding}\r\n\r\n".encode())
                if i % 2:
                    peer.recv(100)
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    vanish(60)
    warm(server, "/a.css", "br")
    before, memory = server.descriptors(), server.pss_bytes()
    vanish(300)
    wait_until(lambda: server.descriptors() <= before, 20, "as few descriptors as before")
    assert server.pss_bytes() < memory + (8 << 20)


def test_a_large_file_is_not_compressed_in_memory(serve, tmp_path):
    with open(tmp_path / "large.log", "wb") as file:
        file.truncate(1 << 30)
    server = serve(tmp_path)
    with socket.create_connection(server.address, 10) as peer:
        peer.sendall(b"GET /large.log HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
        head = peer.recv(4096)
        assert b"200 OK" in head and b"Content-Encoding" not in head
        assert b"Content-Length: 1073741824" in head
    assert server.pss_bytes() < 64 << 20
