"""The program: its words, its signals, its listeners, its log, and what it costs while idle."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from draining import end_at_once, finish_the_running_download, refuses
from h2_client import Client as H2Client
from raw_client import Connection, NoAnswer, get_once, request
from server import STAY_ROOT, run, wait_until


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")


# Engines.


@pytest.mark.parametrize("accept", ["reuseport", "queue"])  # queue: one more loop, which listens
def test_where_io_uring_is_forbidden_epoll_serves_and_it_is_said(serve, site, accept):
    without = [sys.executable, Path(__file__).with_name("without_io_uring.py")]
    server = serve(site, "--accept", accept, engine="io_uring", prefix=without)
    wait_until(lambda: "using epoll instead" in server.output, what="a line of the log")
    assert re.search(r"^engine +epoll\b", server.output, re.M), server.output
    assert get_once(server.address, "/a.txt").status == 200


# Words.


@pytest.mark.sanitizers
@pytest.mark.parametrize("words, says", [
    (["serve", "--lisen", ":1"], "--listen"), (["serve", "--thread", "2"], "--threads"),
    (["serve", "--idle-timout=1s"], "--idle-timeout"), (["srve"], "serve"), (["server"], "serve"),
    (["serve", "--port", "80"], "--listen"), (["serve", "-listen", ":1"], "--listen"),
    (["serve", "--threads", "x"], "whole number"), (["serve", "--threads", "-1"], "whole number"),
    (["serve", "--threads", "100000"], "1024"), (["serve", "--idle-timeout", "10"], "unit"),
    (["serve", "--idle-timeout", "10 parsecs"], "10s"), (["serve", "--max-body", "1XB"], "KiB"),
    (["serve", "--max-body", "-1"], "size"),
    (["serve", "--max-body", "99999999999999999999GiB"], ""),
    (["serve", "--engine", "epol"], "epoll"), (["serve", "--accept", "queues"], "queue"),
    (["serve", "--listen", "8080"], ":8080"), (["serve", "--listen", "x:y"], "HOST:PORT"),
    (["serve", "--listen", "127.0.0.1:70000"], ""), (["serve", "--listen"], "--listen"),
    (["serve", "--header", "X"], "NAME:VALUE"), (["serve", "--header", "X: a\nY: b"], "NAME:VALUE"),
    (["serve", "--header", "Content-Length: 5"], "Content-Length"),
    (["serve", "--error-page", "200=x"], "CODE=FILE"), (["serve", "--cors=example"], "origin"),
    (["serve", "--listing=yes"], "no value"), (["serve", "--log-format", "xml"], "json"),
    (["serve", "a", "b"], "a and b"), (["--frobnicate"], "frobnicate"),
    (["completions", "csh"], "bash"), (["version", "--all"], "--all"),
], ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_a_wrong_word_is_answered_by_one_sentence_and_status_2(binary, words, says):
    done = run(binary, *words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("tiderace: ") and done.stderr.count("\n") == 1
    assert says in done.stderr


@pytest.mark.sanitizers
def test_the_version_names_the_commit_it_was_built_from(binary):
    repository = Path(__file__).resolve().parent.parent

    def ask_git(*words):
        asked = subprocess.run(["git", "rev-parse", *words], cwd=repository, capture_output=True,
                               text=True, check=False)
        if asked.returncode != 0:
            pytest.skip("no git checkout")
        return asked.stdout.strip()

    commit, log = ask_git("--short=12", "HEAD"), ask_git("--git-path", "logs/HEAD")
    if (repository / log).stat().st_mtime > binary.stat().st_mtime:
        pytest.skip("HEAD moved since the program was built")
    assert f"\ncommit      {commit}\n" in run(binary, "version", "-v").stdout


def test_help_version_manual_and_completions(binary):
    assert re.fullmatch(r"tiderace \d+\.\d+\.\d+\n", run(binary, "version").stdout)
    assert "epoll" in run(binary, "version", "-v").stdout
    help_text = run(binary, "help", "serve").stdout
    manual = run(binary, "man").stdout
    assert manual.startswith(".") and ".TH" in manual
    for flag in ("--listen", "--threads", "--engine", "--accept", "--index", "--listing", "--spa",
                 "--error-page", "--cache-control", "--header", "--cors", "--basic-auth",
                 "--access-log", "--log-format", "--log-level", "--max-connections", "--backlog",
                 "--open"):
        assert flag in help_text
        assert flag.replace("-", "\\-") in manual or flag in manual
        for shell in ("bash", "zsh", "fish"):
            assert flag.lstrip("-") in run(binary, "completions", shell).stdout
    assert run(binary, "help", "serve").stdout == run(binary, "serve", "--help").stdout


def test_the_manual_page_is_well_formed(binary, tmp_path):
    if not shutil.which("mandoc") and not shutil.which("groff"):
        pytest.skip("neither mandoc nor groff is here to read it")
    page = tmp_path / "tiderace.1"
    page.write_text(run(binary, "man").stdout)
    reader = (["mandoc", "-T", "lint", "-W", "error"] if shutil.which("mandoc") else
              ["groff", "-man", "-ww", "-z", "-Tutf8"])
    done = subprocess.run([*reader, str(page)], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr


def test_bash_takes_the_completions(binary, tmp_path):
    script = tmp_path / "completions.bash"
    script.write_text(run(binary, "completions", "bash").stdout)
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_a_reader_that_has_seen_enough_is_no_fault(binary):
    done = subprocess.run(["bash", "-o", "pipefail", "-c", f"'{binary}' help serve | head -1"],
                          capture_output=True, text=True)
    assert done.returncode in (0, 141) and done.stderr == ""


# Starts that fail: what failed, on what, what to do.


@pytest.mark.sanitizers
@pytest.mark.parametrize("make, says", [
    (lambda tmp: tmp / "absent", "absent"), (lambda tmp: tmp / "file", "file")])
def test_a_root_that_is_no_folder(binary, tmp_path, make, says):
    (tmp_path / "file").write_text("x")
    done = run(binary, "serve", make(tmp_path), "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert says in done.stderr and done.stderr.startswith("tiderace: ")
    assert done.stderr.count("\n") <= 3


@pytest.mark.sanitizers
def test_a_port_in_use_names_the_port(binary, site):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run(binary, "serve", site, "--listen", f"127.0.0.1:{port}")
        assert done.returncode == 1
        assert str(port) in done.stderr and "use" in done.stderr


@pytest.mark.sanitizers
def test_a_second_server_does_not_share_the_port_of_the_first(binary, serve, site):
    """SO_REUSEPORT would let it, and half of the requests would go to either."""
    first = serve(site)
    done = run(binary, "serve", site, "--listen", f"127.0.0.1:{first.address[1]}")
    assert done.returncode == 1 and "use" in done.stderr


def test_a_default_port_that_is_taken_is_replaced_by_the_next(serve, site):
    try:
        blocker = socket.create_server(("127.0.0.1", 8080))
    except OSError:
        blocker = None  # taken already: as good
    try:
        server = serve(site, listen=None)
        port = server.address[1]
        assert 8080 < port < 8280
        assert "8080" in server.output and str(port) in server.output
        assert server.get("/a.txt", host="localhost").body == b"hello\n"
        # The default address serves only the names of this machine (DNS rebinding).
        assert server.get("/a.txt", host="evil.example").status == 421
    finally:
        if blocker:
            blocker.close()


def test_a_privileged_port_says_what_it_needs(binary, tmp_path):
    if int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) <= 81:
        pytest.skip("any user may bind low ports here")
    prefix = []
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may bind low ports, and setpriv is not here to become another")
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                  "--bounding-set=-all"]
    with_access = Path("/var/tmp") if os.access("/var/tmp", os.W_OK) else Path("/tmp")
    copy = with_access / f"tiderace-test-{os.getpid()}"
    shutil.copy(binary, copy)
    copy.chmod(0o755)
    try:
        done = subprocess.run([*prefix, str(copy), "serve", "/usr/share", "--listen",
                               "127.0.0.1:81"], capture_output=True, text=True, timeout=100)
    finally:
        copy.unlink()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "81" in done.stderr and "1024" in done.stderr


def test_more_loops_than_there_are_descriptors_for(binary, site):
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not here")
    command = ["serve", site, "--listen", "127.0.0.1:0", "--threads", "100"]
    done = run("prlimit", "--nofile=200:200", binary, *command)
    assert done.returncode == 1
    assert done.stderr.startswith("tiderace: start 100 loops: too many open files; ")
    assert "200" in done.stderr and "--threads" in done.stderr and done.stderr.count("\n") == 1


def test_an_access_log_that_cannot_be_opened(binary, site, tmp_path):
    done = run(binary, "serve", site, "--listen", "127.0.0.1:0", "--access-log",
               tmp_path / "absent/access.log")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (f"tiderace: open access log {tmp_path}/absent/access.log: "
                           "no such file or directory; its folder must exist\n")


def test_an_address_that_is_not_ours(binary, site):
    done = run(binary, "serve", site, "--listen", "192.0.2.1:0")
    assert done.returncode == 1 and "192.0.2.1" in done.stderr


# Listeners.


@pytest.mark.sanitizers
def test_the_banner_says_where_what_and_how(serve, site):
    server = serve(site, threads=2, engine="poll")
    assert re.search(rf"^open +http://(127\.0\.0\.1|localhost):{server.address[1]}/?$", server.output, re.M)
    assert str(site) in server.output
    assert re.search(r"^engine +poll, 2 loops$", server.output, re.M)
    assert "\x1b" not in server.output


def test_without_a_folder_the_current_one_is_served(serve, site):
    assert serve(None, cwd=site).get("/a.txt").body == b"hello\n"


@pytest.mark.sanitizers
def test_a_unix_socket(serve, site, binary, tmp_path):
    path = str(tmp_path / "tide.sock")
    server = serve(site, listen=f"unix:{path}")
    with Connection(path) as connection:
        assert connection.get("/a.txt").body == b"hello\n"
        assert connection.get("/big.bin").status == 200
    second = run(binary, "serve", site, "--listen", f"unix:{path}")
    assert second.returncode == 1 and "tide.sock" in second.stderr
    assert get_once(path, "/a.txt").body == b"hello\n"
    server.kill()  # leaves the socket's name behind
    again = serve(site, listen=f"unix:{path}")
    assert get_once(path, "/a.txt").body == b"hello\n"
    again.stop()
    assert not os.path.exists(path)


@pytest.mark.parametrize("left_behind", [False, True], ids=["free", "left behind"])
def test_of_two_that_start_at_once_one_has_the_socket(site, binary, tmp_path, left_behind):
    """The other reports it in a sentence; every client that connected is answered."""
    path = tmp_path / "tide.sock"
    command = [binary, "serve", *STAY_ROOT, site, "--listen", f"unix:{path}", "--quiet"]
    if left_behind:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(str(path))
    started = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        wait_until(lambda: any(each.poll() is not None for each in started), what="the loser's end")
        winner, loser = sorted(started, key=lambda each: each.poll() is not None)
        assert winner.poll() is None and loser.returncode == 1
        assert loser.stderr.read() == (
            f"tiderace: bind unix:{path}: address already in use; another program listens there; "
            "stop it or choose another address\n"
        )
        wait_until(lambda: connects(path), what="the winner")
        assert get_once(str(path), "/a.txt").body == b"hello\n"
    finally:
        for each in started:
            if each.poll() is None:
                each.terminate()
            each.wait(30)
            each.stderr.close()
    assert not path.exists()


def connects(path):
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def test_a_unix_socket_lets_nobody_in_before_it_can_serve(site, binary, tmp_path):
    """The start waits for its list of passwords, which is a pipe."""
    path, passwords = tmp_path / "tide.sock", tmp_path / "passwords"
    os.mkfifo(passwords)
    command = [binary, "serve", *STAY_ROOT, site, "--listen", f"unix:{path}", "--quiet",
               "--basic-auth", passwords]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(path.exists, what="the socket's name")
        assert not connects(path)
        second = run(binary, "serve", site, "--listen", f"unix:{path}")
        assert second.returncode == 1 and "another program listens there" in second.stderr
        assert second.stderr.count("\n") == 1
        passwords.write_text("ada:$2y$04$" + "a" * 53 + "\n")
        wait_until(lambda: connects(path), what="the server")
        assert get_once(str(path), "/a.txt").status == 401
    finally:
        server.terminate()
        server.wait(30)
        server.stderr.close()


def test_a_start_that_fails_leaves_no_socket_behind(binary, site, tmp_path):
    path = tmp_path / "tide.sock"
    done = run(binary, "serve", site, "--listen", f"unix:{path}", "--error-page", "404=absent.html")
    assert done.returncode == 1 and "absent.html" in done.stderr
    assert not path.exists()


def test_a_file_that_is_no_socket_is_not_replaced(binary, site, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    done = run(binary, "serve", site, "--listen", f"unix:{precious}")
    assert done.returncode == 1 and precious.read_text() == "precious"
    assert done.stderr == (f"tiderace: bind unix:{precious}: file exists; a file that is no socket "
                           "is there; remove it, or choose another name\n")


def test_a_unix_path_that_is_too_long(binary, site):
    done = run(binary, "serve", site, "--listen", "unix:/tmp/" + "x" * 200)
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1


@needs_ipv6
def test_ipv6(serve, site):
    server = serve(site, listen="[::1]:0")
    _, port = server.address  # the banner may say localhost
    assert get_once(("::1", port), "/a.txt").body == b"hello\n"


@needs_ipv6
def test_all_addresses_means_both_families(serve, site):
    server = serve(site, listen=":0")
    port = server.address[1]
    for host in ("127.0.0.1", "::1"):
        assert get_once((host, port), "/a.txt").body == b"hello\n"


def test_several_listeners(serve, site, tmp_path):
    path = str(tmp_path / "tide.sock")
    server = serve(site, listen=["127.0.0.1:0", "127.0.0.2:0", f"unix:{path}"], listeners=3,
                   threads=2)
    addresses = server.places()
    assert len(addresses) == 3
    for address in addresses:
        assert get_once(address, "/a.txt").body == b"hello\n"


@pytest.mark.sanitizers
@pytest.mark.parametrize("mode", ["reuseport", "queue", "shared"])
def test_loops_and_ways_of_accepting(serve, site, engine, mode):
    server = serve(site, "--accept", mode, engine=engine, threads=3)
    assert re.search(rf"^engine +{engine}, 3 loops$", server.output, re.M)
    wait_until(lambda: server.threads() >= 3)
    connections = [server.connect() for _ in range(60)]
    try:
        for _ in range(3):
            for connection in connections:
                connection.send(request("/k.bin"))
            for connection in connections:
                assert len(connection.read_answer().body) == 1024
    finally:
        for connection in connections:
            connection.close()


def test_the_queue_sheds_with_503_what_it_cannot_take(serve, site):
    server = serve(site, "--accept", "queue", "--max-connections", "2", threads=2)
    kept = [server.connect() for _ in range(2)]
    for connection in kept:
        assert connection.get("/a.txt").status == 200
    statuses = []
    for _ in range(5):
        with server.connect() as extra:
            extra.send(request("/a.txt"))
            try:
                statuses.append(extra.read_answer().status)
            except NoAnswer:
                statuses.append(None)
    assert set(statuses) == {503}
    for connection in kept:
        assert connection.get("/a.txt").status == 200
        connection.close()


def test_one_loop_per_processor_by_default(serve, site):
    server = serve(site, threads=None)
    assert re.search(rf"^engine +\w+, {len(os.sched_getaffinity(0))} loops?$", server.output, re.M)


def test_fewer_processors_fewer_loops(serve, site):
    if not shutil.which("taskset"):
        pytest.skip("taskset is not here")
    first = min(os.sched_getaffinity(0))
    server = serve(site, threads=None, prefix=["taskset", "-c", str(first)])
    assert re.search(r"^engine +\w+, 1 loop$", server.output, re.M)


# Signals.


@pytest.mark.sanitizers
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_the_running_download_is_finished(serve, huge_site, engine, number):
    finish_the_running_download(serve(huge_site, engine=engine), number)


@pytest.mark.sanitizers
def test_a_signal_ends_an_idle_server_at_once(serve, site, engine):
    server = serve(site, "--drain-timeout", "600s", engine=engine, threads=2)
    end_at_once(server, signal.SIGTERM, 20)


def test_half_a_request_does_not_hold_up_the_end_for_ever(serve, site):
    server = serve(site, "--drain-timeout", "1s")
    with server.connect() as connection:
        connection.send(b"GET /a.txt HT")
        assert server.get("/a.txt").status == 200
        server.signal(signal.SIGTERM)
        server.wait_exit()


def test_the_drain_has_an_end(serve, huge_site):
    server = serve(huge_site, "--drain-timeout", "500ms")
    with server.connect(receive_bytes=8192) as stalled:
        stalled.send(request("/huge.bin"))
        stalled.read_head()
        server.signal(signal.SIGTERM)
        server.wait_exit()


def test_a_drain_time_of_0_is_no_limit(serve, huge_site):
    server = serve(huge_site, "--drain-timeout", "0")
    finish_the_running_download(server, signal.SIGTERM)
    assert "deadline=none" in server.stderr


def test_a_second_signal_ends_it_at_once(serve, huge_site):
    server = serve(huge_site, "--drain-timeout", "600s")
    address = server.address
    with server.connect(receive_bytes=8192) as stalled:
        stalled.send(request("/huge.bin"))
        stalled.read_head()
        server.signal(signal.SIGTERM)
        wait_until(lambda: refuses(address), what="the drain under way")
        server.signal(signal.SIGTERM)
        server.wait_exit()


def test_signals_that_are_harmless(server):
    with server.connect() as connection:
        for number in (signal.SIGPIPE, signal.SIGUSR1, signal.SIGHUP, signal.SIGCHLD,
                       signal.SIGWINCH):
            server.signal(number)
            assert connection.get("/a.txt").body == b"hello\n"


def test_without_standard_streams_no_line_of_the_log_reaches_a_client(binary, site, tmp_path):
    """The numbers 0 to 2 must not become a socket's: standard output is where the log goes."""
    path = tmp_path / "socket"
    command = shlex.join([str(binary), "serve", str(site), "--listen", f"unix:{path}",
                          "--access-log", "-", "--log-flush", "1ms", "--threads", "1",
                          *STAY_ROOT])
    process = subprocess.Popen(["sh", "-c", f"exec {command} <&- >&- 2>&-"])
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            wait_until(lambda: s.connect_ex(str(path)) == 0, what="the socket")
            for _ in range(5):
                s.sendall(request("/a.txt"))
                answer = b""
                while not answer.endswith(b"hello\n"):
                    answer += s.recv(65536)
                assert answer.startswith(b"HTTP/1.1 200 ") and answer.count(b"HTTP/1.1") == 1
            for stream in range(3):
                assert os.readlink(f"/proc/{process.pid}/fd/{stream}") == "/dev/null"
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def test_a_stopped_and_continued_server_goes_on(server):
    with server.connect() as connection:
        server.signal(signal.SIGSTOP)
        connection.send(request("/a.txt"))
        server.signal(signal.SIGCONT)
        assert connection.read_answer().body == b"hello\n"


