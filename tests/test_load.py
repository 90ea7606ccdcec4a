"""tiderace load: against our server, nginx, and servers that answer wrongly, hang, die, refuse."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import zlib

import pytest

from certificates import Authority
from load_servers import DEADLINE, answering, needs_nginx, nginx, scripted
from server import wait_until

BODY = b"x" * 1000
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + BODY


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


# Requests and their answers.

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
    assert report["server"]["memory_bytes"] > 100_000  # of its own: other servers share its pages
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


@needs_nginx
def test_nginx_is_loaded_the_same(load, tmp_path):
    (tmp_path / "page.txt").write_bytes(BODY)
    with nginx(tmp_path, "keepalive_requests 100;") as url:
        for flags in ((), ("--pipeline", "8"), ("--close",), ("--http", "1.0"),
                      ("--http", "1.0", "--close"), ("--processes", "2")):
            # It ends each connection after 100 answers: no error, and nothing is lost.
            status, report = load(url + "page.txt", "-c", "4", "-n", "1000", "--check-hash", *flags)
            assert (status, report["answers"]) == (0, 1000), report
            assert report["connections"]["opened"] >= 10


@needs_nginx
def test_all_processes_of_a_server_are_counted(load, tmp_path):
    (tmp_path / "page.txt").write_bytes(BODY)
    with nginx(tmp_path, workers=2) as url:
        status, report = load(url + "page.txt", "-c", "8", "-d", "300ms")
        assert (status, report["server"]["processes"]) == (0, 3), "a master and its workers"
        each = report["server"]["cpu_us_per_answer"]
        assert each > 0
        # Shared memory counts once: far less than three times what one has resident.
        assert 100_000 < report["server"]["memory_bytes"] < 30_000_000


@needs_nginx
def test_nginx_takes_bodies(load, tmp_path):
    (tmp_path / "page.txt").write_bytes(BODY)
    place = "location /take { return 200 taken; }"
    with nginx(tmp_path, place=place) as url:
        for flags in (("--body-size", "100"), ("--body-size", "600KiB"),
                      ("--body-size", "20KiB", "--method", "PUT", "--pipeline", "3")):
            status, report = load(url + "take", "-c", "4", "-n", "60", *flags)
            assert (status, report["answers"]) == (0, 60), report
            assert report["sent_bytes"] > 60 * report["config"]["body_bytes"]


# Servers that fail.

@pytest.mark.parametrize("answer, kind", [
    (GOOD.replace(b"200 OK", b"503 No"), "wrong status"),
    (GOOD.replace(b"1000", b"999")[:-1], "wrong length"),
    (GOOD[:-1] + b"y", "wrong hash"),
    (b"nonsense\r\n\r\n", "not HTTP"),
    (GOOD.replace(b"\r\n\r\n", b"\r\nContent-Length: 1000\r\n\r\n"), "not HTTP"),
    (GOOD + GOOD, "unasked bytes")], ids=lambda value: value if isinstance(value, str) else "")
def test_one_wrong_answer_among_many_is_seen(load, answer, kind):
    with scripted(answering(lambda i: answer if i == 7 else GOOD)) as url:
        status, report = load(url, "-c", "1", "-n", "15", "--check-hash")
    assert (status, report["ok"]) == (1, False)
    assert report["errors"][kind] == 1
    assert sum(report["errors"].values()) == 1


def test_a_request_that_meets_the_end_of_a_kept_connection_is_sent_again(load):
    with scripted(answering(lambda i: None if i % 4 == 3 else GOOD)) as url:
        status, report = load(url, "-c", "1", "-n", "15")
    assert (status, report["answers"], report["sent"]) == (0, 15, 15), report["errors"]
    assert report["connections"]["opened"] == 5
    with scripted(answering(lambda i: None)) as url:
        status, report = load(url, "-c", "1", "-n", "3")
    assert (status, report["errors"]["closed early"], report["sent"]) == (1, 3, 3)


@pytest.mark.parametrize("flags", [("--http", "2", "--streams", "10"), ("--http", "2", "--close"),
                                   ("--http", "2", "--check-hash"), ("--http", "1.0",),
                                   ("--http", "1.0", "--close"), ("--processes", "3"),
                                   ("--ramp", "50ms"), ("--rate", "20000", "--ramp", "20ms"),
                                   ("--slow-senders", "20", "--slow-send-rate", "2000"),
                                   ("--http", "2", "--slow-senders", "20", "--slow-send-rate",
                                    "3000")], ids=" ".join)
def test_our_server_answers_all_ways_of_asking(load, page, flags):
    status, report = load(page, "-c", "10", "-n", "100", *flags)
    assert (status, report["answers"], report["sent"]) == (0, 100, 100), report
    assert report["latency_ns"]["count"] + report["slow_latency_ns"]["count"] == 100
    assert (report["slow_latency_ns"]["count"] > 0) == ("--slow-senders" in flags)
    assert report["processes"] == (3 if "--processes" in flags else 1)
    assert report["config"]["http"] == ("2" if "2" in flags else "1.0" if "1.0" in flags else "1.1")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("authority"), "tide")
    return authority, authority.issue("site", ("localhost", "127.0.0.1"))


@pytest.mark.parametrize("flags", [(), ("--http", "2", "--streams", "4"), ("--close",),
                                   ("--close", "--resume"), ("--http", "1.0",),
                                   ("--processes", "2")],
                         ids=lambda flags: " ".join(flags) or "plain")
def test_https_is_loaded_too(load, serve, certificates, tmp_path, flags):
    authority, pair = certificates
    (tmp_path / "page.txt").write_bytes(BODY)
    host, port = serve(tmp_path, "--tls", pair.flag).address
    url = f"https://{host}:{port}/page.txt"
    status, report = load(url, "-c", "4", "-n", "60", "--ca", str(authority.file), *flags)
    assert (status, report["answers"], report["body_bytes"]) == (0, 60, 60_000), report
    resumed = report["load"]["handshakes_resumed"]
    assert resumed > 40 if "--resume" in flags else resumed == 0


def test_a_certificate_that_is_not_trusted(load, serve, site, certificates):
    host, port = serve(site, "--tls", certificates[1].flag).address
    url = f"https://{host}:{port}/"
    status, report = load(url, "-c", "2", "-d", "200ms")
    assert (status, report["answers"]) == (1, 0)
    assert report["connections"]["errors"]["TLS failed"] >= 2
    assert report["connections"]["starved"] == 2
    assert any("handshakes failed" in note for note in report["notes"])
    status, report = load(url, "-c", "2", "-n", "20", "--insecure")
    assert (status, report["answers"]) == (0, 20)


@pytest.mark.parametrize("flags", [("-d", "100s"), ("-c", "2", "-n", "3"),
                                   ("-d", "100s", "--http", "2", "--processes", "2")],
                         ids=lambda flags: " ".join(flags))
def test_clear_text_to_a_port_of_tls_ends_at_once_with_the_cause(binary, load, serve, site,
                                                                 certificates, flags):
    host, port = serve(site, "--tls", certificates[1].flag).address
    url, said = f"http://{host}:{port}/", f"{host}:{port} speaks TLS: use https:// in the URL"
    status, report = load(url, *flags)
    assert (status, report["answers"]) == (1, 0)
    assert said in report["notes"]
    assert report["elapsed_s"] < 90, "it does not go on until its time ends"
    done = subprocess.run([binary, "load", url, *flags], capture_output=True, text=True,
                          timeout=DEADLINE, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_a_server_without_tls_that_refuses_is_loaded_to_the_end(load):
    bad = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    with scripted(answering(lambda _: bad)) as url:
        status, report = load(url, "-c", "1", "-n", "50", "--timeout", "200ms")
    assert (status, report["errors"]["wrong status"]) == (1, 50)
    assert not any("TLS" in note for note in report["notes"])


def test_a_redirect_is_not_followed(load, page):
    elsewhere = f"HTTP/1.1 301 Gone\r\nLocation: {page}\r\nContent-Length: 0\r\n\r\n".encode()
    asked = []

    def answer(i):
        asked.append(i)
        return elsewhere
    with scripted(answering(answer)) as url:
        status, report = load(url, "-c", "1", "-n", "5")
        assert (status, report["errors"]["wrong status"]) == (1, 5)
        status, report = load(url, "-c", "1", "-n", "5", "--expect-status", "301")
        assert (status, report["answers"]) == (0, 5)
    assert len(asked) == 10


@pytest.mark.parametrize("flags, slow_part", [
    ((), b"GET / HTTP/1.1"), (("--body-size", "60"), b"POST / HTTP/1.1"),
    (("--body-size", "60", "--slow-drips", "body"), b"")])
def test_slow_senders_drip(load, flags, slow_part):
    pieces = []
    def talk(connection):
        received = b""
        while b"\r\n\r\n" not in received or len(received.partition(b"\r\n\r\n")[2]) < body:
            piece = connection.recv(65536)
            if not piece:
                return
            pieces.append(piece)
            received += piece
        connection.sendall(GOOD.replace(b"OK", b"OK\r\nConnection: close"))
    body = 60 if flags else 0
    with scripted(talk) as url:
        status, report = load(url, "-c", "1", "-n", "1", "--slow-senders", "100",
                              "--slow-send-rate", "200", *flags)
    assert (status, report["slow_latency_ns"]["count"]) == (0, 1)
    whole = b"".join(pieces)
    assert len(pieces) > 1 and whole.startswith(slow_part)
    slow = whole.partition(b"\r\n\r\n")[2] if "body" in flags else whole
    assert report["slow_latency_ns"]["max"] >= (len(slow) - 40) / 200 * 1e9


def test_starved_and_reset_connections_are_told(load):
    def talk(connection):
        connection.recv(65536)
        linger = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)  # a reset, not an end
    with scripted(talk) as url:
        status, report = load(url, "-c", "3", "-n", "6")
    connections = report["connections"]
    assert (status, report["errors"]["connection reset"], connections["reset"]) == (1, 6, 6)
    assert (connections["starved"], connections["requests_min"]) == (3, 0)


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
    with socket.socket() as bound:  # the port stays ours, so that nothing else listens there
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        status, report = load(f"http://127.0.0.1:{port}/", "-c", "5", "-d", "300ms")
    assert status == 1
    assert report["connections"]["errors"]["refused"] >= 5
    assert report["connections"]["starved"] == 5


def test_clients_that_think_longer_than_a_run_waits_for_connections(load, page):
    status, report = load(page, "-c", "1", "-n", "2", "--close", "--think", "4s")
    assert (status, report["answers"], report["notes"]) == (0, 2, [])


def test_a_server_that_dies_in_the_middle(binary, serve, site):
    server = serve(site)
    host, port = server.address
    process = subprocess.Popen([binary, "load", f"http://{host}:{port}/", "-c", "5", "-d", "50s",
                                "--json"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: server.sockets() > 5, DEADLINE, "its connections, beside where it listens")
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


def told_on_a_terminal(binary, page, stdout=None, columns=0):
    """The text of a load of two seconds there, with its output unless `stdout` is given."""
    ours, its = pty.openpty()
    if columns:
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 10, columns, 0, 0))
    process = subprocess.Popen([binary, "load", page, "-c", "3", "-d", "2s"], stderr=its,
                               stdout=its if stdout is None else stdout)
    os.close(its)
    told = b""
    with contextlib.suppress(OSError):  # the other end is gone
        while piece := os.read(ours, 65536):
            told += piece
    os.close(ours)
    assert process.wait(DEADLINE) == 0
    return told


def test_progress_fits_a_narrow_terminal(binary, page):
    told = told_on_a_terminal(binary, page, stdout=subprocess.DEVNULL, columns=30)
    lines = told.split(b"\r\x1b[K")[1:]
    assert any(b"answers" in line for line in lines), told
    # One that wraps would be erased in its last row alone.
    assert max(map(len, lines)) < 30, told


def test_a_terminal_is_told_how_it_goes(binary, page):
    told = told_on_a_terminal(binary, page)
    progress, _, table = told.partition(b"GET http://")
    line = rb"\x1b\[K  \d+\.\d s +[1-9][\d,]* answers .* 3 open +0 errors"
    assert re.search(line, progress), told
    assert b"  connections  3 requested" in table and b"\x1b" not in table


def children_of(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_of_a_load_outlives_it(binary, page, number):
    process = subprocess.Popen([binary, "load", page, "-d", "50s", "-c", "30", "--processes", "3"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(children_of(process.pid)) == 3, what="its processes")
    children = children_of(process.pid)
    wait_until(lambda: all(len(os.listdir(f"/proc/{child}/fd")) > 15 for child in children),
               what="their connections")
    process.send_signal(number)
    out, err = process.communicate(timeout=DEADLINE)
    if number != signal.SIGKILL:
        assert process.returncode in (0, 1) and "(interrupted)" in out, out + err
    wait_until(lambda: not any(os.path.exists(f"/proc/{child}/fd/0") for child in children),
               what="the end of its processes")


def test_a_process_of_a_load_that_dies_is_told(binary, page):
    process = subprocess.Popen([binary, "load", page, "-d", "4s", "-c", "30", "--processes", "3",
                                "--json"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: len(children_of(process.pid)) == 3, what="its processes")
    os.kill(children_of(process.pid)[1], signal.SIGKILL)
    report = json.loads(process.communicate(timeout=DEADLINE)[0])
    assert (process.returncode, report["ok"], report["processes_lost"]) == (1, False, 1)
    assert report["answers"] > 0, "the others' figures are there"


def test_ports_do_not_run_out_where_each_request_has_a_connection(load, page):
    # More connections than one pair of addresses has ports; each rests a minute after its use.
    count = int(os.environ.get("TIDERACE_LOAD_CLOSED", "500"))
    status, report = load(page, "-c", "50", "-n", str(count), "--close")
    assert (status, report["answers"]) == (0, count), report
    assert report["connections"]["errors"]["no port left"] == 0
    assert report["source_addresses"] == 16


@needs_nginx
@pytest.mark.skipif(not os.environ.get("TIDERACE_LOAD_MANY"), reason="TIDERACE_LOAD_MANY=40000")
def test_more_connections_than_a_process_may_have(load, tmp_path):
    count = int(os.environ["TIDERACE_LOAD_MANY"])
    (tmp_path / "page.txt").write_bytes(BODY)
    # Each worker also has its own limit, and they accept connections unevenly.
    with nginx(tmp_path, "keepalive_timeout 300s;", workers=4, connections=19_000) as url:
        status, report = load(url + "page.txt", "-c", str(count), "-d", "20s", "--processes", "3")
    connections = report["connections"]
    assert (status, connections["asked"], connections["open_max"]) == (0, count, count), report
    assert report["processes"] == 3 and report["source_addresses"] == count // 12_000 + 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["table", "json"])
def test_a_report_that_cannot_be_written_is_an_error(binary, page, flags):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary, "load", page, "-c", "1", "-n", "1", *flags], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 1
    assert done.stderr == "tiderace: cannot write to standard output: no space left on device\n"


def test_a_server_pid_that_is_not_there_is_told(load, page):
    status, report = load(page, "-c", "1", "-n", "5", "--server-pid", "999999999")
    assert (status, "server" in report) == (0, False)
    assert len(report["notes"]) == 1
    assert "--server-pid 999999999: no such process" in report["notes"][0]


def test_a_body_has_to_have_a_length(binary, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = subprocess.run([binary, "load", "http://127.0.0.1:1/", "--body", pipe],
                          capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "expected a file, found something else of that name" in done.stderr


@pytest.mark.parametrize("words, said", [
    ([], "load expects a URL"),
    (["http://192.0.2.1/"], "--i-own-this-host"),
    (["http://127.0.0.1/", "--insecure"], "are for https://"),
    (["http://127.0.0.1/", "--http", "3"], "expects 1.0, 1.1 or 2"),
    (["http://127.0.0.1/", "--http", "2", "--pipeline", "2"], "for HTTP/2 use --streams"),
    (["http://127.0.0.1/", "--streams", "2"], "--http 2"),
    (["http://127.0.0.1/", "--http", "1.0", "--pipeline", "2"], "not pipelined"),
    (["http://127.0.0.1/", "--slow-readers", "60", "--slow-senders", "60"], "100 percent"),
    (["http://127.0.0.1/", "--slow-senders", "1", "--slow-drips", "body"], "--body-size"),
    (["http://127.0.0.1/", "--close", "--pipeline", "2"], "leave out --pipeline"),
    (["http://0.0.0.0:8080/"],
     "0.0.0.0 is every address of a machine: name one of them, as 127.0.0.1"),
    (["http://[::]:8080/"], ":: is every address of a machine: name one of them, as [::1]"),
    (["nonsense://x"], "expects http://HOST:PORT/PATH"),
    (["http://127.0.0.1/", "--conections", "1"], "did you mean --connections?"),
    (["http://127.0.0.1/", "--engine", "epol"], "did you mean epoll?"),
    (["http://127.0.0.1/", "-H", "Connection: x"], "decided by the other flags"),
    (["http://127.0.0.1/", "two"], "does not take the word two")])
def test_a_wrong_command_line_is_explained(binary, words, said):
    done = subprocess.run([binary, "load", *words], capture_output=True, text=True,
                          timeout=DEADLINE, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1
