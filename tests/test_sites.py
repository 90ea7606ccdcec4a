"""Many sites from one file: the real `tiderace run FILE`, asked by clients."""

import base64
import contextlib
import gzip
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from certificates import Authority
from h2_client import Client, Stream
from raw_client import get_once
from server import STAY_ROOT, Server, end, run, wait_until
from test_fastcgi import fcgiwrap, ended, needs_fcgiwrap  # noqa: F401
from tls_client import TlsConnection, client_context

needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not here")
# Started by root, it would become a user that cannot enter the folders of the tests.
SERVER = "[server]\nthreads = 1\n" + ('user = "root"\n' if STAY_ROOT else "")
HERE = '[[listen]]\naddress = "127.0.0.1:0"\n'


class Sites(Server):
    def leading_words(self, root, listen, threads, engine):
        return ["run", str(root)]

    def of(self, host, target="/", *fields, **more):
        return get_once(self.address, target, *fields, host=host, **more)


@pytest.fixture
def sites(binary, tmp_path, tmp_path_factory):
    """sites(text) writes the file and starts the server; its folder is tmp_path."""
    servers = []

    def start(text, head=SERVER + HERE, listeners=1, **more):
        file = tmp_path / "tiderace.toml"
        file.write_text(head + text)
        server = Sites(
            binary, more.pop("file", file), folder=tmp_path_factory.mktemp("server"), **more
        )
        servers.append(server)
        return server.wait_ready(listeners)

    yield start
    end(servers)


