"""The server as a process: whose rights it has, which threads it lacks, what becomes of its
children, its first milliseconds, and a log whose reader keeps up."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from certificates import Authority
from raw_client import Connection, get_once, request
from server import STAY_ROOT, run, wait_until
from tls_client import TlsConnection, client_context

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to give up")


@pytest.fixture
def folder():
    """One that every user may enter, unlike the tests' own."""
    path = Path(tempfile.mkdtemp(prefix="tide-", dir="/tmp"))
    path.chmod(0o755)
    site = path / "site"
    site.mkdir()
    (site / "a.txt").write_text("hello\n")
    yield path
    shutil.rmtree(path)


def serve_without_root(serve, folder, *flags, **more):
    return serve(folder / "site", *flags, stays_root=False, **more)


def ids(server):
    """(user, group, groups) of every thread."""
    found = set()
    for status in Path(f"/proc/{server.pid}/task").glob("*/status"):
        text = status.read_text()
        user = re.search(r"^Uid:\t(\d+)\t(\d+)\t(\d+)\t(\d+)$", text, re.M).groups()
        group = re.search(r"^Gid:\t(\d+)\t(\d+)\t(\d+)\t(\d+)$", text, re.M).groups()
        groups = re.search(r"^Groups:\t(.*)$", text, re.M)[1].split()
        assert len(set(user)) == len(set(group)) == 1, text
        found.add((int(user[0]), int(group[0]), tuple(map(int, groups))))
    return found


# --user.


@needs_root
@pytest.mark.sanitizers
def test_root_is_given_up_and_it_is_said(serve, folder):
    server = serve_without_root(serve, folder, threads=2)
    assert server.get("/a.txt").body == b"hello\n"
    assert {user for user, _, _ in ids(server)} == {NOBODY}
    wait_until(lambda: "user=nobody" in server.stderr, what="a line of the log")
    assert server.stderr.count("root rights given up; --user chooses") == 1
    status = Path(f"/proc/{server.pid}/status").read_text()
    assert re.search(r"^CapPrm:\t0+$", status, re.M) and re.search(r"^CapEff:\t0+$", status, re.M)
    assert server.pids() == [server.pid], "nothing here needs a helper"


@needs_root
def test_a_user_and_a_group_by_name_and_by_number(serve, folder):
    named = serve_without_root(serve, folder, "--user", "nobody:root")
    assert ids(named) >= {(NOBODY, 0, (0,))}
    numbered = serve_without_root(serve, folder, "--user", "54321:54322")
    assert ids(numbered) == {(54321, 54322, (54322,))}
    assert numbered.get("/a.txt").body == b"hello\n"


@needs_root
def test_root_stays_root_where_it_is_told_to(serve, folder):
    server = serve_without_root(serve, folder, "--user", "root")
    assert {user for user, _, _ in ids(server)} == {0}
    assert "given up" not in server.stderr


@needs_root
def test_a_port_and_files_of_roots_are_opened_first(serve, folder):
    port = next(p for p in range(1023, 600, -1) if not in_use(p))
    server = serve_without_root(serve, folder, listen=f"127.0.0.1:{port}")
    assert server.get("/a.txt").body == b"hello\n"
    assert {user for user, _, _ in ids(server)} == {NOBODY}


