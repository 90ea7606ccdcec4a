#!/usr/bin/env python3
"""Measures the servers side by side. `./dev bench [workload…] [options]` builds, then calls it.

The server is pinned to one core and wrk to another; the servers take turns, and every figure is the
median of the rounds. See workloads.py for what is asked, servers.py for how each is configured.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import signal
import statistics
import sys
import tempfile

import client
import data_loads
import lib_loads
import load
import other_loads
import procfs
import report
import servers
import tidepool_loads
from data_workloads import DATA_WORKLOADS
from lib_workloads import LIB_WORKLOADS
from workloads import CONTENTS, FILES, FLOOR
from workloads import WORKLOADS as SERVER_WORKLOADS

ROOT = servers.ROOT
WORKLOADS = [*SERVER_WORKLOADS, *LIB_WORKLOADS, *DATA_WORKLOADS]
BY_NAME = {workload.name: workload for workload in WORKLOADS}
GROUPS = {workload.group for workload in WORKLOADS if workload.group}


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    choice = f"{', '.join(BY_NAME)}; or all of {', '.join(sorted(GROUPS))}"
    parser.add_argument("workload", nargs="*", help=choice)
    parser.add_argument("--rounds", type=int, default=3, help="of each workload (3)")
    parser.add_argument("--seconds", type=float, help="of each round, instead of the workload's")
    parser.add_argument(
        "--servers", help="only these, by the beginnings of their names: nginx,floor"
    )
    parser.add_argument(
        "--before",
        type=pathlib.Path,
        metavar="BUILD",
        help="the folder build/bench of another checkout: its servers take turns with these",
    )
    parser.add_argument("--readme", action="store_true", help="put the summary into README.md")
    parser.add_argument("--no-save", action="store_true", help="print only")
    found = parser.parse_args()
    unknown = [name for name in found.workload if name not in {*BY_NAME, *GROUPS}]
    if unknown:
        parser.error(f"no workload {unknown[0]}; there are {choice}")
    return found


def chosen(names):
    """The workloads of these names and groups, each once, in the order of the table. Without any
    name: all of the servers; the library's need packages of their own."""
    if not names:
        return SERVER_WORKLOADS
    return [w for w in WORKLOADS if w.name in names or w.group in names]


def words(size):
    """A text that gzip makes a third of: words drawn from a few hundred, the same ones
    every time."""
    drawn = random.Random(1)
    letters = "etaoinshrdlucmfwypvbg"
    known = ["".join(drawn.choices(letters, k=drawn.randint(2, 9))) for _ in range(400)]
    text = ""
    while len(text) < size:
        text += " ".join(drawn.choices(known, k=12)) + "\n"
    return text[:size].encode()


