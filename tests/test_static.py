"""Static files as a client sees them: contents, folders, fields, error pages, listings."""

import base64
import html
import json
import re
import time
from urllib.parse import quote, unquote, urljoin, urlsplit

import pytest

from h2_client import Client
from raw_client import request
from server import wait_until
from site_folder import BIG, INDEX, MIDDLE, pattern


# Plain files.


@pytest.mark.sanitizers
@pytest.mark.parametrize("name, size, seed", [("k.bin", 1024, 2), ("middle.bin", MIDDLE, 3),
                                              ("big.bin", BIG, 4)])
def test_a_file_arrives_as_it_is_cold_and_hot(server, name, size, seed):
    with server.connect() as connection:
        for _ in range(4):
            answer = connection.get("/" + name)
            assert answer.status == 200 and answer.get("content-length") == str(size)
            assert answer.body == pattern(size, seed)


@pytest.mark.sanitizers
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


TOO_LONG = {  # for a name (255 bytes) or a path (4,096) of the file system, within the line's limit
    "a name": "/" + "x" * 256, "a name in a folder": "/dir/" + "x" * 256 + ".html",
    "a path": "/" + "d/" * 2_047 + "a.txt", "one of RFC 9112's 8,000 bytes": "/" + "x" * 7_950,
    "an encoded one": "/" + "%61" * 2_600, "a folder": "/" + "d/" * 3_900}


@pytest.mark.sanitizers
@pytest.mark.parametrize("target", TOO_LONG.values(), ids=TOO_LONG)
def test_a_path_too_long_for_the_file_system_is_404(head_server, target):
    with head_server.connect() as connection, Client(head_server.address) as client:
        for _ in range(2):
            assert connection.get(target).status == 404
            assert client.answer(client.get(target)).status == 404
        assert connection.get("/" + "x" * 255).status == 404  # may be there
        assert connection.get("/a.txt").body == b"hello\n"


@pytest.mark.parametrize("flags", [["--symlinks", "never"], ["--symlinks", "anywhere"],
                                   ["--clean-urls"], ["--listing"], ["--hidden"]])
def test_so_it_is_whatever_else_is_looked_for(serve, site, flags):
    server = serve(site, *flags)
    with server.connect() as connection:
        for target in TOO_LONG.values():
            assert connection.get(target, "Accept-Encoding: gzip, br").status == 404, target[:20]


def test_options_names_the_methods(head_server):
    # "*" asks about the server as a whole, which has no methods of its own.
    assert head_server.get("*", method="OPTIONS").status == 204
    for target in ("/a.txt", "/dir/"):
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


@pytest.mark.sanitizers
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
    none = serve(folder, "--index", "none", "--no-listing")
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
    "//dir", "///dir", "//dir/..//dir", "/%2fdir", "/%2Fevil.example/%2e%2e/dir",
    "//evil.example/dir",
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
    (site / "dir.html").write_text("the page of dir\n")
    wait_until(lambda: server.get("/dir").body == b"the page of dir\n", what="the page")
    assert server.get("/dir/").status == head_server.get("/dir/").status


def test_a_single_page_application_gets_its_page_where_nothing_is_found(serve, site):
    server = serve(site, "--spa")
    for target in ("/no/such/route", "/login?next=/"):
        answer = server.get(target, "Accept: text/html")
        assert (answer.status, answer.body) == (200, INDEX)
    assert server.get("/a.txt").body == b"hello\n"
    assert server.get("/absent", method="POST").status == 405
    assert b"SECRET" not in server.get("/dir/.env").body
    named = serve(site, "--spa=about.html")
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
        old = "If-Modified-Since: Wed, 15 Nov 2023 22:13:20 GMT"
        assert connection.get("/absent", old).status == 404
        assert connection.get("/absent", "Range: bytes=0-1").status == 404
        assert connection.get("/404.html").status == 200
        assert connection.get("/a.txt").text == "hello\n"


