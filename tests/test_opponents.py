"""The opponents that are ours, evhttp both ways and asio-http: files, statuses, the root, the end.
Comparisons with them mean something only if they do their work."""

import contextlib
import re
import threading
import time

import pytest

from raw_client import DEADLINE, Connection, get_once, request
from server import Server, wait_until
from site_folder import pattern

pytestmark = pytest.mark.sanitizers
OPPONENTS = {  # name: (program, flags)
    "evhttp": ("tiderace-lab-evhttp", []),
    "evhttp-sendfile": ("tiderace-lab-evhttp", ["--sendfile"]),
    "asio-http": ("tiderace-lab-asio-http", ["--keep-alive"]),
    "asio-http-closing": ("tiderace-lab-asio-http", []),
}
FILES = ["index.html", "a.txt", "empty.txt", "k.bin", "middle.bin", "big.bin", "dir/b.txt"]


class OpponentProgram(Server):
    def leading_words(self, root, listen, threads, engine):
        return [str(root), "--listen", listen, "--threads", str(threads)]

    def places(self):
        return [("127.0.0.1", int(port)) for port in re.findall(r"^(\d+)$", self.stdout, re.M)]

    def wait_ready(self, listeners=1):
        def ready():
            self.check_health()
            return self.places()
        wait_until(ready, what="a line with the port")
        return self


@contextlib.contextmanager
def started(binary, name, site, folder, **more):
    program, flags = OPPONENTS[name]
    path = binary.parent / program
    if not path.exists():
        pytest.skip(f"{program} is not built: its library is not here")
    server = OpponentProgram(path, site, *flags, folder=folder, **{"threads": 2, **more})
    try:
        yield server.wait_ready()
        server.stop()
    finally:
        server.kill()


@pytest.fixture(scope="module", params=OPPONENTS)
def opponent(request, binary, site, tmp_path_factory):
    with started(binary, request.param, site, tmp_path_factory.mktemp(request.param)) as server:
        server.keeps = request.param != "asio-http-closing"
        yield server


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_served_byte_for_byte(opponent, site, name):
    answer = opponent.get("/" + name)
    assert answer.status == 200
    assert answer.body == (site / name).read_bytes()


def test_the_head_says_what_the_body_would_be(opponent, site):
    with opponent.connect() as connection:
        answer = connection.get("/middle.bin", method="HEAD")
        assert answer.get("content-length") == str((site / "middle.bin").stat().st_size)
        if opponent.keeps:
            assert connection.get("/a.txt").body == b"hello\n"
        else:
            assert connection.wait_end()


@pytest.mark.parametrize("target, status", [
    ("/", 200), ("/dir", 301), ("/dir/", 200), ("/none", 404), ("/bare/", 404),
    ("/a.txt/", 404), ("/a.txt?query", 200), ("/with%20space.txt", 200),
    ("/../a.txt", 400), ("/dir/../../a.txt", 400), ("/%2e%2e/%2e%2e/etc/passwd", 400),
    ("/..%2f..%2fetc/passwd", 400), ("/....//etc/passwd", 404), ("/.git/config", 404),
    ("/a.txt%00.html", 400),
])
def test_statuses_and_the_root(opponent, target, status):
    answer = opponent.get(target)
    assert answer.status == status
    if status == 301:
        assert answer.get("location") == "/dir/"


def test_a_link_out_of_the_folder_is_not_followed(binary, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("outside")
    (root / "out").symlink_to("../secret")
    for name in OPPONENTS:
        folder = tmp_path / name
        folder.mkdir()
        with started(binary, name, root, folder) as server:
            assert server.get("/out").status == 404


def test_other_methods_are_refused(opponent):
    answer = opponent.get("/a.txt", method="DELETE")
    assert answer.status == 405
    assert answer.get("allow") == "GET, HEAD"


def test_connections_are_kept_or_not(opponent):
    with opponent.connect() as connection:
        for _ in range(3):
            answer = connection.get("/k.bin")
            assert answer.body == pattern(1024, 2)
            if not opponent.keeps:
                assert answer.version == "1.0"
                assert connection.wait_end()
                return
        connection.get("/k.bin", "Connection: close")
        assert connection.wait_end()


def test_requests_that_come_together_are_answered_in_order(opponent):
    if not opponent.keeps:
        pytest.skip("one request a connection")
    with opponent.connect() as connection:
        connection.send(request("/a.txt") + request("/none") + request("/big.bin"))
        assert connection.read_answer().body == b"hello\n"
        assert connection.read_answer().status == 404
        assert connection.read_answer().body == pattern(3_000_000, 4)


def test_many_at_once(opponent):
    wrong = []

    def ask():
        for _ in range(5):
            if get_once(opponent.address, "/middle.bin").body != pattern(57_244, 3):
                wrong.append("body")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    opponent.check_health()


@pytest.mark.parametrize("bytes_sent", [b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"\0\1\2\3\r\n\r\n"])
def test_what_is_no_request_ends_the_connection_alone(opponent, bytes_sent):
    with opponent.connect() as connection:
        connection.send(bytes_sent)
        connection.finish_sending()
        while connection.receive_some(time.monotonic() + DEADLINE):
            pass
    assert opponent.get("/a.txt").status == 200


@pytest.mark.parametrize("name", OPPONENTS)
def test_it_ends_on_sigterm_with_connections_open(binary, site, tmp_path, name):
    with started(binary, name, site, tmp_path) as server:
        with Connection(server.address) as idle, Connection(server.address) as busy:
            busy.send(request("/big.bin"))  # and it is not read
            assert get_once(server.address, "/a.txt").status == 200
            server.stop()  # asserts status 0
            idle.finish_sending()


@pytest.mark.parametrize("name", OPPONENTS)
def test_without_descriptors_new_connections_wait(binary, sanitized, site, tmp_path, name):
    if sanitized == "asan":
        pytest.skip("UBSan checks an address with a pipe of its own, and finds none left")
    with started(binary, name, site, tmp_path, threads=1, nofile=40) as server:
        held = [server.connect() for _ in range(40)]
        wait_until(lambda: server.descriptors() >= 39, what="no descriptor left")
        for connection in held:
            connection.close()
        assert server.get("/a.txt").body == b"hello\n"
        assert len(server.stderr) < 2000  # not a warning at every turn


@pytest.mark.parametrize("name", OPPONENTS)
def test_what_it_cannot_serve_is_said_at_the_start(binary, tmp_path, name):
    program, flags = OPPONENTS[name]
    if not (binary.parent / program).exists():
        pytest.skip(f"{program} is not built")
    server = OpponentProgram(binary.parent / program, tmp_path / "none", *flags, folder=tmp_path)
    assert server.wait_exit() == 1
    assert str(tmp_path / "none") in server.stderr
