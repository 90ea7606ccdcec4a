"""The cases of the Autobahn test suite (1 to 7, 9, 10, 12 and 13), written anew as a table.

A case is what a client sends to an echo server, in which pieces, and what must come back. The
numbers are the suite's, so that a failure can be looked up there; how the real suite is run stands
in docs/websocket.md. Left out are its two cases without a verdict of their own (7.1.6, 7.13), which
are here with the verdict that this server gives, and its waiting: what it waits a second for is
asked with a ping here.
"""

import itertools
import random
from dataclasses import dataclass

from websocket_wire import BINARY, CLOSE, PING, PONG, TEXT, close_payload, frame

NORMAL, PROTOCOL, PAYLOAD = 1000, 1002, 1007
HELLO = "Hello-µ@ßöäüàá-UTF-8!!".encode()
GREEK = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"


@dataclass
class Case:
    number: str
    pieces: list  # each is sent by itself
    expected: list  # what is read back, in order
    close: int = NORMAL  # the server's close code; NORMAL: after ours
    stages: list = None  # (pieces, expected) before `pieces`: read all before going on

    def __str__(self):
        return self.number


def chopped(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def echoed(payload, opcode=BINARY):
    return ("text", payload.decode()) if opcode == TEXT else ("binary", payload)


def octets(frames):
    return chopped(b"".join(frames), 1)


def lengths():
    for group, opcode, letter in ((1, TEXT, b"*"), (2, BINARY, b"\xfe")):
        for index, size in enumerate((0, 125, 126, 127, 128, 65535, 65536, 65536), 1):
            data = frame(opcode, letter * size)
            pieces = chopped(data, 997) if index == 8 else [data]
            yield Case(f"1.{group}.{index}", pieces, [echoed(letter * size, opcode)])


def pings():
    for index, payload in enumerate((b"", b"Hello, world!", b"\0\xff\xfe\xfd\xfc\xfb\0\xff",
                                     b"\xfe" * 125), 1):
        yield Case(f"2.{index}", [frame(PING, payload)], [("pong", payload)])
    yield Case("2.5", [frame(PING, b"\xfe" * 126)], [], PROTOCOL)
    yield Case("2.6", octets([frame(PING, b"\xfe" * 125)]), [("pong", b"\xfe" * 125)])
    yield Case("2.7", [frame(PONG)], [])
    yield Case("2.8", [frame(PONG, b"unsolicited pong payload")], [])
    yield Case("2.9", [frame(PONG, b"unsolicited"), frame(PING, b"ping")], [("pong", b"ping")])
    ten = [frame(PING, f"payload-{i}") for i in range(10)]
    pongs = [("pong", f"payload-{i}".encode()) for i in range(10)]
    yield Case("2.10", ten, pongs)
    yield Case("2.11", octets(ten), pongs)


def reserved_bits():
    small, ping = frame(TEXT, "Hello, world!"), frame(PING)
    echo = [("text", "Hello, world!")]
    yield Case("3.1", [frame(TEXT, "Hello, world!", rsv=1)], [], PROTOCOL)
    yield Case("3.2", [small + frame(TEXT, "Hello, world!", rsv=2) + ping], echo, PROTOCOL)
    yield Case("3.3", [small, frame(TEXT, "Hello, world!", rsv=3), ping], echo, PROTOCOL)
    yield Case("3.4", octets([small, frame(TEXT, "Hello, world!", rsv=4), ping]), echo, PROTOCOL)
    yield Case("3.5", [frame(BINARY, b"\0\xff\xfe", rsv=5)], [], PROTOCOL)
    yield Case("3.6", [frame(PING, "Hello, world!", rsv=6)], [], PROTOCOL)
    yield Case("3.7", [frame(CLOSE, close_payload(NORMAL), rsv=7)], [], PROTOCOL)


def opcodes():
    small, ping = frame(TEXT, "Hello, world!"), frame(PING)
    echo = [("text", "Hello, world!")]
    for group, first in ((1, 3), (2, 11)):
        yield Case(f"4.{group}.1", [frame(first)], [], PROTOCOL)
        yield Case(f"4.{group}.2", [frame(first + 1, b"reserved opcode payload")], [], PROTOCOL)
        yield Case(f"4.{group}.3", [small + frame(first + 2) + ping], echo, PROTOCOL)
        yield Case(f"4.{group}.4", [small, frame(first + 3, b"x"), ping], echo, PROTOCOL)
        yield Case(f"4.{group}.5", octets([small, frame(first + 4, b"x"), ping]), echo, PROTOCOL)


def text_fragments(*payloads, end=True):
    last = len(payloads) - 1
    return [frame(TEXT if i == 0 else 0, payload, fin=end and i == last)
            for i, payload in enumerate(payloads)]


def fragments():
    two = text_fragments("fragment1", "fragment2")
    whole = [("text", "fragment1fragment2")]
    yield Case("5.1", [frame(PING, "fragment1", fin=False), frame(0, "fragment2")], [], PROTOCOL)
    yield Case("5.2", [frame(PONG, "fragment1", fin=False), frame(0, "fragment2")], [], PROTOCOL)
    yield Case("5.3", [b"".join(two)], whole)
    yield Case("5.4", two, whole)
    yield Case("5.5", octets(two), whole)
    pinged = [two[0], frame(PING, "ping payload"), two[1]]
    both = [("pong", b"ping payload"), *whole]
    yield Case("5.6", [b"".join(pinged)], both)
    yield Case("5.7", pinged, both)
    yield Case("5.8", octets(pinged), both)
    for number, fin in ((9, True), (12, False)):
        orphan = [frame(0, "non-continuation payload", fin=fin), frame(TEXT, "Hello, world!")]
        yield Case(f"5.{number}", [b"".join(orphan)], [], PROTOCOL)
        yield Case(f"5.{number + 1}", orphan, [], PROTOCOL)
        yield Case(f"5.{number + 2}", octets(orphan), [], PROTOCOL)
    late = [*two, frame(0, "fragment3", fin=False), frame(TEXT, "fragment4")]
    yield Case("5.15", [b"".join(late)], whole, PROTOCOL)
    for number, fin in ((16, False), (17, True)):
        yield Case(f"5.{number}", [frame(0, "fragment1", fin=fin), *two] * 2, [], PROTOCOL)
    yield Case("5.18", [two[0] + frame(TEXT, "fragment2")], [], PROTOCOL)
    five = text_fragments(*(f"fragment{i}" for i in range(1, 6)))
    begun = ([*five[:2], frame(PING, "pongme 1!")], [("pong", b"pongme 1!")])
    rest = [*five[2:4], frame(PING, "pongme 2!"), five[4]]
    said = [("pong", b"pongme 2!"), ("text", "".join(f"fragment{i}" for i in range(1, 6)))]
    yield Case("5.19", rest, said, stages=[begun])
    yield Case("5.20", octets(rest), said, stages=[(octets(begun[0]), begun[1])])


def in_fragments_of_one(payload):
    return text_fragments(*(payload[i:i + 1] for i in range(len(payload))))


def text_basics():
    yield Case("6.1.1", [frame(TEXT)], [("text", "")])
    yield Case("6.1.2", text_fragments(b"", b"", b""), [("text", "")])
    yield Case("6.1.3", text_fragments(b"", b"middle frame payload", b""),
               [("text", "middle frame payload")])
    hello = [("text", HELLO.decode())]
    yield Case("6.2.1", [frame(TEXT, HELLO)], hello)
    yield Case("6.2.2", text_fragments(HELLO[:12], HELLO[12:]), hello)
    yield Case("6.2.3", in_fragments_of_one(HELLO), hello)
    yield Case("6.2.4", in_fragments_of_one(GREEK), [("text", GREEK.decode())])
    broken = GREEK + b"\xed\xa0\x80edited"
    yield Case("6.3.1", [frame(TEXT, broken)], [], PAYLOAD)
    yield Case("6.3.2", in_fragments_of_one(broken), [], PAYLOAD)


def failing_fast():
    """The message is refused at the byte that breaks it: the rest of it is never sent."""
    asked = [("pong", b"so far")]
    ping = frame(PING, "so far")
    yield Case("6.4.1", [frame(0, b"\xf4\x90\x80\x80", fin=False)], [], PAYLOAD,
               stages=[([frame(TEXT, GREEK, fin=False), ping], asked)])
    yield Case("6.4.2", [frame(0, b"\x90", fin=False)], [], PAYLOAD,
               stages=[([frame(TEXT, GREEK + b"\xf4", fin=False), ping], asked)])
    whole = frame(TEXT, GREEK + b"\xf4\x90\x80\x80edited")
    at = len(whole) - len(b"\xf4\x90\x80\x80edited")
    yield Case("6.4.3", [whole[:at], whole[at:at + 4]], [], PAYLOAD)
    yield Case("6.4.4", [whole[:at + 1], whole[at + 1:at + 2]], [], PAYLOAD)


BEYOND = [b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"]
CUT = [b"\xc0", b"\xe0\x80", b"\xf0\x80\x80", b"\xf8\x80\x80\x80", b"\xfc\x80\x80\x80\x80",
       b"\xdf", b"\xef\xbf", b"\xf7\xbf\xbf", b"\xfb\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf"]
LONE = [(0xC0, 0xDF), (0xE0, 0xEF), (0xF0, 0xF7), (0xF8, 0xFB), (0xFC, 0xFD)]
SURROGATES = ["eda080", "edadbf", "edae80", "edafbf", "edb080", "edbe80", "edbfbf"]
UTF8 = {
    5: [b"hello$world", "hello¢world".encode(), "hello€world".encode(), "hello𤭢world".encode(),
        GREEK],
    6: [GREEK[:i] for i in range(1, len(GREEK) + 1)],
    7: [b"\0", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80"],
    8: BEYOND,
    9: [b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf", b"\xf4\x8f\xbf\xbf"],
    10: [b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf"],
    11: [b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xf4\x8f\xbf\xbf",
         b"\xf4\x90\x80\x80"],
    12: [b"\x80", b"\xbf", *((b"\x80\xbf" * 3)[:i] for i in range(2, 7)), bytes(range(0x80, 0xBF))],
    13: [b"".join(bytes((i, 0x20)) for i in range(*span)) for span in LONE],
    14: CUT,
    15: [b"".join(CUT)],
    16: [b"\xfe", b"\xff", b"\xfe\xfe\xff\xff"],
    17: [bytes.fromhex(h) for h in ("c0af", "e080af", "f08080af", "f8808080af", "fc80808080af")],
    18: [bytes.fromhex(h) for h in ("c1bf", "e09fbf", "f08fbfbf", "f887bfbfbf", "fc83bfbfbfbf")],
    19: [bytes.fromhex(h) for h in ("c080", "e08080", "f0808080", "f880808080", "fc8080808080")],
    20: [bytes.fromhex(h) for h in SURROGATES],
    21: [bytes.fromhex(a + b) for a, b in itertools.product(SURROGATES[:4], ("edb080", "edbfbf"))],
    22: [b"\xef\xbf\xbe", b"\xef\xbf\xbf",
         *(chr(plane << 16 | end).encode() for plane in range(1, 17) for end in (0xFFFE, 0xFFFF))],
    23: [b"\xef\xbf" + bytes((end,)) for end in range(0xB9, 0xC0)],
}


def is_utf8(payload):
    try:
        payload.decode()
        return True
    except UnicodeDecodeError:
        return False


def texts():
    for group, payloads in UTF8.items():
        for index, payload in enumerate(payloads, 1):
            good = is_utf8(payload)
            yield Case(f"6.{group}.{index}", [frame(TEXT, payload)],
                       [("text", payload.decode())] if good else [], NORMAL if good else PAYLOAD)


CLOSED = frame(CLOSE, close_payload(NORMAL))


def closings():
    """Here the client closes as part of the case: nothing is added at its end."""
    hello = frame(TEXT, "Hello World!")
    answered = [("close", NORMAL, "")]
    yield Case("7.1.1", [hello, CLOSED], [("text", "Hello World!"), *answered], None)
    yield Case("7.1.2", [CLOSED, CLOSED], answered, None)
    yield Case("7.1.3", [CLOSED, frame(PING)], answered, None)
    yield Case("7.1.4", [CLOSED, hello], answered, None)
    parts = text_fragments("fragment1", "fragment2")
    yield Case("7.1.5", [parts[0], CLOSED, parts[1]], answered, None)
    large = b"BAsd7&jh23" * 26_214
    yield Case("7.1.6", [frame(TEXT, large) + hello + CLOSED + frame(PING)],
               [("text", large.decode()), ("text", "Hello World!"), *answered], None)
    yield Case("7.3.1", [frame(CLOSE)], [("close", None, "")], None)
    yield Case("7.3.2", [frame(CLOSE, b"a")], [], PROTOCOL)
    for index, reason in ((3, b""), (4, b"Hello World!"), (5, b"*" * 123)):
        yield Case(f"7.3.{index}", [frame(CLOSE, close_payload(NORMAL, reason))], answered, None)
    yield Case("7.3.6", [frame(CLOSE, close_payload(NORMAL, b"*" * 124))], [], PROTOCOL)
    broken = GREEK + b"\xed\xa0\x80edited"
    yield Case("7.5.1", [frame(CLOSE, close_payload(NORMAL, broken))], [], PAYLOAD)
    for index, code in enumerate((1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999,
                                  4000, 4999), 1):
        yield Case(f"7.7.{index}", [frame(CLOSE, close_payload(code))], [("close", code, "")], None)
    for index, code in enumerate((0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999), 1):
        yield Case(f"7.9.{index}", [frame(CLOSE, close_payload(code))], [], PROTOCOL)
    for index, code in enumerate((5000, 65535), 1):
        yield Case(f"7.13.{index}", [frame(CLOSE, close_payload(code))], [], PROTOCOL)


def large_ones():
    kinds = ((1, TEXT, b"BAsd7&jh23"), (2, BINARY, b"\x00\xfe\x23\xfa\xf0\x12\x34\x56"))
    for group, opcode, pattern in kinds:
        for index, size in enumerate((65536, 262144, 1 << 20, 4 << 20, 8 << 20, 16 << 20), 1):
            payload = (pattern * (size // len(pattern) + 1))[:size]
            yield Case(f"9.{group}.{index}", [frame(opcode, payload)], [echoed(payload, opcode)])
    size = 4 << 20
    for group, opcode, letter in ((3, TEXT, b"*"), (4, BINARY, b"\xfe")):
        whole = [echoed(letter * size, opcode)]
        for index, each in enumerate((64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20, size), 1):
            first = frame(opcode, letter * each, fin=each == size)
            middle = frame(0, letter * each, fin=False) * (size // each - 2)
            last = frame(0, letter * each) if each < size else b""
            yield Case(f"9.{group}.{index}", [first + middle + last], whole)
    for group, opcode, letter in ((5, TEXT, b"*"), (6, BINARY, b"\xfe")):
        data = frame(opcode, letter * (1 << 20))
        for index, each in enumerate((64, 128, 256, 512, 1024, 2048), 1):
            yield Case(f"9.{group}.{index}", chopped(data, each),
                       [echoed(letter * (1 << 20), opcode)])
    for group, opcode, letter in ((7, TEXT, b"*"), (8, BINARY, b"\xfe")):
        for index, each in enumerate((0, 16, 64, 256, 1024, 4096), 1):
            one = ([frame(opcode, letter * each)], [echoed(letter * each, opcode)])
            yield Case(f"9.{group}.{index}", [], [], stages=[one] * 200)
    payload = b"*" * 65536
    pieces = [payload[i:i + 1300] for i in range(0, len(payload), 1300)]
    yield Case("10.1.1", text_fragments(*pieces), [("text", payload.decode())])


CASES = [*lengths(), *pings(), *reserved_bits(), *opcodes(), *fragments(), *text_basics(),
         *failing_fast(), *texts(), *closings()]


# ---- permessage-deflate: 12 is the plain offer over five kinds of data, 13 other offers ---------

SIZES = [(16, 0), (64, 0), (256, 0), (1024, 0), (4096, 0), (8192, 0), (16384, 0), (32768, 0),
         (65536, 0), (131072, 0), (8192, 256), (16384, 256), (32768, 256), (65536, 256),
         (131072, 256), (131072, 1024), (131072, 4096), (131072, 32768)]
OFFERS = {
    "12": ["permessage-deflate; client_max_window_bits"],
    "13.1": ["permessage-deflate"],
    "13.2": ["permessage-deflate; server_no_context_takeover", "permessage-deflate"],
    "13.3": ["permessage-deflate; server_max_window_bits=9", "permessage-deflate"],
    "13.4": ["permessage-deflate; server_max_window_bits=15", "permessage-deflate"],
    "13.5": ["permessage-deflate; server_no_context_takeover; server_max_window_bits=9",
             "permessage-deflate; server_no_context_takeover", "permessage-deflate"],
    "13.6": ["permessage-deflate; server_no_context_takeover; server_max_window_bits=15",
             "permessage-deflate; server_no_context_takeover", "permessage-deflate"],
    "13.7": ["permessage-deflate; server_no_context_takeover; server_max_window_bits=9",
             "permessage-deflate; client_no_context_takeover; client_max_window_bits=10",
             "permessage-deflate"],
}
WORDS = "the tide that comes in goes out again and the shore keeps what it was given".split()


def test_data(kind):
    """A megabyte each: JSON, a picture, a book, HTML, and what no one can compress."""
    dice = random.Random(kind)
    if kind == 1:
        return "".join(f'{{"id": {i}, "words": "{dice.choice(WORDS)}"}},\n'
                       for i in range(30_000)).encode()
    if kind == 2:
        return bytes((x * y // 97 + dice.randrange(8)) & 255 for x in range(1000) for y in
                     range(1000))
    if kind == 3:
        return " ".join(dice.choice(WORDS) for _ in range(200_000)).encode()
    if kind == 4:
        return "".join(f"<li class='row'><a href='/{i}'>{dice.choice(WORDS)}</a></li>\n"
                       for i in range(20_000)).encode()
    return dice.randbytes(1 << 20)
