"""The admin socket of the real program, and the commands that ask it: reload and status."""

import json
import os
import signal
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from certificates import Authority
from server import STAY_ROOT, run, wait_until
from test_sites import HERE, SERVER, Sites, make, needs_openssl, sites  # noqa: F401

ONE = '[[site]]\nhosts = ["one.example"]\nroot = "one"\n'
TWO = '[[site]]\nhosts = ["two.example"]\nroot = "two"\n'
ADMIN = '[admin]\nsocket = "admin.sock"\n'
BROKEN = ONE + 'indx = "a"\nlisting = 5\n'


class Admin:
    """A server with an admin socket, its file, and the commands."""

    def __init__(self, binary, server, folder, head):
        self.binary, self.server, self.head = binary, server, head
        self.file = folder / "tiderace.toml"
        self.socket = folder / "admin.sock"

    def write(self, text):
        new = self.file.with_suffix(".new")
        new.write_text(self.head + text)
        new.rename(self.file)

    def use(self, *words):
        return use(self.binary, *words)

    def ask(self, request):
        """What the server sends back until it closes."""
        with self.connect() as client:
            client.sendall(request)
            return all_of(client)

    def get(self, path, method="GET"):
        return self.ask(
            f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
        )

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(str(self.socket))
        return client


def use(binary, *words):
    return subprocess.run(
        [binary, *map(str, words)], capture_output=True, text=True, timeout=90, check=False
    )


def all_of(client):
    got = b""
    while part := client.recv(65536):
        got += part
    return got


@pytest.fixture
def start(binary, sites, make, tmp_path):  # noqa: F811
    """start(text) starts the server of a file, whose admin socket is admin.sock beside it."""
    make("one/index.html", "one")
    make("two/index.html", "two")

    def begin(text=ONE, admin="", user=None, **more):
        server = f'[server]\nthreads = 1\nuser = "{user}"\n' if user else SERVER
        head = server + HERE + ADMIN + admin
        server = sites(text, head=head, **more)
        return Admin(binary, server, tmp_path, head)

    return begin


def test_a_reload_is_done_before_the_command_ends(start):
    admin = start()
    for number, (text, host) in enumerate(((TWO, "two.example"), (ONE, "one.example")), 2):
        admin.write(text)
        done = admin.use("reload", admin.file)
        assert (done.returncode, done.stderr) == (0, "")
        assert f"generation {number}\n" in done.stdout
        assert admin.server.of(host).status == 200


def test_a_refused_reload_lists_every_problem_and_changes_nothing(start):
    admin = start()
    admin.write(BROKEN)
    for words in (["--socket", admin.socket], [admin.file]):
        refused = admin.use("reload", *words)
        assert refused.returncode == 1
        for problem in ('has no key "indx"', "listing expects true or false", "2 errors"):
            assert problem in refused.stderr
        assert refused.stderr.endswith("was refused: all is served as before\n")
    assert admin.server.of("one.example").text == "one"
    # A file that is not TOML does not name the socket of the server.
    admin.write("[[site]\n")
    assert "this is no TOML" in (refused := admin.use("reload", admin.file)).stderr
    assert refused.returncode == 1
    assert admin.use("reload", "--socket", admin.socket).returncode == 1