@pytest.mark.parametrize("number", [1, 2], ids=["HTTP/1.1", "HTTP/2"])
def test_what_arrived_while_it_was_stopped_is_in_time(serve, huge_site, engine, number):
    """Stopped for longer than each of its deadlines, which begins just before."""
    # Long enough for a busy machine, on which this client has to read on in time.
    server = serve(huge_site, "--header-timeout", "5s", "--idle-timeout", "5s", "--write-timeout",
                   "5s", engine=engine)
    if number == 2:
        with H2Client(server.address) as idle, H2Client(server.address, {4: 1 << 20}) as reading:
            stream = reading.get("/huge.bin")
            reading.wait(lambda: len(reading.streams[stream].body) == 1 << 20)
            idle.answer(idle.get("/a.txt"))
            server.signal(signal.SIGSTOP)
            asked = idle.get("/a.txt")
            reading.send(reading.window_update_bytes(stream, 1 << 20))
            time.sleep(6)
            server.signal(signal.SIGCONT)
            assert bytes(idle.answer(asked).body) == b"hello\n"
            reading.wait(lambda: len(reading.streams[stream].body) == 2 << 20)
        return
    with server.connect() as fresh, server.connect() as idle, server.connect() as begun, \
            server.connect(receive_bytes=16384) as reading:
        assert idle.get("/a.txt").status == 200
        reading.send(request("/huge.bin"))
        reading.read_head()
        begun.send(request("/a.txt")[:-2])
        assert idle.get("/a.txt").status == 200  # all of that has been seen
        server.signal(signal.SIGSTOP)
        fresh.send(request("/a.txt"))
        idle.send(request("/a.txt"))
        begun.send(request("/a.txt")[-2:])
        until = time.monotonic() + 6
        # All that the kernel has for it, however slowly that comes: with less taken, the server
        # would find no room when it goes on, and its deadline would rightly be over.
        with pytest.raises(NoAnswer):
            while reading.receive_some(max(until, time.monotonic() + 2)):
                reading.buffer.clear()
        server.signal(signal.SIGCONT)
        reading.skip(2 << 20)
        for connection in (fresh, idle, begun):
            assert connection.read_answer().body == b"hello\n"


