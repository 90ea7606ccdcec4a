"""Conditions, ranges and precompressed siblings of static files."""

import re

import pytest

from site_folder import BIG, pattern

K = pattern(1024, 2)


# Conditions (RFC 9110, 13).

EARLIER = "Mon, 13 Nov 2023 22:13:20 GMT"
SAME = "Tue, 14 Nov 2023 22:13:20 GMT"  # 1,700,000,000
LATER = "Wed, 15 Nov 2023 22:13:20 GMT"


@pytest.mark.sanitizers
def test_validators_are_strong_and_stay_the_same(server):
    answer = server.get("/k.bin")
    assert re.fullmatch(r'"[\x21\x23-\x7e]+"', answer.get("etag"))
    assert answer.get("last-modified") == SAME
    assert server.get("/k.bin").get("etag") == answer.get("etag")
    assert server.get("/a.txt").get("etag") != answer.get("etag")


@pytest.mark.sanitizers
@pytest.mark.parametrize("status, fields", [
    (304, ["If-None-Match: E"]), (304, ["If-None-Match: W/E"]), (304, ["If-None-Match: *"]),
    (304, ['If-None-Match: "x", E']), (304, ['If-None-Match: "x",E,"y"']),
    (304, ['If-None-Match: W/"x" , W/E']), (304, ['If-None-Match: "a,b", E']),
    (304, ['If-None-Match: "x"', "If-None-Match: E"]), (304, ["If-None-Match: , E ,"]),
    (200, ['If-None-Match: "x"']), (200, ["If-None-Match: x"]), (200, ["If-None-Match:"]),
    (200, ['If-None-Match: "']), (200, ["If-None-Match: w/E"]),
    (304, [f"If-Modified-Since: {SAME}"]), (304, [f"If-Modified-Since: {LATER}"]),
    (200, [f"If-Modified-Since: {EARLIER}"]), (200, ["If-Modified-Since: yesterday"]),
    (200, ["If-Modified-Since:"]), (200, [f"If-Modified-Since: {SAME} or so"]),
    (304, ["If-Modified-Since: Tuesday, 14-Nov-23 22:13:20 GMT"]),
    (304, ["If-Modified-Since: Tue Nov 14 22:13:20 2023"]),
    (200, ["If-Modified-Since: Tue, 31 Feb 2023 22:13:20 GMT"]),
    (200, ['If-None-Match: "x"', f"If-Modified-Since: {LATER}"]),
    (304, ["If-None-Match: E", f"If-Modified-Since: {EARLIER}"]),
    (200, ["If-Match: E"]), (200, ["If-Match: *"]), (200, ['If-Match: "x", E']),
    (412, ['If-Match: "x"']), (412, ["If-Match: W/E"]), (412, ["If-Match: x"]),
    (200, [f"If-Unmodified-Since: {SAME}"]), (200, [f"If-Unmodified-Since: {LATER}"]),
    (412, [f"If-Unmodified-Since: {EARLIER}"]), (200, ["If-Unmodified-Since: yesterday"]),
    (200, ["If-Match: E", f"If-Unmodified-Since: {EARLIER}"]),
    (304, ["If-Match: E", "If-None-Match: E"]), (412, ['If-Match: "x"', "If-None-Match: E"]),
    (304, [f"If-Unmodified-Since: {SAME}", f"If-Modified-Since: {SAME}"]),
    (304, ["If-None-Match: E", "Range: bytes=0-1"]),
    (412, ['If-Match: "x"', "Range: bytes=0-1"]),
], ids=lambda v: str(v))
def test_conditions(server, status, fields):
    etag = server.get("/k.bin").get("etag")
    fields = [re.sub(r"\bE\b", lambda _: etag, f) for f in fields]
    with server.connect() as connection:
        for method in ("GET", "HEAD"):
            answer = connection.get("/k.bin", *fields, method=method)
            assert answer.status == status, method
            if status == 304:
                assert answer.get("etag") == etag
                assert answer.get("content-length") in (None, "1024")
                assert answer.get("date")
        assert connection.get("/next.txt").body == b"next\n"