@pytest.fixture
def make(tmp_path):
    """make("a/index.html", "text") in the folder of the file."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


HASH_OF_B = (
    "$6$abcdefgh$QNDsjVtcjgKxzgqPVjOqfIzf0lELKpeIMXOOsA7k/T6H5MgnypPn6v5t9JJKExNa"
    "YlbmMCtYN.GTrFAEjXtiS/"
)


def basic(credentials):
    return "Authorization: Basic " + base64.b64encode(credentials.encode()).decode()


# Hosts.


THREE = """
[[site]]
hosts = ["a.example", "www.a.example."]
respond = "a"
[[site]]
hosts = ["*.a.example", "[::1]", "xn--mller-kva.example", "B_1.example"]
respond = "below"
"""
NAMES = {
    "a.example": "a",
    "A.EXAMPLE": "a",
    "a.example:80": "a",
    "a.example.": "a",
    "a.example.:65535": "a",
    "www.a.example": "a",
    "WwW.A.example.:1": "a",
    "a.example:": "a",
    "x.a.example": "below",
    "x.y.a.example.": "below",
    "[::1]:80": "below",
    "xn--MLLER-kva.example": "below",
    "b_1.EXAMPLE": "below",
    # A name that only ends alike, and what is no name at all.
    "xa.example": None,
    "example": None,
    "a.example.org": None,
    "127.0.0.1": None,
    "[::2]": None,
    "a.example..": None,
    "a%2eexample": None,
    "default": None,
    "a" * 300: None,
}


@pytest.mark.sanitizers
def test_a_host_chooses_its_site(sites):
    server = sites(THREE)
    for host, body in NAMES.items():
        answer = server.of(host)
        assert (answer.status, answer.text if body else None) == (200 if body else 421, body), host


def test_other_hosts_get_the_default_site(sites):
    server = sites(THREE + '[[site]]\ndefault = true\nhosts = ["c.example"]\nrespond = "rest"\n')
    for host, body in NAMES.items():
        assert server.of(host).text == (body or "rest"), host
    assert server.of("c.example").text == "rest"
    assert get_once(server.address, host=None, version="1.0").text == "rest"


HOSTILE = [
    "a.example/",
    "a.example@b.example",
    "a.example b.example",
    "a.example:80:80",
    "a.example:x",
    "a.example:65536",
    "a.example\x00",
    "a.example\x80",
    "a.example\xff",
    "\xe4.example",
    "[::1",
    "::1",
    "[::1%25lo]",
    "a.example?",
    "a.example#",
    "a\\example",
    '"a.example"',
    "<a.example>",
    "a.example,b.example",
    ".a.example",
    "..",
    ".",
    "a..example",
    "*",
    "",
    " ",
    "a.example\t",
    "%61.example",
]


@pytest.mark.sanitizers
def test_a_hostile_host_reaches_no_site_that_it_does_not_name(sites):
    server = sites(THREE)
    for host in HOSTILE:
        with server.connect() as connection:
            answer = connection.get("/", host=host)
            assert answer.status in (400, 421) or host.strip() == "a.example", (host, answer)
    # An absolute target stands above the field (RFC 9112, 3.2.2).
    answer = get_once(server.address, "http://www.a.example/", host="x.a.example")
    assert answer.text == "a"
    with server.connect() as connection:
        assert connection.get("/", "Host: a.example", host="x.a.example").status == 400


def test_http2_has_the_host_in_its_authority(sites):
    server = sites(THREE)
    with Client(server.address) as client:

        def of(*fields):
            number = client.next_stream
            client.next_stream += 2
            client.streams[number] = Stream()
            client.send(
                client.header_bytes(
                    number, [(":method", "GET"), (":scheme", "http"), (":path", "/"), *fields]
                )
            )
            return client.answer(number)

        for host, body in NAMES.items():
            answer = of((":authority", host))
            assert answer.status == (200 if body else 421), host
            assert not body or bytes(answer.body).decode() == body
        assert bytes(of(("host", "X.a.example:8")).body) == b"below"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "tide")


def certificates_of(*pairs):
    return "".join(
        f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n' for pair in pairs
    )


@needs_openssl
def test_each_host_has_its_certificate_and_plain_addresses_lead_to_it(sites, authority, make):
    pairs = [authority.issue(name, (name,)) for name in ("a.example", "b.example")]
    make("a/.well-known/acme-challenge/token", "challenge")
    listen = HERE + '[[listen]]\naddress = "localhost:0"\nredirect_to_https = true\n'
    server = sites(
        '[[site]]\nhosts = ["a.example"]\nroot = "a"\nhsts = "1d"\n'
        '[[site]]\nhosts = ["b.example"]\nrespond = "b"\n',
        head='include = ["none/*.toml"]\n' + SERVER + listen + certificates_of(*pairs),
    )
    for pair, name in zip(pairs, ("a.example", "b.example")):
        with TlsConnection(server.address, client_context(authority.file), name) as connection:
            assert connection.certificate == pair.fingerprint()
            answer = connection.get("/absent" if name[0] == "a" else "/", host=name)
            assert answer.status == (404 if name[0] == "a" else 200)
            assert answer.get("strict-transport-security") == (
                "max-age=86400" if name[0] == "a" else None
            )
            # A connection's certificate does not choose the site, but the request does.
            assert connection.get("/", host="b.example").text == "b"
            assert connection.get("/", host="c.example").status == 421
    plain = redirecting(server)
    port = server.address[1]
    for host in ("a.example", "b.example", "A.example:8080"):
        answer = get_once(plain, "/x?y", host=host)
        name = host.split(":")[0]
        assert (answer.status, answer.get("location")) == (308, f"https://{name}:{port}/x?y")
    challenge = "/.well-known/acme-challenge/token"
    assert get_once(plain, challenge, host="a.example").text == "challenge"
    assert get_once(plain, challenge, host="b.example").status == 404
    assert server.stderr.count("warning: no file is called") == 1, server.stderr


def redirecting(server):
    found = re.search(r"^redirect.*http://(?:localhost|127\.0\.0\.1):(\d+)", server.output, re.M)
    assert found, server.output
    return "127.0.0.1", int(found[1])


# Routes.


ROUTES = """
[[site]]
root = "www"
response.set = { X-Site = "yes", X-Near = "site" }
cache_control = "max-age=1"
error_pages = { 404 = "404.html" }
route = [
  { path = "/assets", response.set.X-Near = "assets", cache_control = "max-age=2" },
  { path = "/assets/deep", response.set.X-Deep = "yes" },
  { path = "=/assets/alone", response.set.X-Near = "alone", cache_control = "max-age=3" },
  { path = "/old", redirect = "/new{rest}" },
  { path = "/gone", redirect = "/new", status = 303 },
  { path = "/else", redirect = "https://e.example/v2{rest}" },
  { path = "=/feed", redirect = "/feed.xml", status = 301 },
  { path = ["/text", "/other"], respond = "a text" },
  { path = "/text/late", respond = "later", status = 503 },
  { path = "/.git", deny = true },
  { path = "/private", deny = 403 },
  { path = "/dead", status = 410 },
  { path = "/empty", status = 204 },
  { path = "/a=b", respond = "equals" },
]
"""
ANSWERS = {  # path: status and fields
    "/": (200, {"x-site": "yes", "x-near": "site", "cache-control": "max-age=1"}),
    "/assets/f": (200, {"x-site": "yes", "x-near": "assets", "cache-control": "max-age=2"}),
    "/assets/deep/f": (200, {"x-near": "assets", "x-deep": "yes", "cache-control": "max-age=2"}),
    "/assets/alone": (200, {"x-near": "alone", "cache-control": "max-age=3", "x-deep": None}),
    "/assets/%61lone": (200, {"x-near": "alone"}),
    "/assetsf": (404, {"x-near": "site"}),
    "/old": (308, {"location": "/new", "x-site": "yes"}),
    "/old/a%20b/?q=1": (308, {"location": "/new/a%20b/?q=1"}),
    "/older": (404, {"location": None}),
    "/gone/x?q": (303, {"location": "/new"}),
    "/else/x": (308, {"location": "https://e.example/v2/x"}),
    "/feed": (301, {"location": "/feed.xml"}),
    "/feed/": (404, {}),
    "/feed/x": (404, {}),
    "/feed.xml": (404, {}),
    "/text": (200, {}),
    "/text/x": (200, {}),
    "/other/": (200, {}),
    "/texts": (404, {}),
    "/text/late/x": (503, {"x-site": "yes"}),
    "/.git": (404, {}),
    "/.git/config": (404, {}),
    "/private/f": (403, {}),
    "/assets/../private/f": (403, {}),
    "/%70rivate": (403, {}),
    "/dead": (410, {}),
    "/dead/x": (410, {}),
    "/empty": (204, {}),
    "/a=b": (200, {}),
}


@pytest.mark.sanitizers
def test_routes_answer_by_the_nearest_path_and_their_settings_add_up(sites, make):
    for name in (
        "index.html",
        "assets/f",
        "assets/alone",
        "assets/deep/f",
        "private/f",
        ".git/config",
    ):
        make("www/" + name, name)
    make("www/404.html", "not here")
    server = sites(ROUTES)
    with server.connect() as connection:
        for path, (status, fields) in ANSWERS.items():
            get = connection.get(path)
            assert get.status == status, path
            for name, value in fields.items():
                assert get.get(name) == value, (path, name)
            head = connection.get(path, method="HEAD")
            assert head.status == status and head.get("location") == get.get("location"), path
        assert connection.get("/text/x").text == "a text"
        assert connection.get("/nothing", "Accept: text/html").text == "not here"
        assert connection.get("/.git/config", "Accept: text/html").text == "not here"
        for method in ("POST", "OPTIONS", "DELETE"):
            assert connection.get("/private", method=method).status == 403
            assert connection.get("/text", method=method).text == "a text"
            assert connection.get("/old/x", method=method).get("location") == "/new/x"


def test_passwords_rates_and_cors_of_a_route(sites, make):
    make("www/f", "f")
    make("www/open/f", "open")
    make("staff", f"bob:{HASH_OF_B}\n")
    server = sites("""