def in_use(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@needs_root
@pytest.mark.sanitizers
def test_a_key_that_only_root_reads_is_reloaded(serve, folder):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here")
    secret = folder / "secret"
    secret.mkdir(mode=0o700)
    authority = Authority(secret, "tide")
    pair = authority.issue("site")
    server = serve_without_root(serve, folder, "--tls", pair.flag)
    # The helper is what still is root; it has none of the server's sockets.
    assert {user for user, _, _ in ids(server)} == {NOBODY}
    helpers = [pid for pid in server.pids() if pid != server.pid]
    assert len(helpers) == 1
    wait_until(lambda: len(os.listdir(f"/proc/{helpers[0]}/fd")) == 4,
               what="the helper to have closed what it inherited")

    def shown():
        with TlsConnection(server.address, client_context(authority.file)) as connection:
            assert connection.get("/a.txt").body == b"hello\n"
            return connection.certificate

    first = shown()
    authority.issue("site")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: shown() != first, what="the new certificate")
    second = shown()
    authority.issue("site")  # and by its own look at the files
    wait_until(lambda: shown() != second, what="the next one")
    assert "not usable" not in server.stderr
    server.stop()
    wait_until(lambda: not Path(f"/proc/{helpers[0]}").exists(), what="the helper's end")


@needs_root
def test_a_log_in_a_folder_of_roots_is_reopened(serve, folder):
    logs = folder / "logs"
    logs.mkdir(mode=0o700)
    log = logs / "access.log"
    server = serve_without_root(serve, folder, "--access-log", log, "--log-flush", "1ms")
    server.get("/a.txt")
    wait_until(lambda: log.read_text().count("\n") == 1, what="the first line")
    log.rename(logs / "access.log.1")
    server.signal(signal.SIGUSR1)
    wait_until(log.exists, what="the new log")
    server.get("/a.txt")
    wait_until(lambda: log.read_text().count("\n") == 1, what="the second line")


@needs_root
def test_the_name_of_a_socket_in_a_folder_of_roots_is_removed(serve, folder):
    path = folder / "tide.sock"
    server = serve_without_root(serve, folder, listen=f"unix:{path}")
    path.chmod(0o777)
    assert get_once(str(path), "/a.txt").body == b"hello\n"
    server.stop()
    assert not path.exists()


