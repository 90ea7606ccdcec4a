"""A client that sends exactly the bytes it is given and believes nothing that comes back.

Answers are read by a parser of its own, stricter than any browser's: a wrong length, a missing
CR, two lengths, a body where none may be, all raise BadAnswer. Every wait has a deadline.
"""

import re
import select
import socket
import struct
import time
from dataclasses import dataclass, field

DEADLINE = 60.0  # for what comes at once on an idle machine

STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)\Z")
FIELD_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\x00]*?)[ \t]*\Z")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(;[^\r\n\x00]*)?\Z")


class BadAnswer(AssertionError):
    """The server's bytes are not a well-formed answer."""


class NoAnswer(AssertionError):
    """The connection ended, or the deadline passed, before an answer was complete."""


@dataclass
class Answer:
    status: int
    reason: str
    version: str
    fields: list
    body: bytes = b""
    trailers: list = field(default_factory=list)
    chunked: bool = False
    interim: list = field(default_factory=list)  # the 1xx answers before it

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        if len(values) > 1:
            raise BadAnswer(f"{name} came {len(values)} times: {values}")
        return values[0] if values else default

    @property
    def says_close(self):
        tokens = [t.strip().lower() for v in self.all("connection") for t in v.split(",")]
        return "close" in tokens

    @property
    def text(self):
        return self.body.decode()


