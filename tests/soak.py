"""A soak: every kind of bad company at once, and among it checked traffic that must stay right.

    python3 soak.py 127.0.0.1:8080 60    a server that runs already and serves site_folder.py's
"""

import random
import socket
import sys
import threading
import time
from collections import Counter

from raw_client import BadAnswer, Connection, NoAnswer, request
from site_folder import BIG, MIDDLE, pattern

CONTENT = {"/a.txt": b"hello\n", "/next.txt": b"next\n", "/empty.txt": b"",
           "/k.bin": pattern(1024, 2), "/middle.bin": pattern(MIDDLE, 3),
           "/big.bin": pattern(BIG, 4)}
SMALL = ["/a.txt", "/next.txt", "/empty.txt", "/k.bin", "/middle.bin"]


class Soak:
    # `changes` are of changing_site.py: what changes on other servers meanwhile.
    def __init__(self, address, seconds, seed=1, changes=()):
        self.address = address
        self.changes = changes
        self.seconds = seconds
        self.seed = seed
        self.over = threading.Event()
        self.counts = Counter()
        self.wrong = []

    def run(self):
        kinds = [self.checked, self.checked, self.pipelined, self.slow_reader, self.slow_reader,
                 self.dripping, self.resetting, self.half_closing, self.storming, self.garbling]
        kinds += [kind for change in self.changes for kind in change.kinds]
        threads = [threading.Thread(target=self.keep_doing, args=(kind, random.Random(
            self.seed * 1000 + index))) for index, kind in enumerate(kinds)]
        for thread in threads:
            thread.start()
        self.over.wait(self.seconds)
        self.over.set()
        for thread in threads:
            thread.join(60)
        if any(thread.is_alive() for thread in threads):
            self.wrong.append("a client did not come to an end")
        return self

    def keep_doing(self, kind, rng):
        while not self.over.is_set():
            try:
                kind(rng)
                self.counts[kind.__name__] += 1
            except (BadAnswer, NoAnswer, AssertionError, OSError) as failure:
                self.wrong.append(f"{kind.__name__}: {type(failure).__name__}: {failure}"[:500])
                if len(self.wrong) > 20:
                    self.over.set()

    # Well-behaved clients: each answer is checked.

    def checked(self, rng):
        with Connection(self.address) as connection:
            for _ in range(rng.randrange(1, 60)):
                kind = rng.randrange(10)
                target = rng.choice(SMALL)
                body = CONTENT[target]
                if kind == 0:
                    assert connection.get("/absent").status == 404
                elif kind == 1:
                    head = connection.get(target, method="HEAD")
                    assert head.get("content-length") == str(len(body))
                elif kind == 2:
                    first = rng.randrange(1000)
                    last = rng.randrange(first, 1024)
                    answer = connection.get("/k.bin", f"Range: bytes={first}-{last}")
                    assert answer.status == 206
                    assert answer.body == CONTENT["/k.bin"][first:last + 1]
                elif kind == 3:
                    etag = connection.get(target).get("etag")
                    assert connection.get(target, f"If-None-Match: {etag}").status == 304
                elif kind == 4:
                    size = rng.randrange(1, 5000)
                    assert connection.get(target, method="POST", body=b"z" * size).status == 405
                else:
                    answer = connection.get(target)
                    assert answer.status == 200 and answer.body == body, target
                self.counts["checked answers"] += 1

    def pipelined(self, rng):
        with Connection(self.address) as connection:
            targets = [rng.choice(SMALL) for _ in range(rng.randrange(2, 200))]
            connection.send(b"".join(map(request, targets)))
            for target in targets:
                assert connection.read_answer().body == CONTENT[target], target
            self.counts["checked answers"] += len(targets)

    # Bad company.

    def slow_reader(self, rng):
        crowd = [Connection(self.address, receive_bytes=8192, deadline=100) for _ in range(8)]
        try:
            for connection in crowd:
                connection.send(request("/big.bin", "Connection: close"))
                assert connection.read_head().status == 200
            taken = [bytearray() for _ in crowd]
            for _ in range(rng.randrange(20, 60)):
                for connection, body in zip(crowd, taken):
                    body += connection.take(4096)
                self.over.wait(0.01)
            for connection, body in zip(crowd[:2], taken):
                body += connection.take(BIG - len(body))
                assert bytes(body) == CONTENT["/big.bin"]
                assert connection.wait_end()
        finally:
            for connection in crowd:
                connection.close()

    def dripping(self, rng):
        crowd = [Connection(self.address) for _ in range(10)]
        data = b"GET /a.txt HTTP/1.1\r\nHost: x\r\nX-Drip: " + b"z" * 40 + b"\r\n\r\n"
        try:
            for at in range(len(data)):
                for connection in crowd:
                    connection.send(data[at:at + 1])
                self.over.wait(0.005)
            for connection in crowd:
                assert connection.read_answer().body == b"hello\n"
        finally:
            for connection in crowd:
                connection.close()

    def resetting(self, rng):
        connection = Connection(self.address, receive_bytes=4096)
        connection.send(request("/big.bin") * rng.randrange(1, 4))
        if rng.randrange(2):
            connection.readable(0.05)
        connection.reset()

    def half_closing(self, rng):
        with Connection(self.address) as connection:
            target = rng.choice(["/big.bin", "/k.bin", "/middle.bin"])
            connection.send(request(target))
            connection.finish_sending()
            assert connection.read_answer().body == CONTENT[target]
            assert connection.wait_end()

    def storming(self, rng):
        crowd = []
        try:
            for _ in range(200):
                s = socket.socket()
                s.setblocking(False)
                s.connect_ex(self.address)
                crowd.append(s)
            self.over.wait(0.05)
        finally:
            for s in crowd:
                s.close()

    def garbling(self, rng):
        with Connection(self.address) as connection:
            connection.send(rng.randbytes(rng.randrange(1, 3000)) + b"\r\n\r\n")
            connection.finish_sending()
            until = time.monotonic() + 10
            while connection.receive_some(until):
                pass
            assert not connection.buffer or connection.buffer.startswith(b"HTTP/1.1 4") or \
                connection.buffer.startswith(b"HTTP/1.1 5")


def main():
    host, _, port = sys.argv[1].rpartition(":")
    soak = Soak((host, int(port)), float(sys.argv[2]) if len(sys.argv) > 2 else 60).run()
    for name, count in sorted(soak.counts.items()):
        print(f"{count:8} {name}")
    for wrong in soak.wrong:
        print("WRONG", wrong)
    sys.exit(1 if soak.wrong else 0)


if __name__ == "__main__":
    main()
