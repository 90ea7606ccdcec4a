"""The databases that `./dev bench data` asks: each a server of its own on a Unix socket in a folder
of the run, with the same 10,000 members; SQLite is a file."""

import contextlib
import os
import pathlib
import pwd
import shutil
import sqlite3
import subprocess
import time

import procfs
import servers

MEMBERS = 10_000  # as in data/floor.h and data/select.cc
NAME = "bench"
TABLE = (
    "create table member"
    " (id bigint primary key, name varchar(100) not null, motto varchar(200))"
)


def members():
    for number in range(1, MEMBERS + 1):
        motto = None if number % 4 == 0 else f"what member {number} says of the tide"
        yield number, f"member {number}", motto


def program(name):
    """PostgreSQL's programs are outside of PATH on Debian."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name, path=":".join([*map(str, folders), servers.PATH]))


def as_account(name, words):
    """Both servers refuse to run as root."""
    if os.geteuid() != 0:
        return words
    return ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups", *words]


def run(words, said=None):
    done = subprocess.run(
        [str(word) for word in words], input=said, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def quoted(value):
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def table_and_rows():
    rows = ",\n".join(f"({', '.join(quoted(v) for v in row)})" for row in members())
    return f"{TABLE};\ninsert into member values {rows};\n"


@contextlib.contextmanager
def running(account, folder, words, core, is_ready):
    log = folder / "server.log"
    with log.open("wb") as out:
        pinned = servers.pinned(core, [str(word) for word in as_account(account, words)])
        child = subprocess.Popen(
            pinned, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        until = time.monotonic() + 30
        while not is_ready():
            if child.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{words[0]} does not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def own_folder(place, name, account):
    folder = place / name
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam(account).pw_uid, pwd.getpwnam(account).pw_gid)
    return folder


def answers(words):
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    return done.returncode == 0


class Postgres:
    """One server, one database NAME."""

    def __init__(self, folder, child):
        self.folder, self.child = folder, child

    @property
    def url(self):
        return f"postgres://tester@/{NAME}?socket={self.folder}"

    def sql(self, text, name=NAME):
        words = [program("psql"), "-h", self.folder, "-U", "tester", "-d", name]
        return run([*words, "-qAtX", "-v", "ON_ERROR_STOP=1"], text)

    def cpu_microseconds(self):
        return procfs.cpu_microseconds_with_ended(self.child.pid)


@contextlib.contextmanager
def postgres(place, core):
    folder = own_folder(place, "postgres", "postgres")
    words = [program("initdb"), "--no-sync", "-A", "trust", "-U", "tester", "-E", "UTF8"]
    run(as_account("postgres", [*words, "--locale=C", "-D", folder / "data"]))
    words = [program("postgres"), "-D", folder / "data", "-k", folder, "-c", "listen_addresses="]
    words += ["-c", "shared_buffers=256MB", "-c", "fsync=off", "-c", "max_connections=80"]
    asked = [program("pg_isready"), "-q", "-h", folder, "-U", "tester"]
    with running("postgres", folder, words, core, lambda: answers(asked)) as child:
        server = Postgres(folder, child)
        server.sql(f"create database {NAME}", "postgres")
        server.sql(table_and_rows() + "vacuum analyze;")
        yield server


class MariaDb:
    def __init__(self, folder, child):
        self.folder, self.child = folder, child

    @property
    def socket(self):
        return self.folder / "server.sock"

    @property
    def url(self):
        return f"mariadb://root@/{NAME}?socket={self.socket}"

    def sql(self, text):
        return run([program("mariadb"), "--no-defaults", f"--socket={self.socket}", "-uroot"], text)

    def cpu_microseconds(self):
        return procfs.cpu_microseconds(self.child.pid)


@contextlib.contextmanager
def mariadb(place, core):
    folder = own_folder(place, "mariadb", "mysql")
    words = [program("mariadb-install-db"), "--no-defaults", "--skip-test-db"]
    words += ["--auth-root-authentication-method=normal", f"--datadir={folder}/data"]
    run(as_account("mysql", words))
    words = [program("mariadbd"), "--no-defaults", f"--datadir={folder}/data", "--skip-networking"]
    words += [f"--socket={folder}/server.sock", f"--pid-file={folder}/server.pid"]
    words += ["--innodb-flush-log-at-trx-commit=2"]
    asked = [program("mariadb"), "--no-defaults", f"--socket={folder}/server.sock", "-uroot"]
    asked += ["-e", "select 1"]
    with running("mysql", folder, words, core, lambda: answers(asked)) as child:
        server = MariaDb(folder, child)
        made = f"create database {NAME} character set utf8mb4; use {NAME};\n"
        server.sql(made + table_and_rows())
        yield server


class Sqlite:
    def __init__(self, path):
        self.path = path

    @property
    def url(self):
        return f"sqlite:{self.path}"

    def cpu_microseconds(self):
        return 0.0  # it is the client


@contextlib.contextmanager
def sqlite(place, _core):
    path = place / "bench.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("pragma journal_mode = wal")
        database.execute(TABLE.replace("bigint", "integer"))
        database.executemany("insert into member values (?, ?, ?)", members())
    yield Sqlite(path)


class Redis:
    def __init__(self, socket, child):
        self.socket, self.child = socket, child

    @property
    def url(self):
        return f"unix:{self.socket}"

    def cpu_microseconds(self):
        return procfs.cpu_microseconds(self.child.pid)


@contextlib.contextmanager
def redis(place, core):
    folder = own_folder(place, "redis", pwd.getpwuid(os.geteuid()).pw_name)
    socket = folder / "server.sock"
    words = [program("redis-server"), "--port", "0", "--unixsocket", socket, "--save", ""]
    asked = [program("redis-cli"), "-s", socket, "ping"]
    account = pwd.getpwuid(os.geteuid()).pw_name
    with running(account, folder, words, core, lambda: answers(asked)) as child:
        yield Redis(socket, child)