def test_conditions_do_not_make_an_absent_file_anything_else(head_server):
    for field in ("If-None-Match: *", "If-Match: *", 'If-Match: "x"',
                  f"If-Modified-Since: {LATER}"):
        assert head_server.get("/absent", field).status in (404, 412)
    assert head_server.get("/absent", "If-None-Match: *").status == 404


# Ranges (RFC 9110, 14).


@pytest.mark.sanitizers
@pytest.mark.parametrize("ranges, first, last", [
    ("bytes=0-0", 0, 0), ("bytes=0-1023", 0, 1023), ("bytes=0-", 0, 1023),
    ("bytes=1000-", 1000, 1023),
    ("bytes=-1", 1023, 1023), ("bytes=-1024", 0, 1023), ("bytes=-5000", 0, 1023),
    ("bytes=1023-", 1023, 1023), ("bytes=1023-5000", 1023, 1023), ("bytes=10-19", 10, 19),
    ("bytes=0-0,5000-", 0, 0), ("bytes= 10-19", 10, 19), ("bytes=010-019", 10, 19),
    ("bytes=0-9223372036854775807", 0, 1023), ("bytes=,10-19,", 10, 19)])
def test_one_range(server, ranges, first, last):
    answer = server.get("/k.bin", f"Range: {ranges}")
    assert answer.status == 206
    assert answer.get("content-range") == f"bytes {first}-{last}/1024"
    assert answer.body == K[first:last + 1]
    assert answer.get("etag") == server.get("/k.bin").get("etag")


@pytest.mark.parametrize("ranges", ["bytes=1024-", "bytes=2000-3000", "bytes=-0",
                                    "bytes=5000-,6000-", "bytes=18446744073709551615-"])
def test_ranges_beyond_the_end_are_416(head_server, ranges):
    answer = head_server.get("/k.bin", f"Range: {ranges}")
    assert answer.status == 416 and answer.get("content-range") == "bytes */1024"


@pytest.mark.parametrize("ranges", [
    "bytes", "bytes=", "bytes=a-b", "bytes=1", "bytes=--1", "bytes=5-4", "bytes=0-1-2",
    "bytes=0- 1x",
    "items=0-1", "0-1", "bytes 0-1", "bytes=0-1;2-3", "bytes=-", "bytes=0x0-1", "bytes=+0-1",
    "bytes=1e3-", "bytes=\x80-", "bytes=18446744073709551616-",
    "bytes=0-99999999999999999999999",
    "bytes=99999999999999999999999999999-", "bytes=-99999999999999999999999", "bytes=0-0, x"])
def test_a_range_that_is_none_never_yields_wrong_bytes(head_server, ranges):
    answer = head_server.get("/k.bin", f"Range: {ranges}")
    assert answer.status in (200, 206, 416)
    if answer.status == 200:
        assert answer.body == K
    if answer.status == 206:
        first, last = map(int, re.fullmatch(r"bytes (\d+)-(\d+)/1024",
                                            answer.get("content-range")).groups())
        assert answer.body == K[first:last + 1]


def parts_of(answer):
    """The parts of a multipart/byteranges body: (fields, bytes), checked for framing."""
    boundary = re.fullmatch(r'multipart/byteranges; *boundary="?([^";]+)"?',
                            answer.get("content-type"))[1].encode()
    assert answer.body.endswith(b"--" + boundary + b"--\r\n")
    pieces = (b"\r\n" + answer.body).split(b"\r\n--" + boundary)
    assert pieces[0] in (b"", b"\r\n") and pieces[-1] == b"--\r\n"
    parts = []
    for piece in pieces[1:-1]:
        assert piece.startswith(b"\r\n")
        head, _, body = piece[2:].partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        parts.append(({k.lower(): v for k, v in fields.items()}, body))
    return parts


