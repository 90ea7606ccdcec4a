"""Static files as a client sees them, on each engine where bytes move, on one where only the
answer's head is at stake."""

import email.utils
import json
import os
import re
import socket
import stat
from urllib.parse import quote, unquote, urljoin, urlsplit

import pytest

from raw_client import Connection, request
from server import wait_until
from site_folder import BIG, INDEX, MIDDLE, pattern

K = pattern(1024, 2)


@pytest.fixture(scope="module")
def head_server(binary, site, tmp_path_factory):
    """One engine is enough where the kernel is not in question."""
    from server import Server
    server = Server(binary, site, folder=tmp_path_factory.mktemp("static"))
    try:
        server.wait_ready()
        yield server
        server.stop()
    finally:
        server.kill()


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    return root


# Plain files.


@pytest.mark.quick
@pytest.mark.parametrize("name, size, seed", [("k.bin", 1024, 2), ("middle.bin", MIDDLE, 3),
                                              ("big.bin", BIG, 4)])
def test_a_file_arrives_as_it_is_cold_and_hot(server, name, size, seed):
    with server.connect() as connection:
        for _ in range(4):
            answer = connection.get("/" + name)
            assert answer.status == 200 and answer.get("content-length") == str(size)
            assert answer.body == pattern(size, seed)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["k.bin", "big.bin", "empty.txt", "index.html", "app.js"])
def test_head_says_what_get_says_without_the_body(server, name):
    with server.connect() as connection:
        get = connection.get("/" + name)
        head = connection.get("/" + name, method="HEAD")
        same = [f for f in get.fields if f[0].lower() != "date"]
        assert [f for f in head.fields if f[0].lower() != "date"] == same
        assert head.status == get.status and connection.get("/next.txt").body == b"next\n"


def test_head_of_an_absent_file_has_no_body(server):
    with server.connect() as connection:
        assert connection.get("/absent", method="HEAD").status == 404
        assert connection.get("/next.txt").body == b"next\n"


@pytest.mark.parametrize("name", ["with space.txt", "percent%41.txt", "plus+plus.txt",
                                  "hash#mark.txt", "question?mark.txt", "semi;colon.txt",
                                  "quote'\".txt", "\u00fcml\u00e4ut.txt", "\u6f6e.txt"])
def test_special_names_are_reached_percent_encoded(head_server, site, name):
    answer = head_server.get("/" + quote(name))
    assert answer.status == 200 and answer.body == (site / name).read_bytes()
    everything = "".join(f"%{byte:02X}" for byte in name.encode())
    assert head_server.get("/" + everything).body == answer.body


def test_a_plus_is_a_plus(head_server):
    assert head_server.get("/plus+plus.txt").status == 200
    assert head_server.get("/with+space.txt").status == 404


@pytest.mark.parametrize("query", ["?", "?x", "?x=1&y=2", "?a=/../..", "?%2e%2e", "?%zz", "??",
                                   "?a?b", "?" + "q" * 2000])
def test_a_query_does_not_change_the_file(head_server, query):
    assert head_server.get("/a.txt" + query).body == b"hello\n"


def test_options_names_the_methods(head_server):
    for target in ("/a.txt", "*", "/dir/"):
        answer = head_server.get(target, method="OPTIONS")
        assert answer.status in (200, 204)
        methods = {m.strip() for m in answer.get("allow").split(",")}
        assert {"GET", "HEAD", "OPTIONS"} <= methods and "POST" not in methods


def test_other_methods_are_405_with_the_allowed_ones(head_server):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = head_server.get("/a.txt", method=method)
        assert answer.status == 405
        methods = {m.strip() for m in answer.get("allow").split(",")}
        assert {"GET", "HEAD"} <= methods and method not in methods


# Folders.


@pytest.mark.quick
def test_the_index_stands_for_its_folder(server):
    assert server.get("/").body == INDEX
    assert server.get("/?x=1").body == INDEX
    assert b"dir" in server.get("/dir/").body


def test_the_list_of_index_files_is_an_option(serve, folder):
    (folder / "start.htm").write_text("start")
    (folder / "index.html").write_text("index")
    (folder / "sub").mkdir()
    (folder / "sub/index.html").write_text("sub index")
    server = serve(folder, "--index", "start.htm,index.html")
    assert server.get("/").text == "start"
    assert server.get("/sub/").text == "sub index"
    none = serve(folder, "--index", "none")
    assert none.get("/").status in (403, 404)


