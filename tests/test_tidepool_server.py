"""Tidepool over a real port, by clients of bytes: what ended the system that it replaces, and what
happens while Redis or the database is away."""

import os
import pwd
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

import pytest

from server import wait_until

WAIT_SECONDS = 60
REDIS = shutil.which("redis-server")


class Bytes:
    """A browser with one cookie."""

    def __init__(self, place):
        self.place = place
        self.cookie = ""
        self.token = ""

    def connect(self):
        return socket.create_connection(self.place, WAIT_SECONDS)

    def head(self, method, path, more="", version="1.1"):
        cookie = f"Cookie: {self.cookie}\r\n" if self.cookie else ""
        return (f"{method} {path} HTTP/{version}\r\nHost: tide\r\nConnection: close\r\n"
                f"Accept: text/html\r\n{cookie}{more}\r\n").encode()

    def read(self, peer):
        answer = b""
        while piece := peer.recv(65536):
            answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        for cookie in re.findall(rb"(?im)^set-cookie: ([^;\r]+)", head):
            self.cookie = cookie.decode()
        return int(head.split()[1]), head.decode(), body.decode()

    def ask(self, *pieces):
        with self.connect() as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                peer.sendall(piece)
                time.sleep(0.05 if len(pieces) > 1 else 0)
            return self.read(peer)

    def get(self, path, **more):
        return self.ask(self.head("GET", path, **more))

    def form(self, path, **fields):
        """(head, body) of a form."""
        body = urllib.parse.urlencode({**fields, "csrf": self.token}).encode()
        return self.head("POST", path, f"Content-Type: application/x-www-form-urlencoded\r\n"
                                       f"Content-Length: {len(body)}\r\n"), body

    def send(self, path, **fields):
        return self.ask(b"".join(self.form(path, **fields)))

    def sign_up(self, name):
        status, _, page = self.send("/sign-up", name=name, username=name, password="correct horse",
                                    email=f"{name}@example.org", again="correct horse")
        assert status == 303, page
        self.token = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get("/about")[2])[1]
        return self


def start(run_example, folder, **environment):
    program = run_example("tidepool", "--listen", "127.0.0.1:0",
                          env={"TIDEPOOL_DB": f"sqlite:{folder}/tidepool.db", **environment})
    return program, program.places()[0]


@pytest.fixture(scope="module")
def place(run_example, tmp_path_factory):
    return start(run_example, tmp_path_factory.mktemp("bytes"))[1]


def test_a_new_database_file_is_its_owners_alone(run_example, tmp_path):
    before = os.umask(0)
    try:
        place = start(run_example, tmp_path)[1]
    finally:
        os.umask(before)
    Bytes(place).sign_up("ann_private")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("tidepool.db*")}
    assert "tidepool.db" in modes and set(modes.values()) == {0o600}, modes


def test_a_form_in_two_packets_is_one_form(place):
    ann = Bytes(place).sign_up("ann_packets")
    head, body = ann.form("/posts", body="cut in the middle")
    for pieces in ((head, body), (head[:9], head[9:] + body[:5], body[5:])):
        assert ann.ask(*pieces)[0] == 303
    assert ann.get("/members/ann_packets")[2].count("cut in the middle") == 2


def test_a_client_of_http_1_0_gets_the_page(place):
    status, head, page = Bytes(place).get("/about", version="1.0")
    assert status == 200 and page.rstrip().endswith("</html>")
    assert f"content-length: {len(page.encode())}" in head.lower()


def test_a_client_that_resets_while_it_is_answered_ends_only_itself(place):
    ann = Bytes(place).sign_up("ann_reset")
    for _ in range(200):
        with ann.connect() as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.sendall(ann.head("GET", "/static/tidepool.css") * 3)
    assert ann.get("/")[0] == 200


@pytest.mark.parametrize("path", ["/about/", "/post/", "/like/", "/profile/", "/connect/",
                                  "/search/?q=%22%3E%3Cscript%3E", "/dashboard/", "/unlike/1/",
                                  "/..", "/%2e%2e/%2e%2e/etc/passwd", "/static/%00", "/a%2fb"])
def test_old_addresses_end_nothing(place, path):
    guest = Bytes(place)
    for method in ("GET", "POST", "DELETE"):
        status, _, page = guest.ask(guest.head(method, path, "Content-Length: 0\r\n"))
        assert 300 <= status < 500, (method, page)
        assert "root:" not in page and "<script>" not in page
    assert guest.get("/")[0] == 200


