"""Measured runs of Tidepool that only `./dev bench data` makes: a page of a node, and the feed's
query in the database. The node and its database share the server's core."""

import contextlib
import dataclasses
import http.client
import json
import re
import statistics
import threading
import urllib.parse

import client
import data_servers
import load
import procfs
import servers
from data_workloads import FEED_POSTGRES, FEED_SQLITE, NODE_POSTGRES, NODE_SQLITE

NODE = servers.BUILD / "examples/tidepool/tidepool"
FEED = servers.BUILD / "bench/data/data_feed"
SOURCES = servers.ROOT / "examples/tidepool"
MEMBERS = 200  # of the demo
NAME, PASSWORD = "ada_1", "tidepool"
FEED_QUERIES = 5_000
NEEDS = {
    NODE_SQLITE: (NODE, None),
    NODE_POSTGRES: (NODE, "initdb"),
    FEED_SQLITE: (FEED, None),
    FEED_POSTGRES: (FEED, "initdb"),
}


def why_absent(name):
    program, needed = NEEDS[name]
    if not program.exists():
        return "not built"
    return f"no {needed}" if needed and data_servers.program(needed) is None else None


@contextlib.contextmanager
def empty_database(place, name, core):
    """The URL of one, with its server."""
    if name in (NODE_SQLITE, FEED_SQLITE):
        yield f"sqlite:{place}/tidepool.db", None
        return
    with data_servers.postgres(place, core) as server:
        yield server.url, server


@contextlib.contextmanager
def node(place, name, core):
    """A node that serves the demo, and its database's server (None: it is in the node)."""
    with empty_database(place, name, core) as (url, database):
        port, log = servers.free_port(), place / "tidepool.log"
        settings = {"TIDEPOOL_DB": url, "TIDEPOOL_PICTURES": "", "TIDEPOOL_FOLDER": str(SOURCES)}
        words = [NODE, "--listen", f"127.0.0.1:{port}", "--demo", MEMBERS]
        server = servers.Server(name, port, servers.spawn(words, core, log, settings))
        try:
            servers.wait_until_it_listens(server, log, 120)
            yield server, database
        finally:
            server.end()


def cookies_of(answer, before):
    found = dict(before)
    for field in answer.headers.get_all("Set-Cookie") or ():
        name, _, value = field.partition(";")[0].partition("=")
        found[name] = value
    return found


def ask(server, method, path, fields, form=None):
    """(answer, its text); client.ask drops the text."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(link):
        link.request(method, path, form, fields)
        answer = link.getresponse()
        return answer, answer.read().decode()


def cookie_text(cookies):
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def session_of(server):
    """The Cookie field of a member who has logged in."""
    answer, page = ask(server, "GET", "/log-in", {})
    cookies = cookies_of(answer, {})
    form = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
    form |= {"who": NAME, "password": PASSWORD}
    fields = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie_text(cookies)}
    answer, _ = ask(server, "POST", "/log-in", fields, urllib.parse.urlencode(form))
    if answer.status != 303:
        raise client.WrongAnswer(f"{server.name} lets nobody in: {answer.status}")
    cookies = cookies_of(answer, cookies)
    return "Cookie: " + cookie_text(cookies)


def page_round(workload, server, database, seconds, core):
    """One load, and the memory of the node in the middle of it."""
    fields, memory = workload.fields, []
    answer = client.ask(server.port, workload.path, fields)
    page = answer.body_bytes
    before = procfs.cpu_microseconds(server.pid)
    theirs = database.cpu_microseconds() if database else 0
    timer = threading.Timer(seconds / 2, lambda: memory.append(procfs.pss_bytes(server.pid)))
    timer.start()
    count, _ = load.run_wrk(workload, server, seconds, core, fields)
    timer.join()
    answers = max(count["bytes"] / answer.bytes, 1)
    return {
        "cpu": (procfs.cpu_microseconds(server.pid) - before) / answers,
        "database": (database.cpu_microseconds() - theirs) / answers if database else 0,
        "requests_per_second": count["requests"] / (count["microseconds"] / 1e6),
        "p99_milliseconds": count["p99"] / 1000,
        "slowest_milliseconds": count["max"] / 1000,
        "megabytes": memory[0] / 1e6,
        "page_bytes": page,
        "answers": count["requests"],
        "faults": list(load.faults(workload, count, answer.bytes)),
    }


def summary(rounds):
    """Medians; of the slowest answer and of memory the worst."""
    found = {
        figure: statistics.median(one[figure] for one in rounds)
        for figure in ("cpu", "database", "requests_per_second", "p99_milliseconds", "page_bytes")
    }
    found |= {f: max(one[f] for one in rounds) for f in ("slowest_milliseconds", "megabytes")}
    costs = [one["cpu"] for one in rounds]
    found |= {"cpu_least": min(costs), "cpu_most": max(costs)}
    found["answers"] = sum(one["answers"] for one in rounds)
    return {**found, "faults": [fault for one in rounds for fault in one["faults"]]}


def looked_at(workload, server):
    """The workload with a member's session, of which the page has the name."""
    asked = dataclasses.replace(workload, fields=(session_of(server),))
    _, page = ask(server, "GET", workload.path, dict([asked.fields[0].split(": ", 1)]))
    if f"/members/{NAME}" not in page:
        raise client.WrongAnswer(f"{server.name}: the page is not that of a member")
    return asked


def pages(workload, names, place, rounds, seconds, cores):
    found, (server_core, client_core) = {}, cores
    for number, name in enumerate(names):
        own = place / str(number)
        own.mkdir(mode=0o755)
        with node(own, name, server_core) as (server, database):
            asked = looked_at(workload, server)
            page_round(asked, server, database, 1, client_core)  # warm; not counted
            each = [
                page_round(asked, server, database, seconds, client_core) for _ in range(rounds)
            ]
        found[name] = summary(each)
    return found


def asked_for_feeds(url, core, queries):
    words = [FEED, url, SOURCES / "migrations", "ask", queries]
    said = data_servers.run(servers.pinned(core, [str(word) for word in words]))
    count = json.loads(said)
    wrong = [f"{count['wrong']} feeds are not whole"] if count["wrong"] else []
    return {**count, "faults": wrong}


def feeds(names, place, rounds, cores):
    """One client asks for one page after another, so that each time is the time of one query."""
    found, (server_core, client_core) = {}, cores
    for number, name in enumerate(names):
        own = place / str(number)
        own.mkdir(mode=0o755)
        with empty_database(own, name, server_core) as (url, _):
            data_servers.run([FEED, url, SOURCES / "migrations", "fill"])
            asked_for_feeds(url, client_core, 200)  # warm; not counted
            each = [asked_for_feeds(url, client_core, FEED_QUERIES) for _ in range(rounds)]
        found[name] = {
            **{f: statistics.median(one[f] for one in each) for f in ("p50", "p99")},
            "most": max(one["most"] for one in each),
            "answers": sum(one["answers"] for one in each),
            "faults": [fault for one in each for fault in one["faults"]],
        }
    return found