def children_of(pid):
    """{pid: name} of the processes that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {int(child): Path(f"/proc/{child}/comm").read_text().strip() for child in children}


@needs_root
def test_each_process_that_serves_has_a_helper_of_its_own(serve, folder):
    """Through one socket for several of them, one would get a file that another has asked for."""
    logs = folder / "logs"
    logs.mkdir(mode=0o700)
    server = serve_without_root(serve, folder, "--user", "nobody", "--access-log", logs / "log",
                                engine="prefork")
    helper = "tr-root-files"

    def serving_with_helpers():
        """A process has the name of the one that started it until it has given itself its own."""
        serving = [pid for pid, name in children_of(server.pid).items() if name != helper]
        helpers = [list(children_of(pid).values()) for pid in serving]
        return serving if helpers == [[helper], [helper]] else None
    serving = wait_until(serving_with_helpers, what="a helper for each process")
    (logs / "log").rename(logs / "old")
    os.kill(server.pid, signal.SIGHUP)
    wait_until((logs / "log").exists, what="the new log")
    server.stop()
    assert all(not Path(f"/proc/{pid}").exists() for pid in serving)


@needs_root
def test_the_folder_of_compressed_files_is_made_for_the_user(serve, folder):
    (folder / "site" / "text.txt").write_text("tide " * 10_000)
    os.utime(folder / "site" / "text.txt", (1_700_000_000, 1_700_000_000))
    kept = folder / "kept"
    for _ in range(2):
        server = serve_without_root(serve, folder, "--compress-cache", kept)
        wait_until(lambda: server.get("/text.txt", "Accept-Encoding: br").get("content-encoding")
                   == "br", what="the compressed file")
        wait_until(lambda: any(kept.iterdir()), what="its copy on the disk")
        server.stop()
    assert kept.stat().st_uid == NOBODY
    assert {file.stat().st_uid for file in kept.iterdir()} == {NOBODY}


@needs_root
@pytest.mark.parametrize("flags, says", [
    (["--user", "no-such-user"], "find user no-such-user: there is none of that name"),
    (["--user", "nobody:no-such-group"], "find group no-such-group: there is none of that name"),
    (["--access-log", "LOGS/access.log", "--log-rotate", "1MiB"],
     "user nobody, which may not write"),
    # A number that the system always rejects, as it rejects any other user without CAP_SETUID.
    (["--user", "4294967295", "--compress-cache", "LOGS"],
     "act as user 4294967295: invalid argument"),
])
def test_what_keeps_it_from_giving_up_root_is_one_sentence(binary, folder, flags, says):
    (folder / "LOGS").mkdir(mode=0o700)
    done = subprocess.run([binary, "serve", "site", "--listen", "127.0.0.1:0", *flags], cwd=folder,
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and says in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


@needs_root
@pytest.mark.sanitizers
def test_a_folder_that_nobody_may_not_read_is_one_sentence(binary, folder):
    (folder / "site").chmod(0o700)
    done = subprocess.run([binary, "serve", folder / "site", "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr == (
        f"tiderace: serve {folder}/site: permission denied; the server runs as user nobody, which "
        f"may not read this folder: run `chmod a+rx {folder}/site`, or add --user root\n")


@needs_root
def test_the_command_that_a_refused_folder_names_works(serve, binary, folder):
    site = folder / "a b" / "it's" / "site"
    (folder / "site").rename(folder / "moved")
    site.parent.mkdir(parents=True)
    (folder / "moved").rename(site)
    for closed in (site, site.parent, site.parent.parent):
        closed.chmod(0o700)
    said = [binary, "serve", site, "--listen", "127.0.0.1:0"]
    done = subprocess.run(said, capture_output=True, text=True, timeout=20)
    command, user = re.search("run `(.*)`, or add --user (.*)\n", done.stderr).groups()
    assert user == "root"
    assert serve(site, "--user", user, stays_root=False).get("/a.txt").status == 200
    subprocess.run(["sh", "-c", command], check=True)
    assert serve(site, stays_root=False).get("/a.txt").status == 200
    # One who owns it may read it.
    site.chmod(0o700)
    os.chown(site, 54321, 54321)
    done = subprocess.run(said, capture_output=True, text=True, timeout=20)
    user = re.search("or add --user (.*)\n", done.stderr).group(1)
    assert user == "54321"
    assert serve(site, "--user", user, stays_root=False).get("/a.txt").status == 200


def become_nobody():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@needs_root
def test_only_root_can_become_another(binary, folder):
    done = subprocess.run([binary, "serve", folder / "site", "--user", "root"], timeout=20,
                          capture_output=True, text=True, preexec_fn=become_nobody)
    assert done.returncode == 1
    assert done.stderr.startswith("tiderace: become user root: only root can")


# Threads, children, the first milliseconds.


def limit_threads(most):
    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        if os.geteuid() == 0:  # which has no such limit
            os.setgid(54330)
            os.setuid(54330)
    return limit


@pytest.mark.sanitizers
@needs_root
@pytest.mark.parametrize("most, what", [(1, "the log's thread"), (2, "loop 2 of 4"),
                                        (3, "loop 3 of 4")])
def test_a_start_that_lacks_threads_is_one_sentence(binary, folder, most, what, sanitized):
    if sanitized:
        pytest.skip("a sanitizer has threads of its own")
    done = run(binary, "serve", folder / "site", "--listen", "127.0.0.1:0", "--threads", "4",
               "--user", "54330", preexec_fn=limit_threads(most))
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"tiderace: start {what}: "), done.stderr
    assert "pids.max" in done.stderr and done.stderr.count("\n") == 1


@pytest.fixture
def thread_group():
    """A cgroup of our own, which counts the threads of what enters it."""
    for root in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        group = root / f"tide-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / "pids.max").exists():
            break
        group.rmdir()  # the controller of threads is elsewhere
    else:
        pytest.skip("no cgroup that counts threads can be made here")

    def enter_with(most):
        (group / "pids.max").write_text(str(most))
        return lambda: (group / "cgroup.procs").write_text("0")  # the caller: the new process
    yield enter_with
    wait_until(lambda: not (group / "cgroup.procs").read_text(), what="an empty cgroup")
    group.rmdir()


@pytest.mark.sanitizers
@pytest.mark.parametrize("most, what", [(1, "the log's thread"), (2, "loop 2 of 4"),
                                        (3, "loop 3 of 4")])
def test_a_start_in_a_cgroup_that_lacks_threads_is_one_sentence(binary, site, thread_group, most,
                                                                what, sanitized):
    if sanitized:
        pytest.skip("a sanitizer has threads of its own")
    done = run(binary, "serve", site, "--listen", "127.0.0.1:0", "--threads", "4",
               preexec_fn=thread_group(most))
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"tiderace: start {what}: "), done.stderr
    assert "pids.max" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.sanitizers
def test_two_threads_are_enough_for_one_loop(binary, site, tmp_path, thread_group, sanitized):
    """The log has the other one; files that want a thread of the pool are read without it."""
    if sanitized:
        pytest.skip("a sanitizer has threads of its own")
    server = subprocess.Popen(
        [binary, "serve", site, "--listen", f"unix:{tmp_path}/sock", "--threads", "1", *STAY_ROOT],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=thread_group(2))
    try:
        wait_until(lambda: takes_connections(tmp_path / "sock"), what="the socket")
        for target in ("/a.txt", "/big.bin", "/app.js", "/bare/", "/nothing"):
            answer = get_once(str(tmp_path / "sock"), target, "Accept-Encoding: gzip")
            assert answer.status == (404 if target in ("/bare/", "/nothing") else 200), target
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.communicate()


def blocks(pid, number):
    text = Path(f"/proc/{pid}/status").read_text()
    mask = re.search(r"^SigBlk:\t([0-9a-f]+)$", text, re.M)
    return mask and int(mask[1], 16) >> (number - 1) & 1


# ---- a service manager ---------------------------------------------------------------------------


@pytest.mark.sanitizers
def test_systemd_hears_that_it_serves_lives_and_stops(serve, site, tmp_path):
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(60)
        server = serve(site, env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000"})
        assert manager.recv(100) == b"READY=1"
        assert manager.recv(100) == b"WATCHDOG=1"
        server.signal(signal.SIGTERM)
        heard = [manager.recv(100)]
        while heard[-1] == b"WATCHDOG=1":
            heard.append(manager.recv(100))
        assert heard[-1] == b"STOPPING=1"
        assert server.wait_exit() == 0


@pytest.mark.parametrize("is_the_journal", [True, False])
def test_lines_for_the_journal_have_a_level_in_the_place_of_the_time(binary, site, tmp_path,
                                                                      is_the_journal):
    out, err = tmp_path / "out", tmp_path / "err"
    err.touch()
    inode = err.stat().st_ino + (0 if is_the_journal else 1)
    journal = f"{err.stat().st_dev}:{inode}"
    with open(out, "wb") as said, open(err, "wb") as logged:
        process = subprocess.Popen([binary, "serve", site, "--listen", "127.0.0.1:0", *STAY_ROOT],
                                   stdout=said, stderr=logged,
                                   env={**os.environ, "JOURNAL_STREAM": journal})
    try:
        begin = rb"<6>server: " if is_the_journal else rb"\d{4}-\d\d-\d\dT"
        wait_until(lambda: b"\nengine" in out.read_bytes(), what="a server that serves")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert err.read_bytes()
        assert all(re.match(begin, line) for line in err.read_bytes().splitlines())
    finally:
        process.kill()
        process.wait()


def passing(listener):
    """A command before ours, and what the child does: as systemd passes a socket that it listens
    on."""
    words = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh"]
    return words, lambda: os.dup2(listener.fileno(), 3)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_client_that_came_before_the_server_is_served(binary, site, tmp_path, threads):
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        early = Connection(("127.0.0.1", port))
        early.send(request("/"))
        words, pass_it = passing(listener)
        with open(out, "wb") as said:
            process = subprocess.Popen(
                [*words, binary, "serve", site, "--listen", f"127.0.0.1:{port}", "--threads",
                 threads, *STAY_ROOT], stdout=said, env={**os.environ, "LISTEN_FDS": "1"},
                preexec_fn=pass_it, close_fds=False)
        try:
            assert early.read_answer().status == 200
            for _ in range(20):
                assert get_once(("127.0.0.1", port), "/").status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            # The socket goes on: the next server has its queue.
            socket.create_connection(("127.0.0.1", port)).close()
        finally:
            process.kill()
            process.wait()


def test_a_socket_that_nobody_serves_is_one_sentence(binary, site):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words, pass_it = passing(listener)
        done = subprocess.run([*words, binary, "serve", site, "--listen", "127.0.0.1:0",
                               *STAY_ROOT], env={**os.environ, "LISTEN_FDS": "1"}, timeout=60,
                              preexec_fn=pass_it, close_fds=False, stderr=subprocess.PIPE,
                              text=True, check=False)
        port = listener.getsockname()[1]
        assert done.returncode == 1
        assert f"127.0.0.1:{port}" in done.stderr
        assert "systemd listens there for this service" in done.stderr


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="systemd is not here")
def test_systemd_starts_it_at_the_first_client(binary, site, tmp_path):
    name = tmp_path / "socket"
    process = subprocess.Popen(["systemd-socket-activate", "-l", str(name), str(binary), "serve",
                                str(site), "--listen", f"unix:{name}", *STAY_ROOT],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(name.exists, what="the socket")
        asked = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket",
                    str(name), "http://site/")
        assert asked.stdout == "200"
        process.send_signal(signal.SIGTERM)  # the same process by now
        assert process.wait(20) == 0
        assert name.exists(), "the name is systemd's"
    finally:
        process.kill()
        process.wait()


@pytest.mark.sanitizers
@pytest.mark.parametrize("delay", [0, 0.002, 0.004, 0.008, 0.016])
def test_a_signal_in_the_first_milliseconds_does_not_end_it(binary, site, tmp_path, delay):
    out = tmp_path / "out"
    with open(out, "wb") as file:
        process = subprocess.Popen([binary, "serve", site, "--listen", "127.0.0.1:0", "--threads",
                                    "1", *STAY_ROOT], stdout=file)
    try:
        # The first statement of main: before it nothing of ours runs.
        wait_until(lambda: blocks(process.pid, signal.SIGUSR1), what="main", pause=0)
        time.sleep(delay)  # where in its start the signal meets it
        process.send_signal(signal.SIGUSR1)
        wait_until(lambda: process.poll() is not None or b"\nengine" in out.read_bytes(),
                   what="a server that serves")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def takes_connections(path):
    """The file is there once it is bound, and refuses until the server listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        return wire.connect_ex(str(path)) == 0


