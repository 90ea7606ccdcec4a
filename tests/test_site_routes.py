"""Routes of a file: which holds, which answers, and how files are found; and the files of the
documents' five examples (tests/site_files)."""

import re
import shutil
import subprocess
from pathlib import Path

from raw_client import get_once
from server import STAY_ROOT, wait_until
from test_fastcgi import fcgiwrap, ended, needs_fcgiwrap  # noqa: F401
from test_sites import (  # noqa: F401
    HASH_OF_B,
    HERE,
    SERVER,
    authority,
    basic,
    make,
    needs_openssl,
    redirecting,
    sites,
)
from tls_client import TlsConnection, client_context

EXAMPLES = Path(__file__).resolve().parent / "site_files"


def status(server, *words, **more):
    return server.of("a.example", *words, **more).status


def test_conditions_choose_a_route(sites, make):  # noqa: F811
    make("www/index.html", "page")
    server = sites("""
[[site]]
root = "www"
[[site.route]]
path = "/form"
method = ["POST"]
respond = "posted"
[[site.route]]
path = "/form"
header.X-Debug = "on*"
respond = "debug"
[[site.route]]
path = "/"
query = { v = "1" }
respond = "one"
[[site.route]]
path = ["*.bak", "=/index.html"]
deny = 403
[[site.route]]
remote = "127.0.0.0/8"
response.set.X-Near = "1"
[[site.route]]
remote = ["10.0.0.0/8", "::/0"]
scheme = "https"
deny = true
""")
    assert status(server, "/form") == 404
    assert server.of("a", "/form", "X-Debug: only").text == "debug"
    assert status(server, "/form", "X-Debug: off") == 404
    assert server.of("a", "/?x=2&v=1").text == "one"
    assert server.of("a", "/?v=2").text == "page"
    for path in ("/a.bak", "/a.bak/below", "/index.html"):
        assert status(server, path) == 403
    assert server.of("a", "/").get("x-near") == "1"
    assert server.of("a", "/form", method="POST").text == "posted"


PROXIED = """
[server]
threads = 1
USER
trusted_proxies = ["127.0.0.0/8", "10.0.0.0/8"]
[[listen]]
address = "127.0.0.1:0"
[log]
access = "access.log"
[[site]]
respond = "far"
canonical_host = "a.example"
[[site.route]]
remote = "192.0.2.0/24"
respond = "near"
rate = { limit = "1/min", burst = 1 }
[[site.route]]
path = "/closed"
remote = "198.51.100.0/24"
deny = true
"""


def test_a_trusted_proxy_says_who_asks(sites, tmp_path):  # noqa: F811
    """For conditions, rates, schemes and the log."""
    user = 'user = "root"' if STAY_ROOT else ""
    server = sites(PROXIED.replace("USER", user), head="")

    def of(target, *forwarded, host="a.example"):
        fields = [f"X-Forwarded-For: {one}" for one in forwarded]
        return server.of(host, target, *fields)

    assert of("/").text == "far"
    assert of("/", "192.0.2.7").text == "near"
    assert of("/", "192.0.2.7").status == 429, "a rate of each client"
    assert of("/", "192.0.2.8").text == "near"
    # What a client says itself does not count: the right-most that is no proxy is the client.
    assert of("/", "192.0.2.9, 203.0.113.1").text == "far"
    assert of("/", "192.0.2.9", "203.0.113.1, 10.1.2.3").text == "far"
    assert of("/", "203.0.113.1", "192.0.2.10, 10.1.2.3").text == "near"
    assert of("/closed", "198.51.100.1").status == 404
    assert of("/closed", "198.51.100.1, not an address").text == "far"
    moved = server.of("b", "/", "X-Forwarded-Proto: https")
    assert moved.get("location") == "https://a.example/"
    server.stop()
    clients = [line.split()[0] for line in (tmp_path / "access.log").read_text().splitlines()]
    assert clients[:4] == ["127.0.0.1", "192.0.2.7", "192.0.2.7", "192.0.2.8"]
    assert clients[4:6] == ["203.0.113.1"] * 2