@pytest.mark.sanitizers
@pytest.mark.parametrize("target, content", [("/k.bin", K), ("/big.bin", pattern(BIG, 4))])
@pytest.mark.parametrize("ranges, wanted", [
    ("0-0,2-2", [(0, 0), (2, 2)]), ("0-9, 100-109 ,-5", [(0, 9), (100, 109), (-5, None)]),
    ("500-509,0-9", [(500, 509), (0, 9)]), ("0-0,2-2,99999999-", [(0, 0), (2, 2)])])
def test_several_ranges_come_in_parts(server, target, content, ranges, wanted):
    answer = server.get(target, f"Range: bytes={ranges}")
    assert answer.status == 206 and answer.get("content-range") is None
    parts = parts_of(answer)
    assert len(parts) == len(wanted)
    for (fields, body), (first, last) in zip(parts, wanted):
        if first < 0:
            first, last = len(content) + first, len(content) - 1
        assert fields["content-range"] == f"bytes {first}-{last}/{len(content)}"
        assert fields["content-type"] == "application/octet-stream"
        assert body == content[first:last + 1]


@pytest.mark.parametrize("ranges", [
    ",".join(["0-"] * 1000), ",".join(["0-0"] * 2000), ",".join(f"{i}-" for i in range(1000)),
    ",".join(f"{2 * i}-{2 * i}" for i in range(400)), ",".join(["-1024"] * 500),
    "0-1023,0-1023", "0-500,400-900,300-1000"])
def test_absurd_and_overlapping_ranges_are_bounded(head_server, ranges):
    answer = head_server.get("/k.bin", f"Range: bytes={ranges}")
    assert answer.status in (200, 206, 416)
    count = len(ranges.split(","))
    assert len(answer.body) <= 1024 + 300 * min(count, 400)
    if answer.status == 200:
        assert answer.body == K


@pytest.mark.parametrize("condition, status", [
    ("E", 206), ('"x"', 200), ("W/E", 200), (EARLIER, 200), (LATER, 200), ("garbage", 200),
    ("*", 200), ("", 200), (SAME, 206)])
def test_if_range(head_server, condition, status):
    etag = head_server.get("/k.bin").get("etag")
    condition = {"E": etag, "W/E": "W/" + etag}.get(condition, condition)
    answer = head_server.get("/k.bin", "Range: bytes=5-6", f"If-Range: {condition}")
    assert answer.status == status
    assert answer.body == (K[5:7] if status == 206 else K)


def test_head_ignores_range(head_server):
    for ranges in ("bytes=0-1", "bytes=5000-", "bytes=0-0,2-2"):
        answer = head_server.get("/k.bin", f"Range: {ranges}", method="HEAD")
        assert answer.status == 200 and answer.get("content-length") == "1024"


def test_ranges_elsewhere(head_server):
    assert head_server.get("/absent", "Range: bytes=0-1").status == 404
    assert head_server.get("/dir", "Range: bytes=0-1").status in (301, 308)
    assert head_server.get("/empty.txt", "Range: bytes=0-").status in (200, 416)
    assert head_server.get("/k.bin").get("accept-ranges") == "bytes"


# Precompressed siblings.

SIBLINGS = {"gzip": "app.js.gz", "br": "app.js.br", "zstd": "app.js.zst", None: "app.js"}


