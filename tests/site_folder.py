"""The folder that most tests serve. Contents are functions of the name, so that a body can be
checked wherever it turns up."""

import os
from pathlib import Path


def pattern(size, seed=1):
    """Bytes of which no two neighbourhoods are alike: a wrong offset shows."""
    block = bytearray()
    state = seed * 2654435761 % (1 << 32) or 1
    count = min(size, 65536) // 4 + 1
    for _ in range(count):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        block += state.to_bytes(4, "little")
    out = bytearray()
    index = 0
    while len(out) < size:
        out += index.to_bytes(8, "big") + block[:65528]
        index += 1
    return bytes(out[:size])


BIG = 3_000_000
MIDDLE = 57_244
HUGE = 64 << 20
INDEX = b"<!doctype html><title>index</title><p>the index\n"


def build_site(root: Path) -> Path:
    files = {
        "index.html": INDEX,
        "a.txt": b"hello\n",
        "next.txt": b"next\n",
        "secret.txt": b"not asked for\n",
        "empty.txt": b"",
        "k.bin": pattern(1024, 2),
        "middle.bin": pattern(MIDDLE, 3),
        "big.bin": pattern(BIG, 4),
        "dir/index.html": b"<!doctype html><title>dir</title>\n",
        "dir/b.txt": b"b in dir\n",
        "bare/c.txt": b"c\n",
        "about.html": b"<!doctype html><title>about</title>\n",
        "style.css": b"body { color: teal }\n",
        "app.js": b"export const tide = 'high';\n" * 40,
        "app.js.gz": b"\x1f\x8b pretend gzip of app.js",
        "app.js.br": b"pretend brotli",
        "app.js.zst": b"pretend zstd of it",
        "only.css": b"a { b: c }\n" * 10,
        "only.css.gz": b"\x1f\x8b only gz",
        "data.json": b'{"tide": 1}\n',
        "picture.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>\n",
        "pixel.png": b"\x89PNG\r\n\x1a\n",
        "unknown.zzz": b"?\n",
        "noextension": b"no extension\n",
        "with space.txt": b"space\n",
        "percent%41.txt": b"percent\n",
        "plus+plus.txt": b"plus\n",
        "hash#mark.txt": b"hash\n",
        "question?mark.txt": b"question\n",
        "semi;colon.txt": b"semi\n",
        "quote'\".txt": b"quote\n",
        "\u00fcml\u00e4ut.txt": b"umlaut\n",
        "\u6f6e.txt": b"tide\n",
        ".hidden": b"hidden\n",
        ".git/config": b"[core]\n",
        "dir/.env": b"SECRET=1\n",
        "...": b"three dots\n",
        "..double": b"double\n",
        "back\\slash.txt": b"backslash\n",
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return root


def build_huge_site(root: Path) -> Path:
    with open(root / "huge.bin", "wb") as file:
        file.truncate(HUGE)
    (root / "a.txt").write_bytes(b"hello\n")
    return root