def test_fields_of_others_change_nothing(sites, tmp_path):  # noqa: F811
    user = 'user = "root"' if STAY_ROOT else ""
    text = PROXIED.replace("USER", user).replace('"127.0.0.0/8", ', '"unix", ')
    server = sites(text, head="")
    spoofed = ("X-Forwarded-For: 192.0.2.7", "X-Real-IP: 192.0.2.7", "Forwarded: for=192.0.2.7",
               "X-Forwarded-Proto: https")  # fmt: skip
    assert server.of("a.example", "/", *spoofed).text == "far"
    assert server.of("b", "/", *spoofed).get("location") == "http://a.example/"
    server.stop()
    log = (tmp_path / "access.log").read_text()
    assert "192.0.2.7" not in log and log.count("127.0.0.1 ") == 2


def test_a_route_has_files_of_its_own(sites, make):  # noqa: F811
    make("www/index.html", "site")
    make("www/sub/a.txt", "a")
    make("static/a.css", "static")
    make("static/deep/assets/b.css", "assets")
    make("v2/new/page.html", "page")
    server = sites("""
[[site]]
root = "www"
listing = false
[[site.route]]
path = "/static"
root = "static"
strip = "/static"
[[site.route]]
path = "/assets"
root = "static"
prefix = "/deep"
[[site.route]]
path = "/old"
root = "v2"
rewrite = "/new{rest}.html"
[[site.route]]
path = "/sub"
listing = true
[[site.route]]
path = "/secret"
deny = true
[[site.route]]
path = "/secret/files"
listing = true
response.set.X-A = "1"
""")
    assert server.of("a", "/static/a.css").text == "static"
    assert status(server, "/static/b.css") == 404
    assert server.of("a", "/assets/b.css").text == "assets"
    assert server.of("a", "/old/page").text == "page"
    assert "a.txt" in server.of("a", "/sub/").text
    assert status(server, "/") == 200
    # A setting of files opens nothing that a route around it denies.
    closed = server.of("a", "/secret/files/")
    assert (closed.status, closed.get("x-a")) == (404, "1")


def test_names_are_tried_in_turn(sites, make):  # noqa: F811
    make("www/a.html", "a")
    make("www/shop/index.html", "shop")
    make("www/app.html", "app")
    server = sites("""
[[site]]
root = "www"
try = ["{path}", "{path}/", "{path}.html", "/app.html"]
[[site.route]]
path = "/only"
try = ["{path}", 410]
[[site.route]]
path = "/v?/**/item-*.htm"
rewrite = "/{2}.html"
[[site.route]]
path = ["/from/*.htm", "/once/**/from/*.htm"]
redirect = "/to/{1}"
[[site.route]]
path = "/home"
redirect = "http://{host}:81/start"
""")
    for path in ("/v1/item-a.htm", "/v2/x/y/item-a.htm"):
        assert server.of("a", path).text == "a", path
    moved = server.of("a", "/from/%2e%41.htm?q")
    assert (moved.status, moved.get("location")) == (308, "/to/.A?q")
    moved = server.of("a", "/once/from/.htm/y")
    assert moved.get("location") == "/to/", "what is below a pattern does not follow"
    assert server.of("A.Example:8", "/home?q").get("location") == "http://a.example:81/start"
    assert server.of("a", "/a.html").text == "a"
    assert server.of("a", "/a").text == "a"
    assert server.of("a", "/none/at/all?q").text == "app"
    assert server.of("a", "/shop/").text == "shop"
    moved = server.of("a", "/shop?q")
    assert (moved.status, moved.get("location")) == (301, "/shop/?q")
    assert status(server, "/only/x") == 410