# The access log.

COMMON = r'(\S+) (\S+) (\S+) \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) (\d+|-)'
FORMATS = {
    "common": re.compile(COMMON + r"\Z"),
    "combined": re.compile(COMMON + r' "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"\Z'),
}


def lines_of(path, count, deadline=60):
    def look():
        text = path.read_bytes() if path.exists() else b""
        return text.endswith(b"\n") and text.count(b"\n") >= count and text
    return wait_until(look, deadline, f"{count} lines in the log", pause=0.01).decode().splitlines()


def log_server(serve, site, tmp_path, *flags, **more):
    path = tmp_path / "access.log"
    return serve(site, "--access-log", path, "--log-flush", "10ms", *flags, **more), path


@pytest.mark.sanitizers
@pytest.mark.parametrize("form", ["common", "combined"])
def test_the_access_log_reads_back(serve, site, tmp_path, form):
    server, path = log_server(serve, site, tmp_path, "--log-format", form)
    with server.connect() as connection:
        connection.get("/a.txt?x=1", "User-Agent: tide/1.0", "Referer: http://x/")
        connection.get("/absent", method="HEAD")
        connection.get("/k.bin", "Range: bytes=0-9", version="1.0")
    lines = lines_of(path, 3)
    assert len(lines) == 3
    matches = [FORMATS[form].match(line) for line in lines]
    assert all(matches), lines
    assert [m[5] for m in matches] == ["GET /a.txt?x=1 HTTP/1.1", "HEAD /absent HTTP/1.1",
                                       "GET /k.bin HTTP/1.0"]
    assert [m[6] for m in matches] == ["200", "404", "206"]
    assert matches[0][7] == "6" and matches[1][7] in ("0", "-") and matches[2][7] == "10"
    assert matches[0][1] == "127.0.0.1"
    time.strptime(matches[0][4], "%d/%b/%Y:%H:%M:%S %z")
    if form == "combined":
        assert (matches[0][8], matches[0][9]) == ("http://x/", "tide/1.0")


