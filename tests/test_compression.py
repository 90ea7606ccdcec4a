"""Compression on the fly: coding x method x range x condition x state of the cache, and clients
that misbehave, against the real program. Other libraries decode its answers."""

import gzip
import os
import socket
import time

import brotli
import pytest
import zstandard

from h2_client import Client
from server import wait_until
from two_versions import http1, http2

CODINGS = ("gzip", "br", "zstd")
LINES = b"".join(b"%d: the tide comes in, and goes out again\n" % i for i in range(1300))
TEXT = LINES[:57_244]
COLD = LINES[:2000]
METHODS = ("GET", "HEAD")


def decode(coding, body):
    if coding is None:
        return body
    if coding == "gzip":
        return gzip.decompress(body)
    if coding == "br":
        return brotli.decompress(body)
    return zstandard.ZstdDecompressor().decompressobj().decompress(body)


def conditions(plain, coded, modified):
    """(fields, status, which bytes, the part of them) of a file with these tags. "best": compressed
    where the cache has it, else plain. "": not the file's bytes."""
    part = slice(10, 100)
    return [
        ([], 200, "best", None),
        ([("if-none-match", coded)], 304, "best", None),
        ([("if-none-match", f"W/{coded}")], 304, "best", None),
        ([("if-none-match", '"x"')], 200, "best", None),
        ([("if-none-match", plain)], 304, "plain", None),
        ([("if-match", coded)], 200, "best", None),
        ([("if-match", plain)], 200, "best", None),
        ([("if-match", '"x"')], 412, "", None),
        ([("if-modified-since", modified)], 304, "best", None),
        ([("if-unmodified-since", "Thu, 01 Jan 1981 00:00:00 GMT")], 412, "", None),
        ([("range", "bytes=10-99"), ("if-range", coded)], 206, "coded", part),
        ([("range", "bytes=10-99"), ("if-range", plain)], 206, "plain", part),
        ([("range", "bytes=10-99"), ("if-range", '"x"')], 200, "best", None),
        ([("range", "bytes=10-99")], 206, "plain", part),
        ([("range", "bytes=-5")], 206, "plain", slice(-5, None)),
        ([("range", "bytes=999999-")], 416, "", None),
        ([("if-none-match", coded), ("range", "bytes=0-1")], 304, "best", None),
    ]


def check(answer, case, method, bytes_of, tags, coding):
    """`bytes_of` has "plain", and "coded" where the cache has that."""
    asked, status, which, part = case
    best = "coded" if "coded" in bytes_of else "plain"
    if any(("if-match", tags[other]) in asked for other in {"plain", "coded"} - {best}):
        status, which, part = 412, "", None  # it is the tag of what would be sent that counts
    if which == "coded" and "coded" not in bytes_of or method == "HEAD" and status in (206, 416):
        status, which, part = 200, "best", None
    if which == "best":
        which = best
    fields = dict(answer[1])
    assert answer[0] == status
    if not which:
        return
    assert fields["vary"] == "Accept-Encoding"
    if status == 304:
        assert answer[2] == b"" and fields["etag"] in (tags[which], tags["coded"])
        return
    expected = bytes_of[which][part] if part else bytes_of[which]
    assert fields["etag"] == tags[which]
    assert fields.get("content-encoding") == (coding if which == "coded" else None)
    assert fields["content-length"] == str(len(expected))
    assert fields["accept-ranges"] == "bytes"
    assert answer[2] == (b"" if method == "HEAD" else expected)


def cold_names(coding=None):
    """Files that are requested once each, for one coding or for all."""
    count = len(conditions("", "", "")) * len(METHODS) * 2
    return [f"cold-{c}-{i}.css" for c in CODINGS if coding in (None, c) for i in range(count)]


