"""tiderace load: against our server, nginx, and servers that answer wrongly, hang, die, refuse."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import zlib

import pytest

from server import wait_until

BODY = b"x" * 1000
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + BODY
DEADLINE = 60.0


@pytest.fixture
def load(binary):
    """Runs `tiderace load --json`; gives (exit status, report)."""
    def run(url, *flags):
        done = subprocess.run([binary, "load", url, "--json", *flags], capture_output=True,
                              text=True, timeout=DEADLINE, check=False)
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)
    return run


@pytest.fixture
def page(serve, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "page.txt").write_bytes(BODY)
    server = serve(root)
    host, port = server.address
    return f"http://{host}:{port}/page.txt"


@contextlib.contextmanager
def scripted(talk):
    """A server that does talk(connection) with each of its connections, each on a thread."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threads = []

    def serve(connection):
        with connection, contextlib.suppress(OSError):
            talk(connection)

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()
    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    host, port = listener.getsockname()
    try:
        yield f"http://{host}:{port}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(DEADLINE)
        for thread in threads:
            thread.join(DEADLINE)


def answering(answers):
    """Says answers(i) to the i-th request of each connection; None: ends the connection."""
    def talk(connection):
        pending, count = b"", 0
        while received := connection.recv(65536):
            pending += received
            while b"\r\n\r\n" in pending:
                pending = pending.partition(b"\r\n\r\n")[2]
                answer = answers(count)
                count += 1
                if answer is None:
                    return
                connection.sendall(answer)
    return talk


# What is asked, and what is answered.

@pytest.mark.parametrize("flags", [(), ("--close",), ("--pipeline", "16"), ("--rate", "20000"),
                                   ("--rate", "20000", "--close"), ("--method", "HEAD"),
                                   ("--threads", "3"), ("--think", "1ms"),
                                   ("--source-addresses", "7"), ("--check-hash",)],
                         ids=lambda flags: " ".join(flags) or "plain")
def test_all_that_is_asked_is_answered(load, page, flags):
    status, report = load(page, "-c", "10", "-n", "300", *flags)
    assert (status, report["ok"]) == (0, True)
    assert report["answers"] == report["sent"] == report["latency_ns"]["count"] == 300
    assert set(report["errors"].values()) == set(report["connections"]["errors"].values()) == {0}
    opened = report["connections"]["opened"]
    assert opened >= 300 if "--close" in flags else opened == 10
    assert report["expected"]["length"] == (0 if "HEAD" in flags else 1000)
    assert report["body_bytes"] == report["expected"]["length"] * 300
    assert report["source_addresses"] == (7 if "7" in flags else 16 if "--close" in flags else 0)


