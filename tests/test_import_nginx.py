"""tiderace import nginx: what nginx and the imported file answer to the same requests."""

import os
import random
import re
import shutil
import subprocess

import pytest

from raw_client import get_once
from server import end, wait_until
from test_fastcgi import WRAP, ended, fcgiwrap, needs_fcgiwrap  # noqa: F401
from test_sites import HASH_OF_B, Sites, basic

pytestmark = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")

MAIN = """{user}
worker_processes 1;
error_log {folder}/error.log warn;
pid {folder}/nginx.pid;
events {{ worker_connections 64; }}
http {{
    sendfile on;
    default_type application/octet-stream;
    types {{ text/html html; text/css css; text/plain txt; image/jpeg jpg; }}
    access_log off;
    client_body_temp_path {folder}/body;
    fastcgi_temp_path {folder}/fastcgi;
    proxy_temp_path {folder}/proxy;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/sites/*.conf;
}}
"""

STATIC = """
server {
    listen unix:@/nginx.sock default_server;
    server_name _;
    root @/www;
    index index.html;
    charset utf-8;
    error_page 404 /404.html;
    add_header X-Frame-Options "DENY" always;
    location / { try_files $uri $uri/ =404; }
    location = /healthz { return 200 "fine\\n"; }
    location = /gone { return 410; }
    location ^~ /assets/ { expires 1h; add_header X-Frame-Options "DENY" always; }
    location ~* \\.(css|jpe?g)$ { expires 30d; }
    location ~ /\\.(?!well-known) { deny all; }
    location /private { deny all; }
    location /old { return 301 /new$request_uri; }
    location /moved/ { return 302 https://elsewhere.example/; }
    rewrite ^/blog/(.*)$ /journal/$1 permanent;
    rewrite ^/feed\\.rss$ /feed.xml redirect;
}
"""

HOSTS = """
server { listen unix:@/nginx.sock; server_name a.example www.a.example; root @/www; autoindex off; }
server { listen unix:@/nginx.sock; server_name .b.example; root @/b; gzip on; }
server {
    listen unix:@/nginx.sock;
    server_name old.example;
    return 301 http://a.example$request_uri;
}
server {
    listen unix:@/nginx.sock;
    server_name staff.example;
    root @/www;
    auth_basic "Staff";
    auth_basic_user_file @/users;
    location /dir { auth_basic off; }
}
server {
    listen unix:@/nginx.sock;
    server_name app.example;
    root @/app;
    try_files $uri $uri/ /index.html;
}
server { listen unix:@/nginx.sock default_server; return 404; }
"""

# Each location answers with its name, or with a time of its own for the files.
LOCATIONS = r"""
server {
    listen unix:@/nginx.sock default_server;
    server_name _;
    root @/www;
    index index.html;
    if ($uri ~* "^/a/forbidden") { return 403; }
    rewrite ^/old/(.*)\.html$ /new/$1 permanent;
    rewrite ^/old/(\d+) /number/$1 redirect;
    rewrite ^/old/(?<who>x)$ /$who redirect;
    location = /a/firm/exact { return 200 exact; }
    location = /a/x.css { return 200 alone; }
    location /a { return 200 a; }
    location /a/b { return 200 b; }
    location /a/b/12 { return 200 twelve; }
    location ^~ /a/firm { return 200 firm; }
    location ~ ^/a/([0-9]+)$ { return 302 /number/$1; }
    location ~* \.(php|css)$ { return 200 styles; }
    location ~ ^/(?<language>en|de)/(.*)$ { return 302 /l/$language/$2; }
    location ~ ^/a/b/.*x { return 200 x; }
    location ~ /b/\d { return 200 digit; }
    location /files { expires 1h; }
    location ^~ /files/firm { expires 2h; }
    location = /files/one.css { expires 3h; }
    location ~ ^/files/.*\.txt$ { expires 4h; }
    location ~ \.txt$ { return 200 text; }
    location /gone { rewrite ^/(.*)$ /a/$1 redirect; }
    location /moved/ { rewrite ^ /a permanent; }
}
"""