def test_regular_expressions_choose_routes(sites, make):  # noqa: F811
    make("www/doc/start.en.txt", "start")
    make("www/secret/x.txt", "secret")
    make("www/a.css", "css")
    make("www/item/7.txt", "item")
    server = sites(r"""
[[site]]
root = "www"
[[site.route]]
path = '~^/user/([0-9]+)$'
redirect = "/people/{1}"
[[site.route]]
path = '~^/(?<language>[a-z]{2})/doc/(.*)$'
rewrite = "/doc/{2}.{language}.txt"
[[site.route]]
path = ['~(?i)[.](css|js)$', '~^/item/']
cache_control = "max-age=60"
response.set.X-Kind = "regex"
[[site.route]]
path = '~^/secret/.*$'
deny = 403
[[site.route]]
path = '~^/both/(a)?(.*)$'
redirect = "https://a.example/{1}/{2}"
[[site.route]]
path = '~^/join/(.*)-(.*)$'
rewrite = "/doc/{1}{2}"
[[site.route]]
path = "=/user/1"
respond = "alone"
[[site.route]]
path = "/user"
respond = "below"
""")
    answer = server.of("a.example", "/user/17?q=1")
    assert answer.status == 308 and answer.get("location") == "/people/17?q=1"
    assert [server.of("a.example", f"/user/{n}").body for n in ("1", "x", "17/x")] == [
        b"alone", b"below", b"below",
    ]  # fmt: skip
    # The path is decoded, and without dots, before an expression sees it.
    assert server.of("a.example", "/x/../user/%31%37").get("location") == "/people/17"
    assert server.of("a.example", "/en/doc/start").body == b"start"
    assert status(server, "/en/doc/none") == 404
    # What groups stand for leads to no other folder.
    assert server.of("a.example", "/join/start.en.-txt").body == b"start"
    assert status(server, "/join/.-./secret/x.txt") == 404
    assert status(server, "/en/doc/..%2f..%2fsecret") in (400, 404)
    css = server.of("a.example", "/a.css")
    assert css.get("cache-control") == "max-age=60" and css.get("x-kind") == "regex"
    assert server.of("a.example", "/item/7.txt").get("cache-control") == "max-age=60"
    assert server.of("a.example", "/doc/start.en.txt").get("cache-control") is None
    for target in ("/secret/x.txt", "/secret/%FF", "/secret/%C3%A9", "//secret/./x"):
        assert status(server, target) == 403, target
    for target, leads_to in (("/both/a/b", "/a/b"), ("/both/b", "/b"), ("/both/", "/")):
        assert server.of("a.example", target).get("location") == "https://a.example" + leads_to
    assert server.of("a.example", "/user/17", method="HEAD").status == 308


def test_an_expression_that_takes_too_long_is_an_error(sites):  # noqa: F811
    server = sites(r"""
[limits]
line_max = "64KiB"
head_max = "64KiB"
[[site]]
respond = "open"
[[site.route]]
path = '~^/(a+)+$'
deny = 403
[[site.route]]
path = '~^(/[a-z]+)+$'
respond = "short parts"
[[site.route]]
path = '~^/b/(b+)+$'
method = "POST"
respond = "posted"
""")
    assert status(server, "/aaa") == 403 and status(server, "/") == 200
    # Never the answer of another route: this one may be what denies.
    for target in ("/" + "a" * 40 + "!", "/" + "a" * (16 << 10) + "!"):
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            assert status(server, target, method=method) == 500, method
    assert server.of("a.example", "/bc" * 5_000).body == b"short parts"
    assert status(server, "/b/" + "b" * 40 + "!") == 200, "it is for POST alone"
    assert status(server, "/b/" + "b" * 40 + "!", method="POST") == 500
    assert server.alive()

    def lines():
        return [line for line in server.stderr.splitlines() if "a regular expression" in line]

    wait_until(lambda: len(lines()) == 2, what="a line for each route")
    assert "took too many steps; the answer is 500" in lines()[0]
    assert "~^/(a+)+$" in lines()[0] and "~^/b/(b+)+$" in lines()[1]
    server.stop()
    again = [line for line in server.stderr.splitlines() if "again" in line]
    assert len(again) == 1 and "count=7" in again[0] and "~^/(a+)+$" in again[0]