@pytest.mark.parametrize("target, location", [("/dir", "/dir/"), ("/dir?x=1&y", "/dir/?x=1&y"),
                                              ("/bare", "/bare/"), ("/dir?", None)])
def test_a_folder_without_its_slash_is_redirected_to_it(head_server, target, location):
    answer = head_server.get(target)
    assert answer.status in (301, 308)
    got = answer.get("location")
    parts = urlsplit(got)
    assert parts.path == "/dir/" if location is None else got.endswith(location)
    assert parts.netloc in ("", "x")


@pytest.mark.parametrize("target", [
    "//dir", "///dir", "//dir/..//dir", "/%2fdir", "/%2Fevil.example/%2e%2e/dir", "//evil.example/dir",
    "//evil.example/%2e%2e/dir", "/\\evil.example/..%5c/dir", "/.//dir", "/%5c/../dir",
    "/dir%0d%0aX-Injected:%20yes", "/dir/../dir", "http://evil.example/dir",
    "//evil.example%2f..%2fdir", "/dir?%0d%0aX-Injected: yes".replace(" ", "%20")])
def test_a_redirect_never_leads_to_another_host_and_never_carries_a_line_end(head_server, target):
    answer = head_server.get(target)
    assert answer.get("x-injected") is None
    location = answer.get("location")
    if location is not None:
        assert not re.match(r"[/\\]{2}|[a-z]+:(?!//x/)", location), location
        resolved = urlsplit(urljoin("http://x/", location.replace("\\", "/")))
        assert resolved.hostname == "x" and "%0d" not in resolved.path.lower()


def test_a_redirect_encodes_the_name(serve, folder):
    for name in ("sp ace", "h#sh", "q?q", "pc%41", "\u6f6e"):
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(name)
    server = serve(folder)
    for name in ("sp ace", "h#sh", "q?q", "pc%41", "\u6f6e"):
        location = server.get("/" + quote(name)).get("location")
        assert unquote(urlsplit(location).path) == f"/{name}/"
        assert server.get(urlsplit(location).path).text == name


def test_a_folder_without_an_index_is_not_shown_unless_asked(head_server):
    answer = head_server.get("/bare/")
    assert answer.status in (403, 404) and b"c.txt" not in answer.body


def test_a_file_is_not_a_folder(head_server):
    for target in ("/a.txt/", "/a.txt/b", "/a.txt/../a.txt/x", "/a.txt/index.html"):
        assert head_server.get(target).status in (404, 400), target


def test_clean_urls_find_the_html_file(serve, site, head_server):
    assert head_server.get("/about").status == 404
    server = serve(site, "--clean-urls")
    answer = server.get("/about")
    assert answer.status == 200 and b"about" in answer.body
    assert answer.get("content-type").startswith("text/html")
    assert server.get("/about.html").status in (200, 301, 308)
    assert server.get("/a.txt").body == b"hello\n"
    assert server.get("/absent").status == 404
    assert server.get("/dir").status in (301, 308)


def test_a_single_page_application_gets_its_page_where_nothing_is_found(serve, site):
    server = serve(site, "--spa")
    for target in ("/no/such/route", "/login?next=/"):
        answer = server.get(target, "Accept: text/html")
        assert (answer.status, answer.body) == (200, INDEX)
    assert server.get("/a.txt").body == b"hello\n"
    assert server.get("/absent", method="POST").status == 405
    assert b"SECRET" not in server.get("/dir/.env").body
    named = serve(site, "--spa", "about.html")
    assert b"about" in named.get("/no/such", "Accept: text/html").body


# Types and other fields.


@pytest.mark.parametrize("name, wanted", [
    ("index.html", r"text/html; *charset=utf-8"), ("a.txt", r"text/plain; *charset=utf-8"),
    ("style.css", r"text/css; *charset=utf-8"), ("app.js", r"text/javascript(; *charset=utf-8)?"),
    ("data.json", r"application/json(; *charset=utf-8)?"),
    ("picture.svg", r"image/svg\+xml(; *charset=utf-8)?"), ("pixel.png", r"image/png"),
    ("k.bin", r"application/octet-stream"), ("unknown.zzz", r"application/octet-stream"),
    ("noextension", r"application/octet-stream"), ("app.js.gz", r"application/gzip")])