@pytest.mark.sanitizers
@pytest.mark.parametrize("accepts, wanted", [
    (None, {None}), ("gzip", {"gzip"}), ("br", {"br"}), ("zstd", {"zstd"}), ("GZIP", {"gzip"}),
    ("gzip, br", {"gzip", "br"}), ("gzip, deflate, br, zstd", {"gzip", "br", "zstd"}),
    ("gzip;q=0", {None}), ("gzip;q=0.000", {None}), ("gzip; q=0 , br;q=0", {None}),
    ("gzip;q=0.5, br;q=0.1", {"gzip"}), ("gzip;q=0.1, br;q=0.5", {"br"}),
    ("zstd;q=0.9,br;q=0.2,gzip;q=0.3", {"zstd"}), ("br;q=0, *", {"gzip", "zstd"}),
    ("*", {"gzip", "br", "zstd", None}), ("*;q=0, gzip", {"gzip"}), ("identity", {None}),
    ("identity, gzip;q=0.5", {None, "gzip"}), ("identity;q=0, gzip", {"gzip"}),
    ("deflate", {None}), ("", {None}), ("gzip;q=1.0", {"gzip"}), ("x-gzip", {"gzip", None}),
    ("gzipx, xbr", {None}), ("gzip ;q=1", {"gzip"}), (",gzip,", {"gzip"}),
])
def test_the_sibling_that_the_client_likes_best(server, site, accepts, wanted):
    fields = [] if accepts is None else [f"Accept-Encoding: {accepts}"]
    with server.connect() as connection:
        answer = connection.get("/app.js", *fields)
        coding = answer.get("content-encoding")
        assert answer.status == 200 and coding in wanted
        assert answer.body == (site / SIBLINGS[coding]).read_bytes()
        assert answer.get("content-type").startswith("text/javascript")
        assert "accept-encoding" in answer.get("vary", "").lower()
        head = connection.get("/app.js", *fields, method="HEAD")
        assert head.get("content-length") == str(len(answer.body))
        assert head.get("content-encoding") == coding and head.get("etag") == answer.get("etag")


def test_each_coding_has_its_own_validator(head_server):
    etags = {}
    for coding in ("gzip", "br", "zstd", "identity"):
        etags[coding] = head_server.get("/app.js", f"Accept-Encoding: {coding}").get("etag")
    assert len(set(etags.values())) == 4
    for coding, etag in etags.items():
        same = head_server.get("/app.js", f"Accept-Encoding: {coding}", f"If-None-Match: {etag}")
        assert same.status == 304 and "accept-encoding" in same.get("vary", "").lower()
        other = "br" if coding != "br" else "gzip"
        assert head_server.get("/app.js", f"Accept-Encoding: {other}",
                               f"If-None-Match: {etag}").status == 200


def test_a_range_of_a_sibling_is_a_range_of_the_bytes_that_are_sent(head_server, site):
    for coding in ("gzip", "br", "identity"):
        answer = head_server.get("/app.js", f"Accept-Encoding: {coding}", "Range: bytes=2-9")
        assert answer.status == 206
        content = (site / SIBLINGS[answer.get("content-encoding")]).read_bytes()
        assert answer.body == content[2:10]
        assert answer.get("content-range") == f"bytes 2-9/{len(content)}"


def test_only_the_siblings_that_exist_are_offered(head_server, site):
    assert head_server.get("/only.css", "Accept-Encoding: br").get("content-encoding") is None
    answer = head_server.get("/only.css", "Accept-Encoding: br, gzip;q=0.1")
    assert answer.get("content-encoding") == "gzip"
    assert answer.body == (site / "only.css.gz").read_bytes()
    assert head_server.get("/a.txt", "Accept-Encoding: gzip").get("content-encoding") is None


def test_a_sibling_asked_for_by_name_is_a_file_like_another(head_server, site):
    answer = head_server.get("/app.js.gz", "Accept-Encoding: gzip")
    assert answer.get("content-encoding") is None
    assert answer.body == (site / "app.js.gz").read_bytes()


def test_siblings_can_be_left_alone(serve, site):
    server = serve(site, "--no-precompressed")
    answer = server.get("/app.js", "Accept-Encoding: gzip, br, zstd")
    assert answer.get("content-encoding") is None
    assert answer.body == (site / "app.js").read_bytes()


def test_a_sibling_without_its_file_is_not_found(serve, folder):
    (folder / "gone.js.gz").write_bytes(b"\x1f\x8b")
    assert serve(folder).get("/gone.js", "Accept-Encoding: gzip").status == 404
