"""One publisher and many subscribers of a room: does every byte arrive, and what does it cost?

As a program it measures: websocket_fanout.py WEBSOCKET-ROOMS [subscribers [messages/s [seconds]]].
"""

import os
import re
import select
import subprocess
import sys
import time
import zlib
from pathlib import Path

from websocket_wire import TEXT, WebSocket, frame, head

TEXT_BYTES = 40


def text(number):
    return f"{number:010d}".ljust(TEXT_BYTES, ".")


def delivered(number):
    """The frame that a subscriber is sent for a message."""
    said = '{"type":"said","from":"p","text":"%s"}' % text(number)
    return head(TEXT, len(said), masked=False) + said.encode()


class Subscriber:
    def __init__(self, address, room, receive_bytes=None):
        socket = WebSocket(address, f"/chat?room={room}&name=s", receive_bytes=receive_bytes)
        assert not socket.connection.buffer
        self.socket = socket.connection.socket
        self.socket.setblocking(False)
        self.bytes = self.crc = 0

    def receive(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        assert data, "the server ended a subscriber's connection"
        self.bytes += len(data)
        self.crc = zlib.crc32(data, self.crc)


class FanOut:
    """Subscribers, a publisher, and the loop that moves all their bytes."""

    def __init__(self, address, subscribers, room="room"):
        self.publisher = WebSocket(address, "/chat?room=" + room + "&name=p")
        self.out = self.publisher.connection.socket
        self.out.setblocking(False)
        self.own = Subscriber.__new__(Subscriber)  # what the publisher itself is sent
        self.own.socket, self.own.bytes, self.own.crc = self.out, 0, 0
        self.subscribers = [Subscriber(address, room) for _ in range(subscribers)]
        self.poll = select.epoll()
        self.by_fd = {one.socket.fileno(): one for one in [self.own, *self.subscribers]}
        for fd in self.by_fd:
            self.poll.register(fd, select.EPOLLIN)
        self.unsent = b""
        self.published = self.expected_bytes = self.expected_crc = 0

    def close(self):
        self.poll.close()
        for one in [self.own, *self.subscribers]:
            one.socket.close()

    def publish(self, count):
        frames = []
        for _ in range(count):
            frames.append(frame(TEXT, text(self.published)))
            data = delivered(self.published)
            self.expected_bytes += len(data)
            self.expected_crc = zlib.crc32(data, self.expected_crc)
            self.published += 1
        self.unsent += b"".join(frames)

    def step(self, seconds=0.01):
        """Moves what can be moved. True if anything was."""
        if self.unsent:
            try:
                self.unsent = self.unsent[self.out.send(self.unsent[:1 << 18]):]
            except BlockingIOError:
                pass
        ready = self.poll.poll(seconds)
        for fd, _ in ready:
            self.by_fd[fd].receive()
        return bool(ready)

    def done(self, ones=None):
        return not self.unsent and all(one.bytes >= self.expected_bytes
                                       for one in ones or self.by_fd.values())

    def run(self, deadline=60.0, ones=None):
        until = time.monotonic() + deadline
        while not self.done(ones):
            assert time.monotonic() < until, f"{self.missing()} bytes are missing"
            self.step()

    def missing(self):
        return sum(self.expected_bytes - one.bytes for one in self.by_fd.values())

    def pause(self, subscriber):
        self.poll.unregister(subscriber.socket.fileno())

    def resume(self, subscriber):
        self.poll.register(subscriber.socket.fileno(), select.EPOLLIN)

    def check(self):
        """Every byte, in order, to everyone."""
        for one in self.by_fd.values():
            assert (one.bytes, one.crc) == (self.expected_bytes, self.expected_crc)


def cpu_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def pss_mib(pid):
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    return int(found[1]) / 1024


def measure(program, subscribers=5000, per_second=20, seconds=10):
    """`per_second` messages for each subscriber; per_second 0: as fast as they are taken."""
    rooms = subprocess.Popen([program, "--slow", "wait", "--events", "off"], stdout=subprocess.PIPE,
                            text=True)
    try:
        port = int(re.search(r":(\d+)/", rooms.stdout.readline())[1])
        crowd = FanOut(("127.0.0.1", port), subscribers)
        idle, cpu, began, most = pss_mib(rooms.pid), cpu_seconds(rooms.pid), time.monotonic(), 0.0
        if per_second == 0:
            crowd.publish(200 * seconds)
        while (now := time.monotonic() - began) < seconds or not crowd.done():
            due = int(min(now, seconds) * per_second)
            if due > crowd.published:
                crowd.publish(due - crowd.published)
            crowd.step()
            most = max(most, pss_mib(rooms.pid)) if crowd.published % 20 == 0 else most
            if per_second == 0 and crowd.done():
                break
        took = time.monotonic() - began
        crowd.check()
        count = crowd.published * (subscribers + 1)
        used = cpu_seconds(rooms.pid) - cpu
        print(f"{subscribers} subscribers, {crowd.published} messages published: {count} delivered "
              f"in {took:.2f} s, {count / took:.0f}/s, none lost; server CPU {used:.2f} s, "
              f"{used / count * 1e6:.2f} µs a delivery; Pss idle {idle:.1f} MiB, at most "
              f"{most:.1f} MiB, after {pss_mib(rooms.pid):.1f} MiB")
        crowd.close()
    finally:
        rooms.terminate()
        rooms.wait(10)


if __name__ == "__main__":
    measure(sys.argv[1], *map(int, sys.argv[2:]))
