"""CGI on the real program: what programs receive, what happens when they fail, and that
nothing is left of them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from h2_client import Client
from server import wait_until

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")

HEAD = "echo 'Content-Type: text/plain'; echo; "
MiB = 1 << 20


class Folder:
    """A folder of programs, of /bin/sh unless said otherwise."""

    def __init__(self, path):
        self.path = path
        self.path.mkdir()

    def program(self, name, lines, interpreter="/bin/sh"):
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!{interpreter}\n{lines}\n")
        file.chmod(0o755)
        return file


@pytest.fixture
def programs(tmp_path):
    return Folder(tmp_path / "programs")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "index.html").write_text("front\n")
    return folder


@pytest.fixture
def cgi(serve, programs, root):
    def start(*flags, **more):
        return serve(root, "--cgi", f"/cgi-bin={programs.path}", *flags, **more)
    return start


def children(pid):
    """All processes below `pid`, at any depth."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *children(child)]
        except OSError:
            pass
    return found


def marked(mark):
    """Processes with `mark` in their command line, wherever they hang."""
    found = []
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            words = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in words and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found


def nothing_runs(server):
    wait_until(lambda: not children(server.pid), what="the end of all programs")


def post(server, target, size, piece=65536, fields=()):
    """Sends `size` bytes and returns the answer. The bytes are a pattern; see body_of()."""
    with server.connect(deadline=120) as connection:
        connection.send(f"POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n" +
                        "".join(f"{n}: {v}\r\n" for n, v in fields) + "Connection: close\r\n\r\n")
        body = body_of(size)
        sender = threading.Thread(target=connection.send, args=(body,))
        sender.start()
        answer = connection.read_answer("POST")
        sender.join()
        return answer


