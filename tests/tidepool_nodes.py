"""Nodes of Tidepool, a database and Redis in network namespaces of their own, and clients there."""

import base64
import contextlib
import ctypes
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

CLONE_NEWNET = 0x40000000
DATABASE = "10.77.0.1"
PASSWORD = "correct horse"
ANSWER_SECONDS = 6  # then a client tries another node
WAIT_SECONDS = 60  # for what has to happen, on a loaded machine


def missing():
    """Why this cannot run here; "" where it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "ip is not installed (apt: iproute2)"
    if not shutil.which("redis-server"):
        return "redis-server is not installed (apt: redis-server)"
    if not postgres_programs():
        return "PostgreSQL is not installed (apt: postgresql)"
    if not shutil.which("mariadbd"):
        return "MariaDB is not installed (apt: mariadb-server)"
    tried = subprocess.run(["ip", "netns", "add", f"tp{os.getpid()}try"], capture_output=True,
                           text=True)
    if tried.returncode != 0:
        return f"no network namespaces here: {tried.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", f"tp{os.getpid()}try"], check=False)
    return ""


def postgres_programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found else None


class Network:
    """One bridge, and a namespace for each machine. All of it goes with this object."""

    def __init__(self):
        self.prefix = f"tp{os.getpid()}"
        self.spaces = []
        self.hub = self.space("hub")
        self.ip("link", "add", "br0", "type", "bridge", space=self.hub)
        self.ip("link", "set", "br0", "up", space=self.hub)

    def ip(self, *words, space=None):
        inside = ["-n", space] if space else []
        subprocess.run(["ip", *inside, *words], check=True, capture_output=True)

    def space(self, name):
        space = f"{self.prefix}{name}"
        self.ip("netns", "add", space)
        self.spaces.append(space)
        self.ip("link", "set", "lo", "up", space=space)
        return space

    def machine(self, name, *addresses):
        space = self.space(name)
        self.ip("link", "add", "eth0", "type", "veth", "peer", "name", f"to{name}", "netns",
                self.hub, space=space)
        self.ip("link", "set", f"to{name}", "master", "br0", "up", space=self.hub)
        for address in addresses:
            self.ip("address", "add", f"{address}/16", "dev", "eth0", space=space)
        self.ip("link", "set", "eth0", "up", space=space)
        return space

    def close(self):
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


def enter(space):
    """This thread's sockets are of that namespace from now on."""
    with open(f"/var/run/netns/{space}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {space}")


class Process:
    def __init__(self, space, command, log, env=None, account=None):
        self.log = Path(log)
        words = ["ip", "netns", "exec", space]
        if account:
            words += ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups"]
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([*words, *map(str, command)], stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL,
                                            env={**os.environ, **(env or {})})

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def resident(self):
        """Kilobytes that only this process has, and its share of the others."""
        try:
            text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        except OSError:
            return 0
        return int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1])


class Postgres:
    account, url = "postgres", f"postgres://postgres@{DATABASE}/pool"

    def __init__(self, data):
        self.data = data

    def make(self, run):
        run([postgres_programs() / "initdb", "-D", self.data, "-A", "trust", "-E", "UTF8"])
        with open(self.data / "pg_hba.conf", "a") as file:
            file.write("host all all 10.77.0.0/16 trust\n")

    def server(self):
        return [postgres_programs() / "postgres", "-D", self.data,
                "-c", f"listen_addresses={DATABASE}", "-c", f"unix_socket_directories={self.data}",
                "-c", "max_connections=200"]

    def client(self, text, database="postgres"):
        return ["psql", "-h", DATABASE, "-U", "postgres", "-tA", "-c", text, database]


class Mariadb:
    account, url = "mysql", f"mariadb://tester@{DATABASE}/pool"

    def __init__(self, data):
        self.data = data

    def make(self, run):
        run(["mariadb-install-db", "--no-defaults", "--skip-test-db", f"--datadir={self.data}",
             "--auth-root-authentication-method=normal"])

    def server(self):
        users = self.data / "users.sql"  # `root` may not come from another machine
        users.write_text("create user if not exists tester@'10.77.%';\n"
                         "grant all on *.* to tester@'10.77.%';\n")
        return [shutil.which("mariadbd"), "--no-defaults", f"--datadir={self.data}",
                f"--bind-address={DATABASE}", f"--socket={self.data}/socket",
                f"--pid-file={self.data}/pid", "--skip-name-resolve", "--max-connections=200",
                f"--init-file={users}"]

    def client(self, text, database="mysql"):
        return ["mariadb", "--no-defaults", f"--host={DATABASE}", "--user=tester", "--batch",
                "--skip-column-names", "-e", text, database]