def make_site(folder, wanted):
    folder.mkdir(mode=0o755)
    for name, size in FILES.items():
        if any(workload.path == f"/{name}" for workload in wanted):
            (folder / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with (folder / name).open("wb") as file:
                if name in CONTENTS:
                    file.write(CONTENTS[name])
                elif size > 1 << 24:
                    file.truncate(size)  # zeros, in the page cache once read
                elif name.endswith(".txt"):
                    file.write(words(size))
                else:
                    line = b"<p>The race of the tide is fastest where the channel is narrow.</p>\n"
                    file.write((line * (size // len(line) + 1))[:size])


class Bench:
    def __init__(self, options, place):
        cores = procfs.cores()
        self.server_core, self.client_core = (
            (cores[0], cores[1]) if len(cores) > 1 else (None, None)
        )
        self.options, self.place = options, place
        if self.client_core is not None:
            os.sched_setaffinity(0, {self.client_core})  # we also keep off the server's core

    def names(self, workload):
        """(those to run, {absent: why})"""
        wanted = [name for name in self.all_names(workload) if self.wants(name)]
        absent = {name: self.why_absent(name) for name in wanted}
        return [n for n in wanted if not absent[n]], {n: w for n, w in absent.items() if w}

    def why_absent(self, name):
        if name in lib_loads.NEEDED:
            return None if lib_loads.NEEDED[name].exists() else "not built"
        if name in data_loads.NEEDS:
            return data_loads.why_absent(name)
        if name in tidepool_loads.NEEDS:
            return tidepool_loads.why_absent(name)
        return servers.available(name, self.options.before)

    def all_names(self, workload):
        """With --before, each of our servers is followed by its earlier self."""
        names = []
        for name in workload.servers:
            names.append(name)
            if self.options.before and servers.is_ours(name):
                names.append(name + servers.BEFORE)
        return names

    def wants(self, name):
        only = self.options.servers
        return not only or any(name.startswith(piece) for piece in only.split(","))

    def start_all(self, workload, names):
        before = self.options.before
        return servers.started(names, workload, self.place, self.server_core, before)

    def seconds(self, workload):
        return self.options.seconds or workload.seconds

    def load(self, workload, names):
        def measure(server, seconds, answer):
            return load.measure(workload, server, answer.bytes, seconds, self.client_core)

        return self.in_turns(workload, names, measure)

    def handshakes(self, workload, names):
        def measure(server, seconds, _):
            return other_loads.handshakes(workload, server, seconds, self.client_core)

        return self.in_turns(workload, names, measure)

    def h2(self, workload, names):
        def measure(server, seconds, _):
            share = seconds / workload.seconds
            return other_loads.h2(workload, server, share, self.client_core)

        return self.in_turns(workload, names, measure)

    def echo(self, workload, names):
        def measure(server, seconds, _):
            return other_loads.echo(workload, server, seconds, self.client_core)

        return self.in_turns(workload, names, measure, look=False)

    def in_turns(self, workload, names, measure, look=True):
        rounds = {name: [] for name in names}
        with self.start_all(workload, names) as running:
            size, answers = FILES.get(workload.path[1:]), {}
            if look:
                answers = {one.name: load.check(workload, one, size) for one in running}
                load.check_alike(workload, answers.values())
            for server in running:
                measure(server, 1, answers.get(server.name))  # warm; not counted
            for _ in range(self.options.rounds):
                for server in running:
                    seconds = self.seconds(workload)
                    one = measure(server, seconds, answers.get(server.name))
                    rounds[server.name].append(one)
                    if look:
                        load.check(workload, server, size)
                    print(
                        f"  {server.name:<28}{one.cpu_microseconds:12.2f} µs",
                        *one.faults,
                        file=sys.stderr,
                    )
        return {name: load.summarize(found) for name, found in rounds.items()}

    def idle(self, workload, names):
        return self.holding(
            workload,
            names,
            lambda server: client.idle_memory(
                server, workload.path, workload.connections, workload.secure
            ),
        )

    def idle_h2(self, workload, names):
        return self.holding(
            workload,
            names,
            lambda server: other_loads.idle_h2(server, workload, self.client_core),
        )

    def holding(self, workload, names, hold):
        results = {}
        for name in names:
            with self.start_all(workload, [name]) as (server,):
                found = hold(server)
            results[name] = {
                "base": found.base_bytes,
                "per_connection": found.bytes_per_connection,
                "opened": found.opened,
                "connections_per_second": found.connections_per_second,
                "still_answer": found.still_answer,
                "asked_again": found.asked_again,
            }
        return results

    def streams(self, workload, names):
        return self.holding(
            workload,
            names,
            lambda server: lib_loads.streams(server, workload.path, workload.connections),
        )

    def requests(self, workload, names):
        """The load is what is measured; the floor answers."""
        rounds, seconds = self.options.rounds, self.seconds(workload)
        with self.start_all(workload, [FLOOR]) as (server,):
            load.check(workload, server, FILES[workload.path[1:]])
            return lib_loads.requests_in_turns(
                workload, names, server, rounds, seconds, self.client_core
            )

    def queries(self, workload, names):
        """The client of a database is what is measured; the database has the server's core."""
        rounds, seconds = self.options.rounds, self.seconds(workload)
        place = self.folder_of(workload)
        cores = (self.server_core, self.client_core)
        return data_loads.queries_in_turns(names, place, rounds, seconds, cores)

    def pages(self, workload, names):
        """A node of Tidepool shares the server's core with its database."""
        rounds, seconds = self.options.rounds, self.seconds(workload)
        cores = (self.server_core, self.client_core)
        place = self.folder_of(workload)
        return tidepool_loads.pages(workload, names, place, rounds, seconds, cores)

    def feeds(self, workload, names):
        cores = (self.server_core, self.client_core)
        place = self.folder_of(workload)
        return tidepool_loads.feeds(names, place, self.options.rounds, cores)

    def folder_of(self, workload):
        place = self.place / workload.name
        place.mkdir(mode=0o755)
        return place

    def micro(self, _, names):
        return {name: lib_loads.micro(name, self.server_core) for name in names}

    def compile(self, _, names):
        return {name: lib_loads.compile_file(name, self.server_core) for name in names}

    def size(self, _, names):
        return {name: lib_loads.size(name, self.server_core) for name in names}

    def start(self, workload, names):
        times = {name: [] for name in names}
        for _ in range(max(self.options.rounds, 3) * 3):
            for name in names:
                elapsed = client.first_answer_microseconds(
                    lambda n=name: servers.start(
                        n, workload, self.place, None, wait=False, before=self.options.before
                    ),
                    workload.path,
                )
                times[name].append(elapsed / 1000)
        return {
            name: {"milliseconds": statistics.median(t), "least": min(t), "most": max(t)}
            for name, t in times.items()
        }

    def run(self, workload):
        names, absent = self.names(workload)
        measured = getattr(self, workload.kind)(workload, names) if names else {}
        return {
            name: measured[name] if name in measured else {"absent": absent[name]}
            for name in [n for n in self.all_names(workload) if n in measured or n in absent]
        }


def save(facts, every, text, readme):
    folder = ROOT / "bench/results"
    folder.mkdir(exist_ok=True)
    stem = f"{facts['date']}-{facts['commit']}"
    (folder / f"{stem}.md").write_text(text)
    record = {"machine": facts, "workloads": every}
    (folder / f"{stem}.json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"written to bench/results/{stem}.md", file=sys.stderr)
    if readme:
        report.put_into_readme(ROOT / "README.md", every, facts, f"bench/results/{stem}.md")


def raise_descriptor_limit(wanted=65_536):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        wanted = hard
    if wanted < 12_000:
        print(f"bench: only {wanted} descriptors; 10,000 connections may not fit", file=sys.stderr)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def main():
    # Ended from outside, it still ends the servers it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = arguments()
    wanted = chosen(options.workload)
    raise_descriptor_limit()
    facts, every, sections, failed = report.machine(), {}, [], False
    with tempfile.TemporaryDirectory(prefix="tiderace-bench-") as scratch:
        place = pathlib.Path(scratch)
        place.chmod(0o755)
        make_site(place / "site", wanted)
        bench = Bench(options, place)
        for workload in wanted:
            print(f"{workload.name}: {workload.about}", file=sys.stderr)
            try:
                results = bench.run(workload)
            except (client.WrongAnswer, RuntimeError, OSError) as wrong:
                failed = True
                sections.append(f"## {workload.name}: {workload.about}\n\n**failed**: {wrong}\n")
                continue
            every[workload.name] = results
            failed |= any(found.get("faults") for found in results.values())
            sections.append(report.section(workload, results))
    is_pinned = bench.server_core is not None
    pinned = "The server has one core and the load generator another." if is_pinned else ""
    settings = f"One worker each, access log off. {pinned} {options.rounds} rounds, alternating."
    text = report.document(facts, settings, sections)
    print(text)
    if not options.no_save:
        save(facts, every, text, options.readme)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