class Connection:
    """One TCP or Unix connection to the server under test."""

    def __init__(self, address, deadline=DEADLINE, receive_bytes=None, send_bytes=None):
        self.deadline = deadline
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        else:
            family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
            self.socket = socket.socket(family, socket.SOCK_STREAM)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        if send_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_bytes)
        self.socket.settimeout(deadline)
        try:
            self.socket.connect(address)
        except BaseException:
            self.socket.close()
            raise
        self.buffer = bytearray()
        self.ended = False  # the server's FIN or reset was seen
        self.was_reset = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Close with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # Sending.

    def send(self, data):
        """All of it. A server that has hung up already is no error here: reading tells."""
        if isinstance(data, str):
            data = data.encode("latin-1")
        try:
            self.socket.settimeout(self.deadline)
            self.socket.sendall(data)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def finish_sending(self):
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    # Receiving.

    def readable(self, seconds=0.0):
        return bool(self.buffer) or bool(select.select([self.socket], [], [], seconds)[0])

    def receive_some(self, until, size=262144):
        """Appends to the buffer. False when the server has ended the connection."""
        if self.ended:
            return False
        remaining = until - time.monotonic()
        if remaining <= 0:
            raise NoAnswer(f"nothing for {self.deadline} s; so far: {bytes(self.buffer[:300])!r}")
        self.socket.settimeout(remaining)
        try:
            data = self.socket.recv(size)
        except TimeoutError:
            raise NoAnswer(
                f"nothing for {self.deadline} s; so far: {bytes(self.buffer[:300])!r}") from None
        except ConnectionResetError:
            self.was_reset = True
            data = b""
        if not data:
            self.ended = True
            return False
        self.buffer += data
        return True

    def take(self, count, until=None):
        until = until or time.monotonic() + self.deadline
        while len(self.buffer) < count:
            if not self.receive_some(until):
                raise NoAnswer(f"ended after {len(self.buffer)} of {count} bytes"
                               f"{' by a reset' if self.was_reset else ''}")
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def skip(self, count, until=None):
        """Reads and drops `count` bytes, for bodies larger than memory should hold."""
        until = until or time.monotonic() + self.deadline
        left = count - len(self.buffer)
        if left <= 0:
            del self.buffer[:count]
            return
        self.buffer.clear()
        scratch = bytearray(1 << 20)
        while left:
            self.socket.settimeout(max(0.001, until - time.monotonic()))
            got = self.socket.recv_into(scratch, min(left, len(scratch)))
            if got == 0:
                self.ended = True
                raise NoAnswer(f"ended with {left} of {count} bytes to come")
            left -= got

    def take_line(self, until):
        while True:
            end = self.buffer.find(b"\n")
            if end >= 0:
                line = bytes(self.buffer[:end + 1])
                if not line.endswith(b"\r\n") or b"\r" in line[:-2] or b"\0" in line:
                    raise BadAnswer(f"line not ended by one CR LF: {line[:200]!r}")
                del self.buffer[:end + 1]
                return line[:-2]
            if not self.receive_some(until):
                raise NoAnswer(f"ended{' by a reset' if self.was_reset else ''} inside a line: "
                               f"{bytes(self.buffer[:200])!r}")

    def take_fields(self, until):
        fields = []
        while line := self.take_line(until):
            match = FIELD_LINE.match(line)
            if not match:
                raise BadAnswer(f"not a field: {line[:200]!r}")
            fields.append((match[1].decode(), match[2].decode("latin-1")))
        return fields

    def read_head(self, until=None):
        """Status line and fields; the body is left to the caller."""
        until = until or time.monotonic() + self.deadline
        line = self.take_line(until)
        match = STATUS_LINE.match(line)
        if not match:
            raise BadAnswer(f"not a status line: {line[:200]!r}")
        return Answer(int(match[2]), match[3].decode("latin-1"), f"1.{match[1].decode()}",
                      self.take_fields(until))

    def read_answer(self, method="GET", version="1.1", deadline=None):
        """The next final answer, its 1xx forerunners in `interim`."""
        until = time.monotonic() + (deadline or self.deadline)
        interim = []
        while True:
            answer = self.read_head(until)
            if answer.status >= 200 or answer.status == 101:
                break
            if version == "1.0":
                raise BadAnswer(f"{answer.status} sent to an HTTP/1.0 client")
            if answer.get("content-length") or answer.get("transfer-encoding"):
                raise BadAnswer(f"{answer.status} with a length")
            interim.append(answer)
        answer.interim = interim
        self.read_body(answer, method, version, until)
        return answer

    def read_body(self, answer, method, version, until):
        lengths = answer.all("content-length")
        codings = answer.all("transfer-encoding")
        if len(lengths) > 1 or len(codings) > 1 or (lengths and codings):
            raise BadAnswer(f"framing said more than once: {answer.fields}")
        if lengths and not re.fullmatch(r"0|[1-9][0-9]*", lengths[0]):
            raise BadAnswer(f"Content-Length: {lengths[0]!r}")
        if codings and (codings[0] != "chunked" or version == "1.0"):
            raise BadAnswer(f"Transfer-Encoding: {codings[0]!r} to HTTP/{version}")
        if answer.status in (101, 204) and (lengths or codings):
            raise BadAnswer(f"{answer.status} with a length")
        if method == "HEAD" or answer.status in (101, 204, 304):
            return
        if codings:
            answer.chunked = True
            answer.body, answer.trailers = self.take_chunked(until)
        elif lengths:
            answer.body = self.take(int(lengths[0]), until)
        elif answer.says_close or version == "1.0":
            raise BadAnswer("a body that only ends with the connection: lengths are known here")
        else:
            raise BadAnswer(f"{answer.status} with neither length nor close")

    def take_chunked(self, until):
        body = bytearray()
        while True:
            match = CHUNK_SIZE.match(self.take_line(until))
            if not match:
                raise BadAnswer("bad chunk size line")
            size = int(match[1], 16)
            if size == 0:
                return bytes(body), self.take_fields(until)
            body += self.take(size, until)
            if self.take(2, until) != b"\r\n":
                raise BadAnswer("chunk data not followed by CR LF")

    def wait_end(self, deadline=None):
        """True once the server has closed, with not one byte more; False if it is still open."""
        until = time.monotonic() + (deadline or self.deadline)
        if self.buffer:
            raise BadAnswer(f"more than was asked for: {bytes(self.buffer[:200])!r}")
        try:
            while self.receive_some(until):
                raise BadAnswer(f"more than was asked for: {bytes(self.buffer[:200])!r}")
        except NoAnswer:
            return False
        return True

    # Both.

    def ask(self, data, method="GET", version="1.1", deadline=None):
        self.send(data)
        return self.read_answer(method, version, deadline)

    def get(self, target="/", *fields, method="GET", host="x", version="1.1", body=b"",
            deadline=None):
        return self.ask(request(target, *fields, method=method, host=host, version=version,
                                body=body), method, version, deadline)


def request(target="/", *fields, method="GET", host="x", version="1.1", body=b""):
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += fields
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def get_once(address, target="/", *fields, **more):
    """One request on a connection of its own."""
    with Connection(address) as connection:
        return connection.get(target, *fields, **more)