@pytest.mark.sanitizers
def test_the_json_access_log_reads_back(serve, site, tmp_path):
    server, path = log_server(serve, site, tmp_path, "--log-format", "json")
    server.get("/a.txt?x=1", "User-Agent: tide/1.0")
    server.get("/absent")
    first, second = (json.loads(line) for line in lines_of(path, 2))
    flat = {k: v for k, v in first.items()}
    assert 200 in flat.values() and "GET" in flat.values() and 6 in flat.values()
    assert any(v in ("/a.txt?x=1", "/a.txt") for v in flat.values())
    assert "tide/1.0" in flat.values() and "127.0.0.1" in str(flat.values())
    assert 404 in second.values()


@pytest.mark.sanitizers
@pytest.mark.parametrize("form", ["common", "combined", "json"])
def test_nothing_a_client_sends_breaks_a_line_of_the_log(serve, site, tmp_path, form):
    server, path = log_server(serve, site, tmp_path, "--log-format", form)
    evil = ['"', '\\', '\\"', '" 200 5 "', "\t", "\xff\xfe", "\xc3\x28", "\u00e9".encode().decode(
        "latin-1"), '","status":200,"x":"', "%0d%0a", "\\x0a", "\\u0000", "'", "<b>", "\x80\x9b31m"]
    for text in evil:
        target = "/" + "".join(c if "!" <= c <= "~" and c != "#" else f"%{ord(c):02x}"
                               for c in text.replace(" ", "%20"))
        answer = server.get(target, f"User-Agent: a{text}b", f"Referer: a{text}b")
        assert answer.status in (200, 400, 404), target
    lines = lines_of(path, len(evil))
    assert len(lines) == len(evil)
    for line in lines:
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line), repr(line)
        if form == "json":
            json.loads(line)
        else:
            assert FORMATS[form].match(line), line