def test_types_and_charsets(head_server, name, wanted):
    answer = head_server.get("/" + name)
    assert re.fullmatch(wanted, answer.get("content-type"), re.I), answer.get("content-type")
    assert answer.get("x-content-type-options") == "nosniff"


def test_types_can_be_added(serve, site):
    server = serve(site, "--mime", "zzz=text/x-tide", "--mime", "txt=text/other")
    assert server.get("/unknown.zzz").get("content-type").startswith("text/x-tide")
    assert server.get("/a.txt").get("content-type").startswith("text/other")


def test_an_extension_in_capitals_is_the_same_extension(serve, folder):
    (folder / "A.HTML").write_text("x")
    (folder / "B.Jpg").write_text("x")
    server = serve(folder)
    assert server.get("/A.HTML").get("content-type").startswith("text/html")
    assert server.get("/B.Jpg").get("content-type") == "image/jpeg"


def test_cache_control_follows_the_first_rule_that_matches(serve, site):
    server = serve(site, "--cache-control", "/dir/*=no-store", "--cache-control",
                   "*.css=max-age=3600", "--cache-control", "*.txt=max-age=60")
    assert server.get("/style.css").get("cache-control") == "max-age=3600"
    assert server.get("/dir/b.txt").get("cache-control") == "no-store"
    assert server.get("/a.txt").get("cache-control") == "max-age=60"
    assert server.get("/pixel.png").get("cache-control") != "max-age=60"
    assert server.get("/absent.css").get("cache-control") != "max-age=3600"


def test_fields_are_added_to_every_answer(serve, site):
    server = serve(site, "--header", "X-Frame-Options:DENY", "--header", "X-Tide: high water")
    for target in ("/a.txt", "/absent", "/dir"):
        answer = server.get(target)
        assert answer.get("x-frame-options") == "DENY" and answer.get("x-tide") == "high water"


# Conditions (RFC 9110, 13).

EARLIER = "Mon, 13 Nov 2023 22:13:20 GMT"
SAME = "Tue, 14 Nov 2023 22:13:20 GMT"  # 1,700,000,000
LATER = "Wed, 15 Nov 2023 22:13:20 GMT"


@pytest.mark.quick
def test_validators_are_strong_and_stay_the_same(server):
    answer = server.get("/k.bin")
    assert re.fullmatch(r'"[\x21\x23-\x7e]+"', answer.get("etag"))
    assert answer.get("last-modified") == SAME
    assert server.get("/k.bin").get("etag") == answer.get("etag")
    assert server.get("/a.txt").get("etag") != answer.get("etag")


@pytest.mark.quick
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
    for field in ("If-None-Match: *", "If-Match: *", f"If-Modified-Since: {LATER}", 'If-Match: "x"'):
        assert head_server.get("/absent", field).status in (404, 412)
    assert head_server.get("/absent", "If-None-Match: *").status == 404


# Ranges (RFC 9110, 14).


