"""Kills kv with SIGKILL at random moments under load; nothing that it acknowledged may be lost.

    python3 kv_kills.py KV 1000 [SEED]    the program; how many kills; what chooses the moments

Each kill is counted on standard output once all that the server answered was found again.
"""

import random
import re
import socket
import sys
import tempfile
import threading
from pathlib import Path

from example_program import Example
from server import wait_until

SECONDS_MAX = 60
FLAGS = ("--appendonly", "yes", "--fsync", "always", "--rewrite-min", "20000")


def encode(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def connect(place):
    return socket.create_connection(place, timeout=SECONDS_MAX)


class Kv(Example):
    def places(self):
        return [(host, int(port))
                for host, port in re.findall(r"listens on ([\w.]+):(\d+)$", self.stdout, re.M)]

    @property
    def place(self):
        return self.places()[0]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.stopped = True


class Asker:
    """A connection that sends a command and reads its answer: a number, or texts."""

    def __init__(self, place):
        self.socket = connect(place)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def __call__(self, *words):
        self.socket.sendall(encode(*words))
        return self.read()

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2].decode()
        assert kind == b"*", line
        return [self.read() for _ in range(int(rest))]


def push_until_gone(place, name, begin, pipeline):
    """Pushes numbers to a list of its own until the server is gone: (acknowledged, sent)."""
    sent = answered = begin
    try:
        with connect(place) as raw:
            while True:
                raw.sendall(b"".join(encode("RPUSH", name, sent + i) for i in range(pipeline)))
                sent += pipeline
                heard = b""
                while heard.count(b"\r\n") < pipeline:
                    piece = raw.recv(65536)
                    if not piece:
                        return answered + heard.count(b"\r\n"), sent
                    heard += piece
                assert b"-" not in heard, heard[:200]
                answered += pipeline
    except OSError:
        return answered, sent


def kill_again_and_again(start, kills, seed=11, report=lambda done, kept: None):
    """`start` starts a server on the same folder each time; a Kv."""
    seeded = random.Random(seed)
    kept = {f"list{i}": 0 for i in range(4)}
    server = start()
    for done in range(kills):
        results = {}

        def push(name, begin, pipeline, place=server.place, results=results):
            results[name] = push_until_gone(place, name, begin, pipeline)

        threads = [threading.Thread(target=push, args=(name, begin, seeded.choice([1, 3, 20])))
                   for name, begin in kept.items()]
        for thread in threads:
            thread.start()
        # A random moment: at a random byte of the log, or during a snapshot.
        wanted = sum(kept.values()) + seeded.randrange(1, 300)
        with Asker(server.place) as ask:
            wait_until(lambda ask=ask, wanted=wanted: sum(
                ask("LLEN", name) for name in kept) >= wanted)
        server.kill()
        for thread in threads:
            thread.join()
        server = start()
        with Asker(server.place) as ask:
            assert results.keys() == kept.keys()
            for name, (answered, sent) in results.items():
                elements = ask("LRANGE", name, 0, -1)
                assert elements == [str(i) for i in range(len(elements))]
                assert answered <= len(elements) <= sent, (name, answered, len(elements), sent)
                kept[name] = len(elements)
        report(done + 1, sum(kept.values()))
    return server


def main():
    program, kills = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kv-kills-") as name:
        data, words = Path(name) / "data", Path(name) / "words"
        data.mkdir()
        words.mkdir()
        servers = []

        def start():
            servers[:] = [Kv(program, "--listen", "127.0.0.1:0", "--dir", data, *FLAGS,
                             folder=words)]
            return servers[0].wait_ready()

        try:
            kill_again_and_again(start, kills, seed, lambda done, kept: print(
                f"{done} kills, {kept} pushes found again", flush=True))
        finally:
            for server in servers:
                server.kill()


if __name__ == "__main__":
    main()