def test_the_report_has_the_documented_names(load, page):
    status, report = load(page, "-c", "5", "-n", "50")
    assert (status, report["schema"]) == (0, 1)
    documented = pathlib.Path(__file__).parent.parent / "docs" / "load.md"
    table = documented.read_text().partition("## The report as JSON")[2].partition("## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    names = [name for left, _ in rows for name in re.findall(r"`(\w+)`", left)]
    assert sorted(names) == sorted(report), "docs/load.md and --json differ"
    assert sum(count for _, count in report["latency_ns"]["histogram"]) == 50
    values = [value for value, _ in report["latency_ns"]["histogram"]]
    assert values == sorted(values) and values[0] >= report["latency_ns"]["min"]
    assert report["connections"]["asked"] == 5 and report["connections"]["reset"] == 0
    assert report["sent_bytes"] > 50 * len("GET /page.txt HTTP/1.1")
    assert set(report["server"]) == {"cpu_s", "cpu_us", "cpu_us_per_answer", "memory_bytes",
                                     "processes"}


def test_every_engine_loads(load, page, engine):
    status, report = load(page, "-c", "20", "-n", "500", "--engine", engine)
    assert (status, report["engine"], report["answers"]) == (0, engine, 500)


def test_the_servers_own_use_is_told(load, page):
    status, report = load(page, "-c", "10", "-d", "500ms")
    assert status == 0
    assert report["server"]["processes"] == 1
    assert report["server"]["memory_bytes"] > 1_000_000
    assert report["load"]["cpu_s"] > 0
    connections = report["connections"]
    assert connections["open_max"] == connections["opened"] == 10
    assert 0 < connections["requests_min"] <= connections["requests_max"]


def test_bodies_are_compared_with_a_hash(load, page):
    right = f"{zlib.crc32(BODY):08x}"
    status, report = load(page, "-c", "2", "-n", "20", f"--check-hash={right}")
    assert (status, report["expected"]["crc32"]) == (0, right)
    status, report = load(page, "-c", "2", "-n", "20", "--check-hash=00000000")
    assert (status, report["errors"]["wrong hash"], report["answers"]) == (1, 20, 0)


def test_a_wrong_status_or_length_is_wrong(load, page):
    status, report = load(page + "/gone", "-n", "10")
    assert (status, report["errors"]["wrong status"], report["answers"]) == (1, 10, 0)
    status, report = load(page + "/gone", "-n", "10", "--expect-status", "404")
    assert (status, report["answers"]) == (0, 10)
    status, report = load(page, "-n", "10", "--expect-length", "999")
    assert (status, report["errors"]["wrong length"]) == (1, 10)


def test_slow_readers_are_told_apart(load, page):
    status, report = load(page, "-c", "20", "-n", "100", "--slow-readers", "10",
                          "--slow-rate", "100000")
    assert status == 0
    assert report["slow_latency_ns"]["count"] > 0
    assert report["slow_latency_ns"]["count"] + report["latency_ns"]["count"] == 100


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx_is_loaded_the_same(load, tmp_path):
    (tmp_path / "page.txt").write_bytes(BODY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    (tmp_path / "nginx.conf").write_text(
        ("user root;\n" if os.geteuid() == 0 else "") +  # it must read the test's folder
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error; worker_processes 1;\n"
        f"events {{}}\nhttp {{ access_log off; keepalive_requests 100;\n"
        f"server {{ listen 127.0.0.1:{port}; root {tmp_path}; }} }}\n")
    process = subprocess.Popen(["nginx", "-e", str(tmp_path / "error"), "-p", str(tmp_path),
                                "-c", str(tmp_path / "nginx.conf")])
    try:
        def listens():
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return True
        wait_until(listens, what="nginx listening")
        url = f"http://127.0.0.1:{port}/page.txt"
        for flags in ((), ("--pipeline", "8"), ("--close",)):
            # It ends each connection after 100 answers: no error, and nothing is lost.
            status, report = load(url, "-c", "4", "-n", "1000", "--check-hash", *flags)
            assert (status, report["answers"]) == (0, 1000), report
            assert report["connections"]["opened"] >= 10
    finally:
        process.terminate()
        process.wait(DEADLINE)


# Servers that fail.

@pytest.mark.parametrize("answer, kind", [
    (GOOD.replace(b"200 OK", b"503 No"), "wrong status"),
    (GOOD.replace(b"1000", b"999")[:-1], "wrong length"),
    (GOOD[:-1] + b"y", "wrong hash"),
    (b"nonsense\r\n\r\n", "not HTTP"),
    (GOOD.replace(b"\r\n\r\n", b"\r\nContent-Length: 1000\r\n\r\n"), "not HTTP"),
    (GOOD + GOOD, "unasked bytes"),
    (None, "closed early")], ids=lambda value: value if isinstance(value, str) else "")
def test_one_wrong_answer_among_many_is_seen(load, answer, kind):
    with scripted(answering(lambda i: answer if i == 7 else GOOD)) as url:
        status, report = load(url, "-c", "1", "-n", "15", "--check-hash")
    assert (status, report["ok"]) == (1, False)
    assert report["errors"][kind] == 1
    assert sum(report["errors"].values()) == 1


def test_a_server_that_hangs_is_timed_out(load):
    with scripted(answering(lambda i: GOOD if i < 3 else b"")) as url:
        status, report = load(url, "-c", "2", "-d", "1s", "--timeout", "200ms")
    assert status == 1
    assert report["errors"]["timed out"] >= 2
    assert report["answers"] >= 6


def test_a_server_that_cuts_answers_short(load):
    def talk(connection):
        connection.recv(65536)
        connection.sendall(GOOD[:500])
    with scripted(talk) as url:
        status, report = load(url, "-c", "2", "-n", "10")
    assert (status, report["errors"]["cut short"], report["answers"]) == (1, 10, 0)


def test_nobody_listens(load):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    status, report = load(f"http://127.0.0.1:{port}/", "-c", "5", "-d", "300ms")
    assert status == 1
    assert report["connections"]["errors"]["refused"] >= 5
    assert report["connections"]["starved"] == 5


def test_a_server_that_dies_in_the_middle(binary, serve, site):
    server = serve(site)
    host, port = server.address
    descriptors = f"/proc/{server.process.pid}/fd"
    idle = len(os.listdir(descriptors))
    process = subprocess.Popen([binary, "load", f"http://{host}:{port}/", "-c", "5", "-d", "50s",
                                "--json"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: len(os.listdir(descriptors)) >= idle + 5, DEADLINE, "its connections")
    server.process.kill()
    server.process.wait(DEADLINE)
    server.stopped = True
    report = json.loads(process.communicate(timeout=DEADLINE)[0])
    assert process.returncode == 1
    assert report["elapsed_s"] < 49, "it gives up when nobody is there any more"
    assert "the server ended during the run" in report["notes"]
    assert report["connections"]["errors"]["refused"] > 0


# The person in front of it.

def test_ctrl_c_ends_it_with_the_figures_so_far(binary, page):
    process = subprocess.Popen([binary, "load", page, "-d", "50s"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    connected = f"/proc/{process.pid}/fd"
    wait_until(lambda: len(os.listdir(connected)) > 50, what="its connections")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode in (0, 1) and "(interrupted)" in out, out + err


@pytest.mark.parametrize("words, said", [
    ([], "load expects a URL"),
    (["http://192.0.2.1/"], "--i-own-this-host"),
    (["http://127.0.0.1/", "--insecure"], "are for https://"),
    (["http://127.0.0.1/", "--http", "3"], "expects 1.0, 1.1 or 2"),
    (["http://127.0.0.1/", "--http", "2", "--pipeline", "2"], "HTTP/2 has --streams"),
    (["http://127.0.0.1/", "--streams", "2"], "--http 2"),
    (["http://127.0.0.1/", "--http", "1.0", "--pipeline", "2"], "not pipelined"),
    (["http://127.0.0.1/", "--slow-readers", "60", "--slow-senders", "60"], "100 percent"),
    (["http://127.0.0.1/", "--slow-senders", "1", "--slow-drips", "body"], "--body-size"),
    (["nonsense://x"], "expects http://HOST:PORT/PATH"),
    (["http://127.0.0.1/", "--conections", "1"], "did you mean --connections?"),
    (["http://127.0.0.1/", "--engine", "epol"], "did you mean epoll?"),
    (["http://127.0.0.1/", "-H", "Host: x"], "decided by the other flags"),
    (["http://127.0.0.1/", "two"], "does not take the word two")])
def test_a_wrong_command_line_is_explained(binary, words, said):
    done = subprocess.run([binary, "load", *words], capture_output=True, text=True,
                          timeout=DEADLINE, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
