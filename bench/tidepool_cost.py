#!/usr/bin/env python3
"""Processor time of a page of Tidepool for a member, its latency, and the memory of a node.

usage: tidepool_cost.py TIDEPOOL TIDERACE [REQUESTS] [ROUNDS] [CONNECTIONS]

The page is a member's, with the session looked up and the posts selected; SQLite, one loop on the
first CPU, the load on the second. Processor time is the whole process's, its pool's threads too.
"""

import contextlib
import http.cookiejar
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import procfs
import servers

MEMBERS = 50
PASSWORD = "tidepool"  # of every member of the demo
PAGES = {"about": "/about", "a post": "/posts/3", "a member": "/members/brook_2", "feed": "/"}


@contextlib.contextmanager
def node(tidepool, folder, core):
    words = [tidepool, "--listen", "127.0.0.1:0", "--demo", MEMBERS]
    environment = {**os.environ, "TIDEPOOL_DB": f"sqlite:{folder}/tidepool.db"}
    process = subprocess.Popen(servers.pinned(core, [str(word) for word in words]), cwd=folder,
                               env=environment, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if place := re.search(r"http://[^/]*:(\d+)", line):
                yield process, f"http://127.0.0.1:{place[1]}"
                break
        else:
            raise RuntimeError("Tidepool does not start")
    finally:
        process.terminate()
        process.wait()


def log_in(site):
    """The member's cookies, as one field."""
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    page = browser.open(f"{site}/log-in").read().decode()
    token = re.search(r'name="csrf" value="([^"]*)"', page)
    fields = {"who": "ada_1", "password": PASSWORD, **({"csrf": token[1]} if token else {})}
    browser.open(f"{site}/log-in", urllib.parse.urlencode(fields).encode())
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def ask(tiderace, address, cookie, requests, connections, core):
    """Every answer is read and checked to be a 200. The report of the load."""
    words = [tiderace, "load", address, "-c", connections, "-n", requests, "-t", 1, "--json"]
    words += ["-H", f"Cookie: {cookie}"]
    done = subprocess.run(servers.pinned(core, [str(word) for word in words]), check=True,
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main(tidepool, tiderace, requests=10_000, rounds=5, connections=100):
    cores = procfs.cores()
    tidepool, tiderace = (pathlib.Path(path).resolve() for path in (tidepool, tiderace))
    with tempfile.TemporaryDirectory() as folder, node(tidepool, folder, cores[0]) as (it, site):
        cookie = log_in(site)
        for name, path in PAGES.items():
            asked = urllib.request.Request(site + path, headers={"Cookie": cookie})
            size = len(urllib.request.urlopen(asked).read())
            costs, answers = [], []
            for turn in range(int(rounds) + 1):
                before = procfs.cpu_microseconds(it.pid)
                report = ask(tiderace, site + path, cookie, requests, connections, cores[-1])
                if turn > 0:  # the first is to warm up
                    costs.append((procfs.cpu_microseconds(it.pid) - before) / int(requests))
                    answers.append(report["latency_ns"])
            p99, slowest = (max(one[which] for one in answers) / 1e6 for which in ("p99", "max"))
            cost = f"{statistics.median(costs):.1f} us ({min(costs):.1f} to {max(costs):.1f})"
            print(f"{name}, {size} bytes: {cost}, p99 {p99:.1f} ms, the slowest {slowest:.1f} ms "
                  "(worst round)", flush=True)
        print(f"memory of the node: {procfs.pss_bytes(it.pid) / 2**20:.1f} MiB")
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
