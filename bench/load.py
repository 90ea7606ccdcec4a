"""One measured run of wrk against one server, and the sums over the rounds."""

import dataclasses
import json
import pathlib
import statistics
import subprocess
import time

import client
import procfs
import servers
from workloads import CONTENTS

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Round:
    cpu_microseconds: float  # of the server, for one answer
    requests_per_second: float
    answers: int
    faults: tuple  # sentences; a round with any does not count
    p50_microseconds: float = 0  # 0: the generator does not say
    p99_microseconds: float = 0


def fields_for(workload, server):
    """The request fields, with the server's own entity tag where the workload is conditional."""
    if server.name.removesuffix(servers.BEFORE) in workload.plain:
        return ()
    if not workload.conditional:
        return workload.fields
    tag = client.ask(server.port, workload.path).fields.get("etag")
    if not tag:
        raise client.WrongAnswer(f"{server.name} sends no ETag")
    return (*workload.fields, f"If-None-Match: {tag}")


def check(workload, server, file_bytes):
    """Asks as the load will ask. Returns the answer that every other one must be as long as."""
    fields = fields_for(workload, server)
    answer = asked_when_warm(workload, server, fields)
    if answer.status != workload.status:
        raise client.WrongAnswer(f"{server.name} answers {answer.status}, not {workload.status}")
    if workload.status == 200 and answer.body_bytes != file_bytes:
        raise client.WrongAnswer(f"{server.name}: {answer.body_bytes} bytes, not {file_bytes}")
    if workload.wants_gzip and (answer.fields.get("content-encoding") == "gzip") != bool(fields):
        raise client.WrongAnswer(f"{server.name} does not compress as it was asked to")
    if workload.pipelined > 1:
        for one in client.ask_pipelined(server.port, workload.path, workload.pipelined):
            if (one.status, one.body_bytes) != (answer.status, answer.body_bytes):
                raise client.WrongAnswer(f"{server.name} breaks a pipeline of {workload.pipelined}")
    return answer


def asked_when_warm(workload, server, fields, seconds_max=10):
    """The answer; where it is to be compressed, the one that comes when the server has made it:
    in the background, from a file that has rested for a while."""
    until = time.monotonic() + seconds_max
    while True:
        body = CONTENTS[workload.path[1:]] if workload.posts else None
        answer = client.ask(server.port, workload.path, fields, server.secure, body)
        coded = answer.fields.get("content-encoding") == "gzip"
        if coded or not (workload.wants_gzip and fields) or time.monotonic() > until:
            return answer
        time.sleep(0.2)


def check_alike(workload, answers):
    """All send the same file and, where it is encrypted, encrypt it alike."""
    if workload.status == 200 and len({answer.checksum for answer in answers}) > 1:
        raise client.WrongAnswer("the servers do not send the same bytes")
    found = {answer.tls for answer in answers}
    if len(found) > 1:
        raise client.WrongAnswer(f"the servers do not encrypt alike: {sorted(found)}")


def wrk_words(workload, server, seconds, core, fields):
    script = "pipelined.lua" if workload.pipelined > 1 else "plain.lua"
    script = "post.lua" if workload.posts else script
    words = [] if core is None else ["taskset", "-c", str(core)]
    words += ["wrk", "-t1", f"-c{workload.connections}", f"-d{seconds:g}s", "--timeout", "20s"]
    for field in fields:
        words += ["-H", field]
    scheme = "https" if server.secure else "http"
    url = f"{scheme}://127.0.0.1:{server.port}{workload.path}"
    words += ["-s", str(HERE / "wrk" / script), url]
    if workload.posts:
        return [*words, "--", CONTENTS[workload.path[1:]].decode()]
    return [*words, "--", str(workload.pipelined)] if workload.pipelined > 1 else words


def counted(output):
    for line in output.splitlines():
        if line.startswith("counted "):
            return json.loads(line.removeprefix("counted "))
    raise client.WrongAnswer(f"wrk said nothing to count: {output[-300:]}")


def faults(workload, count, answer_bytes):
    """Faults that make a round worthless: errors, another status, answers of another length."""
    for name in ("connect", "read", "write", "timeout"):
        if count[name] and not (workload.closes and name == "read"):
            yield f"{count[name]} {name} errors"
    refused = count["requests"] if workload.status >= 400 else 0
    if count["status"] != refused:
        yield f"{count['status']} answers above 399, expected {refused}"
    if count["bytes"] == 0:
        yield "nothing was answered"
    least = count["requests"] * answer_bytes
    most = least + workload.connections * workload.pipelined * answer_bytes  # begun, not ended
    if not least <= count["bytes"] <= most:
        yield f"{count['bytes']} bytes for {count['requests']} answers of {answer_bytes}"


def run_wrk(workload, server, seconds, core, fields):
    """Runs it to the end. Returns what it counted, and how many connections the server had open."""
    words = wrk_words(workload, server, seconds, core, fields)
    idle = procfs.open_descriptors(server.pid)
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as wrk:
        time.sleep(seconds * 0.6)
        held = procfs.open_descriptors(server.pid) - idle
        try:
            said, complaint = wrk.communicate(timeout=seconds + 90)
        finally:
            wrk.kill()
    if wrk.returncode != 0:
        raise client.WrongAnswer(f"wrk failed: {complaint[-300:]}")
    settle(server, idle)
    return counted(said), held


def measure(workload, server, answer_bytes, seconds, core):
    fields = fields_for(workload, server)
    before = procfs.cpu_microseconds(server.pid)
    count, held = run_wrk(workload, server, seconds, core, fields)
    spent = procfs.cpu_microseconds(server.pid) - before
    found = list(faults(workload, count, answer_bytes))
    if held < workload.connections and not workload.closes:
        found.append(f"only {held} of {workload.connections} connections were open")
    # By bytes, so that answers begun but not ended when the time was up are not lost.
    answers = max(count["bytes"] / answer_bytes, 1)
    return Round(
        cpu_microseconds=spent / answers,
        requests_per_second=count["requests"] / (count["microseconds"] / 1e6),
        p50_microseconds=count["p50"],
        p99_microseconds=count["p99"],
        answers=count["requests"],
        faults=tuple(found),
    )


def settle(server, held_before, seconds_max=5):
    """Waits until the server has closed what the last run left open."""
    until = time.monotonic() + seconds_max
    while time.monotonic() < until and procfs.open_descriptors(server.pid) > held_before:
        time.sleep(0.02)


def summarize(rounds):
    """The median of each figure over the rounds, and the spread of the one that matters."""
    costs = [one.cpu_microseconds for one in rounds]
    middle = {
        "cpu": statistics.median(costs),
        "cpu_least": min(costs),
        "cpu_most": max(costs),
        "requests_per_second": statistics.median(one.requests_per_second for one in rounds),
        "p50": statistics.median(one.p50_microseconds for one in rounds),
        "p99": statistics.median(one.p99_microseconds for one in rounds),
        "answers": sum(one.answers for one in rounds),
    }
    return {**middle, "faults": [fault for one in rounds for fault in one.faults]}