def post_reload(client):
    client.sendall(b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    return client.recv(65536)


def mode_of(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_the_socket_moves_and_answers_where_it_was_asked(start, tmp_path):
    admin = start()
    first, other = admin.socket, tmp_path / "other.sock"
    with admin.connect() as kept:
        admin.head = admin.head.replace("admin.sock", "other.sock") + 'mode = "0660"\n'
        admin.write(ONE)
        assert post_reload(kept).startswith(b"HTTP/1.1 200 ")
        assert (first.exists(), mode_of(other)) == (False, 0o660)
        admin.socket = other
        admin.write(TWO)
        assert b" 200 OK" in admin.get("/reload", "POST")
        assert admin.server.of("two.example").status == 200
        # Back, and asked on the connection that it had first.
        admin.head = admin.head.replace("other.sock", "admin.sock")
        admin.write(ONE)
        assert post_reload(kept).startswith(b"HTTP/1.1 200 ")
        assert (other.exists(), mode_of(first)) == (False, 0o660)
    assert admin.use("reload", admin.file).returncode == 0
    admin.server.stop()
    assert not first.exists()


def test_the_permissions_of_the_socket_change(start):
    admin = start()
    inode = admin.socket.lstat().st_ino
    for mode in ("0660", "0600"):
        head = admin.head
        admin.head += f'mode = "{mode}"\n'
        admin.write(BROKEN)
        before = mode_of(admin.socket)
        assert admin.use("reload", "--socket", admin.socket).returncode == 1
        assert mode_of(admin.socket) == before
        admin.write(ONE)
        assert admin.use("reload", admin.file).returncode == 0
        assert (mode_of(admin.socket), admin.socket.lstat().st_ino) == (int(mode, 8), inode)
        admin.head = head
    # Its name is gone, and with it the file whose permissions would change.
    admin.socket.unlink()
    admin.head += 'mode = "0666"\n'
    admin.write(TWO)
    refused = "the configuration was refused"
    before = admin.server.stderr.count(refused)
    admin.server.signal(signal.SIGHUP)
    wait_until(lambda: admin.server.stderr.count(refused) > before)
    assert f"change the permissions of {admin.socket}: no such file" in admin.server.stderr
    assert admin.server.of("one.example").status == 200


def test_a_socket_that_cannot_be_had_changes_nothing(start, tmp_path):
    admin = start()
    head = admin.head
    (tmp_path / "file.sock").write_text("mine")
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(tmp_path / "taken.sock"))
        taken.listen()
        for name in ("missing/a.sock", "file.sock", "taken.sock"):
            admin.head = head.replace("admin.sock", name)
            admin.write(TWO)
            refused = admin.use("reload", "--socket", admin.socket)
            assert refused.returncode == 1 and name in refused.stderr, refused.stderr
    # It can be had, and the file is wrong for another reason.
    admin.head = head.replace("admin.sock", "other.sock")
    admin.write(ONE + '[[site]]\nhosts = ["b"]\nroot = "missing"\n')
    assert admin.use("reload", "--socket", admin.socket).returncode == 1
    assert not (tmp_path / "other.sock").exists()
    assert (tmp_path / "file.sock").read_text() == "mine"
    assert admin.server.of("one.example").status == 200
    assert b" 200 OK" in admin.get("/status")


def test_the_socket_goes_and_comes(start):
    admin = start()
    head = admin.head
    with admin.connect() as kept:
        admin.head = SERVER + HERE
        admin.write(ONE)
        assert post_reload(kept).startswith(b"HTTP/1.1 200 ")
    assert not admin.socket.exists()
    admin.head = head
    admin.write(TWO)
    admin.server.signal(signal.SIGHUP)

    def answers():
        try:
            return b" 200 OK" in admin.get("/status")
        except (FileNotFoundError, ConnectionRefusedError):  # not bound, or not listening yet
            return False

    wait_until(answers)
    assert admin.server.of("two.example").status == 200


@pytest.mark.skipif(not STAY_ROOT, reason="only root gives its rights up")
def test_without_root_the_socket_moves_to_a_folder_of_the_user(start, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    os.chown(own, 65534, 65534)
    for folder in [tmp_path, *tmp_path.parents]:
        if folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o55)
    admin = start(user="65534")
    head = admin.head
    for change, told in (
        ((ADMIN, ADMIN + 'mode = "0660"\n'), "root made it; a restart changes them"),
        (("admin.sock", "other.sock"), "other.sock: permission denied"),
    ):
        admin.head = head.replace(*change)
        admin.write(TWO)
        refused = admin.use("reload", "--socket", admin.socket)
        assert refused.returncode == 1 and told in refused.stderr, refused.stderr
        assert mode_of(admin.socket) == 0o600
    admin.head = head.replace("admin.sock", "own/a.sock")
    admin.write(TWO)
    assert admin.use("reload", "--socket", admin.socket).returncode == 0
    # Root's helper has removed the name that root made.
    assert not admin.socket.exists()
    assert admin.use("reload", admin.file).returncode == 0


def test_nobody_there_is_another_status_than_refused(start, tmp_path):
    admin = start()
    admin.server.signal(signal.SIGTERM)
    admin.server.wait_exit()
    assert not admin.socket.exists()
    for words in ([admin.file], ["--socket", admin.socket]):
        for command in ("reload", "status"):
            nobody = admin.use(command, *words)
            assert nobody.returncode == 2
            assert "no server has this admin socket" in nobody.stderr
    # The name of a server that was killed.
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(admin.socket))
    assert admin.use("reload", admin.file).returncode == 2
    missing = admin.use("reload", tmp_path / "missing.toml")
    assert missing.returncode == 2 and "missing.toml" in missing.stderr
    admin.file.write_text(ONE)
    assert "has no [admin]" in (none := admin.use("status", admin.file)).stderr
    assert none.returncode == 2