class Cluster:
    """A database and Redis on one machine, and nodes on one each."""

    def __init__(self, program, nodes=3, redis=True, database=Postgres):
        self.program = program
        # Not in pytest's folder, which the account of the database cannot enter.
        self.folder = Path(tempfile.mkdtemp(prefix="tidepool-nodes-"))
        self.folder.chmod(0o755)
        self.with_redis = redis
        self.database = database(self.folder / "data")
        self.network = Network()
        self.running = []
        try:
            self.start(nodes)
        except BaseException:
            self.close()
            raise

    def start(self, nodes):
        self.database_space = self.network.machine("db", DATABASE)
        self.load_space = self.network.machine(
            "load", *[f"10.77.{1 + i // 200}.{1 + i % 200}" for i in range(64)])
        self.node_spaces = [self.network.machine(f"n{i}", self.host(i)) for i in range(nodes)]
        self.start_database(fresh=True)
        if self.with_redis:
            self.running.append(Process(
                self.database_space,
                ["redis-server", "--bind", DATABASE, "--protected-mode", "no", "--save", ""],
                self.folder / "redis.log"))
        self.nodes = [None] * nodes
        for i in range(nodes):
            self.start_node(i)

    @staticmethod
    def host(node):
        return f"10.77.0.{11 + node}"

    def start_database(self, fresh=False):
        account = pwd.getpwnam(self.database.account).pw_name
        if fresh:
            self.database.data.mkdir()
            shutil.chown(self.database.data, account)
            self.database.data.chmod(0o700)
            self.database.make(lambda words: subprocess.run(
                ["setpriv", f"--reuid={account}", f"--regid={account}", "--clear-groups", *words],
                check=True, capture_output=True, cwd="/"))
        self.server = Process(self.database_space, self.database.server(),
                              self.folder / "database.log", account=account)
        self.running.append(self.server)
        self.eventually(lambda: self.ask_database("select 1") == "1", "the database answers")
        if fresh:
            self.ask_database("create database pool")

    def crash_database(self):
        """As when its machine fails, apart from the disk. PostgreSQL: immediate shutdown."""
        self.server.end(signal.SIGQUIT if isinstance(self.database, Postgres) else signal.SIGKILL)

    def ask_database(self, *text_and_name):
        done = subprocess.run(["ip", "netns", "exec", self.database_space,
                               *self.database.client(*text_and_name)],
                              capture_output=True, text=True)
        return done.stdout.strip()

    def sql(self, text):
        return self.ask_database(text, "pool")

    def start_node(self, node):
        environment = {"TIDEPOOL_DB": self.database.url,
                       "TIDEPOOL_PICTURES": "",
                       "TIDEPOOL_REDIS": f"redis://{DATABASE}" if self.with_redis else ""}
        self.nodes[node] = Process(self.node_spaces[node],
                                   [self.program, "--listen", f"{self.host(node)}:8080"],
                                   self.folder / f"node{node}.log", environment)
        self.running.append(self.nodes[node])

    def cut_off_from_the_database(self, node):
        """Its statements arrive, but no answer comes back: a commit's outcome stays unknown."""
        self.network.ip("route", "add", "blackhole", self.host(node), space=self.database_space)

    def heal(self, node):
        self.network.ip("route", "del", "blackhole", self.host(node), space=self.database_space)

    def eventually(self, true, what):
        until = time.monotonic() + WAIT_SECONDS
        while not true():
            assert time.monotonic() < until, f"{what}: not within {WAIT_SECONDS} s; {self.logs()}"
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"{path.name}: {path.read_text()[-600:]}"
                         for path in sorted(self.folder.glob("*.log")))

    def close(self):
        for process in reversed(self.running):
            with contextlib.suppress(Exception):
                # PostgreSQL also ends its processes for connections.
                process.end(signal.SIGQUIT if process is getattr(self, "server", None)
                            and isinstance(self.database, Postgres) else signal.SIGKILL)
        self.network.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Client:
    """A member with cookies for any node. Its threads have entered the load's namespace."""

    def __init__(self, cluster, name, sources):
        self.cluster = cluster
        self.name = name
        self.sources = sources  # rate limits are by address
        self.turn = 0
        self.cookie = ""
        self.token = ""

    def connect(self, node, seconds=ANSWER_SECONDS):
        self.turn += 1
        source = self.sources[self.turn % len(self.sources)]
        return socket.create_connection((Cluster.host(node), 8080), seconds, (source, 0))

    def ask(self, node, method, path, fields=None, seconds=ANSWER_SECONDS):
        """(status, text); an OSError where there was no whole answer."""
        body = urllib.parse.urlencode(fields).encode() if fields is not None else b""
        head = (f"{method} {path} HTTP/1.1\r\nHost: {Cluster.host(node)}:8080\r\n"
                f"Connection: close\r\n")
        if fields is not None:
            head += (f"Content-Type: application/x-www-form-urlencoded\r\n"
                     f"Content-Length: {len(body)}\r\n")
        if self.cookie:
            head += f"Cookie: {self.cookie}\r\n"
        with self.connect(node, seconds) as peer:
            peer.sendall(head.encode() + b"\r\n" + body)
            until = time.monotonic() + seconds
            answer = b""
            while piece := peer.recv(65536):
                answer += piece
                if time.monotonic() > until:
                    raise TimeoutError("the answer drips")
        head, found, text = answer.partition(b"\r\n\r\n")
        if not found:
            raise ConnectionError("no answer")
        for cookie in re.findall(rb"(?im)^set-cookie: ([^;\r]+)", head):
            self.cookie = cookie.decode()
        return int(answer.split()[1]), text.decode(errors="replace")

    def sign_up(self, node):
        status, text = self.ask(node, "POST", "/sign-up",
                                {"name": self.name, "username": self.name,
                                 "email": f"{self.name}@example.org", "password": PASSWORD,
                                 "again": PASSWORD})
        assert status == 303, text[:400]
        _, page = self.ask(node, "GET", "/about")
        self.token = re.search(r'name="csrf" value="([0-9a-f]+)"', page)[1]

    def send(self, node, path, **fields):
        return self.ask(node, "POST", path, {**fields, "csrf": self.token})

    def send_until_done(self, node, path, **fields):
        """Sends the same form until it succeeds, as a person does. Returns how often it failed."""
        until = time.monotonic() + WAIT_SECONDS
        failed = 0
        while True:
            try:
                status, _ = self.send((node + failed) % len(self.cluster.nodes), path, **fields)
                if status == 303:
                    return failed
                assert status >= 500 or status == 429, status
            except OSError:
                pass
            failed += 1
            assert time.monotonic() < until, f"{path}: not accepted within {WAIT_SECONDS} s"
            time.sleep(0.2)