PHP = """
server {
    listen unix:@/nginx.sock;
    server_name php.example;
    root @/php;
    index index.php index.html;
    client_max_body_size 8m;
    location ~ \\.php$ {
        include /etc/nginx/fastcgi_params;
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
        fastcgi_pass wrap;
    }
    location ~ /\\.ht { deny all; }
}
upstream wrap { server @FCGI; }
"""

PAGES = {
    "www/index.html": "index\n",
    "www/404.html": "our own page\n",
    "www/a b.txt": "a b\n",
    "www/dir/index.html": "dir\n",
    "www/empty/x.txt": "x\n",
    "www/style.css": "css\n",
    "www/photo.jpeg": "jpeg\n",
    "www/assets/a.txt": "asset\n",
    "www/private/secret.txt": "secret\n",
    "www/.hidden": "hidden\n",
    "b/index.html": "b\n",
    "www/files/index.html": "files\n",
    "www/files/firm/a.css": "firm\n",
    "www/files/one.css": "one\n",
    "www/files/two.css": "two\n",
    "www/files/y.txt": "a\n",
    "www/files/firm/y.txt": "firm\n",
    "app/index.html": "app\n",
    "app/x.txt": "x\n",
}
SCRIPT = """#!/bin/sh
printf 'X-A: 1\\r\\nContent-Type: text/plain\\r\\n\\r\\n'
echo "$REQUEST_METHOD $SCRIPT_NAME $QUERY_STRING"
"""