def test_a_refused_request_is_logged_in_good_form_or_not_at_all(serve, site, tmp_path):
    server, path = log_server(serve, site, tmp_path)
    for data in (b"\x1b[31m / HTTP/1.1\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: \x1b[2J\r\n\r\n"):
        with server.connect() as connection:
            connection.ask(data)
    server.get("/a.txt")
    wait_until(lambda: path.exists() and b"/a.txt" in path.read_bytes(), what="the last line")
    for line in path.read_bytes().decode().splitlines():
        assert FORMATS["combined"].match(line), line


def test_every_pipelined_request_has_its_line(serve, site, tmp_path):
    server, path = log_server(serve, site, tmp_path, threads=2)
    with server.connect() as connection:
        for _ in range(5):
            connection.send(request("/a.txt") * 200)
            for _ in range(200):
                connection.read_answer()
    lines = lines_of(path, 1000)
    assert len(lines) == 1000 and len(set(map(FORMATS["combined"].match, lines))) == 1000


def test_the_log_goes_to_standard_output_if_asked(serve, site):
    server = serve(site, "--access-log", "-", "--log-flush", "10ms")
    server.get("/a.txt?seen")
    wait_until(lambda: '"GET /a.txt?seen HTTP/1.1" 200' in server.stdout, what="the line")