def body_of(size):
    block = bytes(range(256)) * 4096
    return (block * (size // len(block) + 1))[:size]


@pytest.mark.sanitizers
def test_the_answer_is_what_the_program_writes(cgi, programs):
    programs.program("hello", "echo 'Content-Type: text/plain'\necho 'X-A: 1'\necho\necho hello")
    server = cgi()
    answer = server.get("/cgi-bin/hello")
    assert (answer.status, answer.body) == (200, b"hello\n")
    assert answer.get("x-a") == "1" and answer.get("content-type") == "text/plain"
    with Client(server.address) as client:
        answer = client.answer(client.get("/cgi-bin/hello"))
        assert answer.status == 200 and bytes(answer.body) == b"hello\n"
    assert server.get("/").body == b"front\n"
    nothing_runs(server)


@pytest.mark.sanitizers
def test_the_environment(cgi, programs, root):
    programs.program("env", HEAD + "env; echo \"cwd=$(pwd)\"")
    server = cgi()
    fields = ["X-Real-Ip: 192.0.2.1", "X_Real_Ip: 127.0.0.1", "Proxy: http://evil.example/",
              "Cookie: a=1", "Cookie: b=2", "Content-Type: text/x", "X.Dot: 1",
              "X-Forwarded_For: 9.9.9.9", "Authorization: Bearer x"]
    body = server.get("/cgi-bin/env/more%20path/x?q=1&r", *fields).text
    told = dict(line.split("=", 1) for line in body.splitlines())
    port = str(server.address[1])
    for name, value in {
            "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "GET", "SERVER_PROTOCOL": "HTTP/1.1",
            "SCRIPT_NAME": "/cgi-bin/env", "PATH_INFO": "/more path/x", "QUERY_STRING": "q=1&r",
            "PATH_TRANSLATED": f"{root}/more path/x", "DOCUMENT_ROOT": str(root),
            "REQUEST_URI": "/cgi-bin/env/more%20path/x?q=1&r", "REMOTE_ADDR": "127.0.0.1",
            "SERVER_PORT": told["HTTP_HOST"].rpartition(":")[2] if ":" in told["HTTP_HOST"]
            else "80", "HTTP_X_REAL_IP": "192.0.2.1", "HTTP_COOKIE": "a=1; b=2",
            "CONTENT_TYPE": "text/x", "HTTP_AUTHORIZATION": "Bearer x",
            "SCRIPT_FILENAME": str(programs.path / "env"), "cwd": str(programs.path)}.items():
        assert told.get(name) == value, name
    assert int(told["REMOTE_PORT"]) > 0 and port.isdigit()
    assert told["SERVER_SOFTWARE"].startswith("tiderace/")
    for absent in ("HTTP_PROXY", "HTTP_X_FORWARDED_FOR", "HTTPS", "CONTENT_LENGTH", "HOME",
                   "HTTP_CONTENT_TYPE", "HTTP_CONNECTION", "REMOTE_USER"):
        assert absent not in told, absent
    assert not any("." in name for name in told)
    with Client(server.address) as client:
        body = bytes(client.answer(client.get("/cgi-bin/env")).body).decode()
        assert "SERVER_PROTOCOL=HTTP/2.0\n" in body and "HTTP_HOST=" in body


def test_a_password_that_the_server_asks_for_is_not_given_to_programs(cgi, programs):
    programs.program("env", HEAD + "env")
    server = cgi("--basic-auth", "ada:secret")
    assert server.get("/cgi-bin/env").status == 401
    body = server.get("/cgi-bin/env", "Authorization: Basic YWRhOnNlY3JldA==").text
    assert "REMOTE_USER=ada\n" in body and "AUTH_TYPE=Basic\n" in body
    assert "AUTHORIZATION" not in body and "secret" not in body


def test_a_program_of_an_open_path_gets_no_user(cgi, programs):
    programs.program("env", HEAD + "env")
    server = cgi("--basic-auth", "ada:secret", "--path-auth", "/cgi-bin/env=off")
    text = server.get("/cgi-bin/env", "Authorization: Basic YWRhOnNlY3JldA==").text
    assert "REQUEST_METHOD" in text and "REMOTE_USER" not in text, "nothing was checked here"


@pytest.mark.sanitizers
@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, MiB, 64 * MiB])
def test_bodies_of_every_size(cgi, programs, size):
    programs.program("echo", HEAD + "echo \"$CONTENT_LENGTH\"; exec cat")
    server = cgi("--max-body", "64MiB", "--compress", "off")
    answer = post(server, "/cgi-bin/echo", size)
    assert answer.status == 200
    length, _, body = answer.body.partition(b"\n")
    assert length == str(size).encode()
    assert body == body_of(size)
    nothing_runs(server)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("size", [0, 1, 65536, MiB, 64 * MiB])
def test_bodies_over_http2(cgi, programs, tmp_path, size):
    programs.program("echo", HEAD + "exec cat")
    server = cgi("--max-body", "64MiB", "--compress", "off")
    (tmp_path / "body").write_bytes(body_of(size))
    host, port = server.address
    done = subprocess.run(
        ["curl", "-sS", "-m", "120", "--http2-prior-knowledge", "--data-binary",
         f"@{tmp_path}/body", "-o", tmp_path / "got", "-w", "%{http_version} %{http_code}",
         f"http://{host}:{port}/cgi-bin/echo"], capture_output=True, text=True, timeout=150)
    assert done.stdout == "2 200", done.stderr
    assert (tmp_path / "got").read_bytes() == body_of(size) if size else True
    nothing_runs(server)