REFUSED = {  # each of them before the site is called
    400: b"GET /../x HTTP/1.1\r\nHost: x\r\n\r\n",
    414: b"GET /" + b"x" * 2_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    417: b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: tea\r\n\r\n",
    431: b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 20 + b"\r\n",
    501: b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    505: b"GET / HTTP/3.0\r\nHost: x\r\n\r\n",
    408: b"GET / HT",
}
REFUSING = ("--max-line", "1KiB", "--max-fields", "10", "--header-timeout", "1s")


def test_a_refused_request_is_answered_by_the_page_of_its_status(serve, folder):
    pages = []
    for status in REFUSED:
        large = " " * 900_000 if status == 431 else ""
        (folder / f"{status}.html").write_text(f"<p>{status} here{large}")
        pages += ["--error-page", f"{status}={status}.html"]
    log = folder / ".log"
    server = serve(folder, *pages, *REFUSING, "--access-log", log, "--log-flush", "1ms")
    for status, data in REFUSED.items():
        with server.connect() as connection:
            answer = connection.ask(data)
            assert answer.status == status and answer.says_close, status
            assert answer.text.startswith(f"<p>{status} here")
            assert int(answer.get("content-length")) == len(answer.body)
            assert answer.get("content-type").startswith("text/html")
            assert connection.wait_end()
    with server.connect() as connection:
        answer = connection.ask(REFUSED[431].replace(b"GET", b"HEAD", 1), method="HEAD")
        assert (answer.status, answer.get("content-length")) == (431, "900011")
        assert connection.wait_end() and not connection.buffer
    wait_until(lambda: log.exists() and b"431 900011" in log.read_bytes(), what="its line")


def test_a_refused_request_is_told_why_in_the_form_it_asks_for(serve, folder):
    server = serve(folder, *REFUSING)
    for status, data in REFUSED.items():
        with server.connect() as connection:
            answer = connection.ask(data)
            assert answer.status == status and answer.says_close
            assert answer.get("content-type") == "text/html; charset=utf-8"
            assert f'<p class="code">{status}</p>' in answer.text
    accept = b"Accept: application/json\r\n\r\n"
    for target, why in (("/../x", "climbs above the root"), ("/%00", "holds a NUL"),
                        ("/a%0d%0aX:y", "a control character")):
        with server.connect() as connection:
            answer = connection.ask(f"GET {target} HTTP/1.1\r\nHost: x\r\n".encode() + accept)
            assert answer.get("content-type") == "application/problem+json"
            said = json.loads(answer.body)
            assert said["title"] == "Bad Request" and said["status"] == 400
            assert why in said["detail"]


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
    assert "<script>alert" not in page and "<<" not in page and "/.hidden" not in page
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
    assert got["plain.txt"]["bytes"] == len("content of plain.txt")
    for name in names:
        if name != "sub":
            assert listed.get("/" + quote(name)).text == "content of " + name


def test_a_name_that_no_request_may_hold_is_listed_without_a_link(serve, folder):
    names = ["new\nline", "bell\x07", "back\\slash", "plain"]
    for name in names:
        (folder / name).touch()
    server = serve(folder, "--listing")
    page = server.get("/", "Accept: text/html").text
    assert page.count("no address can hold this name") == 3 and page.count('href="./') == 1
    listed = json.loads(server.get("/", "Accept: application/json").body)["entries"]
    assert {e["name"]: e["href"] is not None for e in listed} == {n: n == "plain" for n in names}
    for entry in listed:
        assert server.get("/" + quote(entry["name"])).status == (200 if entry["href"] else 400)


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
        while connection.receive_some(connection.deadline + time.monotonic()):
            pass
        assert b"transfer-encoding" not in bytes(connection.buffer).lower()
        assert b"plain.txt" in connection.buffer


@pytest.mark.slow
def test_a_folder_of_ten_thousand_is_listed(serve, folder, sanitized):
    for i in range(10_000):
        (folder / f"file-{i:05}").touch()
    server = serve(folder, "--listing")
    before = server.pss_bytes()
    for _ in range(2):
        page = server.get("/", "Accept: application/json", deadline=100).body
        assert len(re.findall(rb"file-\d{5}", page)) >= 10_000
    if not sanitized:
        assert server.pss_bytes() - before < 8 << 20


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


