"""Our request codecs against llhttp (PyPI httptools), an independent parser.

Both read every input of the fuzz corpora and a few thousand seeded mutations of them. Where both
take a request they must read the same out of it. Where only we refuse, the reason must be one of
STRICTER; that only they refuse must be one of the few kinds of `taken_by_us_alone`.
"""

import collections
import os
import pathlib
import random
import struct
import subprocess

import httptools
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 20261121
MUTATIONS = 6000

CHUNKED_HEAD = b"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\n"

# Requests that we refuse although llhttp takes them: why, and a request that shows it. All
# differences in strictness are here; each is one in which we are the stricter.
STRICTER = {
    "bad_host": (
        "it does not look into Host; RFC 9112 3.2",
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    ),
    "missing_host": ("it leaves RFC 9112 3.2 to its user", b"GET / HTTP/1.1\r\n\r\n"),
    "duplicate_host": ("it leaves RFC 9112 3.2 to its user", GET + b"Host: b\r\n\r\n"),
    "bad_target": ("it takes fragments, among others", b"GET /#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "bad_length": ("some read a leading zero as octal", POST + b"Content-Length: 05\r\n\r\n"),
    "length_overflow": (
        "we end where file offsets do, at 2^63 - 1; it ends at 2^64 - 1",
        POST + b"Content-Length: 9223372036854775808\r\n\r\n",
    ),
    "bad_transfer_coding": (
        "it knows chunked in HTTP/1.0, where RFC 9112 6.1 calls the framing faulty",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "unknown_transfer_coding": (
        "it leaves codings before chunked to its user",
        POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ),
    "unknown_expectation": ("it leaves Expect to its user", GET + b"Expect: tea\r\n\r\n"),
    "bad_version": ("it takes HTTP/0.9, which has no version", b"GET /\r\n\r\n"),
    "unsupported_version": ("it takes HTTP/0.9 with a version too", b"GET / HTTP/0.9\r\n\r\n"),
    "bad_request_line": (
        "it takes any number of spaces in the line and of empty lines before it",
        b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    "bare_cr": ("it passes over one before a request", b"\r" + GET + b"\r\n"),
    "bare_lf": ("it passes over one before a request", b"\n" + GET + b"\r\n"),
    "bad_chunk_size": (
        "we take 16 digits, zeros included",
        CHUNKED_HEAD + b"00000000000000001\r\nx\r\n0\r\n\r\n",
    ),
    "bad_chunk_extension": (
        "it takes empty extensions",
        CHUNKED_HEAD + b"1;;a\r\nx\r\n0\r\n\r\n",
    ),
    "bad_trailer": (
        "it takes Host in trailers",
        CHUNKED_HEAD + b"0\r\nHost: b\r\n\r\n",
    ),
}


class Reading:
    """llhttp's view of one request: `outcome` is request, incomplete or refused."""

    def __init__(self, raw):
        self.outcome, self.method, self.minor, self.error = "incomplete", b"", 0, None
        self.target, self.fields, self.body, self.trailers = b"", [], b"", []
        self._in_head = True
        self.upgraded = False
        parser = self._parser = httptools.HttpRequestParser(self)
        try:
            parser.feed_data(raw)
        except httptools.HttpParserUpgrade:
            self.upgraded = True  # said when the request is complete
        except httptools.HttpParserError as error:
            if self.outcome != "request":  # else it concerns the bytes after the request
                self.outcome, self.error = "refused", error

    def _first(self):
        return self.outcome != "request"

    def on_url(self, url):
        if self._first():
            self.target += url

    def on_header(self, name, value):
        if self._first():
            # It leaves the space after a value to its user.
            field = (name.lower(), value.strip(b" \t"))
            (self.fields if self._in_head else self.trailers).append(field)

    def on_headers_complete(self):
        if self._first():
            self._in_head = False
            self.method = self._parser.get_method()
            version = self._parser.get_http_version()
            self.minor = 0 if version == "1.0" else 1

    def on_body(self, data):
        if self._first():
            self.body += data

    def on_message_complete(self):
        self.outcome = "request"


class Ours:
    def __init__(self, line):
        words = line.split(" ")
        self.outcome = words[0]
        self.line = line
        if self.outcome == "refused":
            self.status, self.reason = int(words[1]), words[2]
        if self.outcome == "request":
            self.method, self.target = bytes.fromhex(words[1]), bytes.fromhex(words[2])
            self.minor = int(words[3])
            self.fields, self.trailers = fields_of(words[4]), fields_of(words[6])
            self.body = b"" if words[5] == "-" else bytes.fromhex(words[5])
            self.used = int(words[7])


def fields_of(text):
    pairs = [] if text == "-" else [pair.split(":") for pair in text.split(",")]
    return [(bytes.fromhex(name).lower(), bytes.fromhex(value)) for name, value in pairs]


def oracle():
    """The program, which stands where the binary under test was built."""
    binary = os.environ.get("TIDERACE_BINARY")
    build = pathlib.Path(binary).parent if binary else ROOT / "build/dev"
    program = build / "tests/wire_differential/wire_oracle"
    if not program.exists():
        pytest.fail(f"{program} is not built: ninja -C {build} wire_differential_programs")
    return program


def ask(requests):
    asked = b"".join(struct.pack("<I", len(raw)) + raw for raw in requests)
    said = subprocess.run([oracle()], input=asked, capture_output=True, check=True, timeout=240)
    lines = said.stdout.decode().splitlines()
    assert len(lines) == len(requests)
    return [Ours(line) for line in lines]


def corpus():
    inputs = [path.read_bytes() for path in sorted((ROOT / "fuzz/corpus/request_head").iterdir())]
    for path in sorted((ROOT / "fuzz/corpus/chunked").iterdir()):
        inputs.append(CHUNKED_HEAD + path.read_bytes())
    return inputs


PIECES = [
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b";", b'"', b"\\", b"#", b"%", b"=",
    b"0", b"5", b"f", b"-", b"+", b"\x80", b"\x0b", b"\x7f", b"chunked", b"identity", b"gzip",
    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: b\r\n", b"X: y\r\n",
    b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"Trailer: X\r\n", b"HTTP/1.0",
    b"HTTP/1.1", b"\r\n\r\n", b"0\r\n\r\n", b"5\r\nhello\r\n", b";a=b", b"http://a/", b"OPTIONS *",
]  # fmt: skip


def mutate(raw, inputs, rng):
    raw = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(raw) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            raw[at:at] = rng.choice(PIECES)
        elif kind == 1:
            raw[at : at + 1] = rng.choice(PIECES)
        elif kind == 2:
            del raw[at : at + rng.randrange(1, 5)]
        elif kind == 3:
            raw[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 4:  # a line again, somewhere else
            lines = bytes(raw).split(b"\r\n")
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            raw = bytearray(b"\r\n".join(lines))
        else:
            other = rng.choice(inputs)
            raw = raw[:at] + other[rng.randrange(len(other)) :]
    return bytes(raw)


def taken_by_us_alone(theirs):
    """Why llhttp refuses a message that we accept; None: the RFC is not known to allow it."""
    message = str(theirs.error)
    if "method" in message.lower():
        return "it has a list of methods; we hand unknown ones on, to be answered with 501"
    if message == "Invalid HTTP version":
        return "HTTP/1.2 to 1.9 are answered as 1.1 (RFC 9110 2.5)"
    if message in (
        "Invalid character in chunk extensions",
        "Invalid character in chunk extensions quote value",
    ):
        return "white space around extensions, and quoted pairs in them (RFC 9112 7.1.1)"
    return None


def difference(ours, theirs):
    """How two readings differ wrongly; None if they do not."""
    if ours.outcome == "refused":
        if theirs.outcome == "refused" or ours.reason in STRICTER:
            return None
        return f"refused for {ours.reason}, which is not a known strictness"
    if theirs.outcome == "refused":
        if ours.outcome == "incomplete":
            return None  # we judge some things when the head is complete
        return None if taken_by_us_alone(theirs) else f"they refuse: {theirs.error}"
    if theirs.upgraded and ours.outcome == "incomplete":
        return None  # it ends a request to upgrade with its head, we with its body (RFC 9110 7.8)
    if ours.outcome != theirs.outcome:
        return f"ours is {ours.outcome}, theirs {theirs.outcome}"
    if ours.outcome == "incomplete":
        return None
    parts = ["method", "target", "minor", "fields"]
    if not theirs.upgraded:
        parts += ["body", "trailers"]
    for name in parts:
        mine, other = getattr(ours, name), getattr(theirs, name)
        if mine != other:
            return f"{name}: ours {mine!r}, theirs {other!r}"
    return None


def compare(requests):
    tally = collections.Counter()
    wrong = []
    for raw, ours in zip(requests, ask(requests)):
        theirs = Reading(raw)
        tally[ours.outcome, theirs.outcome] += 1
        found = difference(ours, theirs)
        if found:
            wrong.append(f"{raw!r}\n    {found}")
    return tally, wrong


def test_the_corpus_is_read_alike():
    tally, wrong = compare(corpus())
    assert not wrong, "\n".join(wrong[:20])
    assert tally["request", "request"] >= 15  # or the corpus says little


def test_mutations_are_read_alike():
    rng = random.Random(SEED)
    inputs = corpus()
    requests = [mutate(rng.choice(inputs), inputs, rng) for _ in range(MUTATIONS)]
    tally, wrong = compare(requests)
    print(dict(tally))
    assert not wrong, f"{len(wrong)} differ, seed {SEED}\n" + "\n".join(wrong[:20])
    assert tally["request", "request"] > MUTATIONS // 20
    assert tally["refused", "refused"] > MUTATIONS // 20


@pytest.mark.parametrize("reason", STRICTER)
def test_each_strictness_is_real(reason):
    """An entry that excuses nothing would hide a difference one day: it must go."""
    why, raw = STRICTER[reason]
    (ours,) = ask([raw])
    assert (ours.outcome, getattr(ours, "reason", "")) == ("refused", reason), why
    assert Reading(raw).outcome != "refused", why
