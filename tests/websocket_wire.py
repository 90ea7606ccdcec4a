"""WebSocket frames by hand: a client that sends exactly what a test wants and believes nothing.

What comes back is read strictly: a masked frame, a reserved bit nobody agreed on, a length that is
not in its shortest form, text that is not UTF-8 or a close code that may not be sent raise
BadAnswer.
"""

import base64
import hashlib
import os
import struct
import time
import zlib

from raw_client import BadAnswer, Connection

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
NAMES = {TEXT: "text", BINARY: "binary", CLOSE: "close", PING: "ping", PONG: "pong"}
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MASK = b"\x9a\x3c\x51\xe7"


def mask(payload, key=MASK):
    if not payload:
        return b""
    size = len(payload)
    repeated = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")


def head(opcode, size, fin=True, rsv=0, masked=True):
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    bit = 0x80 if masked else 0
    if size < 126:
        return struct.pack(">BB", first, bit | size)
    if size < 65536:
        return struct.pack(">BBH", first, bit | 126, size)
    return struct.pack(">BBQ", first, bit | 127, size)


def frame(opcode, payload=b"", fin=True, rsv=0, key=MASK):
    """One frame of a client; without a key it is not masked, as a client's must be."""
    if isinstance(payload, str):
        payload = payload.encode()
    if key is None:
        return head(opcode, len(payload), fin, rsv, False) + payload
    return head(opcode, len(payload), fin, rsv) + key + mask(payload, key)


def chopped_message(opcode, payload, each):
    """A compressed message as frames of `each` bytes; 0: as one."""
    if not each or len(payload) <= each:
        return [frame(opcode, payload, rsv=4)]
    parts = [payload[i:i + each] for i in range(0, len(payload), each)]
    last = len(parts) - 1
    return [b"".join(frame(0 if i else opcode, part, fin=i == last, rsv=0 if i else 4)
                     for i, part in enumerate(parts))]


def close_payload(code, reason=b""):
    return struct.pack(">H", code) + reason


def may_be_sent(code):
    return 1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999


class Deflate:
    """permessage-deflate as a client, with what was agreed on."""

    def __init__(self, answer):
        words = [word.strip() for word in answer.split(";")]
        assert words[0] == "permessage-deflate", answer
        given = dict(word.partition("=")[::2] for word in words[1:])
        self.keep_ours = "client_no_context_takeover" not in given
        self.keep_theirs = "server_no_context_takeover" not in given
        self.our_bits = int(given.get("client_max_window_bits", 15))
        self.their_bits = int(given.get("server_max_window_bits", 15))
        self.deflater = self.inflater = None

    def deflate(self, message):
        if self.deflater is None or not self.keep_ours:
            self.deflater = zlib.compressobj(6, zlib.DEFLATED, -self.our_bits)
        data = self.deflater.compress(message) + self.deflater.flush(zlib.Z_SYNC_FLUSH)
        return data[:-4] if data.endswith(b"\0\0\xff\xff") else data

    def inflate(self, payload):
        if self.inflater is None or not self.keep_theirs:
            self.inflater = zlib.decompressobj(-self.their_bits)
        return self.inflater.decompress(payload + b"\0\0\xff\xff")


class WebSocket:
    """One client. The opening handshake is done, and its answer checked, when it is made."""

    def __init__(self, address, target="/", fields=(), deadline=60.0, receive_bytes=None):
        self.connection = Connection(address, deadline=deadline, receive_bytes=receive_bytes)
        self.deflate = None
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {target} HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key.decode()}", *fields]
        self.connection.send("\r\n".join(lines) + "\r\n\r\n")
        self.answer = self.connection.read_head()
        if self.answer.status != 101:
            raise BadAnswer(f"{self.answer.status} instead of 101")
        expected = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        assert self.answer.get("sec-websocket-accept") == expected
        assert self.answer.get("upgrade") == "websocket"
        assert self.answer.get("connection").lower() == "upgrade"
        if agreed := self.answer.get("sec-websocket-extensions"):
            self.deflate = Deflate(agreed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, *pieces):
        for piece in pieces:
            self.connection.send(piece)

    def say(self, message, fin=True):
        """One message, compressed if that was agreed on."""
        opcode = TEXT if isinstance(message, str) else BINARY
        data = message.encode() if isinstance(message, str) else message
        if self.deflate is None:
            self.send(frame(opcode, data, fin))
        else:
            self.send(frame(opcode, self.deflate.deflate(data), fin, rsv=4))

    def read_frame(self):
        until = time.monotonic() + self.connection.deadline
        first, second = self.connection.take(2, until)
        if second & 0x80:
            raise BadAnswer("a server's frame is masked")
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", self.connection.take(2, until))[0]
            if size < 126:
                raise BadAnswer("a length that is not in its shortest form")
        elif size == 127:
            size = struct.unpack(">Q", self.connection.take(8, until))[0]
            if size < 65536:
                raise BadAnswer("a length that is not in its shortest form")
        opcode, rsv = first & 15, first >> 4 & 7
        if rsv not in (0, 4) or (rsv == 4 and (self.deflate is None or opcode not in (1, 2))):
            raise BadAnswer(f"reserved bits {rsv} on opcode {opcode}")
        if opcode >= 8 and (size > 125 or not first & 0x80):
            raise BadAnswer("a control frame too long, or fragmented")
        return first >> 7, rsv == 4, opcode, self.connection.take(size, until)

    def read(self):
        """The next message or control frame: ("text", "…"), ("close", code, reason), …"""
        fin, compressed, opcode, payload = self.read_frame()
        if opcode not in NAMES:
            raise BadAnswer(f"opcode {opcode}")
        while not fin:
            fin, _, more, piece = self.read_frame()
            if more != 0:
                raise BadAnswer("a message inside a message")
            payload += piece
        if compressed:
            payload = self.deflate.inflate(payload)
        if opcode == CLOSE:
            if not payload:
                return ("close", None, "")
            code = struct.unpack(">H", payload[:2])[0]
            if not may_be_sent(code):
                raise BadAnswer(f"close code {code}")
            return ("close", code, payload[2:].decode())
        return (NAMES[opcode], payload.decode() if opcode == TEXT else payload)

    def close(self, code=1000):
        """The whole closing handshake: the server answers, and ends the connection first."""
        self.send(frame(CLOSE, close_payload(code)))
        answer = self.read()
        assert answer == ("close", code, ""), answer
        assert self.connection.wait_end(), "the server did not end the connection"

    def wait_end(self):
        return self.connection.wait_end()