def test_each_host_has_its_folder(sites, make):  # noqa: F811
    make("sites/one/index.html", "one")
    make("sites/two/index.html", "two")
    make("sites/.hidden/index.html", "hidden")
    make("secret/index.html", "secret")
    server = sites("""
[[site]]
hosts = ["*.a.example", "a.example"]
root = "sites/{host.1}"
""")
    assert server.of("one.a.example").text == "one"
    assert server.of("TWO.a.example:80").text == "two"
    assert server.of("one.x.a.example").text == "one"
    for host in (".hidden.a.example", "..a.example", "..%2fsecret.a.example", "three.a.example"):
        assert server.of(host).status in (400, 404, 421), host


def test_one_name_of_a_site_is_the_name(sites, make):  # noqa: F811
    server = sites("""
[[site]]
hosts = ["a.example", "www.a.example", "*.old.example"]
canonical_host = "a.example"
respond = "here"
[[site.route]]
path = "/closed"
deny = true
""")
    assert server.of("A.example:80", "/x").text == "here"
    for host in ("www.a.example", "x.old.example"):
        moved = server.of(host, "/closed/%41?b=c")
        assert (moved.status, moved.get("location")) == (308, "http://a.example/closed/%41?b=c")
    assert server.of("www.a.example:8080").get("location") == "http://a.example:8080/"


def test_fields_are_taken_out(sites, make):  # noqa: F811
    make("www/a.txt", "a")
    server = sites("""
[[site]]
root = "www"
response.set = { X-Site = "1", X-Other = "2" }
route = [
  { path = "/a.txt", response.remove = ["x-site", "X-None"] },
]
""")
    answer = server.of("a", "/a.txt")
    assert answer.get("x-site") is None
    assert (answer.get("x-other"), answer.get("content-type")) == ("2", "text/plain; charset=utf-8")


@needs_fcgiwrap
def test_scripts_are_run_and_never_sent(sites, make, fcgiwrap):  # noqa: F811
    script = (
        "#!/bin/sh\necho 'Content-Type: text/plain'; echo\necho ran $SCRIPT_NAME $REQUEST_URI\n"
    )
    for name in ("www/index.cgi", "www/blog/index.cgi", "www/post.cgi", "www/shop/start.cgi",
                 "www/kept/start.cgi"):  # fmt: skip
        make(name, script).chmod(0o755)
    make("www/page.html", "page")
    server = sites(f"""
[[site]]
hosts = ["a.example"]
root = "www"
index = ["index.cgi"]
try = ["{{path}}", "{{path}}/", "/index.cgi"]
[[site.route]]
path = "*.cgi"
fastcgi = "{fcgiwrap}"
[[site.route]]
path = "/shop"
index = ["start.cgi"]
try = ["{{path}}", "{{path}}/", 410]
[[site.route]]
path = "/kept"
index = ["start.cgi"]
[[site]]
hosts = ["b.example"]
root = "www"
index = ["index.cgi"]
[[site.route]]
path = "*.cgi"
method = "POST"
fastcgi = "{fcgiwrap}"
[[site]]
hosts = ["c.example"]
root = "www"
index = ["index.cgi"]
[[site.route]]
path = "/blog/*.cgi"
fastcgi = "{fcgiwrap}"
""")
    assert server.of("a.example", "/").text == "ran /index.cgi /\n"
    assert server.of("a.example", "/page.html").text == "page"
    assert server.of("a.example", "/2026/post?x").text == "ran /index.cgi /2026/post?x\n"
    assert server.of("a.example", "/blog/").text == "ran /blog/index.cgi /blog/\n"
    for folder in ("/shop/", "/kept/"):
        assert server.of("a.example", folder).text == f"ran {folder}start.cgi {folder}\n"
    # Where the condition does not hold, the source is not there.
    for path in ("/", "/post.cgi", "/blog/", "/post.cgi/x"):
        assert server.of("b.example", path).status == 404, path
    assert server.of("b.example", "/post.cgi", method="POST").text == "ran /post.cgi /post.cgi\n"
    # The index of a pattern of one folder.
    assert server.of("c.example", "/blog/").text == "ran /blog/index.cgi /blog/\n"