class Redis:
    """On a socket of its own, which a second server may take over."""

    def __init__(self, folder):
        self.socket = f"{folder}/redis.sock"
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [REDIS, "--port", "0", "--unixsocket", self.socket, "--save", ""],
            stdout=subprocess.DEVNULL)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


@pytest.fixture
def redis(tmp_path):
    if not REDIS:
        pytest.skip("redis-server is not installed (apt: redis-server)")
    server = Redis(tmp_path)
    server.start()
    yield server
    server.end()


def test_while_redis_is_away_members_get_503_and_afterwards_their_pages(run_example, tmp_path,
                                                                         redis):
    _, place = start(run_example, tmp_path, TIDEPOOL_REDIS=f"unix:{redis.socket}")
    ann = Bytes(place)
    wait_until(lambda: ann.get("/sign-up")[0] == 200, what="a page with Redis")
    ann.sign_up("ann_redis")
    redis.end()
    status, head, page = ann.get("/")
    assert status == 503
    assert re.search(r"(?im)^retry-after: [0-9]+\r?$", head), head
    assert "Back in a moment" in page and "/static/tidepool.css" in page
    head, body = ann.form("/posts", body="not now")
    assert ann.ask(head, body)[0] == 503
    assert Bytes(place).get("/")[0] == 200, "a guest without a session needs no Redis"
    assert Bytes(place).get("/healthz")[0] == 200
    assert ann.get("/healthz")[0] == 200, "with a cookie, too: the process is alive"
    redis.start()
    # The new Redis is empty: the member has to log in again.
    wait_until(lambda: ann.get("/about")[0] == 200, what="a page after Redis is back")
    ann.token = ""
    status, _, page = ann.send("/log-in", who="ann_redis", password="correct horse")
    assert status == 303, page
    page = ann.get("/members/ann_redis")[2]
    ann.token = re.search(r'name="csrf" value="([0-9a-f]+)"', page)[1]
    assert "not now" not in page, "a refused post was made"
    assert ann.send("/posts", body="and on it goes")[0] == 303


