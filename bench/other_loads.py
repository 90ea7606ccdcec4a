"""Measured runs of the loads that wrk cannot make: handshakes, HTTP/2 (by h2load), echoes, and
connections of HTTP/2 that are only held. Each checks every answer, or counts the checked ones."""

import contextlib
import json
import re
import subprocess
import time

import client
import load
import procfs
import servers
from workloads import FILES

PROGRAMS = servers.BUILD / "bench"


def run(words, core, seconds_max):
    """The output of a load generator that must succeed."""
    said = subprocess.run(
        servers.pinned(core, [str(word) for word in words]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds_max,
        check=False,
    )
    if said.returncode != 0:
        raise client.WrongAnswer(f"{words[0]}: {(said.stderr or said.stdout).strip()[-300:]}")
    return said.stdout


def figures(spent, answers, seconds, faults):
    return load.Round(
        cpu_microseconds=spent / max(answers, 1),
        requests_per_second=answers / seconds,
        answers=answers,
        faults=tuple(faults),
    )


# ---- handshakes ---------------------------------------------------------------------------------


def handshake_faults(workload, count):
    if count["faults"]:
        yield f"{count['faults']} connections without a whole answer"
    wanted = count["handshakes"] if workload.resumed else 0
    if count["resumed"] != wanted:
        yield f"{count['resumed']} of {count['handshakes']} handshakes resumed, expected {wanted}"
    if count["handshakes"] == 0:
        yield "no handshake"


def handshakes(workload, server, seconds, core):
    size = FILES[workload.path[1:]]
    words = [PROGRAMS / "handshakes", server.port, seconds, workload.connections, workload.path]
    words += [size, *(["resume"] if workload.resumed else [])]
    before = procfs.cpu_microseconds(server.pid)
    count = load.counted(run(words, core, seconds + 60))
    spent = procfs.cpu_microseconds(server.pid) - before
    faults = list(handshake_faults(workload, count))
    return figures(spent, count["handshakes"], count["seconds"], faults)


# ---- HTTP/2 -------------------------------------------------------------------------------------


def h2load_counts(text):
    """The figures that h2load prints, as numbers."""
    patterns = {
        "seconds": r"finished in ([\d.]+)(us|ms|s|m)?,",
        "succeeded": r"(\d+) succeeded",
        "statuses": r"status codes: (\d+) 2xx",
        "data": r"\((\d+)\) data",
        "protocol": r"Application protocol: (\S+)",
    }
    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    if not all(found.values()):
        raise client.WrongAnswer(f"h2load: {text.strip()[-300:]}")
    units = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, None: 1}
    seconds = float(found["seconds"][1]) * units[found["seconds"][2]]
    counts = {name: int(found[name][1]) for name in ("succeeded", "statuses", "data")}
    return {**counts, "seconds": seconds, "protocol": found["protocol"][1]}


def h2_faults(count, requests, size):
    if count["protocol"] != "h2":
        yield f"{count['protocol']} was spoken, not h2"
    for name in ("succeeded", "statuses"):
        if count[name] != requests:
            yield f"{count[name]} of {requests} answers {name.replace('statuses', 'with 2xx')}"
    if count["data"] != requests * size:
        yield f"{count['data']} bytes for {requests} answers of {size}"


def h2(workload, server, share, core):
    """`share` of the workload's requests."""
    requests = max(int(workload.requests * share), 1000)
    words = ["h2load", "-t1", f"-c{workload.connections}", f"-m{workload.streams}", f"-n{requests}"]
    words += ["--tls13-ciphers=TLS_AES_128_GCM_SHA256"]
    words += [f"https://127.0.0.1:{server.port}{workload.path}"]
    before = procfs.cpu_microseconds(server.pid)
    count = h2load_counts(run(words, core, 300))
    spent = procfs.cpu_microseconds(server.pid) - before
    faults = h2_faults(count, requests, FILES[workload.path[1:]])
    return figures(spent, requests, count["seconds"], faults)


# ---- echoes -------------------------------------------------------------------------------------

ECHO_PAYLOAD_BYTES = 64


@contextlib.contextmanager
def conversation(words, core):
    """A program that prints a line when it is ready, and continues on request."""
    child = subprocess.Popen(
        servers.pinned(core, [str(word) for word in words]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def expect(child, beginning):
    line = child.stdout.readline()
    if not line.startswith(beginning):
        raise client.WrongAnswer(f"{beginning}: {line or child.stderr.read().strip()}")
    return line.removeprefix(beginning)


def tell(child, line):
    child.stdin.write(line + "\n")
    child.stdin.flush()


def echo(workload, server, seconds, core):
    kind = "websocket" if "WebSocket" in server.name else "raw"
    words = [PROGRAMS / "echo_load", server.port, seconds, workload.connections]
    words += [ECHO_PAYLOAD_BYTES, kind]
    with conversation(words, core) as child:
        expect(child, "open")
        before = procfs.cpu_microseconds(server.pid)
        tell(child, "")
        count = json.loads(expect(child, "counted "))
        spent = procfs.cpu_microseconds(server.pid) - before
    few = count["messages"] < workload.connections
    faults = [f"only {count['messages']} messages"] if few else []
    return figures(spent, count["messages"], count["seconds"], faults)


# ---- idle ---------------------------------------------------------------------------------------


def idle_h2(server, workload, core, settle_seconds=1.0):
    size, count = FILES[workload.path[1:]], workload.connections
    client.ask(server.port, workload.path, secure=True)
    time.sleep(settle_seconds)
    base, written = procfs.pss_bytes(server.pid), procfs.written_bytes(server.pid)
    step = max(1, count // 100)
    began = time.monotonic()
    words = [PROGRAMS / "idle_h2", server.port, count, workload.path, size]
    with conversation(words, core) as child:
        opened = int(expect(child, "held "))
        seconds = time.monotonic() - began
        time.sleep(settle_seconds)
        grown = procfs.written_bytes(server.pid) - written
        tell(child, f"again {step}")
        answered = int(expect(child, "answered "))
    return client.IdleMemory(
        base, opened, grown / count, count / seconds, answered, -(-count // step)
    )
