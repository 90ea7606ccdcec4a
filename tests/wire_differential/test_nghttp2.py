"""Our HTTP/2 codecs against nghttp2's, in two programs that link both.

HPACK: generated connections and mutations of their blocks, in both directions; the two must take
the same blocks and read the same fields out of them. Frames: every type with many lengths, flags
and streams; where the two differ, DIFFERENT must say why.
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 20261121
CONNECTIONS = 6000

# Frame type, what we do, what nghttp2 does: why. All differences are here.
DIFFERENT = {
    (1, "takes it", "ends with COMPRESSION_ERROR"): "it decodes the pieces of a field block as "
    "they come; we wait for END_HEADERS",
    (1, "resets with PROTOCOL_ERROR", "takes it"): "it was told to leave trailers without "
    "END_STREAM, and streams that depend on themselves, to its user; RFC 9113 8.1",
    (2, "ends with PROTOCOL_ERROR", "takes it"): "it passes over all of PRIORITY once "
    "SETTINGS_NO_RFC7540_PRIORITIES was sent; RFC 9113 6.3 has the error for stream 0",
    (2, "resets with PROTOCOL_ERROR", "takes it"): "so for a stream that depends on itself",
    (2, "resets with FRAME_SIZE_ERROR", "ends with FRAME_SIZE_ERROR"): "RFC 9113 6.3: the stream",
    (7, "takes it", "ends with PROTOCOL_ERROR"): "it looks whether it opened the last stream that "
    "GOAWAY names; we never open one, so the number says nothing",
    (8, "resets with PROTOCOL_ERROR", "ends with PROTOCOL_ERROR"): "RFC 9113 6.9: an increment of "
    "0 on a stream is that stream's error",
    (16, "ends with PROTOCOL_ERROR", "takes it"): "RFC 9218 7.1 has the error for stream 0",
}


def build(program):
    """The program, built where the binary under test was built."""
    binary = os.environ.get("TIDERACE_BINARY")
    folder = pathlib.Path(binary).parent if binary else ROOT / "build/dev"
    if not (folder / "build.ninja").exists():
        pytest.skip(f"{folder} is not configured")
    asked = ["ninja", "-C", folder, program]
    made = subprocess.run(asked, capture_output=True, text=True)
    if "unknown target" in made.stderr + made.stdout:
        pytest.skip("libnghttp2 was not there when the build was configured")
    assert made.returncode == 0, made.stdout
    return folder / "tests/wire_differential" / program


def test_hpack_is_read_and_written_as_nghttp2_does():
    program = build("nghttp2_hpack")
    told = subprocess.run(
        [program, str(SEED), str(CONNECTIONS)], capture_output=True, text=True, timeout=60
    )
    assert told.returncode == 0, told.stdout
    blocks, refused = map(int, re.match(r"(\d+) blocks, (\d+) refused", told.stdout).groups())
    assert blocks > CONNECTIONS and refused > CONNECTIONS / 10


def test_frames_are_taken_and_refused_as_nghttp2_does():
    told = subprocess.run([build("nghttp2_frames")], capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stdout
    lines = told.stdout.splitlines()
    seen = set()
    for line in lines[:-1]:
        kind, ours, theirs = re.match(r"type (\d+): ours (.*), theirs (.*) \(", line).groups()
        if ours.startswith("ends") and theirs.startswith("ends"):
            continue  # more than one rule was broken, and which is looked at first is free
        assert (int(kind), ours, theirs) in DIFFERENT, line
        seen.add((int(kind), ours, theirs))
    assert seen == set(DIFFERENT)
    assert re.fullmatch(r"\d{6} frames", lines[-1])
