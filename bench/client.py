"""The client that looks at answers, and the one that only holds connections open."""

import contextlib
import dataclasses
import socket
import ssl
import time
import zlib

from procfs import pss_bytes, written_bytes


class WrongAnswer(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    fields: dict  # lower case names
    bytes: int  # as they came: head, and body with its framing and coding
    body_bytes: int  # of the file: decoded
    checksum: int  # of the same, so that all servers can be seen to send the same
    tls: tuple = ()  # version and cipher


def request_bytes(port, path, fields=(), body=None):
    """A GET; with a body, a POST of JSON."""
    method = "GET" if body is None else "POST"
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", *fields]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def read_answer(stream, until_close=False, tls=()):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline(65536)
        if not line:
            raise WrongAnswer(f"closed within the head: {head[:80]!r}")
        head += line
    first, *lines = head.decode("latin-1").split("\r\n")
    status = int(first.split()[1])
    fields = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = Body(fields.get("content-encoding"))
    if status in (204, 304):
        pass
    elif fields.get("transfer-encoding") == "chunked":
        read_chunks(stream, body)
    elif "content-length" in fields:
        read_bytes(stream, body, int(fields["content-length"]))
    else:
        raise WrongAnswer(f"no Content-Length in {first}")
    if until_close and stream.read(1):
        raise WrongAnswer("bytes after the answer")
    return Answer(status, fields, len(head) + body.raw, body.bytes, body.checksum, tls)


class Body:
    """Counts a body as it came and as it is."""

    def __init__(self, coding):
        self.raw = self.bytes = self.checksum = 0
        if coding not in (None, "identity", "gzip"):
            raise WrongAnswer(f"coded as {coding}")
        self.decoder = zlib.decompressobj(wbits=31) if coding == "gzip" else None

    def take(self, piece):
        self.raw += len(piece)
        plain = self.decoder.decompress(piece) if self.decoder else piece
        self.bytes += len(plain)
        self.checksum = zlib.crc32(plain, self.checksum)


def read_bytes(stream, body, length):
    left = length
    while left:
        piece = stream.read(min(left, 1 << 20))
        if not piece:
            raise WrongAnswer(f"{left} of {length} bytes are missing")
        left -= len(piece)
        body.take(piece)


def read_chunks(stream, body):
    length = None
    while length != 0:
        line = stream.readline(1024)
        length = int(line.split(b";")[0], 16)
        read_bytes(stream, body, length)
        body.raw += len(line) + len(stream.readline(1024))


def trusting_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def connect(port, context=None, timeout=30):
    plain = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    return plain if context is None else context.wrap_socket(plain)


def ask(port, path, fields=(), secure=False, body=None):
    closes = any(field.lower() == "connection: close" for field in fields)
    with connect(port, trusting_context() if secure else None) as peer:
        peer.sendall(request_bytes(port, path, fields, body))
        tls = (peer.version(), peer.cipher()[0]) if secure else ()
        with peer.makefile("rb") as stream:
            answer = read_answer(stream, until_close=closes, tls=tls)
        wait_for_its_end(peer)
        return answer


def wait_for_its_end(peer):
    """So that the server holds no connection of ours when its descriptors are counted."""
    with contextlib.suppress(OSError):
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65536):
            pass


def ask_pipelined(port, path, depth):
    """Sends `depth` requests in one write; all answers must come, each whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
        peer.sendall(request_bytes(port, path) * depth)
        with peer.makefile("rb") as stream:
            return [read_answer(stream) for _ in range(depth)]


@dataclasses.dataclass(frozen=True)
class IdleMemory:
    base_bytes: int
    opened: int
    bytes_per_connection: float
    connections_per_second: float
    still_answer: int
    asked_again: int


def idle_memory(server, path, count, secure=False, settle_seconds=1.0):
    """Opens `count` connections, asks once on each, and sees what the server holds for them."""
    ask(server.port, path, secure=secure)
    time.sleep(settle_seconds)
    base, written = pss_bytes(server.pid), written_bytes(server.pid)
    request, held = request_bytes(server.port, path), []
    context = trusting_context() if secure else None
    try:
        began = time.monotonic()
        for _ in range(count):
            peer = connect(server.port, context, timeout=10)
            held.append(peer)
            answer_on(peer, request)
        seconds = time.monotonic() - began
        time.sleep(settle_seconds)
        grown = written_bytes(server.pid) - written
        sample = held[:: max(1, count // 100)]
        alive = sum(answer_on(peer, request) for peer in sample)
        return IdleMemory(base, len(held), grown / count, count / seconds, alive, len(sample))
    finally:
        for peer in held:
            peer.close()


def answer_on(peer, request):
    try:
        peer.sendall(request)
        with peer.makefile("rb") as stream:
            return read_answer(stream).status == 200
    except (OSError, WrongAnswer):
        return False


def first_answer_microseconds(start, path, seconds_max=10):
    """From the exec to the first byte of an answer. `start` returns a server not waited for."""
    began = time.perf_counter_ns()
    server = start()
    try:
        until = time.monotonic() + seconds_max
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", server.port), timeout=5) as peer:
                    peer.sendall(request_bytes(server.port, path))
                    if peer.recv(1):
                        return (time.perf_counter_ns() - began) / 1000
            except ConnectionError:
                time.sleep(0.0002)
        raise WrongAnswer(f"{server.name} never answered")
    finally:
        server.end()