def basic(text):
    return "Authorization: Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.sanitizers
def test_paths_have_users_of_their_own(serve, site):
    server = serve(site, "--path-auth", "/dir=ada:a", "--path-auth", "/dir/open/=off")
    for target in ("/dir", "/dir/", "/dir/absent", "/%64ir/x", "//dir//x", "/x/../dir/x",
                   "/dir/open/../x", "/dir?/dir/open"):
        answer = server.get(target)
        assert answer.status == 401, target
        assert 'realm="restricted /dir"' in answer.get("www-authenticate"), target
        assert server.get(target, basic("ada:b")).status == 401, target
        assert server.get(target, basic("ada:a")).status != 401, target
    for target in ("/a.txt", "/dirs", "/dir/open/x"):
        assert server.get(target).status in (200, 404), target
    with Client(server.address) as client:  # HTTP/2
        assert client.answer(client.get("/dir/x")).status == 401
        assert client.answer(client.get("/a.txt")).status == 200


def test_paths_have_rules_of_their_own(serve, site):
    (site / "api-404.json").write_text('{"why": "none"}\n')
    server = serve(site, "--header", "X-Where: site", "--path-header", "/dir=X-Where: dir",
                   "--path-header", "/dir/deep=X-Deep: 1", "--cors=https://site.example",
                   "--path-cors", "/dir=*", "--path-cors", "/dir/shut=off",
                   "--path-error-page", "/dir=404=api-404.json",
                   "--path-rate", "/dir/few=1,2", "--path-rate", "/dir/few/free=off")
    origin = "Origin: https://a.example"
    assert server.get("/a.txt").get("x-where") == "site"
    assert server.get("/dir/x").get("x-where") == "dir"
    deep = server.get("/dir/deep/x")
    assert (deep.get("x-where"), deep.get("x-deep")) == ("dir", "1")
    assert server.get("/a.txt", origin).get("access-control-allow-origin") is None
    assert server.get("/dir/x", origin).get("access-control-allow-origin") == "*"
    assert server.get("/dir/shut", origin).get("access-control-allow-origin") is None
    assert server.get("/dir/x").body == b'{"why": "none"}\n'
    assert b'"why"' not in server.get("/x").body
    few = [server.get(f"/dir/few/{i}") for i in range(3)]
    assert [answer.status for answer in few] == [404, 404, 429]
    assert int(few[2].get("retry-after")) > 0 and few[2].get("x-where") == "dir"
    assert server.get("/dir/few/free").status == 404
    assert server.get("/dir/x").status == 404


def test_paths_lead_elsewhere(serve, site):
    server = serve(site, "--path-redirect", "/old=/dir", "--path-redirect", "/old/kept=off",
                   "--path-redirect", "/away=https://a.example/v2/", "--path-redirect", "/top=/",
                   "--path-auth", "/shut=ada:a", "--path-redirect", "/shut=/dir")
    for target, location in (
            ("/old", "/dir"), ("/old/", "/dir/"), ("/old/a%20b/c?d=e%2F", "/dir/a%20b/c?d=e%2F"),
            ("/old//x", "/dir/x"), ("/x/../old/y", "/dir/y"), ("/old?", "/dir?"),
            ("/away", "https://a.example/v2/"), ("/away/x", "https://a.example/v2/x"),
            # "//evil.example" would be another server
            ("/top//evil.example/", "/evil.example/"), ("/top/%2Fevil", None), ("/top", "/")):
        for method in ("GET", "HEAD", "POST"):
            answer = server.get(target, method=method)
            if location is None:
                assert answer.status == 400, target
            else:
                assert (answer.status, answer.get("location")) == (308, location), target
    assert server.get("/old/kept").status == 404 and server.get("/older").status == 404
    assert server.get("/shut/x").status == 401 and server.get("/shut/x").get("location") is None
    assert server.get("/shut/x", basic("ada:a")).get("location") == "/dir/x"


@pytest.mark.sanitizers
def test_passwords_are_asked_for(serve, site):
    server = serve(site, "--basic-auth", "neap:spr:ing")
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