[users.team]
ann = "a:b"
[[site]]
hosts = ["a.example"]
root = "www"
auth = { users = "team" }
route = [
  { path = "/open", auth = "off", cors = "https://o.example" },
  { path = "/staff", auth = { users = "./staff" }, respond = "staff" },
]
[[site]]
default = true
root = "www"
[[site.route]]
path = "=/f"
rate = { limit = "1/min", burst = 2 }
""")

    def of(target, *fields):
        return server.of("a.example", target, *fields)

    assert of("/f").status == 401 and of("/f", basic("bob:b")).status == 401
    assert of("/f", basic("ann:a:b")).text == "f"
    assert of("/open/f").text == "open" and of("/opened").status == 401
    assert (
        of("/open/f", "Origin: https://o.example").get("access-control-allow-origin")
        == "https://o.example"
    )
    assert of("/staff", basic("ann:a:b")).status == 401
    assert of("/staff", basic("bob:b")).text == "staff"
    assert [server.of("b.example", "/f").status for _ in range(3)] == [200, 200, 429]
    assert server.of("b.example", "/open/f").status == 200
    assert of("/f", basic("ann:a:b")).status == 200, "the rate is the other site's"


# Files around it.


def test_logs_are_files_beside_the_file(sites, make, tmp_path):
    make("logs/.keep", "")
    server = sites(
        """
