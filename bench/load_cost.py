#!/usr/bin/env python3
"""The cost of a load for the machine that makes it: `tiderace load` beside wrk, CPU microseconds
for each answer, user and system, by the kernel's account of the process.

usage: load_cost.py TIDERACE [--server nginx|tiderace] [--rounds N] [--seconds N] [--connections N]

One server on one CPU, the load on another, 1,000 bytes, keep-alive, one loop and one thread each;
rounds in turns, medians. Who listens is not looked for (--server-pid names this script): that costs
some 40 ms once on a machine of many processes, which is no cost of an answer. Prints Markdown.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import time

# Started by root, the server would become an unprivileged user, which cannot enter its folder here.
STAY_ROOT = ["--user", "root"] if os.geteuid() == 0 else []


def use_of(command, cpu):
    """Runs it on that CPU; its output and its CPU seconds."""
    process = subprocess.Popen(["taskset", "-c", str(cpu), *command], stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, out
    return out.decode(), used.ru_utime + used.ru_stime


def wrk(url, args):
    out, used = use_of(["wrk", "-t1", f"-c{args.connections}", f"-d{args.seconds}s", url], 1)
    answers = int(re.search(r"(\d+) requests in", out)[1])
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    return used * 1e6 / answers, answers / args.seconds


def ours(url, args):
    out, used = use_of([args.tiderace, "load", url, "-t", "1", "-c", str(args.connections), "-d",
                        f"{args.seconds}s", "--server-pid", str(os.getpid()), "--json"], 1)
    report = json.loads(out)
    return used * 1e6 / report["answers"], report["per_second"]


@contextlib.contextmanager
def server(args, folder):
    (folder / "page.txt").write_bytes(b"x" * 1000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    if args.server == "nginx":
        (folder / "conf").write_text(
            ("user root;\n" if os.geteuid() == 0 else "") +
            f"daemon off; pid {folder}/pid; error_log {folder}/error; worker_processes 1;\n"
            "events { worker_connections 1024; }\nhttp { access_log off; keepalive_requests "
            "1000000000; open_file_cache max=100; sendfile on;\n"
            f"server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
        command = ["nginx", "-e", f"{folder}/error", "-c", f"{folder}/conf"]
    else:
        command = [args.tiderace, "serve", str(folder), *STAY_ROOT, "--listen", f"127.0.0.1:{port}",
                   "--threads", "1"]
    process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/page.txt"
    finally:
        process.terminate()
        process.wait(20)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tiderace")
    parser.add_argument("--server", choices=["nginx", "tiderace"], default="nginx")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=64)
    args = parser.parse_args()
    figures = {"wrk": [], "tiderace load": []}
    with tempfile.TemporaryDirectory() as name, server(args, pathlib.Path(name)) as url:
        for turn in range(args.rounds):
            pair = [("wrk", wrk), ("tiderace load", ours)]
            for who, measure in pair if turn % 2 == 0 else reversed(pair):
                figures[who].append(measure(url, args))
    middle = {who: statistics.median(cpu for cpu, _ in all_) for who, all_ in figures.items()}
    print(f"\n{args.server}, {args.connections} connections, {args.rounds} rounds of "
          f"{args.seconds} s\n\n| load | CPU us per answer, median | all rounds | answers/s |\n"
          "|---|---|---|---|")
    for who, all_ in figures.items():
        rate = statistics.median(rate for _, rate in all_)
        print(f"| {who} | {middle[who]:.2f} | {' '.join(f'{cpu:.2f}' for cpu, _ in sorted(all_))} "
              f"| {rate:,.0f} |")
    print(f"\nratio {middle['tiderace load'] / middle['wrk']:.2f}")


if __name__ == "__main__":
    main()
