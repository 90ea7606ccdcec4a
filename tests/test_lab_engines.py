"""The special properties of the lab's engines: how each ends, how it fails, how one asks for it."""

import os
import re
import signal
import subprocess

import pytest

from draining import end_at_once, finish_the_running_download
from raw_client import request
from server import wait_until


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL)


# Words.


@pytest.mark.sanitizers
def test_an_unknown_engine_is_named_with_the_nearest(binary):
    for words in (["lab", "serve", "--engine", "prefrok"], ["lab", "srve"], ["lab", "engine"]):
        done = run(binary, *words)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith("tiderace lab: ") and done.stderr.count("\n") == 1
        assert "did you mean" in done.stderr


@pytest.mark.sanitizers
def test_the_lab_lists_its_engines(binary):
    done = run(binary, "lab", "engines")
    assert done.returncode == 0 and done.stderr == ""
    names = [line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()]
    for name in ("epoll", "io_uring", "queue", "threads", "pool", "blocking-epoll", "prefork",
                 "libevent", "asio-shared", "asio-per-thread", "nginx", "floor", "w1"):
        assert name in names


def test_without_the_labs_program_one_line_says_how_to_get_it(binary, tmp_path):
    alone = tmp_path / "tiderace"
    alone.write_bytes(binary.read_bytes())
    alone.chmod(0o755)
    done = run(alone, "lab", "engines")
    assert done.returncode == 1 and done.stdout == ""
    assert "./dev build" in done.stderr and done.stderr.count("\n") == 1


# Endings.


@pytest.mark.sanitizers
def test_a_signal_drains_and_the_running_download_is_finished(serve, huge_site, engine):
    finish_the_running_download(serve(huge_site, engine=engine), signal.SIGTERM)


def test_the_one_that_watches_has_no_limit_either(serve, huge_site):
    server = serve(huge_site, "--drain-timeout", "0", engine="prefork")
    finish_the_running_download(server, signal.SIGTERM)


@pytest.mark.sanitizers
def test_a_signal_ends_an_idle_server_at_once(serve, site, engine):
    end_at_once(serve(site, "--drain-timeout", "600s", engine=engine), signal.SIGTERM, 5)


# Failing as documented.


@pytest.mark.sanitizers
def test_a_pool_lets_connections_wait_and_refuses_above_its_bound(serve, site):
    server = serve(site, "--max-connections", "3", engine="pool", threads=None)
    kept = [server.connect() for _ in range(3)]
    for connection in kept:
        assert connection.get("/a.txt").status == 200
    with server.connect() as refused:
        answer = refused.ask(request("/a.txt"))
        assert answer.status == 503 and answer.says_close and refused.wait_end()
    kept.pop().close()
    wait_until(lambda: server.get("/a.txt").status == 200, what="room again")
    for connection in kept:
        assert connection.get("/a.txt").status == 200
        connection.close()
    server.stop()
    assert re.search(r"refused=[1-9]", server.stderr)


@pytest.mark.sanitizers
def test_a_pool_with_more_connections_than_threads_serves_them_in_turn(serve, site):
    server = serve(site, "--threads", "2", engine="pool", threads=None)
    served = [server.connect() for _ in range(2)]
    for connection in served:
        assert connection.get("/a.txt").status == 200
    waiting = [server.connect() for _ in range(20)]
    for connection in waiting:
        connection.send(request("/k.bin"))
        assert not connection.readable()
    for connection in served:
        connection.close()
    for connection in waiting:
        assert len(connection.read_answer().body) == 1024
        connection.close()


def test_a_thread_for_each_connection_is_gone_with_it(serve, site):
    server = serve(site, engine="threads")
    idle = server.threads()
    connections = [server.connect() for _ in range(20)]
    for connection in connections:
        assert connection.get("/a.txt").status == 200
    assert server.threads() == idle + 20
    for connection in connections:
        connection.close()
    wait_until(lambda: server.threads() == idle, what="as many threads as before")


# Processes.


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.sanitizers
def test_a_process_that_dies_is_replaced_and_it_is_said(serve, site):
    server = serve(site, engine="prefork")
    wait_until(lambda: len(server.pids()) == 3, what="its processes")
    master, victim, other = server.pids()
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(server.pids()) == 3 and victim not in server.pids(), what="another")
    assert other in server.pids() and server.pid == master
    for _ in range(20):
        assert server.get("/a.txt").status == 200
    wait_until(lambda: "signal 9; another is started" in server.stderr, what="a line of the log")


@pytest.mark.sanitizers
def test_no_process_outlives_the_one_that_watches(serve, site):
    server = serve(site, engine="prefork")
    wait_until(lambda: len(server.pids()) == 3, what="its processes")
    _, *children = server.pids()
    os.kill(server.pid, signal.SIGKILL)
    assert server.wait_exit() == -signal.SIGKILL
    for child in children:
        wait_until(lambda pid=child: gone(pid), what="its processes ended")
