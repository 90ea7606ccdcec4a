"""An HTTP/2 client that sends exactly the frames a test names, for behaviour and abuse.

Field blocks are made and read by hpack, of the h2 project. Nothing is done by itself but the
preface and what a test asks for. Every wait has a deadline.
"""

import select
import socket
import ssl
import time
from dataclasses import dataclass, field

import hpack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DEADLINE = 60.0
NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
HUGE_WINDOW = (1 << 31) - 1 - 65_535

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 5, 7, 8, 11


def raw_frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
            + payload)


@dataclass
class Stream:
    status: int = 0
    fields: list = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False
    reset: int | None = None

    def get(self, name):
        return next((v for n, v in self.fields if n == name), None)

    @property
    def over(self):
        return self.ended or self.reset is not None


class Client:
    def __init__(self, address, settings=None, window=HUGE_WINDOW, sock=None):
        self.socket = sock or socket.create_connection(address, DEADLINE)
        self.socket.setblocking(False)
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.streams = {}
        self.next_stream = 1
        self.goaway = None
        self.pongs = 0
        self.settings_acks = 0
        self.settings = {}  # the server's, as last said
        self.bytes_sent = 0
        self.closed = False
        self.buffer = b""
        self.block = b""
        entries = b"".join(name.to_bytes(2, "big") + value.to_bytes(4, "big")
                           for name, value in (settings or {}).items())
        hello = PREFACE + raw_frame(4, 0, 0, entries)
        if window:
            hello += self.window_update_bytes(0, window)
        self.send(hello)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    # Saying things.

    def send(self, data):
        """All of it, reading meanwhile. False: the server closed first."""
        view = memoryview(data)
        until = time.monotonic() + DEADLINE
        while view and not self.closed:
            assert time.monotonic() < until, "the server does not read"
            try:
                sent = self.socket.send(view)
                self.bytes_sent += sent
                view = view[sent:]
            except NOT_NOW:
                select.select([self.socket], [self.socket], [], 1.0)
            except OSError:
                self.closed = True
            self.read(0)
        return not self.closed

    def header_bytes(self, stream, fields, end_stream=True, encoder=None):
        block = (encoder or self.encoder).encode(fields)
        return raw_frame(1, 0x4 | (0x1 if end_stream else 0), stream, block)

    def request_fields(self, path="/", method="GET", more=()):
        return [(":method", method), (":scheme", "http"), (":path", path),
                (":authority", "localhost"), *more]

    def request_bytes(self, path="/", method="GET", more=(), end_stream=True):
        stream = self.next_stream
        self.next_stream += 2
        self.streams[stream] = Stream()
        return stream, self.header_bytes(stream, self.request_fields(path, method, more),
                                         end_stream)

    def get(self, path="/", more=()):
        stream, data = self.request_bytes(path, more=more)
        self.send(data)
        return stream

    def window_update_bytes(self, stream, increment):
        return raw_frame(8, 0, stream, increment.to_bytes(4, "big"))

    def reset_bytes(self, stream, error=CANCEL):
        return raw_frame(3, 0, stream, error.to_bytes(4, "big"))

    def ping_bytes(self, data=b"12345678"):
        return raw_frame(6, 0, 0, data)

    # Hearing them.

    def read(self, seconds):
        """Receives for `seconds`, or only what is there. False: nothing came."""
        decrypted = getattr(self.socket, "pending", lambda: 0)()  # what select knows nothing of
        if self.closed or not (decrypted or select.select([self.socket], [], [], seconds)[0]):
            return False
        try:
            data = self.socket.recv(1 << 18)
        except NOT_NOW:
            return False
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return True
        self.buffer += data
        self.take_frames()
        return True

    def take_frames(self):
        at = 0
        while len(self.buffer) - at >= 9:
            header = self.buffer[at:at + 9]
            length = int.from_bytes(header[:3], "big")
            if len(self.buffer) - at < 9 + length:
                break
            self.hear(header[3], header[4], int.from_bytes(header[5:9], "big") & 0x7FFFFFFF,
                      self.buffer[at + 9:at + 9 + length])
            at += 9 + length
        self.buffer = self.buffer[at:]

    def hear(self, kind, flags, number, payload):
        stream = self.streams.setdefault(number, Stream())
        if kind == 0:
            stream.body += payload
            stream.ended |= bool(flags & 1)
        elif kind in (1, 9):
            self.block += payload
            if kind == 1:
                stream.ended |= bool(flags & 1)
            if flags & 4:
                for name, value in self.decoder.decode(self.block):
                    if name == ":status":
                        stream.status = int(value)
                    else:
                        stream.fields.append((name, value))
                self.block = b""
        elif kind == 3:
            stream.reset = int.from_bytes(payload, "big")
        elif kind == 4:
            self.settings_acks += flags & 1
            for at in range(0, len(payload), 6):
                self.settings[int.from_bytes(payload[at:at + 2], "big")] = int.from_bytes(
                    payload[at + 2:at + 6], "big")
        elif kind == 6:
            self.pongs += flags & 1
        elif kind == 7:
            self.goaway = int.from_bytes(payload[4:8], "big")

    def wait(self, condition, deadline=DEADLINE, what="what is waited for"):
        until = time.monotonic() + deadline
        while not condition():
            left = until - time.monotonic()
            assert left > 0, f"{what}: not within {deadline} s (goaway {self.goaway})"
            assert not self.closed or condition(), f"{what}: the server closed ({self.goaway})"
            self.read(left)
        return True

    def answer(self, number):
        stream = self.streams[number]
        self.wait(lambda: stream.over, what=f"an answer on stream {number}")
        return stream

    def wait_goaway(self, deadline=DEADLINE):
        until = time.monotonic() + deadline
        while self.goaway is None and not self.closed and time.monotonic() < until:
            self.read(until - time.monotonic())
        return self.goaway