def test_what_is_logged_is_on_disk_when_the_server_has_ended(serve, site, tmp_path):
    path = tmp_path / "access.log"
    server = serve(site, "--access-log", path, "--log-flush", "60s")
    for _ in range(50):
        server.get("/a.txt")
    server.stop()
    assert path.read_bytes().count(b"\n") == 50


@pytest.mark.sanitizers
def test_sigusr1_reopens_the_log(serve, site, tmp_path):
    server, path = log_server(serve, site, tmp_path)
    server.get("/a.txt?before")
    lines_of(path, 1)
    moved = tmp_path / "access.log.old"
    path.rename(moved)
    server.signal(signal.SIGUSR1)

    def reopened():
        server.get("/a.txt?after")
        return path.exists() and b"after" in path.read_bytes()
    wait_until(reopened, what="lines in the new file", pause=0.05)
    assert b"before" in moved.read_bytes() and b"before" not in path.read_bytes()


def test_the_log_is_rotated_by_size(serve, site, tmp_path):
    server, path = log_server(serve, site, tmp_path, "--log-rotate", "4KiB")
    for _ in range(200):
        server.get("/a.txt")
    wait_until(lambda: sum(p.read_bytes().count(b"\n") for p in tmp_path.glob("access*")) >= 200
               or len(list(tmp_path.glob("access*"))) > 1, what="a second file")
    assert path.stat().st_size < 16 << 10


