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


def built(name):
    """The program, which stands where the binary under test was built."""
    binary = os.environ.get("TIDERACE_BINARY")
    build = pathlib.Path(binary).parent if binary else ROOT / "build/dev"
    program = build / "tests/wire_differential" / name
    if not program.exists():
        cache = build / "CMakeCache.txt"
        if cache.exists() and "NGHTTP2_FOUND:INTERNAL=1" not in cache.read_text():
            pytest.skip("libnghttp2 was not there when the build was configured")
        pytest.fail(f"{program} is not built: ninja -C {build} wire_differential_programs")
    return program


def test_hpack_is_read_and_written_as_nghttp2_does():
    program = built("nghttp2_hpack")
    told = subprocess.run(
        [program, str(SEED), str(CONNECTIONS)], capture_output=True, text=True, timeout=240
    )
    assert told.returncode == 0, told.stdout
    blocks, refused = map(int, re.match(r"(\d+) blocks, (\d+) refused", told.stdout).groups())
    assert blocks > CONNECTIONS and refused > CONNECTIONS / 10


def test_frames_are_taken_and_refused_as_nghttp2_does():
    told = subprocess.run([built("nghttp2_frames")], capture_output=True, text=True, timeout=240)
    assert told.returncode == 0, told.stdout
    lines = told.stdout.splitlines()
    seen = set()
    for line in lines[:-1]:
        kind, ours, theirs = re.match(r"type (\d+): ours (.*), theirs (.*) \(", line).groups()
        if ours.startswith("ends") and theirs.startswith("ends"):
            continue  # several rules were broken, and either may be checked first
        assert (int(kind), ours, theirs) in DIFFERENT, line
        seen.add((int(kind), ours, theirs))
    assert seen == set(DIFFERENT)
    assert re.fullmatch(r"\d{6} frames", lines[-1])
