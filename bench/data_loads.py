"""Measured runs that only `./dev bench data` makes: clients of a database, ours and the bare loops
on the client libraries. The database has the server's core, the client the other; the cost of a
query is the client's own processor time, and the answers are checked by each client."""

import json
import os
import re
import subprocess

import client
import data_servers
import load
import other_loads
import servers
from data_workloads import (
    CONNECTOR,
    LIBPQ,
    MARIADB,
    OURS,
    POSTGRES,
    REDIS,
    REDIS_BENCHMARK,
    SQLITE,
    SQLITE3,
)

DATA = servers.BUILD / "bench/data"
TASKS, CONNECTIONS = 64, 8
REDIS_CLIENTS, REDIS_PIPELINE, REDIS_RATE_MAX = 50, 16, 1_500_000
PROGRAMS = {
    LIBPQ: DATA / "floor_postgres",
    CONNECTOR: DATA / "floor_mariadb",
    SQLITE3: DATA / "floor_sqlite",
    REDIS: servers.BUILD / "bench/redis_get",
    **dict.fromkeys((POSTGRES, MARIADB, SQLITE), DATA / "data_select"),
}
NEEDS = {  # the program of the database's own
    **dict.fromkeys((LIBPQ, POSTGRES), ("initdb", data_servers.postgres)),
    **dict.fromkeys((CONNECTOR, MARIADB), ("mariadbd", data_servers.mariadb)),
    **dict.fromkeys((SQLITE3, SQLITE), (None, data_servers.sqlite)),
    **dict.fromkeys((REDIS_BENCHMARK, REDIS), ("redis-server", data_servers.redis)),
}


def why_absent(name):
    if name in PROGRAMS and not PROGRAMS[name].exists():
        return "not built"
    needed = NEEDS[name][0]
    return f"no {needed}" if needed and data_servers.program(needed) is None else None


def words(name, database, seconds):
    if name == LIBPQ:
        depth = TASKS // CONNECTIONS
        found = [database.folder, data_servers.NAME, CONNECTIONS, depth, seconds]
    elif name == CONNECTOR:
        found = [database.socket, data_servers.NAME, CONNECTIONS, seconds]
    elif name == SQLITE3:
        found = [database.path, seconds]
    elif name == REDIS_BENCHMARK:
        clients = ["-c", REDIS_CLIENTS, "-P", REDIS_PIPELINE, "-n", redis_requests(seconds)]
        return [data_servers.program(name), "-s", database.socket, "-t", "get", *clients, "--csv"]
    elif name == REDIS:
        found = [database.url, "--tasks", REDIS_CLIENTS, "--pipeline", REDIS_PIPELINE]
        found += ["--requests", redis_requests(seconds)]
    else:
        found = [database.url, TASKS, CONNECTIONS, seconds]
    return [PROGRAMS[name], *found]


def redis_requests(seconds):
    """redis-benchmark takes a number, and no time."""
    return int(REDIS_RATE_MAX * seconds)


def counted(name, said, seconds):
    """(answers, a second, faults) of what the client printed."""
    if name == REDIS_BENCHMARK:
        rate = re.search(r'^"GET","([\d.]+)"', said, re.M)
        if rate is None:
            raise client.WrongAnswer(f"{name}: {said.strip()[-300:]}")
        return redis_requests(seconds), float(rate[1]), ()
    if name == REDIS:
        found = re.search(r"GET: (\d+) requests per second, (\d+) wrong", said)
        wrong = int(found[2])
        return redis_requests(seconds), float(found[1]), (f"{wrong} wrong",) if wrong else ()
    count = json.loads(said)
    faults = [f"{count['wrong']} wrong answers"] if count["wrong"] else []
    faults += ["no answer"] if count["answers"] == 0 else []
    return count["answers"], count["answers"] / count["seconds"], tuple(faults)


def queries(name, database, seconds, core):
    """A round: the client's processor time for an answer, start and end included."""
    line = servers.pinned(core, [str(word) for word in words(name, database, seconds)])
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        said, complaint = child.stdout.read().decode(), child.stderr.read().decode()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise client.WrongAnswer(f"{name}: {(complaint or said).strip()[-300:]}")
    answers, rate, faults = counted(name, said, seconds)
    spent = (used.ru_utime + used.ru_stime) * 1e6
    return load.Round(spent / max(answers, 1), rate, answers, faults)


def queries_in_turns(names, place, rounds, seconds, cores):
    found = {name: [] for name in names}
    server_core, client_core = cores
    with NEEDS[names[0]][1](place, server_core) as database:
        for name in names:
            queries(name, database, 1, client_core)  # warm; not counted
        for _ in range(rounds):
            for name in names:
                before = database.cpu_microseconds()
                one = queries(name, database, seconds, client_core)
                theirs = (database.cpu_microseconds() - before) / max(one.answers, 1)
                found[name].append((one, theirs))
    return {name: summary(each) for name, each in found.items()}


def summary(rounds):
    sums = load.summarize([one for one, _ in rounds])
    theirs = sorted(cost for _, cost in rounds)
    return {**sums, "database": theirs[len(theirs) // 2]}