def test_a_log_on_a_full_disk_does_not_stop_the_server(serve, site):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    server = serve(site, "--access-log", "/dev/full", "--log-flush", "10ms")
    for _ in range(200):
        assert server.get("/a.txt").status == 200


def test_a_log_at_the_limit_for_files_does_not_stop_the_server(serve, site, tmp_path):
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not here")
    log = tmp_path / "access.log"
    server = serve(site, "--access-log", log, "--log-flush", "1ms",
                   prefix=["prlimit", "--fsize=500"])
    wait_until(lambda: server.get("/a.txt").status == 200 and log.stat().st_size == 500,
               what="the limit")
    for _ in range(20):
        assert server.get("/a.txt").body == b"hello\n"


# Its cost.


def settle(server):
    """Waits until what start and the last request set off is over."""
    def quiet():
        before = server.wakeups()
        time.sleep(0.2)  # the span of a measurement
        return server.wakeups() == before
    wait_until(quiet, what="a quiet server", pause=0)


@pytest.mark.sanitizers
def test_an_idle_server_uses_no_cpu(serve, site, engine, tmp_path, sanitized):
    if sanitized == "tsan":
        pytest.skip("the sanitizer's own thread never sleeps")
    server, _ = log_server(serve, site, tmp_path, "--idle-timeout", "60s", engine=engine, threads=2)
    with server.connect() as kept, server.connect():
        assert kept.get("/a.txt").status == 200
        settle(server)
        ticks, wakeups = server.cpu_ticks(), server.wakeups()
        time.sleep(1.5)  # the span of a measurement
        assert server.cpu_ticks() == ticks
        assert server.wakeups() - wakeups <= 1
        assert kept.get("/a.txt").status == 200