def test_status_shows_what_is_served(start):
    admin = start(ONE + TWO)
    status = json.loads(admin.use("status", "--json", admin.file).stdout)
    assert status["sites"] == ["one.example", "two.example"]
    assert status["listeners"] == [f"127.0.0.1:{admin.server.address[1]}"]
    assert (status["generation"], status["generations_alive"]) == (1, 1)
    assert (status["loops"], status["last_reload"], status["certificates"]) == (1, None, [])
    assert status["uptime_seconds"] >= 0 and status["version"]
    with admin.server.connect() as kept:
        assert kept.get("/", host="one.example").text == "one"
        assert json.loads(admin.use("status", "--json", admin.file).stdout)["connections"] == 1
    admin.write(BROKEN)
    admin.use("reload", admin.file)
    last = json.loads(admin.use("status", "--json", admin.file).stdout)["last_reload"]
    assert last["done"] is False and 'has no key "indx"' in last["problems"]
    lines = admin.use("status", "--socket", admin.socket).stdout
    assert "sites         2: one.example, two.example\n" in lines
    assert "generation    1, 1 alive\n" in lines
    assert ", refused\n" in lines and 'has no key "indx"' in lines
    admin.write(ONE)
    admin.server.signal(signal.SIGHUP)
    wait_until(lambda: ", done\n" in admin.use("status", admin.file).stdout, what="a reload")


@needs_openssl
def test_status_has_the_days_that_certificates_are_left(start, tmp_path):
    pair = Authority(tmp_path, "authority").issue("site", days=10)
    names = f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n'
    admin = start(names + ONE)
    status = json.loads(admin.use("status", "--json", admin.file).stdout)
    assert [each["file"] for each in status["certificates"]] == [str(pair.certificate)]
    assert status["certificates"][0]["days_left"] in (9, 10)
    assert " days left\n" in admin.use("status", admin.file).stdout


@pytest.mark.parametrize("admin, mode", [("", 0o600), ('mode = "0660"\n', 0o660)])
def test_the_file_has_its_permissions(start, admin, mode):
    made = os.stat(start(admin=admin).socket)
    assert stat.S_ISSOCK(made.st_mode) and stat.S_IMODE(made.st_mode) == mode


def test_what_is_no_request_is_answered_as_anywhere(start):
    admin = start()
    assert b" 400 " in admin.ask(b"\x00\xff garbage\r\n\r\n").split(b"\r\n")[0]
    for target, method, status in (
        ("/", "GET", 404),
        ("/reload/", "POST", 404),
        ("/status", "POST", 405),
        ("/reload", "GET", 405),
        ("/reload", "HEAD", 405),
        ("/status", "HEAD", 200),
        ("/status.txt", "GET", 200),
    ):
        assert admin.get(target, method).startswith(f"HTTP/1.1 {status} ".encode()), target
    assert b"Allow: POST\r\n" in admin.get("/reload")
    assert not admin.get("/status", "HEAD").split(b"\r\n\r\n", 1)[1]
    assert admin.use("reload", admin.file).returncode == 0


def test_askers_that_leave_do_not_stop_it(start):
    admin = start()
    request = b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
    for _ in range(200):
        with admin.connect() as client:
            client.sendall(request)
    with admin.connect() as client:
        client.sendall(request[:20])
    # Until then it may answer 503.
    wait_until(lambda: admin.use("reload", admin.file).returncode == 0, what="a reload")
    assert admin.use("status", admin.file).returncode == 0
    assert admin.server.of("one.example").text == "one"