def imported(binary, *files, status):
    done = subprocess.run(
        [binary, "import", "nginx", *map(str, files)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def both(binary, tmp_path, ended, tmp_path_factory):  # noqa: F811
    """both(text): nginx and tiderace with this configuration; a function that asks both."""
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("index", "hello"):
        (tmp_path / "php").mkdir(exist_ok=True)
        (tmp_path / f"php/{name}.php").write_text(SCRIPT)
        (tmp_path / f"php/{name}.php").chmod(0o755)
    (tmp_path / "users").write_text("b:" + HASH_OF_B + "\n")
    servers = []

    def start(text, status):
        root = "user root;" if os.geteuid() == 0 else ""
        (tmp_path / "sites").mkdir()
        (tmp_path / "sites/all.conf").write_text(text.replace("@/", f"{tmp_path}/"))
        (tmp_path / "nginx.conf").write_text(MAIN.format(user=root, folder=tmp_path))
        words = ["nginx", "-e", tmp_path / "error.log", "-p", tmp_path, "-c"]
        words += [tmp_path / "nginx.conf", "-g", "daemon off;"]
        ended(subprocess.Popen(words, start_new_session=True))
        place = tmp_path / "nginx.sock"
        wait_until(place.exists, what="the socket of nginx")
        toml = imported(binary, tmp_path / "nginx.conf", status=status)
        file = tmp_path / "tiderace.toml"
        # Each listens on a socket of its own.
        file.write_text(toml.replace(str(place), str(tmp_path / "tiderace.sock")))
        done = subprocess.run([binary, "check", file], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, toml + done.stderr
        server = Sites(binary, file, folder=tmp_path_factory.mktemp("server"))
        servers.append(server)
        server.wait_ready()

        def ask(target, host, *fields):
            answers = [
                get_once(each, target, *fields, host=host) for each in (str(place), server.address)
            ]
            return [summary(each, host) for each in answers]

        return ask

    yield start
    end(servers)


def summary(answer, host):
    """The parts that a client sees. Our redirects keep the method and do not name our host."""
    location = re.sub(f"^http://{re.escape(host)}", "", answer.get("location") or "")
    status = {308: 301, 307: 302}.get(answer.status, answer.status)
    known = {name: answer.get(name) for name in ("cache-control", "x-frame-options", "x-a")}
    is_own = answer.status == 200 or b"our own page" in answer.body
    return status, location, known, answer.body if is_own else b""


def compare(ask, table):
    different = []
    for host, target, *fields in table:
        theirs, ours = ask(target, host, *fields)
        if theirs != ours:
            different.append(f"{host} {target} {fields}: nginx {theirs}, tiderace {ours}")
    assert not different, "\n".join(different)


def test_a_static_site(both):
    ask = both(STATIC, status=3)
    targets = "/ /index.html /none /a%20b.txt /dir /dir/ /healthz /gone /.well-known/x"
    targets += " /style.css /photo.jpeg /assets/a.txt /private /private/secret.txt /old/x?y=1"
    targets += " /moved/ /moved/x /blog/2024/x?page=2 /feed.rss /empty/x.txt /%2e%2e/users"
    compare(ask, [("any.example", target) for target in targets.split()])
    # Here such a name is not even known to be there.
    assert [answer[0] for answer in ask("/.hidden", "any.example")] == [403, 404]


def test_the_same_location_answers(both, tmp_path):
    ask = both(LOCATIONS, status=3)
    assert "all.conf:" not in (tmp_path / "tiderace.toml").read_text(), "all of it is carried"
    some = random.Random(32)
    parts = "a a a b b firm files old en de 12 7x x exact one.css two.css x.css Y.PHP y.txt 5.html"
    parts = [*parts.split(), "forbidden", "none", "%41", "gone", "x"]
    targets = {"/a/firm/exact", "/a/b/12/x", "/files/firm/a.css", "/files/firm/y.txt", "/moved/a"}
    while len(targets) < 200:
        depth = some.randrange(1, 5)
        ending = some.choice(["", "", "", "/", "?q=1"])
        targets.add("/" + "/".join(some.choice(parts) for _ in range(depth)) + ending)
    # The redirect to a folder's own name has no Cache-Control here.
    targets -= {"/files", "/files?q=1"}
    compare(ask, [("any.example", target) for target in sorted(targets)])


def test_many_hosts(both):
    ask = both(HOSTS, status=3)
    hosts = "a.example www.a.example b.example x.y.b.example old.example staff.example app.example"
    targets = "/ /none /dir/ /x.txt /a/b?c=d".split()
    table = [(host, target) for host in [*hosts.split(), "other"] for target in targets]
    table += [("staff.example", target, basic("b:b")) for target in targets]
    table += [("staff.example", "/", basic("b:c"))]
    compare(ask, table)
    # Here a page answers for pages alone.
    assert [answer[0] for answer in ask("/style.css", "app.example")] == [200, 404]


@needs_fcgiwrap
@pytest.mark.skipif(not os.path.exists("/etc/nginx/fastcgi_params"), reason="no fastcgi_params")
def test_php(both, fcgiwrap):  # noqa: F811
    ask = both(PHP.replace("@FCGI", fcgiwrap), status=3)
    targets = "/ /hello.php /hello.php?a=b /none /index.php?x=%20y".split()
    compare(ask, [("php.example", target) for target in targets])
    for target in ("/none.php", "/.htaccess"):
        assert [answer[0] for answer in ask(target, "php.example")] == [403, 404]


def test_the_status_says_whether_all_was_carried(binary, tmp_path):
    file = tmp_path / "n.conf"
    file.write_text("server { root /srv; sendfile on; }")
    assert "not needed" in imported(binary, file, status=0)
    file.write_text("server { root /srv;\n proxy_pass http://a; }")
    assert f"# {file}:2: proxy_pass http://a" in imported(binary, file, status=3)
    file.write_text("server { root /srv;\n")
    imported(binary, file, status=1)
    imported(binary, tmp_path / "none.conf", status=1)
    done = subprocess.run([binary, "import", "caddy", file], capture_output=True, timeout=60)
    assert done.returncode == 2 and b"import reads files of nginx" in done.stderr


@pytest.mark.skipif(
    not os.path.exists("/etc/nginx/nginx.conf"), reason="no configuration of Debian"
)
def test_the_configuration_of_the_package(binary, tmp_path):
    text = imported(binary, "/etc/nginx/nginx.conf", status=3)
    assert "[[site]]" in text and 'user = "www-data"' in text
