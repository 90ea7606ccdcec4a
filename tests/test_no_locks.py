"""Nothing is shared on the request path: seen from outside, by the system calls that are made."""

import re
import shutil
import signal
import subprocess
import time

import pytest

from raw_client import request

REQUESTS = 3000
RECEIVE = ("recvfrom", "recvmsg", "read", "readv")
SEND = ("sendto", "sendmsg", "write", "writev")
WAIT = ("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select", "pselect6",
        "_newselect", "io_uring_enter")


def strace_works():
    if not shutil.which("strace"):
        return "strace is not here"
    done = subprocess.run(["strace", "-f", "-c", "-o", "/dev/null", "true"], capture_output=True)
    return None if done.returncode == 0 else "strace may not trace here"


WHY_NOT = strace_works()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")


def counted(server, tmp_path, work):
    """For how many seconds `work` ran, and how often each system call was made meanwhile."""
    table = tmp_path / "calls"
    tracer = subprocess.Popen(["strace", "-f", "-c", "-U", "calls,name", "-o", str(table), "-p",
                               str(server.pid)], stderr=subprocess.PIPE, text=True)
    try:
        line = tracer.stderr.readline()  # "Process N attached…"
        if "attached" not in line:
            pytest.skip(f"strace cannot attach: {line.strip()}")
        began = time.monotonic()
        work()
        seconds = time.monotonic() - began
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(100)
        tracer.stderr.close()
    return seconds, {name: int(count) for count, name in
                     re.findall(r"^ *(\d+) (\w+)$", table.read_text(), re.M)}


def keep_alive_load(server):
    connections = [server.connect() for _ in range(4)]
    data = request("/k.bin")
    for connection in connections:
        connection.ask(data)  # its loop has it, and the file is cached

    def work():
        for i in range(REQUESTS):
            assert len(connections[i % 4].ask(data).body) == 1024
    return connections, work


def test_no_futex_and_two_system_calls_for_a_request(serve, site, tmp_path, engine):
    server = serve(site, engine=engine, threads=2)
    connections, work = keep_alive_load(server)
    seconds, calls = counted(server, tmp_path, work)
    for connection in connections:
        connection.close()
    assert calls.get("futex", 0) == 0, calls
    receive = sum(calls.get(name, 0) for name in RECEIVE)
    send = sum(calls.get(name, 0) for name in SEND)
    wait = sum(calls.get(name, 0) for name in WAIT)
    # The file is checked and timers run once a second, however long a busy machine takes, and the
    # calls in flight when strace attaches and detaches may be counted or not.
    few = 20 + 4 * seconds
    # With io_uring the kernel receives by itself; waiting is the one call beside the send.
    receives = 0 if engine == "io_uring" else REQUESTS
    assert receives - 4 <= receive <= receives + few, calls
    assert REQUESTS - 4 <= send <= REQUESTS + few, calls
    assert wait <= REQUESTS + few, calls
    others = {name: count for name, count in calls.items()
              if count > 40 + few and name not in (*RECEIVE, *SEND, *WAIT, "total")}
    assert not others, others


def test_pipelined_requests_share_their_system_calls(serve, site, tmp_path):
    server = serve(site)
    with server.connect() as connection:
        connection.get("/k.bin")
        data = request("/k.bin") * 16

        def work():
            for _ in range(100):
                connection.send(data)
                for _ in range(16):
                    assert len(connection.read_answer().body) == 1024
        _, calls = counted(server, tmp_path, work)
    send = sum(calls.get(name, 0) for name in SEND)
    assert send <= 220, calls  # 100, or twice that where a receive cut the sixteen in two


def test_the_access_log_wakes_nobody_per_request(serve, site, tmp_path):
    server = serve(site, "--access-log", tmp_path / "access.log", "--log-flush", "1s", threads=2)
    connections, work = keep_alive_load(server)
    seconds, calls = counted(server, tmp_path, work)
    for connection in connections:
        connection.close()
    assert calls.get("futex", 0) <= 100 + 4 * seconds, calls
    assert sum(calls.get(n, 0) for n in ("write", "writev")) <= 200 + 4 * seconds or \
        calls.get("sendto", 0) + calls.get("sendmsg", 0) == 0, calls