class Ear(threading.Thread):
    """An open page at one node: its socket, made again when it is lost. Texts, with their times."""

    def __init__(self, client, node):
        super().__init__(daemon=True)
        self.client = client
        self.node = node
        self.heard = []
        self.connections = 0
        self.over = threading.Event()

    def run(self):
        enter(self.client.cluster.load_space)
        while not self.over.is_set():
            with contextlib.suppress(OSError):
                self.listen()
            self.over.wait(0.3)

    def listen(self):
        with self.client.connect(self.node) as peer:
            key = base64.b64encode(os.urandom(16)).decode()
            peer.sendall((f"GET /live HTTP/1.1\r\nHost: {Cluster.host(self.node)}:8080\r\n"
                          f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"
                          f"\r\nSec-WebSocket-Key: {key}\r\nCookie: {self.client.cookie}\r\n\r\n"
                          ).encode())
            stream = peer.makefile("rb")
            status = stream.readline()
            while stream.readline() not in (b"\r\n", b""):
                pass
            if b" 101 " not in status:
                return
            self.connections += 1
            peer.settimeout(90)  # longer than the server's pings are apart
            while not self.over.is_set():
                first, length = self.exactly(stream, 2)
                if length == 126:
                    length = int.from_bytes(self.exactly(stream, 2), "big")
                payload = self.exactly(stream, length)
                if first & 15 == 9:
                    peer.sendall(bytes([0x8A, 0x80 | len(payload), 0, 0, 0, 0]) + payload)
                elif first & 15 == 1:
                    self.heard.append((time.monotonic(), payload.decode()))
                elif first & 15 == 8:
                    return

    @staticmethod
    def exactly(stream, count):
        data = stream.read(count)
        if data is None or len(data) < count:
            raise ConnectionError("the socket ended")
        return data

    def hears(self, text, since):
        return any(at >= since and text in words for at, words in list(self.heard))
