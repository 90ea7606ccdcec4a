"""FastCGI on the real program: real php-fpm and fcgiwrap, and a peer of the tests' own that is
gone, slow, or speaks garbage."""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from h2_client import Client
from server import wait_until
from test_cgi import body_of, post

MiB = 1 << 20
PLACES = os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin"
PHP = next((found for name in ("php-fpm", "php-fpm8.4", "php-fpm8.3", "php-fpm8.2", "php-fpm8.1")
            if (found := shutil.which(name, path=PLACES))), None)
WRAP = shutil.which("fcgiwrap", path=PLACES)
needs_php = pytest.mark.skipif(not PHP, reason="php-fpm is not installed")
needs_fcgiwrap = pytest.mark.skipif(not WRAP, reason="fcgiwrap is not installed")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "page.txt").write_text("page\n")
    return folder


@pytest.fixture
def ended():
    """Processes that end with the test."""
    started = []
    yield started.append
    for process in started:  # each with the processes that it has started
        os.killpg(process.pid, signal.SIGTERM)
    for process in started:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def php(tmp_path, ended):
    """A php-fpm of the test's own; the address of its socket."""
    place = tmp_path / "php.sock"
    (tmp_path / "fpm.conf").write_text(
        f"[global]\nerror_log = {tmp_path}/fpm.log\ndaemonize = no\n[www]\nlisten = {place}\n"
        "listen.backlog = 511\npm = static\npm.max_children = 3\ncatch_workers_output = no\n"
        "php_admin_value[post_max_size] = 128M\nphp_admin_value[memory_limit] = 512M\n"
        "php_admin_flag[display_errors] = off\n" +
        ("user = root\ngroup = root\n" if os.geteuid() == 0 else ""))
    process = subprocess.Popen([PHP, "-n", "-F", "-R", "-y", tmp_path / "fpm.conf", "-p", tmp_path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    ended(process)
    wait_until(place.exists, what="php-fpm's socket")
    return f"unix:{place}"


@pytest.fixture
def fcgiwrap(tmp_path, ended):
    place = tmp_path / "wrap.sock"
    ended(subprocess.Popen([WRAP, "-c", "3", "-s", f"unix:{place}", "-f"],
                           stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           start_new_session=True))
    wait_until(place.exists, what="fcgiwrap's socket")
    return f"unix:{place}"


@needs_php
@pytest.mark.sanitizers
def test_php_answers(serve, root, php):
    (root / "hello.php").write_text(
        "<?php header('X-A: 1'); http_response_code(201); echo 'hello ', $_GET['x'], ' ',"
        "$_SERVER['PATH_INFO'] ?? '-', ' ', $_SERVER['HTTP_PROXY'] ?? '-';")
    (root / "info.php").write_text("<?php echo json_encode($_SERVER);")
    server = serve(root, "--fastcgi", f"*.php={php}")
    answer = server.get("/hello.php/a/b?x=5", "Proxy: evil")
    assert (answer.status, answer.get("x-a"), answer.body) == (201, "1", b"hello 5 /a/b -")
    assert server.get("/page.txt").body == b"page\n"
    with Client(server.address) as client:
        answer = client.answer(client.get("/hello.php?x=6"))
        assert (answer.status, bytes(answer.body)) == (201, b"hello 6 - -")
    told = json.loads(server.get("/info.php").body)
    assert told["SCRIPT_FILENAME"] == str(root / "info.php")
    assert told["SCRIPT_NAME"] == "/info.php" and told["DOCUMENT_ROOT"] == str(root)
    assert told["GATEWAY_INTERFACE"] == "CGI/1.1" and told["REMOTE_ADDR"] == "127.0.0.1"


@needs_php
@pytest.mark.sanitizers
def test_scripts_are_never_sent_nor_others_run(serve, root, php):
    (root / "photo.jpg").write_text("<?php echo 'run';")
    (root / "x.php").write_text("<?php echo 'x';")
    (root / "index.php").write_text("<?php echo 'index';")
    (root / "sub").mkdir()
    (root / "sub" / "index.php").write_text("<?php echo 'sub';")
    server = serve(root, "--fastcgi", f"*.php={php}", "--index", "index.html,index.php")
    assert server.get("/photo.jpg/x.php").status == 404
    assert server.get("/absent.php").status == 404
    assert server.get("/.hidden.php").status == 404
    assert server.get("/x.php/").body == b"x"
    assert server.get("/%78.php").body == b"x"
    assert server.get("/").body == b"index"
    assert server.get("/sub/").body == b"sub"
    (root / "index.html").write_text("page")
    assert server.get("/").body == b"page"
    for target in ("/x.php", "/x.php%20", "/x.php.", "/x.php%00", "//x.php", "/sub/../x.php"):
        assert b"<?php" not in server.get(target).body, target


@needs_php
@pytest.mark.parametrize("size", [0, 1, 65536, MiB, 64 * MiB])
def test_php_gets_and_sends_bodies_of_every_size(serve, root, php, size):
    (root / "echo.php").write_text(
        "<?php header('Content-Type: application/octet-stream');"
        "$in = fopen('php://input', 'rb'); fpassthru($in);")
    server = serve(root, "--fastcgi", f"*.php={php}", "--max-body", "64MiB", "--compress", "off")
    answer = post(server, "/echo.php", size)
    assert answer.status == 200 and answer.body == body_of(size)


@needs_php
def test_more_requests_than_processes(serve, root, php):
    (root / "slow.php").write_text("<?php usleep(20000); echo $_GET['n'];")
    server = serve(root, "--fastcgi", f"*.php={php}", threads=2)
    connections = [server.connect() for _ in range(60)]
    for n, connection in enumerate(connections):
        connection.send(f"GET /slow.php?n={n} HTTP/1.1\r\nHost: a\r\n\r\n")
    for n, connection in enumerate(connections):
        assert connection.read_answer().body == str(n).encode()
        connection.close()


@needs_php
def test_php_that_hangs_dies_or_fails(serve, root, php, tmp_path):
    (root / "hang.php").write_text("<?php sleep(1000);")
    (root / "die.php").write_text("<?php exec('kill -9 ' . getmypid()); sleep(5);")
    (root / "error.php").write_text("<?php error_log('a php warning'); throw new Exception('x');")
    (root / "well.php").write_text("<?php echo 'well';")
    server = serve(root, "--fastcgi", f"*.php={php}", "--cgi-timeout", "1s")
    assert server.get("/hang.php").status == 504
    assert server.get("/die.php").status == 502
    assert server.get("/error.php").status == 500
    assert server.get("/well.php").body == b"well"
    wait_until(lambda: "/hang.php" in server.stderr and "/die.php" in server.stderr)


@needs_fcgiwrap
@pytest.mark.sanitizers
def test_fcgiwrap_runs_programs(serve, root, fcgiwrap, tmp_path):
    for name, lines in {"hello.cgi": "echo 'Content-Type: text/plain'; echo; echo hello",
                        "echo.cgi": "echo 'Content-Type: text/plain'; echo; exec cat",
                        "count.cgi": "echo 'Content-Type: text/plain'; echo; exec wc -c",
                        "bad.cgi": "echo garbage",
                        "near.cgi": "echo 'Location: /page.txt#part'; echo",
                        "loud.cgi": "echo oops >&2; echo 'Status: 404'; echo"}.items():
        (root / name).write_text("#!/bin/sh\n" + lines + "\n")
        (root / name).chmod(0o755)
    server = serve(root, "--fastcgi", f"*.cgi={fcgiwrap}", "--max-body", "64MiB",
                   "--compress", "off")
    assert server.get("/hello.cgi").body == b"hello\n"
    answer = server.get("/near.cgi")
    assert (answer.status, answer.get("location")) == (302, "/page.txt#part")
    assert server.get("/bad.cgi").status == 502
    assert server.get("/loud.cgi").status == 404
    wait_until(lambda: "line=oops" in server.stderr)
    for size in (0, 100_000):
        assert post(server, "/echo.cgi", size).body == body_of(size)
    # It reads no output before all input is written: it cannot echo more than pipes hold.
    assert post(server, "/count.cgi", 8 * MiB).body.strip() == str(8 * MiB).encode()


# A peer of the tests' own.


def record(kind, number, content=b"", padding=0):
    return struct.pack(">BBHHBB", 1, kind, number, len(content), padding, 0) + content + \
        b"\0" * padding


class Peer:
    """Speaks FastCGI as `answer(peer, connection, id, params)` says, on a TCP port."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.connections, self.ended = 0, 0
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.open.append(connection)
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def close(self):
        if self.listener.fileno() < 0:
            return
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            # Its own thread closes it: another's close would leave that thread a descriptor that
            # may belong to somebody else by then.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def read(connection, count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def serve(self, connection):
        under_way = None  # the request's id, its variables, its body
        try:
            while True:
                _, kind, number, length, padding, _ = struct.unpack(
                    ">BBHHBB", self.read(connection, 8))
                content = self.read(connection, length + padding)[:length]
                if kind == 1 and under_way is None:
                    under_way = [number, b"", b""]
                elif kind in (4, 5) and under_way and number == under_way[0]:
                    under_way[kind - 3] += content
                    if kind == 5 and not content:
                        self.answer(self, connection, *under_way)
                        under_way = None
                else:
                    raise EOFError  # no record of one request at a time
        except (EOFError, OSError):
            connection.close()
            self.ended += 1


@pytest.fixture
def peer():
    made = []

    def start(answer):
        made.append(Peer(answer))
        return made[-1]
    yield start
    for one in made:
        one.close()


HEAD = b"Content-Type: text/plain\r\n\r\n"


def well(peer, connection, number, params, body):
    connection.sendall(record(6, number, HEAD + b"well " + body, 3) + record(6, number) +
                       record(3, number, b"\0" * 8))


@pytest.mark.sanitizers
def test_connections_are_kept_over_tcp(serve, root, peer):
    here = peer(well)
    server = serve(root, "--fastcgi", f"/app={here.address}")
    with server.connect() as connection:
        for _ in range(20):
            assert connection.get("/app/x").body == b"well "
    assert here.connections == 1
    assert post(server, "/app", 5).body == b"well " + body_of(5)


GARBAGE = {
    "http": b"HTTP/1.1 200 OK\r\n\r\nhello",
    "another id": record(6, 77, HEAD),
    "a type of ours": record(1, 1, b"\0" * 8),
    "values that were not asked for": record(10, 0, b"\x0f\x01FCGI_MPXS_CONNS1"),
    "a short end": record(3, 1, b"\0"),
    "no head": record(6, 1, b"garbage\n\n") + record(3, 1, b"\0" * 8),
    "nothing": record(3, 1, b"\0" * 8),
    "half a record": record(6, 1, HEAD + b"x")[:20],
}


@pytest.mark.sanitizers
@pytest.mark.parametrize("name", GARBAGE)
def test_a_peer_that_answers_garbage(serve, root, peer, name):
    def garbage(peer, connection, number, params, body):
        if b"/app/well" in params:
            return well(peer, connection, number, params, body)
        connection.sendall(GARBAGE[name])
        connection.close()
    here = peer(garbage)
    server = serve(root, "--fastcgi", f"/app={here.address}")
    assert server.get("/app/bad").status == 502
    assert server.get("/app/well").body == b"well "
    assert server.get("/page.txt").body == b"page\n"
    wait_until(lambda: "status=502" in server.stderr)


def test_a_peer_that_is_not_there_and_comes(serve, root, peer, tmp_path):
    server = serve(root, "--fastcgi", f"/app=unix:{tmp_path}/absent.sock")
    assert server.get("/app").status == 502
    here = peer(well)
    other = serve(root, "--fastcgi", f"/app={here.address}")
    assert other.get("/app").status == 200
    here.close()
    wait_until(lambda: other.get("/app").status == 502)


def test_a_peer_that_is_slow_is_504_and_a_client_that_goes_ends_its_request(serve, root, peer):
    here = peer(lambda *_: None)
    server = serve(root, "--fastcgi", f"/app={here.address}", "--cgi-timeout", "500ms")
    assert server.get("/app").status == 504
    assert server.get("/page.txt").body == b"page\n"
    with server.connect() as connection:
        connection.send("GET /app HTTP/1.1\r\nHost: a\r\n\r\n")
        before = wait_until(lambda: here.connections >= 2 and here.connections)
        connection.reset()
    assert before >= 2


def test_a_kept_connection_that_was_closed_is_tried_again(serve, root, peer):
    used = set()

    def once(peer, connection, number, params, body):
        if connection in used:  # what the server sees is a connection that was closed before
            return connection.shutdown(socket.SHUT_RDWR)
        used.add(connection)
        return well(peer, connection, number, params, body)
    here = peer(once)
    server = serve(root, "--fastcgi", f"/app={here.address}")
    for _ in range(5):
        assert server.get("/app").status == 200
    assert len(used) == 5


def test_a_connection_carries_one_request_at_a_time(serve, root, peer):
    gate = threading.Event()

    def later(peer, connection, number, params, body):
        if b"/app/hangs" not in params:
            gate.wait(60)
            well(peer, connection, number, params, body)
    here = peer(later)
    server = serve(root, "--fastcgi", f"/app={here.address}")
    hanging, *others = [server.connect() for _ in range(8)]
    hanging.send("GET /app/hangs HTTP/1.1\r\nHost: a\r\n\r\n")
    for connection in others:
        connection.send("GET /app/x HTTP/1.1\r\nHost: a\r\n\r\n")
    wait_until(lambda: here.connections == 8, what="a connection for each")
    hanging.reset()
    wait_until(lambda: here.ended, what="the end of the connection of a client that went")
    assert here.ended == 1
    gate.set()
    for connection in others:
        assert connection.read_answer().body == b"well "
        connection.close()
    assert here.connections == 8


def test_a_flood_waits_for_a_slow_reader(serve, root, peer):
    sent = [0]

    def flood(peer, connection, number, params, body):
        connection.sendall(record(6, number, HEAD))
        while True:
            connection.sendall(record(6, number, b"x" * 65000))
            sent[0] += 65000
    here = peer(flood)
    server = serve(root, "--fastcgi", f"/app={here.address}", "--compress", "off")
    with server.connect(receive_bytes=4096) as connection:
        connection.send("GET /app HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.read_head().status == 200

        def stands():
            before = sent[0]
            time.sleep(0.3)
            return sent[0] == before
        wait_until(stands, what="a peer that waits")
        assert sent[0] < 64 * MiB