def test_a_body_of_unknown_length(cgi, programs):
    programs.program("echo", HEAD + "echo \"$CONTENT_LENGTH\"; exec cat")
    server = cgi("--max-body", "64MiB")
    with server.connect() as connection:
        connection.send("POST /cgi-bin/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                        "\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n")
        assert connection.read_answer("POST").body == b"6\nabcdef"
    with server.connect() as connection:
        connection.send("POST /cgi-bin/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                        "\r\n" + ("10000\r\n" + "x" * 65536 + "\r\n") * 17)
        assert connection.read_answer("POST").status == 411


def test_a_body_too_large_is_413(cgi, programs):
    programs.program("echo", HEAD + "exec cat")
    server = cgi("--max-body", "1KiB")
    assert post(server, "/cgi-bin/echo", 1025).status == 413
    assert post(server, "/cgi-bin/echo", 1024).status == 200
    nothing_runs(server)


@pytest.mark.sanitizers
def test_status_and_location(cgi, programs):
    programs.program("status", "echo 'Status: 418 Teapot'; echo")
    programs.program("reset", "echo 'Status: 205'; echo 'Content-Length: 5'; echo; echo text")
    programs.program("away", "echo 'Location: https://a.example/x'; echo")
    programs.program("near", "echo 'Location: /p?x=1#part'; echo")
    server = cgi()
    assert server.get("/cgi-bin/status").status == 418
    answer = server.get("/cgi-bin/reset")
    assert (answer.status, answer.body, answer.get("content-length")) == (205, b"", "0")
    answer = server.get("/cgi-bin/away")
    assert answer.status == 302 and answer.get("location") == "https://a.example/x"
    answer = server.get("/cgi-bin/near")
    assert (answer.status, answer.body, answer.get("location")) == (302, b"", "/p?x=1#part")
    nothing_runs(server)


def test_programs_that_write_whole_answers(cgi, programs):
    programs.program("nph-x", "printf 'HTTP/1.1 202 Fine\\r\\nX-A: 1\\r\\n\\r\\nbody'")
    server = cgi()
    answer = server.get("/cgi-bin/nph-x")
    assert (answer.status, answer.get("x-a"), answer.body) == (202, "1", b"body")
    with Client(server.address) as client:
        answer = client.answer(client.get("/cgi-bin/nph-x"))
        assert (answer.status, bytes(answer.body)) == (202, b"body")


def test_head_has_the_fields_of_get_or_none(cgi, programs):
    programs.program("page", HEAD + "echo body")
    programs.program("sized", "echo 'Content-Length: 5'\n" + HEAD + "echo body")
    programs.program("absent", "echo 'Status: 404'\n" + HEAD + "echo own page")
    server = cgi()
    for name, status, length in (("page", 200, None), ("sized", 200, "5"), ("absent", 404, None)):
        for accept in ("identity", "gzip"):
            field = f"Accept-Encoding: {accept}"
            got = server.get(f"/cgi-bin/{name}", field)
            head = server.get(f"/cgi-bin/{name}", field, method="HEAD")
            assert (head.status, head.body) == (status, b"")
            assert head.get("content-length") == length, name
            for field in ("content-type", "content-encoding", "vary", "x-content-type-options"):
                assert head.get(field) == got.get(field), (name, field)
        with Client(server.address) as client:
            stream, request = client.request_bytes(f"/cgi-bin/{name}", "HEAD")
            client.send(request)
            answer = client.answer(stream)
            assert (answer.status, answer.get("content-length")) == (status, length)


def test_what_is_no_program_is_not_sent(cgi, programs):
    (programs.path / "secret.txt").write_text("password\n")
    (programs.path / "out").symlink_to("/bin/sh")
    (programs.path / "up").symlink_to("/")
    programs.program(".hidden", HEAD)
    server = cgi()
    assert server.get("/cgi-bin/secret.txt").status == 403
    for target in ("/cgi-bin", "/cgi-bin/", "/cgi-bin/absent", "/cgi-bin/out", "/cgi-bin/up/bin/sh",
                   "/cgi-bin/.hidden", "/cgi-bin/%2ehidden"):
        assert server.get(target).status == 404, target
    assert server.get("/cgi-bin/..%2f..%2fbin/sh").status == 400
    assert not children(server.pid)


def test_a_folder_whose_programs_would_be_sent_is_refused(serve, root):
    (root / "bin").mkdir()
    server = serve(root, "--cgi", f"/run={root}/bin", ready=False)
    assert server.process.wait(60) == 1
    assert "the one there, /bin" in server.stderr
    server.stopped = True


# Programs that fail.

FAILING = {
    "dies": ("kill -9 $$", 502, "ended by signal 9"),
    "exits": ("exit 3", 502, "wrote nothing"),
    "garbage": ("head -c 100000 /dev/zero", 502, "head"),
    "half": ("printf 'Content-Type: te'", 502, "middle of its head"),
    "endless": ("while :; do echo 'X-A: 1'; done", 502, "head"),
    "hangs": ("sleep 1000", 504, "too long"),
    "deaf": ("trap '' TERM; sleep 1000; sleep 1000", 504, "too long"),
    "closes": ("exec 1>&-; sleep 0.5", 502, "wrote nothing"),
    "longer": (r"printf 'Content-Type: a/b\nContent-Length: 4\n\n123456789'", 502,
               "more than its Content-Length"),
}


@pytest.mark.sanitizers
@pytest.mark.parametrize("name", FAILING)
def test_a_program_that_fails_is_logged_reaped_and_harms_no_other(cgi, programs, name):
    lines, status, why = FAILING[name]
    programs.program(name, lines)
    programs.program("well", HEAD + "echo well")
    server = cgi("--cgi-timeout", "1s")
    assert server.get(f"/cgi-bin/{name}").status == status
    assert server.get("/cgi-bin/well").body == b"well\n"
    wait_until(lambda: why in server.stderr and f"program=/cgi-bin/{name}" in server.stderr,
               what="a line of the log")
    nothing_runs(server)
    with Client(server.address) as client:
        assert client.answer(client.get(f"/cgi-bin/{name}")).status == status
    nothing_runs(server)


def test_a_head_is_sent_or_is_too_long(cgi, programs):
    programs.program("field", "import os\n"
                     "size = int(os.environ['QUERY_STRING'])\n"
                     "print('Content-Type: a/b\\nX-A: ' + '{' * (size - 25) + '\\n\\nwell')",
                     shutil.which("python3"))
    server = cgi()
    limit = 28 << 10
    for size in (8 << 10, 16 << 10, 20 << 10, limit, limit + 1, 33 << 10, 63 << 10, 100 << 10):
        status = 200 if size <= limit else 502
        assert server.get(f"/cgi-bin/field?{size}").status == status, size
        with Client(server.address) as client:
            assert client.answer(client.get(f"/cgi-bin/field?{size}")).status == status, size
    wait_until(lambda: "its head is longer than 28 KiB" in server.stderr, what="a line of the log")


def test_an_answer_that_fails_behind_its_head_is_seen_to_be_cut(cgi, programs):
    gate = programs.path / "gate"
    programs.program("late", "echo 'Content-Length: 4'\n" + HEAD +
                     f"while [ ! -e {gate} ]; do sleep 0.05; done; echo 123456789")
    server = cgi()
    with server.connect() as connection:
        connection.send("GET /cgi-bin/late HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.read_head().get("content-length") == "4"
        gate.touch()
        while connection.receive_some(time.monotonic() + 60):
            pass
        assert connection.buffer == b""
    wait_until(lambda: "more than its Content-Length" in server.stderr, what="a line of the log")


def test_a_program_that_dies_in_its_body_breaks_the_answer_off(cgi, programs):
    programs.program("dies", HEAD + "echo part; sleep 0.1; kill -9 $$")
    server = cgi("--compress", "off")
    with server.connect() as connection:
        connection.send("GET /cgi-bin/dies HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.read_head().status == 200
        while connection.receive_some(time.monotonic() + 60):
            pass
        assert not connection.buffer.endswith(b"0\r\n\r\n")
    with Client(server.address) as client:
        stream = client.get("/cgi-bin/dies")
        client.wait(lambda: client.streams[stream].over)
        assert not client.streams[stream].ended
    nothing_runs(server)


@pytest.mark.parametrize("kind", ["readers", "uploads"])
def test_one_address_does_not_hold_all_places(cgi, programs, kind):
    """Slow readers, and uploads that stall behind what is collected, each hold a program."""
    programs.program("flood", HEAD + "exec yes")
    programs.program("takes", HEAD + "exec wc -c")
    programs.program("quick", HEAD + "echo quick")
    server = cgi("--cgi-max", "8", "--body-timeout", "600s", "--min-receive-rate", "0")
    upload = "POST /cgi-bin/takes HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n"
    held = []
    for _ in range(12):
        connection = socket.create_connection(server.address)
        held.append(connection)
        if kind == "readers":
            connection.sendall(b"GET /cgi-bin/flood HTTP/1.1\r\nHost: a\r\n\r\n")
        else:
            connection.sendall(upload.encode() + b"x" * 200_000)
    wait_until(lambda: len(children(server.process.pid)) >= 6, what="six programs of one address")
    other = socket.create_connection(server.address, source_address=("127.0.0.2", 0), timeout=60)
    other.sendall(b"GET /cgi-bin/quick HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    answer = b"".join(iter(lambda: other.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ") and b"quick\n" in answer, answer
    assert len(children(server.process.pid)) == 6  # the last two are for others
    for connection in [*held, other]:
        connection.close()
    nothing_runs(server)


def test_a_program_that_forks_takes_its_children_with_it(cgi, programs):
    mark = f"mark-{os.getpid()}"
    programs.program("forks", f"for i in 1 2 3 4 5; do sh -c 'sleep 1000; : {mark}' & done\n" +
                     HEAD + "echo started")
    server = cgi()
    assert server.get("/cgi-bin/forks").body == b"started\n"
    wait_until(lambda: not marked(mark), what="the end of what it left behind")
    nothing_runs(server)


def test_a_process_that_escapes_does_not_hold_the_answer(cgi, programs):
    mark = f"escaped-{os.getpid()}"
    programs.program("escapes", f"setsid sh -c 'sleep 1000; : {mark}' & sleep 0.2\n" + HEAD +
                     "echo done")
    server = cgi()
    try:
        assert server.get("/cgi-bin/escapes").body == b"done\n"
        nothing_runs(server)
    finally:
        for pid in marked(mark):
            os.kill(pid, signal.SIGKILL)


def test_a_flood_waits_for_a_slow_reader_and_ends_with_it(cgi, programs):
    programs.program("flood", HEAD + "exec yes")
    server = cgi("--compress", "off")
    with server.connect(receive_bytes=4096) as connection:
        connection.send("GET /cgi-bin/flood HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.read_head().status == 200
        pid = wait_until(lambda: children(server.pid))[0]
        written = lambda: int(re.search(r"wchar: (\d+)",
                                        Path(f"/proc/{pid}/io").read_text())[1])
        # It stands still when the pipes between are full.
        def stands():
            before = written()
            time.sleep(0.3)
            return written() == before
        wait_until(stands, what="a program that waits")
        assert written() < 32 * MiB
    nothing_runs(server)


def test_a_slow_reader_gets_all(cgi, programs):
    programs.program("much", HEAD + "head -c 3000000 /dev/zero")
    server = cgi("--cgi-timeout", "1s", "--compress", "off")
    with server.connect(receive_bytes=4096) as connection:
        connection.send("GET /cgi-bin/much HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        time.sleep(2.5)  # longer than the deadline, which is the program's and not the client's
        assert len(connection.read_answer().body) == 3_000_000
    nothing_runs(server)


def test_a_client_that_ended_its_side_is_served_for_the_time_of_the_flag(cgi, programs, tmp_path):
    """It may be gone, so it holds no program for ever; but it may read, so it gets its time."""
    gate = tmp_path / "gate"
    programs.program("waits", f"while [ ! -e {gate} ]; do sleep 0.05; done; {HEAD} echo served")
    ask = "GET /cgi-bin/waits HTTP/1.1\r\nHost: a\r\n\r\n"
    impatient, patient = (cgi("--cgi-timeout", "off", "--half-closed-timeout", time)
                          for time in ("200ms", "off"))
    with patient.connect() as kept, impatient.connect() as connection:
        for each in (kept, connection):
            each.send(ask)
            each.finish_sending()
        assert connection.read_answer().status == 503
        assert connection.wait_end()
        nothing_runs(impatient)
        with Client(impatient.address) as client:
            stream = client.get("/cgi-bin/waits")
            client.socket.shutdown(socket.SHUT_WR)
            assert client.answer(stream).status == 503
        nothing_runs(impatient)
        gate.touch()
        assert kept.read_answer().body == b"served\n"


@pytest.mark.parametrize("moment", ["before its head", "in its body", "in the request's body"])
def test_a_client_that_disappears_ends_the_program(cgi, programs, moment):
    programs.program("slow", "sleep 1000" if moment == "before its head"
                     else HEAD + "echo begin; cat; sleep 1000")
    server = cgi("--max-body", "64MiB")
    with server.connect() as connection:
        length = 10 * MiB if moment == "in the request's body" else 0
        connection.send(f"POST /cgi-bin/slow HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n"
                        "\r\n" + "x" * min(length, 200_000))
        wait_until(lambda: children(server.pid))
        if moment == "in its body":
            assert connection.read_head().status == 200
        connection.reset()
    nothing_runs(server)
    with Client(server.address) as client:
        stream = client.get("/cgi-bin/slow")
        wait_until(lambda: children(server.pid))
        client.send(client.reset_bytes(stream))
        nothing_runs(server)


def test_a_slow_upload_holds_no_program(cgi, programs):
    programs.program("echo", HEAD + "exec cat")
    server = cgi("--cgi-max", "1")
    with server.connect() as slow:
        slow.send("POST /cgi-bin/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        time.sleep(0.2)
        assert not children(server.pid)
        assert post(server, "/cgi-bin/echo", 5).status == 200
        slow.send("defghij")
        assert slow.read_answer("POST").body == b"abcdefghij"


def test_a_hundred_at_a_time_with_a_cap_of_eight(cgi, programs, tmp_path):
    (tmp_path / "now").mkdir()
    programs.program("counted", f"touch {tmp_path}/now/$$\nls {tmp_path}/now | wc -l > "
                     f"{tmp_path}/seen.$$\nsleep 0.05\nrm {tmp_path}/now/$$\n" + HEAD +
                     f"cat {tmp_path}/seen.$$")
    server = cgi("--cgi-max", "8", threads=2)
    connections = [server.connect() for _ in range(100)]
    try:
        for connection in connections:
            connection.send("GET /cgi-bin/counted HTTP/1.1\r\nHost: a\r\n\r\n")
        most = max(int(connection.read_answer().body) for connection in connections)
        assert 2 <= most <= 8
    finally:
        for connection in connections:
            connection.close()
    nothing_runs(server)


def test_standard_error_goes_to_the_log_in_bounds(cgi, programs):
    programs.program("loud", "echo 'a warning' >&2\n" + HEAD + "echo done")
    programs.program("flood", "yes flood 2>/dev/null | head -n 100000 >&2\n" + HEAD + "echo done")
    server = cgi()
    assert server.get("/cgi-bin/loud").body == b"done\n"
    wait_until(lambda: 'line="a warning"' in server.stderr)
    assert server.get("/cgi-bin/flood").body == b"done\n"
    wait_until(lambda: "too many lines" in server.stderr)
    assert server.stderr.count("line=flood") == 50


def test_limits_of_memory(cgi, programs):
    programs.program("greedy", "import sys\nx = bytearray(300 << 20)\n"
                     "print('Content-Type: text/plain\\n\\ngot it')", "/usr/bin/env python3")
    server = cgi("--cgi-memory", "200MiB")
    assert server.get("/cgi-bin/greedy").status == 502
    wait_until(lambda: "MemoryError" in server.stderr)
    assert cgi().get("/cgi-bin/greedy").body == b"got it\n"


def test_programs_end_with_the_server(cgi, programs):
    mark = f"stays-{os.getpid()}"
    programs.program("stays", f"trap '' TERM; sleep 1000; : {mark}; sleep 1000")
    server = cgi("--drain-timeout", "300ms")
    connection = server.connect()
    connection.send("GET /cgi-bin/stays HTTP/1.1\r\nHost: a\r\n\r\n")
    pids = wait_until(lambda: children(server.pid))
    server.stop()
    connection.close()
    for pid in pids:
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_killed_server_leaves_no_program(cgi, programs):
    programs.program("stays", "exec sleep 1000")
    server = cgi()
    connection = server.connect()
    connection.send("GET /cgi-bin/stays HTTP/1.1\r\nHost: a\r\n\r\n")
    pids = wait_until(lambda: children(server.pid))
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait(60)
    server.stopped = True
    connection.close()
    for pid in pids:
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
