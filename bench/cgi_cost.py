#!/usr/bin/env python3
"""Processor time of one CGI request beside a bare posix_spawn with pipes, children included.

usage: cgi_cost.py TIDERACE CGI_SPAWN [REQUESTS] [ROUNDS]
"""

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(pid):
    """Seconds of a process and of the children that it has reaped."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICK


def ask(connection, count):
    for _ in range(count):
        connection.sendall(b"GET /cgi-bin/hello HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b""
        while not answer.endswith(b"0\r\n\r\n"):
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 OK") and b"hello" in answer, answer


def main(program, spawn, requests=2000, rounds=5):
    requests, rounds = int(requests), int(rounds)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cgi").mkdir()
        (Path(folder) / "root").mkdir()
        hello = shutil.copy(spawn, Path(folder) / "cgi" / "hello")
        server = subprocess.Popen(
            [program, "serve", f"{folder}/root", "--cgi", f"/cgi-bin={folder}/cgi", "--listen",
             "127.0.0.1:0", "--threads", "1", "--compress", "off", "--user", "root"],
            stdout=subprocess.PIPE, text=True)
        try:
            port = next(int(found[1]) for line in server.stdout
                        if (found := re.search(r"http://[^/]*:(\d+)", line)))
            connection = socket.create_connection(("127.0.0.1", port))
            ask(connection, 50)
            ratios = []
            for _ in range(rounds):
                bare = float(subprocess.check_output([spawn, str(requests), hello]))
                before = cpu_of(server.pid)
                ask(connection, requests)
                time.sleep(0.2)
                ours = (cpu_of(server.pid) - before) / requests * 1e6
                ratios.append(ours / bare)
                print(f"posix_spawn {bare:.0f} us, tiderace {ours:.0f} us, {ours / bare:.2f} x")
            print(f"median {statistics.median(ratios):.2f} x; load {os.getloadavg()[0]:.1f}")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