@needs_root
def test_as_pid_1_it_reaps_orphans(binary, site, tmp_path):
    if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        pytest.skip("no name space for processes may be made here")
    # The shell is pid 1 and becomes the server; before that it starts what will be orphans: two
    # that have ended, and one that ends when its pipe does.
    script = (f"(sleep 0 & ); (sleep 0 & ); (exec 3<{tmp_path}/fifo; read line <&3; exit 0) & "
              f"exec {binary} serve {site} --listen unix:{tmp_path}/sock --threads 1 "
              f"{' '.join(STAY_ROOT)}")
    os.mkfifo(tmp_path / "fifo")
    process = subprocess.Popen(["unshare", "--pid", "--fork", "sh", "-c", script],
                               stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: takes_connections(tmp_path / "sock"), what="the socket")
        server = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        children = Path(f"/proc/{server}/task/{server}/children")
        assert get_once(str(tmp_path / "sock"), "/a.txt").body == b"hello\n"
        wait_until(lambda: len(children.read_text().split()) == 1, what="those that end at once")
        with open(tmp_path / "fifo", "w") as fifo:
            fifo.write("end\n")
        wait_until(lambda: not children.read_text().split(), what="no child, and no zombie")
        os.kill(server, signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


# A log through a pipe.


def server_of(shell):
    """The process of the server that the shell has started beside its pipe's reader."""
    children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
    return next(int(pid) for pid in children
                if "tiderace" in Path(f"/proc/{pid}/comm").read_text())


def test_each_line_through_a_pipe_is_written_or_counted(binary, site, tmp_path, sanitized):
    """As fast as the server can: on a busy machine the log's threads may not keep up."""
    clients, requests, at_once = 4, 10_000 if not sanitized else 1_000, 50
    log = tmp_path / "access.log"
    command = (f"exec {binary} serve {site} --listen unix:{tmp_path}/sock --threads 1 --quiet "
               f"--access-log - {' '.join(STAY_ROOT)} | cat > {log}")
    shell = subprocess.Popen(["sh", "-c", command.replace("exec ", "", 1)], stderr=subprocess.PIPE,
                             start_new_session=True)
    failures = []

    def ask():
        try:
            with Connection(str(tmp_path / "sock")) as connection:
                for _ in range(requests // at_once):
                    connection.send(request("/a.txt") * at_once)
                    for _ in range(at_once):
                        assert connection.read_answer().body == b"hello\n"
        except Exception as failure:  # told below, not lost in a thread
            failures.append(failure)
    try:
        wait_until(lambda: takes_connections(tmp_path / "sock"), what="the socket")
        threads = [threading.Thread(target=ask) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        assert not failures, failures
        os.kill(server_of(shell), signal.SIGTERM)
        _, said = shell.communicate(timeout=30)
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    assert b"trouble" not in said, said
    dropped = sum(map(int, re.findall(rb"records (?:dropped|lost)[^\n]* count=(\d+)", said)))
    assert log.read_bytes().count(b"\n") + dropped == clients * requests


def test_a_reader_that_stands_still_for_half_a_second_loses_no_line(binary, site, tmp_path):
    """As many lines as come in half a second at 20,000 a second, however long they take here."""
    lines, at_once = 10_000, 50
    server = subprocess.Popen(
        [binary, "serve", site, "--listen", f"unix:{tmp_path}/sock", "--threads", "1", "--quiet",
         "--access-log", "-", *STAY_ROOT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: takes_connections(tmp_path / "sock"), what="the socket")
        with Connection(str(tmp_path / "sock")) as connection:
            for _ in range(lines // at_once):
                connection.send(request("/a.txt") * at_once)
                for _ in range(at_once):
                    assert connection.read_answer().status == 200
        server.send_signal(signal.SIGTERM)
        written, said = server.communicate(timeout=30)  # reads only now
    finally:
        server.kill()
        server.wait()
    assert not re.search(rb"records (dropped|lost)", said), said
    assert written.count(b'"GET /a.txt HTTP/1.1" 200 ') == lines, said


def test_a_reader_that_has_each_burst_before_the_next_loses_no_line(binary, site, tmp_path):
    """However slow this machine is, for the answers wait for the reader. An hour lies between two
    flushes: but for the first pipeful of a burst, lines leave because the pipe has room again."""
    bursts, at_once = 4, 50
    marker = b'"GET /a.txt HTTP/1.1" 200 '
    server = subprocess.Popen(
        [binary, "serve", site, "--listen", f"unix:{tmp_path}/sock", "--threads", "1", "--quiet",
         "--access-log", "-", "--log-flush", "1h", *STAY_ROOT],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    read, may_read = bytearray(), threading.Event()

    def read_all():
        piece = b"first"
        while piece:
            may_read.wait()
            piece = os.read(server.stdout.fileno(), 1 << 16)
            read.extend(piece)
    reader = threading.Thread(target=read_all)
    try:
        reader.start()
        wait_until(lambda: takes_connections(tmp_path / "sock"), what="the socket")
        with Connection(str(tmp_path / "sock")) as connection:
            assert connection.get("/a.txt").status == 200
            may_read.set()
            wait_until(lambda: read.endswith(b"\n"), what="the line of a log that had rested")
            answers, burst = 1, (3 << 18) // len(read) // at_once  # three quarters of its ring
            for _ in range(bursts):
                may_read.clear()
                for _ in range(burst):
                    connection.send(request("/a.txt") * at_once)
                    for _ in range(at_once):
                        assert connection.read_answer().status == 200
                answers += burst * at_once
                server.send_signal(signal.SIGUSR1)  # which writes all that was logged before
                may_read.set()
                wait_until(lambda: read.count(marker) == answers, pause=0.02,
                           what=f"{answers} lines")
        server.send_signal(signal.SIGTERM)
        said = server.stderr.read()
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()
        may_read.set()
        reader.join(60)
    assert not re.search(rb"records (dropped|lost)", said), said
    assert read.count(marker) == answers


def lines_through_a_pipe(binary, site, folder, rate, requests):
    """How many lines `cat` wrote at that rate, and how many the log reported as lost."""
    log, said = folder / "access.log", folder / "said"
    command = (f"{binary} serve {site} --listen 127.0.0.1:0 --threads 1 --access-log - "
               f"{' '.join(STAY_ROOT)} 2> {said} | cat > {log}")
    shell = subprocess.Popen(["sh", "-c", command], start_new_session=True)
    try:
        port = wait_until(lambda: log.exists() and re.search(
            r"http://localhost:([0-9]+)", log.read_text()), what="where it listens")[1]
        url = f"http://127.0.0.1:{port}/a.txt"
        done = subprocess.run([binary, "load", url, "--json", "-c", "50", "-n", str(requests), "-r",
                               str(rate)],
                              capture_output=True, text=True, timeout=200, check=False)
        report = json.loads(done.stdout)
        assert report["answers"] == report["sent"] == requests, report["errors"]
        os.kill(server_of(shell), signal.SIGTERM)
        shell.wait(60)
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    text = said.read_text()
    assert "trouble" not in text, text
    dropped = sum(map(int, re.findall(r"records (?:dropped|lost)[^\n]* count=(\d+)", text)))
    return log.read_bytes().count(b'"GET /a.txt HTTP/1.1" 200 '), dropped


def test_a_pipe_whose_reader_keeps_up_loses_no_line(binary, site, tmp_path, sanitized):
    """At 20,000 a second; on a machine too busy to run the log's threads, at less, but at four
    times the rate where lines were lost for want of a second look at the pipe (600)."""
    for rate in (20_000, 10_000, 5_000, 2_500) if not sanitized else (2_500,):
        folder = tmp_path / str(rate)
        folder.mkdir()
        requests = 3 * rate
        lines, dropped = lines_through_a_pipe(binary, site, folder, rate, requests)
        assert lines + dropped == requests
        if dropped == 0:
            return
    pytest.fail(f"{dropped} lines of {requests} lost at {rate} a second")


def test_what_is_lost_is_counted_to_the_last_line(serve, site):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    server = serve(site, "--access-log", "/dev/full", "--log-flush", "10ms")
    asked = 0
    with server.connect() as connection:
        while "records dropped" not in server.stderr:
            connection.send(request("/a.txt") * 50)
            for _ in range(50):
                assert connection.read_answer().status == 200
            asked += 50
            assert asked < 200_000
    server.stop()
    counts = re.findall(r"records (?:dropped|lost)[^\n]* count=(\d+)", server.stderr)
    assert sum(map(int, counts)) == asked, server.stderr