def fill(root):
    for name in ("a.css", "b.css", "photo.png", "with.css"):
        (root / name).write_bytes(TEXT)
    (root / "with.css.gz").write_bytes(gzip.compress(b"put there by hand"))
    (root / "small.css").write_bytes(TEXT[:1000])
    (root / "large.css").write_bytes(TEXT * 200)
    (root / "list").mkdir()
    for i in range(200):
        (root / "list" / f"file-{i}.txt").write_bytes(b"x")
    for name in cold_names():
        (root / name).write_bytes(COLD)
    for path in root.glob("*.css"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    # A file that changed within the last two seconds may still be changing.
    wait_until(lambda: time.time() > os.stat(root / name).st_ctime + 3.1, what="files at rest")
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Read-only by agreement: to change files, take `own_folder`."""
    return fill(tmp_path_factory.mktemp("compressed"))


@pytest.fixture
def own_folder(tmp_path):
    (tmp_path / "root").mkdir()
    return fill(tmp_path / "root")


def get(server, target, coding=None, *fields, method="GET"):
    accept = [f"Accept-Encoding: {coding}"] if coding else []
    return server.get(target, *accept, *fields, method=method)


def warm(server, target, coding):
    """Asks until the compressed one comes."""
    return wait_until(lambda: (a := get(server, target, coding)).get("content-encoding") and a,
                      what=f"{target} in {coding}", pause=0.05)


@pytest.mark.sanitizers
@pytest.mark.parametrize("coding", CODINGS)
def test_every_combination(serve, folder, coding):
    """method x condition and range x state of the cache x version of HTTP, for each coding."""
    cold = cold_names(coding)
    server, uncached = serve(folder), serve(folder, "--cache", "0")
    plain, hot = get(server, "/a.css"), warm(server, "/a.css", coding)
    assert plain.get("vary") == "Accept-Encoding" and plain.body == TEXT
    assert decode(coding, hot.body) == TEXT and len(hot.body) < len(TEXT) / 3
    tags = {"plain": plain.get("etag"), "coded": hot.get("etag")}
    assert tags["coded"].startswith(tags["plain"][:-1] + f"-{coding}-")
    suffix = tags["coded"][len(tags["plain"]) - 1:]
    modified = hot.get("last-modified")

    with Client(server.address) as client, Client(uncached.address) as uncached_client:
        for index, case in enumerate(conditions(tags["plain"], tags["coded"], modified)):
            for method in METHODS:
                asked = method, [("accept-encoding", coding), *case[0]]
                answers = http1(server, "/a.css", *asked), http2(client, "/a.css", *asked)
                assert answers[0] == answers[1], asked
                check(answers[0], case, method, {"plain": TEXT, "coded": hot.body}, tags, coding)
                # Without a cache there is nothing to keep a compressed one in.
                answers = (http1(uncached, "/a.css", *asked),
                           http2(uncached_client, "/a.css", *asked))
                assert answers[0] == answers[1], asked
                assert "content-encoding" not in dict(answers[0][1]), asked
                # Cold: no request waits for the compressed variant. Each file is requested once.
                for ask, whom in ((http1, server), (http2, client)):
                    name = "/" + cold.pop()
                    of_name = {"plain": get(server, name).get("etag")}
                    of_name["coded"] = of_name["plain"][:-1] + suffix
                    fresh = conditions(of_name["plain"], of_name["coded"], modified)[index]
                    asked = method, [("accept-encoding", coding), *fresh[0]]
                    check(ask(whom, name, *asked), fresh, method, {"plain": COLD}, of_name, coding)
    assert not cold


@pytest.mark.sanitizers
def test_a_listing_is_the_same_in_every_coding_and_version(serve, folder):
    """Made while it is sent: no length, no tag, no ranges."""
    server = serve(folder, "--listing")
    wanted = [("accept", "application/json")]
    plain = http1(server, "/list/", "GET", wanted)
    assert b"file-199.txt" in plain[2]
    with Client(server.address) as client:
        for coding in (*CODINGS, "identity"):
            for more in ([], [("range", "bytes=0-9")], [("if-none-match", '"x"')],
                         [("if-match", "*")]):
                for method in METHODS:
                    asked = method, [*wanted, ("accept-encoding", coding), *more]
                    one = http1(server, "/list/", *asked)
                    two = http2(client, "/list/", *asked)
                    assert one[:2] == two[:2], asked
                    fields = dict(one[1])
                    assert one[0] == 200 and "content-length" not in fields, asked
                    assert "Accept-Encoding" in [v for n, v in one[1] if n == "vary"], asked
                    coded = fields.get("content-encoding")
                    assert coded == (None if coding == "identity" else coding), asked
                    for answer in (one, two):
                        body = decode(coded, answer[2]) if answer[2] else b""
                        assert body == (b"" if method == "HEAD" else plain[2]), asked


def test_a_changed_file_is_never_mixed_up(serve, own_folder):
    folder = own_folder
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


def test_a_path_has_codings_of_its_own(serve, own_folder):
    for path in ("raw/deep/a.css", "raw/index.html"):
        (own_folder / path).parent.mkdir(parents=True, exist_ok=True)
        (own_folder / path).write_bytes(TEXT)
        os.utime(own_folder / path, (1_700_000_000, 1_700_000_000))
    rules = ("--path-compress", "/raw=off", "--path-compress", "/raw/deep=gzip",
             "--path-compress", "/list=zstd")
    accepted = "br, zstd, gzip"
    on = serve(own_folder, "--listing", *rules)
    assert warm(on, "/a.css", accepted).get("content-encoding") == "br"
    assert warm(on, "/raw/deep/a.css", accepted).get("content-encoding") == "gzip"
    assert get(on, "/list/", accepted).get("content-encoding") == "zstd"
    for target in ("/raw/", "/raw/index.html"):
        answer = get(on, target, accepted)
        assert (answer.body, answer.get("vary")) == (TEXT, None), target
    off = serve(own_folder, "--listing", "--compress", "off", *rules)
    assert warm(off, "/raw/deep/a.css", accepted).get("content-encoding") == "gzip"
    assert get(off, "/list/", accepted).get("content-encoding") == "zstd"
    assert get(off, "/a.css", accepted).get("vary") is None


@pytest.mark.sanitizers
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
    wait_until(lambda: server.descriptors() <= before, what="as few descriptors as before")
    assert server.pss_bytes() < memory + (8 << 20)


def test_streams_that_are_given_up_leave_nothing(serve, folder):
    """Over HTTP/2, in the middle of a compressed answer: by RST_STREAM, and with the connection."""
    server = serve(folder, "--listing")

    def vanish(count):
        for i in range(count):
            with Client(server.address, settings={4: 100}) as client:  # windows of 100 bytes
                asked = [("accept-encoding", CODINGS[i % 3]), ("accept", "text/html")]
                streams = [client.get(target, asked) for target in ("/list/", "/a.css") * 3]
                for number in streams:
                    client.wait(lambda s=client.streams[number]: len(s.body) == 100)
                coded = [client.streams[n].get("content-encoding") for n in streams[::2]]
                assert coded == [CODINGS[i % 3]] * 3
                for number in streams[:i % 7]:
                    client.send(client.reset_bytes(number))
                more = client.get("/small.css")
                client.send(client.window_update_bytes(more, 10_000))
                assert bytes(client.answer(more).body) == TEXT[:1000]
    vanish(20)
    before, memory = server.descriptors(), server.pss_bytes()
    vanish(60)
    wait_until(lambda: server.descriptors() <= before, what="as few descriptors as before")
    assert server.pss_bytes() < memory + (4 << 20)


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