@pytest.mark.quick
@pytest.mark.parametrize("ranges, first, last", [
    ("bytes=0-0", 0, 0), ("bytes=0-1023", 0, 1023), ("bytes=0-", 0, 1023), ("bytes=1000-", 1000, 1023),
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


@pytest.mark.parametrize("ranges", ["bytes=1024-", "bytes=2000-3000", "bytes=-0", "bytes=5000-,6000-",
                                    "bytes=18446744073709551615-"])
def test_ranges_beyond_the_end_are_416(head_server, ranges):
    answer = head_server.get("/k.bin", f"Range: {ranges}")
    assert answer.status == 416 and answer.get("content-range") == "bytes */1024"


@pytest.mark.parametrize("ranges", [
    "bytes", "bytes=", "bytes=a-b", "bytes=1", "bytes=--1", "bytes=5-4", "bytes=0-1-2", "bytes=0- 1x",
    "items=0-1", "0-1", "bytes 0-1", "bytes=0-1;2-3", "bytes=-", "bytes=0x0-1", "bytes=+0-1",
    "bytes=1e3-", "bytes=\x80-", "bytes=18446744073709551616-", "bytes=0-99999999999999999999999",
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
    assert pieces[0] in (b"",) and pieces[-1] == b"--\r\n"
    parts = []
    for piece in pieces[1:-1]:
        assert piece.startswith(b"\r\n")
        head, _, body = piece[2:].partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        parts.append(({k.lower(): v for k, v in fields.items()}, body))
    return parts


@pytest.mark.quick
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
    answer = head_server.get("/k.bin", "Range: bytes=5-6",
                             f"If-Range: {re.sub('E$', etag, condition) if 'E' in condition[:3] else condition}")
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


@pytest.mark.quick
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


# Error pages.


@pytest.mark.parametrize("accept, kind", [("application/json", "json"), ("text/html", "html"),
                                          ("text/html,application/xhtml+xml,*/*;q=0.8", "html"),
                                          ("application/json;q=0.9, text/html;q=0.1", "json"),
                                          ("text/html;q=0.2, application/json", "json")])
def test_built_in_error_pages_are_html_or_json_as_the_client_likes(head_server, accept, kind):
    answer = head_server.get("/absent<b>".replace("<", "%3C").replace(">", "%3E"),
                             f"Accept: {accept}")
    assert answer.status == 404
    if kind == "json":
        assert answer.get("content-type").startswith("application/")
        assert "json" in answer.get("content-type")
        assert 404 in json.loads(answer.body).values()
    else:
        assert answer.get("content-type").lower().replace(" ", "") == "text/html;charset=utf-8"
        assert b"404" in answer.body and b"<b>" not in answer.body
    assert answer.get("x-content-type-options") == "nosniff"


def test_an_error_page_of_ones_own(serve, folder):
    (folder / "404.html").write_text("<p>no such tide")
    (folder / "a.txt").write_text("hello\n")
    server = serve(folder, "--error-page", "404=404.html")
    with server.connect() as connection:
        answer = connection.get("/absent")
        assert (answer.status, answer.text) == (404, "<p>no such tide")
        assert answer.get("content-type").startswith("text/html")
        assert connection.get("/absent", method="HEAD").get("content-length") == "15"
        assert connection.get("/absent", f"If-Modified-Since: {LATER}").status == 404
        assert connection.get("/absent", "Range: bytes=0-1").status == 404
        assert connection.get("/404.html").status == 200
        assert connection.get("/a.txt").text == "hello\n"


def test_an_error_page_that_is_absent_is_replaced_by_the_built_in_one(serve, folder):
    server = serve(folder, "--error-page", "404=gone.html", ready=False)
    if not _started(server):
        assert server.wait_exit() in (1, 2)  # refused at start: as good
        return
    assert server.get("/absent").status == 404


def _started(server):
    wait_until(lambda: not server.alive() or "\nengine" in server.output)
    return server.alive()


# Listings.


@pytest.fixture(scope="module")
def names():
    return ["plain.txt", "<script>alert(1)<", "<" * 50, "a\"b'c&d.txt", "sp ace.txt", "\u6f6e.txt",
            "per%20cent", "q?q#h", "sub", "\u202etxt.exe", "javascript:alert(1)"]


@pytest.fixture
def listed(serve, folder, names):
    for name in names:
        if name == "sub":
            (folder / name).mkdir()
            (folder / name / "x").write_text("x")
        else:
            (folder / name).write_text("content of " + name)
    (folder / ".hidden").write_text("hidden")
    return serve(folder, "--listing")


def test_a_listing_is_html_that_escapes_names_and_leads_to_every_file(listed, names):
    answer = listed.get("/", "Accept: text/html")
    assert answer.status == 200
    assert answer.get("content-type").lower().replace(" ", "") == "text/html;charset=utf-8"
    page = answer.text
    assert "<script>alert" not in page and "<<" not in page and ".hidden" not in page
    import html
    links = {unquote(urlsplit(urljoin("http://x/", html.unescape(link))).path)
             for link in re.findall(r'href="?([^"\s>]+)', page)
             if not html.unescape(link).startswith(("?", "#", "data:"))}
    for name in names:
        assert "/" + name + ("/" if name == "sub" else "") in links, name


def test_every_name_of_a_listing_can_be_fetched(listed, names):
    answer = listed.get("/", "Accept: application/json")
    entries = json.loads(answer.body)
    entries = entries if isinstance(entries, list) else next(
        v for v in entries.values() if isinstance(v, list))
    got = {e["name"].rstrip("/"): e for e in entries}
    assert set(got) == set(names)
    assert got["plain.txt"]["size"] == len("content of plain.txt")
    for name in names:
        if name != "sub":
            assert listed.get("/" + quote(name)).text == "content of " + name


def test_an_index_goes_before_a_listing(serve, site):
    server = serve(site, "--listing")
    assert server.get("/").body == INDEX
    assert b"c.txt" in server.get("/bare/").body
    assert server.get("/bare").status in (301, 308)


def test_a_listing_for_head_and_1_0(listed):
    with listed.connect() as connection:
        assert connection.get("/", method="HEAD").status == 200
        assert connection.get("/plain.txt").text == "content of plain.txt"
    with listed.connect() as connection:
        connection.send(request("/", version="1.0"))
        while connection.receive_some(connection.deadline + __import__("time").monotonic()):
            pass
        assert b"transfer-encoding" not in bytes(connection.buffer).lower()
        assert b"plain.txt" in connection.buffer


def test_a_folder_of_ten_thousand_is_listed(serve, folder, sanitized):
    for i in range(10_000):
        (folder / f"file-{i:05}").touch()
    server = serve(folder, "--listing")
    before = server.pss_bytes()
    for _ in range(2):
        page = server.get("/", "Accept: application/json", deadline=30).body
        assert len(re.findall(rb"file-\d{5}", page)) >= 10_000
    if not sanitized:
        assert server.pss_bytes() - before < 8 << 20


# What is not served.

HIDDEN = ["/.hidden", "/.git/config", "/.git/", "/.git", "/dir/.env", "/%2ehidden", "/%2Egit/config",
          "/./.hidden", "/dir/../.hidden", "/...", "/..double"]


@pytest.mark.parametrize("target", HIDDEN)
def test_hidden_names_are_not_found(head_server, target):
    answer = head_server.get(target)
    assert answer.status in (403, 404)
    assert b"SECRET" not in answer.body and b"[core]" not in answer.body
    assert answer.get("location") is None


def test_hidden_names_can_be_served(serve, site):
    server = serve(site, "--hidden")
    assert server.get("/.hidden").body == b"hidden\n"
    assert server.get("/.git/config").body == b"[core]\n"
    assert server.get("/...").body == b"three dots\n"


TRAVERSALS = [
    "/../outside.txt", "/../../outside.txt", "/..%2foutside.txt", "/..%2Foutside.txt",
    "/%2e%2e/outside.txt", "/%2e./outside.txt", "/.%2e/outside.txt", "/%2e%2e%2foutside.txt",
    "/dir/../../outside.txt", "/dir/%2e%2e/%2e%2e/outside.txt", "/dir/..%2f..%2foutside.txt",
    "/..%5coutside.txt", "/..\\outside.txt", "/%5c..%5coutside.txt", "/dir\\..\\..\\outside.txt",
    "/%252e%252e/outside.txt", "/%252e%252e%252foutside.txt", "/..%252foutside.txt",
    "/%c0%ae%c0%ae/outside.txt", "/%c0%ae%c0%ae%c0%afoutside.txt", "/..%c0%afoutside.txt",
    "/..%e0%80%afoutside.txt", "/%e0%80%ae%e0%80%ae/outside.txt", "/%uff0e%uff0e/outside.txt",
    "//../outside.txt", "/./../outside.txt", "/.//../outside.txt", "///../outside.txt",
    "/dir//../..//outside.txt", "/a.txt/../../outside.txt", "/absent/../../outside.txt",
    "/;/../outside.txt", "/..;/outside.txt", "/..;x=1/outside.txt", "/dir/....//outside.txt",
    "/..%00/outside.txt", "/..%0d%0a/outside.txt", "/%00/../outside.txt", "/a.txt%00.html",
    "/..", "/../", "/..%2f", "/.%2e", "/%2e%2e", "/../root/../outside.txt",
    "/" + "../" * 100 + "etc/passwd", "/" + "%2e%2e/" * 100 + "etc/passwd", "//etc/passwd",
    "/%2fetc/passwd", "/%2f%2fetc/passwd", "/file:///etc/passwd", "/proc/self/environ",
    "http://x/../outside.txt", "http://x/%2e%2e/outside.txt", "http://x/..%2foutside.txt",
    "/link-out", "/link-out-dir/outside.txt", "/link-up/outside.txt", "/link-up/root/a.txt",
    "/link-abs", "/link-loop", "/link-dangling", "/link-in-out", "/?/../outside.txt",
]


@pytest.fixture(scope="module")
def guarded(binary, tmp_path_factory):
    from server import Server
    above = tmp_path_factory.mktemp("above")
    root = above / "root"
    (root / "dir").mkdir(parents=True)
    (above / "outside.txt").write_text("OUTSIDE")
    (root / "a.txt").write_text("hello\n")
    (root / "dir/b.txt").write_text("b\n")
    (root / "link-in").symlink_to("a.txt")
    (root / "dir/link-in").symlink_to("../a.txt")
    (root / "link-dir").symlink_to("dir")
    (root / "link-out").symlink_to("../outside.txt")
    (root / "link-abs").symlink_to("/etc/passwd")
    (root / "link-out-dir").symlink_to("..")
    (root / "link-up").symlink_to("dir/../..")
    (root / "link-in-out").symlink_to("link-out")
    (root / "link-loop").symlink_to("link-loop")
    (root / "link-dangling").symlink_to("nowhere")
    servers = {}
    try:
        for policy in ("inside", "anywhere", "never"):
            servers[policy] = Server(binary, root, "--symlinks", policy, "--listing",
                                     folder=tmp_path_factory.mktemp("guarded"))
        for server in servers.values():
            server.wait_ready()
        yield servers
        for server in servers.values():
            server.stop()
    finally:
        for server in servers.values():
            server.kill()


@pytest.mark.quick
@pytest.mark.parametrize("target", TRAVERSALS)
def test_nothing_outside_the_root_is_reached(guarded, target):
    for policy in ("inside", "never"):
        with guarded[policy].connect() as connection:
            answer = connection.get(target)
            assert b"OUTSIDE" not in answer.body and b"root:" not in answer.body
            assert b"outside.txt" not in answer.body or target in answer.text.replace("&#x27;", "'") \
                or answer.status >= 400
            assert answer.status in (200, 301, 308, 400, 403, 404)


def test_links_are_followed_as_far_as_the_policy_says(guarded):
    def statuses(policy, *targets):
        return [guarded[policy].get(t).status for t in targets]
    assert statuses("inside", "/link-in", "/dir/link-in", "/link-dir/b.txt") == [200] * 3
    assert statuses("anywhere", "/link-in", "/link-out", "/link-out-dir/outside.txt") == [200] * 3
    for status in statuses("never", "/link-in", "/dir/link-in", "/link-dir/b.txt", "/link-out"):
        assert status in (403, 404)
    for status in statuses("inside", "/link-out", "/link-loop", "/link-dangling", "/link-in-out"):
        assert status in (403, 404)
    assert statuses("anywhere", "/link-loop", "/link-dangling")[1] == 404


def test_the_root_itself_may_be_a_link(serve, site, tmp_path):
    (tmp_path / "link").symlink_to(site)
    assert serve(tmp_path / "link").get("/a.txt").body == b"hello\n"


@pytest.mark.quick
def test_a_fifo_a_socket_and_a_device_are_not_opened(serve, folder):
    os.mkfifo(folder / "fifo")
    (folder / "a.txt").write_text("hello\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        made_device = False
        try:
            os.mknod(folder / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            made_device = True
        except OSError:
            pass  # not root: no device to try
        server = serve(folder)
        for name in ["fifo", "socket"] + ["zero"] * made_device:
            for method in ("GET", "HEAD"):
                assert server.get("/" + name, method=method, deadline=3).status in (403, 404), name
        assert server.get("/a.txt").text == "hello\n"


# Files that change while they are cached or on their way.


def settled(get, wanted, allowed, what):
    """Polls until `wanted` is served; every answer on the way must be one of `allowed`."""
    def look():
        answer = get()
        seen = (answer.status, answer.body) if answer.status == 200 else (answer.status, None)
        assert seen in allowed + [wanted], (seen[0], seen[1] and (len(seen[1]), seen[1][:40]))
        return seen == wanted
    wait_until(look, 8, what, pause=0.02)


SIZES = [300, 20_000, 400_000, 6_000_000]  # copied, cached, cached or sent, never cached


@pytest.mark.parametrize("size", SIZES)
def test_a_file_replaced_by_another_is_served_whole_old_or_whole_new(serve, folder, engine, size):
    old, new = pattern(size, 11), pattern(size // 2 + 7, 12)
    (folder / "f.bin").write_bytes(old)
    server = serve(folder, engine=engine)
    with server.connect() as connection:
        first = connection.get("/f.bin")
        assert first.body == old
        (folder / "new").write_bytes(new)
        os.rename(folder / "new", folder / "f.bin")
        etags = {}

        def get():
            answer = connection.get("/f.bin")
            etags.setdefault(answer.body == new, set()).add(answer.get("etag"))
            return answer
        settled(get, (200, new), [(200, old)], "the new file")
        assert not etags.get(False, set()) & etags[True]
        assert first.get("etag") not in etags[True]
        assert connection.get("/f.bin", f"If-None-Match: {first.get('etag')}").status == 200


def test_a_file_replaced_by_one_of_the_same_size_and_second_is_noticed(serve, folder):
    old, new = pattern(5000, 21), pattern(5000, 22)
    (folder / "f.bin").write_bytes(old)
    os.utime(folder / "f.bin", (1_700_000_000, 1_700_000_000))
    server = serve(folder)
    etag = server.get("/f.bin").get("etag")
    (folder / "new").write_bytes(new)
    os.utime(folder / "new", (1_700_000_000, 1_700_000_000))
    os.rename(folder / "new", folder / "f.bin")
    settled(lambda: server.get("/f.bin"), (200, new), [(200, old)], "the new file")
    assert server.get("/f.bin").get("etag") != etag


@pytest.mark.parametrize("size", SIZES)
def test_a_cached_file_may_grow_shrink_vanish_and_come_back(serve, folder, engine, size):
    path = folder / "f.bin"
    old = pattern(size, 31)
    path.write_bytes(old)
    server = serve(folder, engine=engine)
    with server.connect() as connection:
        def get():
            return connection.get("/f.bin")
        assert get().body == old
        with open(path, "ab") as file:
            file.write(b"z" * 1000)
        grown = old + b"z" * 1000
        settled(get, (200, grown), [(200, old)], "the grown file")
        os.truncate(path, 100)
        settled(get, (200, old[:100]), [(200, grown)], "the shortened file")
        path.unlink()
        settled(get, (404, None), [(200, old[:100])], "its absence")
        path.write_bytes(b"back again")
        settled(get, (200, b"back again"), [(404, None)], "its return")


@pytest.mark.quick
def test_a_file_truncated_while_it_is_sent_ends_the_answer_and_nothing_follows_it(
        serve, folder, engine):
    """The promised length can no longer be kept: the connection must end, short, and the pipelined
    request after it must not be answered as if nothing were."""
    size = 64 << 20
    with open(folder / "f.bin", "wb") as file:
        file.truncate(size)
    (folder / "a.txt").write_text("hello\n")
    server = serve(folder, engine=engine)
    with server.connect(receive_bytes=16384) as connection:
        connection.send(request("/f.bin") + request("/a.txt"))
        head = connection.read_head()
        assert head.get("content-length") == str(size)
        os.truncate(folder / "f.bin", 1000)
        received = len(connection.buffer)
        assert not connection.buffer.strip(b"\0")
        connection.buffer.clear()
        import time
        until = time.monotonic() + 30
        while connection.receive_some(until):
            assert not connection.buffer.strip(b"\0"), "another answer inside this one"
            received += len(connection.buffer)
            connection.buffer.clear()
        assert received < size
    assert server.get("/a.txt").text == "hello\n"
    assert len(server.get("/f.bin").body) == 1000


@pytest.mark.parametrize("change", ["replaced", "deleted", "grown"])
def test_a_file_changed_while_it_is_sent_arrives_as_it_was(serve, folder, engine, change):
    content = pattern(16 << 20, 41)
    path = folder / "f.bin"
    path.write_bytes(content)
    (folder / "a.txt").write_text("hello\n")
    server = serve(folder, engine=engine)
    with server.connect(receive_bytes=16384) as connection:
        connection.send(request("/f.bin") + request("/a.txt"))
        assert connection.read_head().get("content-length") == str(len(content))
        if change == "replaced":
            (folder / "new").write_bytes(b"new" * 100_000)
            os.rename(folder / "new", path)
        elif change == "deleted":
            path.unlink()
        else:
            with open(path, "ab") as file:
                file.write(b"grown" * 100_000)
        assert connection.take(len(content)) == content
        assert connection.read_answer().text == "hello\n"


def test_a_listed_folder_may_vanish(serve, folder):
    (folder / "sub").mkdir()
    (folder / "sub/x").write_text("x")
    server = serve(folder, "--listing")
    assert server.get("/sub/").status == 200
    (folder / "sub/x").unlink()
    (folder / "sub").rmdir()
    wait_until(lambda: server.get("/sub/").status == 404, 5, "404 for the folder")


# Very large files.

GIB = 1 << 30


@pytest.fixture(scope="module")
def giant(tmp_path_factory):
    root = tmp_path_factory.mktemp("giant")
    with open(root / "five.bin", "wb") as file:
        file.truncate(5 * GIB)
        file.seek(4 * GIB + 123)
        file.write(b"beyond four gigabytes")
        file.seek(5 * GIB - 3)
        file.write(b"end")
    with open(root / "three.bin", "wb") as file:
        file.truncate(3 * GIB)
    return root


@pytest.mark.quick
def test_ranges_beyond_four_gigabytes(serve, giant, engine):
    server = serve(giant, engine=engine)
    with server.connect() as connection:
        head = connection.get("/five.bin", method="HEAD")
        assert head.get("content-length") == str(5 * GIB)
        first = 4 * GIB + 123
        answer = connection.get("/five.bin", f"Range: bytes={first}-{first + 20}")
        assert answer.body == b"beyond four gigabytes"
        assert answer.get("content-range") == f"bytes {first}-{first + 20}/{5 * GIB}"
        assert connection.get("/five.bin", "Range: bytes=-3").body == b"end"
        parts = parts_of(connection.get("/five.bin", f"Range: bytes=0-1,{first}-{first + 5},-3"))
        assert [body for _, body in parts] == [b"\0\0", b"beyond", b"end"]
        assert connection.get("/five.bin", f"Range: bytes={5 * GIB}-").status == 416
        answer = connection.get("/five.bin", f"Range: bytes={5 * GIB - 5_000_000}-")
        assert len(answer.body) == 5_000_000 and answer.body.endswith(b"end")


def test_three_gigabytes_arrive(serve, giant):
    import time
    server = serve(giant)
    with server.connect(receive_bytes=1 << 20) as connection:
        connection.send(request("/three.bin"))
        assert connection.read_head().get("content-length") == str(3 * GIB)
        connection.skip(3 * GIB, time.monotonic() + 60)
        connection.send(request("/absent"))
        assert connection.read_answer().status == 404


# Access for other sites' scripts, and passwords.


def test_cors_for_all(serve, site):
    server = serve(site, "--cors")
    answer = server.get("/a.txt", "Origin: https://other.example")
    assert answer.get("access-control-allow-origin") == "*"
    preflight = server.get("/a.txt", "Origin: https://other.example",
                           "Access-Control-Request-Method: GET", method="OPTIONS")
    assert preflight.status in (200, 204)
    assert preflight.get("access-control-allow-origin") == "*"
    assert "GET" in preflight.get("access-control-allow-methods", "")


def test_cors_for_one(serve, site):
    server = serve(site, "--cors=https://friend.example")
    assert server.get("/a.txt", "Origin: https://friend.example").get(
        "access-control-allow-origin") == "https://friend.example"
    stranger = server.get("/a.txt", "Origin: https://stranger.example")
    assert stranger.get("access-control-allow-origin") in (None, "https://friend.example")


@pytest.mark.quick
def test_passwords_are_asked_for(serve, site):
    import base64
    server = serve(site, "--basic-auth", "neap:spr:ing")

    def basic(text):
        return "Authorization: Basic " + base64.b64encode(text.encode()).decode()
    for target in ("/a.txt", "/absent", "/dir", "/"):
        for method in ("GET", "HEAD", "OPTIONS", "POST"):
            answer = server.get(target, method=method)
            assert answer.status == 401, (target, method)
            assert answer.get("www-authenticate", "").lower().startswith("basic realm=")
            assert b"hello" not in answer.body
    assert server.get("/a.txt", basic("neap:spr:ing")).body == b"hello\n"
    assert server.get("/a.txt", basic("neap:spr:ing").replace("Basic", "bAsIc")).status == 200
    for wrong in (basic("neap:spring"), basic("neap:"), basic("neap"), basic(":spr:ing"),
                  basic("Neap:spr:ing"), basic("neap:spr:ing\0"), basic("neap:spr:ing "),
                  basic(""), "Authorization: Basic", "Authorization: Basic %%%",
                  "Authorization: Basic " + "A" * 4000, "Authorization: Bearer x",
                  "Authorization: Basic bmVhcDpzcHI6aW5n=", "Authorization:"):
        assert server.get("/a.txt", wrong).status in (400, 401), wrong
    assert server.get("/a.txt", basic("neap:wrong"), basic("neap:spr:ing")).status in (400, 401)