def test_an_asker_that_leaves_in_the_middle_of_the_reading(start):
    """Its file is a pipe: the reading lasts until another process writes to it."""
    admin = start()
    admin.file.unlink()
    os.mkfifo(admin.file)
    with admin.connect() as leaves, admin.connect() as stays:
        leaves.sendall(b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        pipe = open(admin.file, "w")  # noqa: SIM115, once the server reads it
        with pipe:
            leaves.close()
            assert json.loads(admin.use("status", "--json", "--socket", admin.socket).stdout)
            pipe.write(admin.head + TWO)
        # Behind the one above, which has no asker any more.
        admin.write(ONE)
        stays.sendall(b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        assert stays.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert admin.server.of("one.example").text == "one"


def test_a_reload_under_way_is_answered_when_the_server_stops(start):
    admin = start()
    admin.file.unlink()
    os.mkfifo(admin.file)
    with admin.connect() as asker:
        asker.sendall(b"POST /reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        with open(admin.file, "w") as pipe:
            admin.server.signal(signal.SIGTERM)
            wait_until(lambda: not admin.socket.exists(), what="the end of its name")
            pipe.write(admin.head + TWO)
        answer = all_of(asker)
    assert answer.startswith(b"HTTP/1.1 409 ") and b"the server is stopping\n" in answer
    assert admin.server.wait_exit() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_the_name_that_root_made_goes_with_a_server_that_gave_up_root(binary):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "one").mkdir()
        file = folder / "tiderace.toml"
        admin = '[admin]\nsocket = "admin.sock"\n'
        file.write_text('[server]\nthreads = 1\nuser = "nobody"\n' + HERE + admin + ONE)
        server = Sites(binary, file, folder=folder).wait_ready()
        try:
            assert (folder / "admin.sock").owner() == "root"
            assert use(binary, "reload", file).returncode == 0
        finally:
            server.stop()
        assert not (folder / "admin.sock").exists()


def test_more_connections_than_it_has_room_for_are_refused_and_others_served(start):
    admin = start()
    idle = [admin.connect() for _ in range(40)]
    assert "answers 503" in admin.use("status", admin.file).stderr
    assert admin.server.of("one.example").text == "one"
    # They are closed without a word of theirs.
    for each in idle[:16]:
        assert all_of(each) == b""
    assert admin.use("status", admin.file).returncode == 0
    for each in idle:
        each.close()


def test_an_open_connection_does_not_hold_up_the_end(start):
    admin = start()
    with admin.connect() as idle:
        idle.sendall(b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n")
        assert idle.recv(65536).startswith(b"HTTP/1.1 200 ")
        admin.server.signal(signal.SIGTERM)
        admin.server.wait_exit()
        assert all_of(idle) == b""


def refusal(binary, tmp_path):
    """The message of a `tiderace run` that does not start."""
    file = tmp_path / "tiderace.toml"
    file.write_text(SERVER + HERE + '[admin]\nsocket = "admin.sock"\n' + ONE)
    failed = use(binary, "run", file)
    assert failed.returncode == 1
    return failed.stderr


def test_check_sees_that_the_folder_of_a_socket_is_missing(binary, tmp_path):
    file = tmp_path / "tiderace.toml"
    for line in (
        '[admin]\nsocket = "none/s"\n',
        f'[[listen]]\naddress = "unix:{tmp_path}/none/s"\n',
    ):
        file.write_text(line + '[[site]]\nrespond = "a"\n')
        done = run(binary, "check", file)
        assert done.returncode == 1 and "toml:2:" in done.stderr
        assert "no such file or directory" in done.stderr and "a socket must exist" in done.stderr
        (tmp_path / "none").mkdir()
        assert run(binary, "check", file).returncode == 0
        (tmp_path / "none").rmdir()


def test_a_name_that_is_taken_is_refused(binary, start, tmp_path):
    admin = start()
    assert "another program listens there" in refusal(binary, tmp_path)
    assert admin.use("status", admin.file).returncode == 0, "the other server stays as it was"
    admin.server.signal(signal.SIGTERM)
    admin.server.wait_exit()
    admin.socket.write_text("mine")
    assert "a file that is no socket is there" in refusal(binary, tmp_path)
    assert admin.socket.read_text() == "mine"
    admin.socket.unlink()
    admin.socket.mkdir()
    assert "a folder of that name is there" in refusal(binary, tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file to another user")
def test_a_socket_of_another_user_is_refused(binary, make, tmp_path):  # noqa: F811
    make("one/index.html", "one")
    with socket.socket(socket.AF_UNIX) as others:
        others.bind(str(tmp_path / "admin.sock"))
    os.chown(tmp_path / "admin.sock", 12345, 12345)
    assert "a socket of another user is there" in refusal(binary, tmp_path)


def test_a_name_that_was_left_behind_is_taken(start, tmp_path):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "admin.sock"))
    assert start().use("status", tmp_path / "tiderace.toml").returncode == 0


def test_who_listens_there_may_be_no_tiderace(binary, tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))
        other.listen()
        asked = subprocess.Popen(
            [binary, "status", "--socket", tmp_path / "other.sock"],
            stderr=subprocess.PIPE,
            text=True,
        )
        client, _ = other.accept()
        with client:
            client.recv(4096)
            client.sendall(b"220 mail\r\n")
        assert "is no tiderace" in asked.communicate(timeout=60)[1]
        assert asked.returncode == 2


@pytest.mark.parametrize("words", [[], ["--socket", "/a", "b.toml"]])
def test_the_socket_is_named_once(binary, words):
    refused = use(binary, "reload", *words)
    assert refused.returncode == 2
    assert "--socket" in refused.stderr