class Database:
    """A server that is alone on a socket of its own. Stopped, it answers nothing; the kernel still
    takes connections and commands for it."""

    def __init__(self, kind, log):
        # Not in pytest's folder, into which other accounts may not go.
        self.kind, self.folder, self.log = kind, Path(tempfile.mkdtemp(prefix="tidepool-")), log
        self.account = {"postgres": "postgres", "mariadb": "mysql"}[kind]
        self.process = None
        shutil.chown(self.folder, self.account)
        try:
            self.url = getattr(self, f"start_{kind}")()
        except BaseException:
            self.end()
            raise

    @staticmethod
    def program(name):
        found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        return str(found[-1]) if found else shutil.which(name)

    @classmethod
    def missing(cls, kind):
        needed = {"postgres": "initdb", "mariadb": "mariadbd"}[kind]
        if cls.program(needed) is None:
            return f"{needed} is not installed"
        return "" if os.geteuid() == 0 else "needs root, which may take the servers' accounts"

    def run(self, *words):
        account = pwd.getpwnam(self.account)
        return subprocess.Popen(
            [str(word) for word in words], cwd="/", stdout=subprocess.DEVNULL, user=account.pw_uid,
            stderr=self.log.open("ab"), group=account.pw_gid,
            extra_groups=[])

    def until(self, *words):
        def answers():
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
        wait_until(answers, what=f"{self.kind} that answers")

    def start_postgres(self):
        data = self.folder / "data"
        assert self.run(self.program("initdb"), "-D", data, "-A", "trust", "-U", "tester",
                        "-E", "UTF8", "--no-sync").wait() == 0
        self.process = self.run(self.program("postgres"), "-D", data, "-k", self.folder,
                                "-c", "listen_addresses=", "-c", "fsync=off")
        self.until(self.program("psql"), "-h", self.folder, "-U", "tester", "-d", "postgres",
                   "-c", "create database pool")
        return f"postgres://tester@/pool?socket={self.folder}"

    def start_mariadb(self):
        data, place = self.folder / "data", self.folder / "server.sock"
        assert self.run("mariadb-install-db", "--no-defaults", "--skip-test-db",
                        "--auth-root-authentication-method=normal", f"--datadir={data}").wait() == 0
        self.process = self.run(self.program("mariadbd"), "--no-defaults", f"--datadir={data}",
                                "--skip-networking", f"--socket={place}",
                                "--innodb-flush-log-at-trx-commit=0",
                                f"--pid-file={self.folder}/pid")
        self.until("mariadb", "--no-defaults", f"--socket={place}", "-uroot",
                   "-e", "create database pool character set utf8mb4")
        return f"mariadb://root@/pool?socket={place}"

    def signal_all(self, number):
        """PostgreSQL is a process for each connection; the first one is stopped first, so that it
        starts no further."""
        os.kill(self.process.pid, number)
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for child in listed.split():
            os.kill(int(child), number)
        return [self.process.pid, *listed.split()]

    def stop(self):
        """Returns when every thread stands: a busy machine may let one run on for a while."""
        stats = [stat for pid in self.signal_all(signal.SIGSTOP)
                 for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
        wait_until(lambda: all(") T " in stat.read_text() for stat in stats),
                   what="every thread of the database stopped")

    def go_on(self):
        self.signal_all(signal.SIGCONT)

    def end(self):
        if self.process and self.process.poll() is None:
            self.go_on()
            self.process.send_signal(signal.SIGQUIT if self.kind == "postgres" else signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_query_that_waits_longer_than_the_database_timeout_is_503(run_example, tmp_path, kind):
    if why := Database.missing(kind):
        pytest.skip(why)
    database = Database(kind, tmp_path / "database.log")
    try:
        program = run_example("tidepool", "--listen", "127.0.0.1:0", "--database-timeout", "3",
                              env={"TIDEPOOL_DB": database.url, "TIDEPOOL_PICTURES": ""})
        ann = Bytes(program.places()[0]).sign_up("ann_waits")
        wait_until(lambda: ann.get("/")[0] == 200, what="the first page")
        database.stop()
        for _ in range(2):
            status, head, _ = ann.get("/")
            assert status == 503 and "retry-after: " in head.lower(), head
        probe = Bytes(program.places()[0])  # without a session, as a balancer asks
        assert probe.get("/healthz")[0] == 200 and probe.get("/readyz")[0] == 503
        assert ann.get("/healthz")[0] == 200, "with the cookie of a session, too"
        database.go_on()
        wait_until(lambda: ann.get("/")[0] == 200, what="a page after the database goes on")
        assert ann.send("/posts", body="the tide is back")[0] == 303
        program.stop()
    finally:
        database.end()


def test_a_program_older_than_its_database_starts_and_works(run_example, tmp_path):
    program, _ = start(run_example, tmp_path)
    program.stop()
    with sqlite3.connect(tmp_path / "tidepool.db") as database:
        database.execute("alter table posts add column of_tomorrow text")
        database.execute("insert into tiderace_migration (number, name, hash, done)"
                         " values (999, 'tomorrow', 'x', 1)")
    database.close()
    program, place = start(run_example, tmp_path, TIDEPOOL_PICTURES="")
    ann = Bytes(place).sign_up("ann_older")
    assert ann.send("/posts", body="written by an older program")[0] == 303
    assert "written by an older program" in ann.get("/")[2]


def test_help_is_an_answer_and_no_fault(binary, tmp_path):
    program = binary.parent / "examples/tidepool/tidepool"
    done = subprocess.run([program, "--help"], capture_output=True, text=True,
                          timeout=WAIT_SECONDS, cwd=tmp_path, check=False)
    assert done.returncode == 0 and done.stderr == "", done
    for word in ("--listen", "--demo", "--drain-notice", "--database-timeout", "migrate", "backup",
                 "restore", "TIDEPOOL_DB", "TIDEPOOL_REDIS", "TIDEPOOL_PICTURES",
                 "TIDEPOOL_FOLDER", "TIDEPOOL_PROXIES", "TIDEPOOL_MODERATORS"):
        assert word in done.stdout, word
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    assert not list(tmp_path.iterdir())  # nothing was begun


@pytest.mark.parametrize("words, told", [
    (("--lisen", ":80", "--demo", "3"), "unknown argument --lisen; tidepool --help lists"),
    (("--listen",), "--listen expects an address; tidepool --help lists"),
    (("backup",), "backup expects a file"),
    (("migrate", "now"), "migrate takes no other arguments"),
    (("--demo", "abc", "--drain-notice", "5"), "--demo expects a number of members"),
    (("--drain-notice", "5", "--database-timeout", "0"), "--database-timeout expects seconds"),
])
def test_a_fault_of_the_command_line_is_told_whatever_follows(binary, tmp_path, words, told):
    program = binary.parent / "examples/tidepool/tidepool"
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=WAIT_SECONDS,
                          cwd=tmp_path, check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"tidepool: {told}"), done
    assert not list(tmp_path.iterdir())  # nothing was begun