@needs_fcgiwrap
def test_what_a_peer_answers_is_never_sent_as_a_file(sites, make, fcgiwrap):  # noqa: F811
    """Where the conditions of its route do not hold, and by way of another route, too."""
    for name in ("admin.cgi", "app/index.cgi", "app/static/a.css", "docs/a.cgi"):
        make("www/" + name, "#!/bin/sh\necho source\n")
    make("other/app/setup.txt", "setup")
    server = sites(f"""
[[site]]
root = "www"
index = ["index.cgi"]
[[site.route]]
path = "=/admin.cgi"
remote = "192.0.2.0/24"
fastcgi = "{fcgiwrap}"
[[site.route]]
path = "/app"
method = "POST"
fastcgi = "{fcgiwrap}"
[[site.route]]
path = "/app/static"
root = "www"
[[site.route]]
path = "=/docs/a.cgi"
method = "POST"
fastcgi = "{fcgiwrap}"
[[site.route]]
path = "/again"
root = "www"
strip = "/again"
[[site.route]]
path = "/other"
root = "other"
strip = "/other"
""")
    for path in (
        "/admin.cgi",
        "/%61dmin.cgi",
        "/app/index.cgi",
        "/app/",
        "/docs/a.cgi",
        "/again/docs/a.cgi",
        "/again/admin.cgi",
        "/again/app/index.cgi",
    ):
        assert server.of("x", path).status == 404, path
    assert server.of("x", "/app/static/a.css").status == 200
    assert server.of("x", "/other/app/setup.txt").text == "setup"


def test_a_folder_of_programs_is_never_sent(binary, sites, make, tmp_path):  # noqa: F811
    """By no route whose root is the folder, lies in it, or has it inside."""
    make("www/a.html", "a")
    make("other/b.html", "b")
    for name in ("other/prog/p.sh", "other/prog/in/q.sh"):
        make(name, "#!/bin/sh\necho 'Content-Type: text/plain'; echo\necho ran\n").chmod(0o755)
    site = """
[[site]]
root = "www"
route = [
  { path = "/bin", cgi = "other/prog" },
  { path = "/src", root = "ROOT", strip = "/src" },
]
"""
    for root in ("other/prog", "other/../other/prog/in"):
        said = refusals(binary, tmp_path, SERVER + site.replace("ROOT", root))
        assert "would be sent as files" in said, root
    server = sites(site.replace("ROOT", "other"))
    assert server.of("x", "/bin/p.sh").text == "ran\n"
    assert server.of("x", "/src/b.html").text == "b"
    for path in ("/src/prog/p.sh", "/src/prog/in/q.sh", "/src/prog/in/", "/src/%70rog/p.sh"):
        assert server.of("x", path).status == 404, path


@needs_fcgiwrap
def test_limits_of_a_route(sites, make, fcgiwrap):  # noqa: F811
    slow = make("www/slow.cgi", "#!/bin/sh\nsleep 30\n")
    slow.chmod(0o755)
    make("www/cat.cgi", "#!/bin/sh\necho Content-Type: text/plain; echo; cat\n").chmod(0o755)
    server = sites(f"""
[[site]]
root = "www"
body_max = "2KiB"
[[site.route]]
path = "*.cgi"
fastcgi = "{fcgiwrap}"
[[site.route]]
path = "/slow.cgi"
head_timeout = "300ms"
[[site.route]]
path = "/cat.cgi"
body_max = "10B"
""")
    assert status(server, "/slow.cgi") == 504
    assert status(server, "/cat.cgi", method="POST", body=b"x" * 10) == 200
    assert status(server, "/cat.cgi", method="POST", body=b"x" * 11) == 413


# The five examples.


def example(tmp_path, name, **replaced):
    """The text of an example, with its folders here."""
    text = (EXAMPLES / f"{name}.toml").read_text()
    for old, new in replaced.items():
        text = text.replace(old, new)
    for place in ("/srv/", "/etc/tiderace/", "/var/log/tiderace/", "/run/"):
        text = text.replace(place, f"{tmp_path}{place}")
        Path(f"{tmp_path}{place}").mkdir(parents=True, exist_ok=True)
    return text