[log]
access = "logs/all.log"
flush = "10ms"
[[site]]
hosts = ["a.example"]
respond = "a"
log = "logs/a.log"
[[site]]
hosts = ["b.example"]
respond = "b"
log = "./logs/a.log"
route = [ { path = "/quiet", log = "off" } ]
[[site]]
hosts = ["c.example"]
respond = "c"
""",
        cwd="/",
    )

    def lines(name):
        file = tmp_path / "logs" / name
        return file.read_text().splitlines() if file.exists() else []

    for host in ("a.example", "b.example", "c.example", "d.example"):
        server.of(host, "/" + host)
    server.of("b.example", "/quiet")
    wait_until(lambda: len(lines("a.log")) == 2 and len(lines("all.log")) == 2)
    assert all("/quiet" not in line for line in lines("a.log") + lines("all.log"))
    for name in ("a.log", "all.log"):
        (tmp_path / "logs" / name).rename(tmp_path / "logs" / f"{name}.1")
    server.signal(signal.SIGHUP)
    wait_until(
        lambda: (tmp_path / "logs/a.log").exists() and (tmp_path / "logs/all.log").exists(),
        what="logs that are open again",
    )
    for host in ("a.example", "b.example", "c.example"):
        server.of(host, "/" + host)
    wait_until(lambda: len(lines("a.log")) == 2 and len(lines("all.log")) == 1)
    assert len(lines("a.log.1")) == 2


def test_includes_variables_and_secrets(sites, make):
    make("sites/b.toml", '[[site]]\nhosts = ["b.example"]\nroot = "../www"\n')
    make("sites/a.toml", '[[site]]\nhosts = ["${A_HOST}"]\nrespond = "${TEXT:-a text}"\n')
    secret = make("secret", "s3cret ${A_HOST}\n")
    make("www/f", "f")
    server = sites(
        f'[users.team]\nann = "${{file:{secret}}}"\n'
        '[[site]]\nhosts = ["c.example"]\nroot = "www"\nauth = { users = "team" }\n',
        head='include = ["sites/*.toml"]\n' + SERVER + HERE,
        env={"A_HOST": "a.example"},
        cwd="/",
    )
    assert server.of("a.example").text == "a text"
    assert server.of("b.example", "/f").text == "f"
    assert server.of("c.example", "/f").status == 401
    assert server.of("c.example", "/f", basic("ann:s3cret ${A_HOST}")).text == "f"
    assert "s3cret" not in server.output


def test_the_file_may_be_named_from_where_one_is(sites, make, tmp_path):
    make("www/f", "f")
    server = sites('[[site]]\nroot = "www"\n', file="tiderace.toml", cwd=tmp_path)
    assert server.get("/f").text == "f"


def test_programs_of_a_site(sites, make):
    make("www/f", "f")
    program = make(
        "programs/hello",
        "#!/bin/sh\necho 'Content-Type: text/plain'; echo\n" "echo $HTTP_HOST $PATH_INFO\n",
    )
    program.chmod(0o755)
    server = sites(
        '[[site]]\nhosts = ["a.example"]\nrespond = "a"\n[[site]]\n'
        'hosts = ["b.example"]\nroot = "www"\nroute = [ { path = "/bin", cgi = "programs" } ]\n'
    )
    assert server.of("b.example", "/bin/hello/x").text == "b.example /x\n"
    assert server.of("b.example", "/f").text == "f"
    assert server.of("a.example", "/bin/hello").text == "a"


@needs_fcgiwrap
def test_a_fastcgi_peer_of_a_site(sites, make, fcgiwrap):  # noqa: F811
    program = make(
        "www/hello.cgi", "#!/bin/sh\necho 'Content-Type: text/plain'; echo\n" "echo $SERVER_NAME\n"
    )
    program.chmod(0o755)
    server = sites(
        '[[site]]\nhosts = ["a.example"]\nroot = "www"\n'
        f'route = [ {{ path = "*.cgi", fastcgi = "{fcgiwrap}" }} ]\n'
        '[[site]]\nhosts = ["b.example"]\nroot = "www"\nhidden = false\n'
    )
    assert server.of("a.example", "/hello.cgi").text == "a.example\n"
    assert "#!/bin/sh" in server.of("b.example", "/hello.cgi").text


def test_a_hundred_sites_each_with_its_folder(sites, make):
    text = ""
    for i in range(100):
        make(f"s/{i}/f", f"site {i}")
        text += f'[[site]]\nhosts = ["h{i}.example"]\nroot = "s/{i}"\n'
    server = sites(text)
    with server.connect() as connection:
        for round_ in ("site", "changed"):
            for i in range(100):
                assert connection.get("/f", host=f"h{i}.example").text == f"{round_} {i}"
            for i in range(100):
                make(f"s/{i}/f", f"changed {i}")
    assert len(server.output.splitlines()[2]) < 200, "the banner does not list all"


# Its addresses, and its end.


def test_all_addresses_serve_all_sites(sites, tmp_path):
    listen = HERE + HERE + f'[[listen]]\naddress = "unix:{tmp_path}/socket"\n'
    server = sites(THREE, head=SERVER + listen, listeners=3)
    places = server.places()
    assert len(set(places)) == 3 and str(tmp_path / "socket") in str(places)
    for place in places:
        address = str(tmp_path / "socket") if isinstance(place, str) else place
        assert get_once(address, host="a.example").text == "a"
        assert get_once(address, host="c.example").status == 421
    server.stop()
    assert not (tmp_path / "socket").exists()


def test_without_an_address_only_this_machine_is_served_and_named_sites(sites, make):
    make("www/f", "f")
    server = sites(
        '[[site]]\nhosts = ["a.example"]\ndefault = true\nroot = "www"\n'
        '[[site]]\nhosts = ["b.example"]\nroot = "www"\n',
        head=SERVER,
    )
    assert server.address[0] == "127.0.0.1"
    for host, status in {
        "a.example": 200,
        "b.example": 200,
        "localhost": 200,
        "127.0.0.1": 200,
        "evil.example": 421,
    }.items():
        assert server.of(host, "/f").status == status, host


def test_sigterm_lets_answers_end(sites, make, tmp_path):
    with open(make("www/large", ""), "wb") as large:
        large.truncate(64 << 20)
    server = sites('[[site]]\nroot = "www"\n')
    with server.connect(receive_bytes=65_536) as connection:
        connection.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = connection.read_head()
        server.signal(signal.SIGTERM)
        wait_until(lambda: not accepts(server.address), what="an address that is closed")
        connection.skip(int(answer.get("content-length")))
    assert server.wait_exit() == 0


def accepts(address):
    with contextlib.suppress(OSError), socket.create_connection(address, 5):
        return True
    return False


def test_too_few_descriptors_for_the_sites_are_told_at_the_start(binary, make, tmp_path):
    text = SERVER + HERE
    for i in range(60):
        make(f"s/{i}/f", f"site {i}")
        text += f'[[site]]\nhosts = ["h{i}.example"]\nroot = "s/{i}"\n'
    done = run(binary, "run", make("few.toml", text), preexec_fn=limit_descriptors)
    assert done.returncode == 1 and "of 60 folders: " in done.stderr, done.stderr
    # Folders of routes count as well.
    routes = "".join(f'[[site.route]]\npath = "/{i}"\nroot = "s/{i}"\n' for i in range(60))
    file = make("routes.toml", SERVER + HERE + '[[site]]\nroot = "s/0"\n' + routes)
    done = run(binary, "run", file, preexec_fn=limit_descriptors, deadline=20)
    assert done.returncode == 1 and "of 61 folders: " in done.stderr, done.stderr


def limit_descriptors():
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))


# Its words.


def test_check_says_whether_a_file_is_right(binary, make, tmp_path):
    make("www/f", "f")
    right = make("right.toml", SERVER + '[[site]]\nroot = "www"\n')
    done = run(binary, "check", right, cwd="/")
    assert (done.returncode, done.stderr) == (0, "") and "1 site, 0 routes" in done.stdout
    wrong = make("wrong.toml", '[[site]]\nroot = "none"\nindx = []\n')
    done = run(binary, "check", wrong)
    assert (done.returncode, done.stdout) == (1, "")
    assert "wrong.toml:2:8: error:" in done.stderr and "wrong.toml:3:1: error:" in done.stderr
    for none in (tmp_path / "none.toml", tmp_path, "-"):
        done = run(binary, "check", none)
        assert (done.returncode, done.stdout) == (2, ""), none
        assert "error: cannot read" in done.stderr
    done = run(binary, "run", wrong)
    assert done.returncode == 1 and "wrong.toml:2:8" in done.stderr


FLAGS = {
    "plain": [],
    "rules": [
        "--path-header",
        "/a=X-A:1",
        "--header",
        "X-All: 2",
        "--path-redirect",
        "/old=/a",
        "--cors=*",
        "--path-cors",
        "/a=off",
        "--cache-control",
        "/a/*=no-store",
    ],
    "files": [
        "--no-listing",
        "--index",
        "f.txt",
        "--clean-urls",
        "--hidden",
        "--mime",
        "x=text/x",
        "--error-page",
        "404=f.txt",
    ],
    "limits": ["--max-line", "200", "--max-body", "5", "--max-fields", "4", "--no-server-header"],
    "rate": ["--path-rate", "/a=60,9", "--compress", "off", "--about"],
}
NEW = re.compile("nonce[-=][\"']*[0-9a-f]+|\\('Date', '[^']*'\\)")
PATHS = [
    "/",
    "/a/f.txt",
    "/a/",
    "/a",
    "/f",
    "/old/x?q",
    "/absent",
    "/.hidden",
    "/t.x",
    "/.well-known/tiderace.json",
    "/" + "l" * 300,
]


def what_stays(answer):
    """Without what differs in each answer of a listing."""
    if answer.get("content-encoding") == "gzip":
        answer.body = gzip.decompress(answer.body)
        answer.fields = [field for field in answer.fields if field[0] != "Content-Length"]
        answer.chunked = None
    return NEW.sub("", str(answer))


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_what_print_config_prints_answers_as_the_flags_do(
    serve, sites, binary, make, tmp_path, flags
):
    for name in ("f.txt", "a/f.txt", ".hidden", "t.x"):
        make("www/" + name, name * 300)
    words = ["serve", "www", "--listen", "127.0.0.1:0", "--threads", "1", *flags]
    printed = run(binary, *words, "--print-config", cwd=tmp_path)
    assert printed.returncode == 0, printed.stderr
    by_flags = serve(tmp_path / "www", *flags)
    by_file = sites(printed.stdout, head="")
    for path in PATHS:
        for more in ((), ("Accept-Encoding: gzip",), ("Origin: https://o.example",)):
            both = [get_once(each.address, path, *more) for each in (by_flags, by_file)]
            assert what_stays(both[0]) == what_stays(both[1]), path


@needs_openssl
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_what_print_config_prints_may_come_through_a_pipe(
    sites, binary, make, authority, tls, tmp_path
):
    make("www/f", "f")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = [binary, "serve", "www", "--listen", "127.0.0.1:0", "--print-config", *STAY_ROOT]
    words += ["--tls", authority.issue("localhost").flag] if tls else []
    with subprocess.Popen(
        ["sh", "-c", 'exec "$@" > pipe', "sh", *map(str, words)], cwd=tmp_path
    ) as printing:
        server = sites("", file=pipe)
        assert printing.wait(60) == 0
    if not tls:
        assert server.get("/f").text == "f"
        return
    with TlsConnection(server.address, client_context(authority.file)) as connection:
        assert connection.get("/f").text == "f"


def test_a_name_that_toml_cannot_hold_is_one_sentence(binary, tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    done = subprocess.run(
        [binary, "serve", folder, "--print-config"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stdout == ""
    assert "--print-config prints TOML, which is UTF-8, and a name is not" in done.stderr