@pytest.mark.sanitizers
def test_descriptors_and_memory_stay_flat_over_many_connections(serve, site, engine, sanitized):
    server = serve(site, engine=engine)

    def round_of(count):
        for i in range(count):
            with server.connect() as connection:
                if i % 3 == 0:
                    connection.get("/k.bin")
                elif i % 3 == 1:
                    connection.ask(b"GET / HTTP/x\r\n\r\n")
                else:
                    connection.send(b"GET /a.tx")
    round_of(600)
    wait_until(lambda: server.descriptors() < 60, what="connections given back")
    descriptors, memory = server.descriptors(), server.pss_bytes()
    round_of(3000)
    wait_until(lambda: server.descriptors() <= descriptors, what="connections given back")
    if not sanitized:
        assert server.pss_bytes() - memory < 512 << 10


def test_an_idle_connection_holds_no_buffer(serve, site, sanitized):
    if sanitized:
        pytest.skip("memory figures mean nothing under a sanitizer")
    server = serve(site, "--idle-timeout", "120s")

    def open_some(count):
        connections = []
        for _ in range(count):
            connection = server.connect()
            assert connection.get("/k.bin").status == 200
            connections.append(connection)
        return connections
    kept = open_some(100)
    before = server.pss_bytes()
    kept += open_some(800)
    each = (server.pss_bytes() - before) / 800
    for connection in kept:
        connection.close()
    assert each < 1024, f"{each:.0f} bytes for each idle connection"


def test_the_descriptor_limit_is_raised_and_reported(serve, site):
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < 2048:
        pytest.skip("the hard limit leaves no room")
    server = serve(site, prefix=["prlimit", "--nofile=512:2048"])
    limits = Path(f"/proc/{server.pid}/limits").read_text()
    assert re.search(r"Max open files +2048 +2048", limits)
    assert "2,048" in server.output and "512" in server.output


def test_one_address_does_not_hold_all_connections(serve, site):
    """Among silent connections, some of the address that has most make way."""
    server = serve(site, "--max-connections", "8")
    kept = [server.connect() for _ in range(8)]
    try:
        assert kept[0].get("/a.txt").status == 200
        other = socket.create_connection(server.address, source_address=("127.0.0.2", 0),
                                         timeout=60)
        other.sendall(request("/a.txt", "Connection: close"))
        assert b"".join(iter(lambda: other.recv(65536), b"")).endswith(b"hello\n")
        other.close()
    finally:
        for connection in kept:
            connection.close()
