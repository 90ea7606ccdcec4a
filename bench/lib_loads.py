"""Measured runs that only `./dev bench lib` makes: event streams that stay open, requests of a
client of ours, a micro-benchmark, a compiler, and the size of a program."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import tempfile
import time

import client
import load
import other_loads
import procfs
import servers
from lib_workloads import CLIENT, HELLO, ONE_ROUTE, STANDARD, TEMPLATE, TIDERACE_LOAD
from workloads import FILES

LIB = servers.BUILD / "bench/lib"
TEMPLATE_BENCH = servers.BUILD / "bench/micro/template_bench"
SOURCES = servers.ROOT / "bench/lib/compile"
NEEDED = {  # the program of each that is no server
    CLIENT: LIB / "lib_client",
    TIDERACE_LOAD: servers.BUILD / "tiderace",
    TEMPLATE: TEMPLATE_BENCH,
    ONE_ROUTE: SOURCES / "one_route.cc",
    STANDARD: SOURCES / "standard.cc",
    HELLO: LIB / "lib_one_route",
}
FIRST_EVENT = b"data: one\n\n"


# ---- event streams ------------------------------------------------------------------------------


def read_first_event(peer):
    heard = b""
    while FIRST_EVENT not in heard:
        piece = peer.recv(65536)
        if not piece:
            raise client.WrongAnswer(f"the stream ended: {heard[:200]!r}")
        heard += piece
    if not heard.startswith(b"HTTP/1.1 200 "):
        raise client.WrongAnswer(f"no stream: {heard[:200]!r}")


def is_open(peer):
    peer.setblocking(False)
    try:
        return peer.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def streams(server, path, count, settle_seconds=1.0):
    """Opens them, reads the first event of each, and sees what the server holds for them."""
    request, held = client.request_bytes(server.port, path), []
    with contextlib.ExitStack() as ends:

        def open_one():
            peer = ends.enter_context(socket.create_connection(("127.0.0.1", server.port), 30))
            peer.sendall(request)
            read_first_event(peer)
            held.append(peer)

        open_one()  # what only the first one costs
        time.sleep(settle_seconds)
        base, written = procfs.pss_bytes(server.pid), procfs.written_bytes(server.pid)
        began = time.monotonic()
        for _ in range(count):
            open_one()
        seconds = time.monotonic() - began
        time.sleep(settle_seconds)
        grown = procfs.written_bytes(server.pid) - written
        alive = sum(is_open(peer) for peer in held)
    return client.IdleMemory(base, count, grown / count, count / seconds, alive, len(held))


# ---- requests that we make ----------------------------------------------------------------------


def request_words(name, workload, server, seconds):
    url = f"http://127.0.0.1:{server.port}{workload.path}"
    count, size = workload.connections, FILES[workload.path[1:]]
    if name == CLIENT:
        return [NEEDED[name], url, count, seconds, size]
    # It looks for the process behind the port unless one is named, which is no cost of a request.
    words = [NEEDED[name], "load", url, "-t", 1, "-c", count, "-d", f"{seconds:g}s"]
    return [*words, "--server-pid", os.getpid(), "--json"]


def requests(name, workload, server, seconds, core):
    """A round whose cost is the load's own, user and system, start and end included."""
    words = servers.pinned(core, [str(x) for x in request_words(name, workload, server, seconds)])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        said, complaint = child.stdout.read(), child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise client.WrongAnswer(f"{name}: {(complaint or said).decode().strip()[-300:]}")
    count = json.loads(said)
    spent = (used.ru_utime + used.ru_stime) * 1e6
    return other_loads.figures(spent, count["answers"], seconds, [])


def requests_in_turns(workload, names, server, rounds, seconds, core):
    found = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(requests(name, workload, server, seconds, core))
    return {name: load.summarize(each) for name, each in found.items()}


# ---- programs that are run, compiled, or looked at ----------------------------------------------


def micro(_, core, repetitions=5):
    words = [TEMPLATE_BENCH, "--benchmark_filter=render_twenty_values", "--benchmark_format=json"]
    words += [f"--benchmark_repetitions={repetitions}"]
    said = json.loads(other_loads.run(words, core, 300))
    times = [one["cpu_time"] for one in said["benchmarks"] if one["run_type"] == "iteration"]
    return {"microseconds": min(times) / 1000, "most": max(times) / 1000}


def compiler():
    return os.environ.get("CXX", "c++")


def processor_seconds(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compile_file(name, _, runs=5):
    """The least of some runs: another process can only make one slower."""
    words = [compiler(), "-std=c++23", "-O2", "-I", servers.ROOT, "-c", NEEDED[name]]
    times = [processor_seconds([*words, "-o", os.devnull]) for _ in range(runs)]
    return {"seconds": min(times), "most": max(times)}


def size(name, _):
    with tempfile.TemporaryDirectory(prefix="tiderace-bench-") as place:
        copy = pathlib.Path(place) / "stripped"
        shutil.copyfile(NEEDED[name], copy)
        subprocess.run(["strip", copy], check=True)
        return {"bytes": copy.stat().st_size}