def refusals(binary, tmp_path, text, status=None):
    """What check says about a file; "" where it is right."""
    file = tmp_path / "example.toml"
    file.write_text(text)
    done = subprocess.run([binary, "check", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == (bool(done.stderr) if status is None else status), done.stderr
    return done.stderr


@needs_fcgiwrap
def test_the_example_of_php(binary, sites, make, tmp_path, fcgiwrap):  # noqa: F811
    text = example(tmp_path, "php").replace(f"unix:{tmp_path}/run/php/php8.2-fpm.sock", fcgiwrap)
    script = "#!/bin/sh\necho Content-Type: text/plain; echo; echo ran $SCRIPT_NAME\n"
    for name in ("index.php", "wp-login.php", "wp-content/uploads/evil.php"):
        make(f"srv/wordpress/{name}", script).chmod(0o755)
    make("srv/wordpress/.git/config", "secret")
    make("srv/wordpress/a.css", "css")
    assert refusals(binary, tmp_path, SERVER + text) == ""
    server = sites(text)
    blog = "blog.example.org"
    assert server.of(blog, "/").text == "ran /index.php\n"
    assert server.of(blog, "/2026/a-post/").text == "ran /index.php\n"
    assert server.of(blog, "/a.css").text == "css"
    for path in ("/.git/config", "/a.bak", "/none.php"):
        assert server.of(blog, path).status == 404, path
    codes = [server.of(blog, "/wp-login.php").status for _ in range(7)]
    assert codes.count(429) >= 1 and codes[0] == 200


def here(text):
    """The same file on an address of the kernel's choice, and for the user of this test."""
    me = 'user = "root"' if STAY_ROOT else ""
    text = text.replace('user = "www-data"', me)
    return re.sub(r'^address = ":\d+"', 'address = "127.0.0.1:0"', text, flags=re.M)


@needs_openssl
def test_the_example_of_a_static_site(binary, sites, make, tmp_path, authority):  # noqa: F811
    """As it stands, but for the certificate in the place of [acme]."""
    names = ("example.org", "www.example.org")
    pair = authority.issue("static", names)
    acme = re.compile(r"^\[acme\]\n(?:\w+ = .*\n)+", re.M)
    text = example(tmp_path, "static")
    certificate = f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n'
    text, count = acme.subn(certificate, text)
    assert count == 1
    for name in ("index.html", "about.html", "404.html", "assets/a.css", "blog/x", "feed.xml"):
        make(f"srv/www/example.org/{name}", name)
    assert refusals(binary, tmp_path, SERVER + text) == ""
    server = sites(here(text), head=SERVER)
    site, www = names

    with TlsConnection(server.address, client_context(authority.file), site) as connection:
        page = connection.get("/", host=site)
        assert page.text == "index.html"
        assert page.get("strict-transport-security") == "max-age=31536000"
        assert page.get("x-content-type-options") == "nosniff"
        assert connection.get("/about", host=site).text == "about.html"
        none = connection.get("/none", "Accept: text/html", host=site)
        assert (none.status, none.text) == (404, "404.html")
        assert connection.get("/assets/", host=site).status in (403, 404), "there is no listing"
        long = connection.get("/assets/a.css", host=site).get("cache-control")
        assert long == "public, max-age=31536000, immutable"
        moved = connection.get("/old-blog/x?y", host=site)
        assert (moved.status, moved.get("location")) == (308, "/blog/x?y")
        feed = connection.get("/feed", host=site)
        assert (feed.status, feed.get("location")) == (301, "/feed.xml")
        moved = connection.get("/about?q", host=www)
        assert (moved.status, moved.get("location")) == (308, f"https://{site}/about?q")
        assert connection.get("/", host="other.org").status == 421
    plain = redirecting(server)
    moved = get_once(plain, "/x", host=site)
    assert (moved.status, moved.get("location")) == (308, f"https://{site}:{server.address[1]}/x")


@needs_openssl
def test_the_example_of_many_hosts(binary, sites, make, tmp_path, authority):  # noqa: F811
    text = example(tmp_path, "hosts")
    make("sites/a.toml", example(tmp_path, "sites/a"))
    make("etc/tiderace/a.htpasswd", f"ada:{HASH_OF_B}\n")
    make("srv/sites/one/index.html", "one")
    make("srv/sites/a/press/index.html", "press")
    # Both forms of a certificate in a folder.
    folder = tmp_path / "etc/tiderace/certs"
    folder.mkdir()
    assert "there is no certificate in this folder" in refusals(binary, tmp_path, here(text))
    for form, names in (("a.example", ("a.example", "*.a.example")), ("b.example", ("b.example",))):
        pair = authority.issue(form, names)
        inner = form == "b.example"
        (folder / form if inner else folder).mkdir(parents=True, exist_ok=True)
        to = ("b.example/fullchain.pem", "b.example/privkey.pem")
        for file, name in zip(
            (pair.certificate, pair.key), to if inner else ("a.example.pem", "a.example.key")
        ):
            shutil.copy(file, folder / name)
    make("etc/tiderace/certs/README", "no certificate")
    assert refusals(binary, tmp_path, here(text)) == ""
    head, rest = here(text).split("[server]\n", 1)
    server = sites(f"[server]\nthreads = 1\n{rest}", head=head + HERE)

    def of(host, target="/", *fields):
        with TlsConnection(server.address, client_context(authority.file), host) as connection:
            return connection.get(target, *fields, host=host)

    assert of("b.example").status == 421
    assert of("one.a.example").status == 401
    one = of("one.a.example", "/", basic("ada:b"))
    assert (one.status, one.text, one.get("referrer-policy")) == (200, "one", "no-referrer")
    press = of("a.example", "/press/")
    assert (press.status, press.text, press.get("x-frame-options")) == (200, "press", "DENY")
    assert of("a.example", "/pressed").status == 401
    server.stop()
    logs = tmp_path / "var/log/tiderace"
    assert len((logs / "a.log").read_text().splitlines()) == 4
    assert len((logs / "access.log").read_text().splitlines()) == 1


def test_the_examples_that_are_not_built_yet_say_so(binary, tmp_path):
    for name, keys in (("application", ("upstream", "proxy")), ("balancer", ("cache", "upstream"))):
        said = refusals(binary, tmp_path, example(tmp_path, name), status=1)
        for key in keys:
            assert f'"{key}" does not work yet\n' in said and "= proxying is not built yet" in said


def test_a_preflight_permits_the_method_of_a_program(sites, make):  # noqa: F811
    make("www/a.html", "a")
    make("prog/p.sh", "#!/bin/sh\necho 'Content-Type: text/plain'; echo\necho ran\n").chmod(0o755)
    server = sites("""
[[site]]
root = "www"
cors = "https://app.example"
[[site.route]]
path = "/api"
method = ["PUT", "DELETE"]
cgi = "prog"
[[site.route]]
path = "/plain"
method = "DELETE"
respond = "gone"
""")
    from_a_page = ("Origin: https://app.example", "Access-Control-Request-Method: PUT")
    answer = server.of("x", "/api/p.sh", *from_a_page, method="OPTIONS")
    assert answer.get("access-control-allow-methods") == "PUT"
    assert server.of("x", "/api/p.sh", method="PUT").text == "ran\n"
    # A file beside it takes no PUT.
    answer = server.of("x", "/a.html", *from_a_page, method="OPTIONS")
    assert answer.get("access-control-allow-methods") == "GET, HEAD, OPTIONS"
    answer = server.of(
        "x", "/plain", *from_a_page[:1], "Access-Control-Request-Method: DELETE", method="OPTIONS"
    )
    assert answer.get("access-control-allow-methods") == "DELETE"
    # No browser leaves out Origin: this is no question about DELETE.
    about = "Access-Control-Request-Method: DELETE"
    assert server.of("x", "/plain", about, method="OPTIONS").text != "gone"
