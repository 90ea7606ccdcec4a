#!/usr/bin/env python3
"""Where something is: searches the map of the house for a word of the field, such as ETag or 413.

usage: where.py [WORD…]        (./dev where); without a word it prints the whole map

The map is made of the headers themselves: `// Name: what it is` in the first lines (behind
`Internal.`, where a header is not public), and lines `// Keywords: ETag, 304` behind it, in the
comment that a header begins with. A document counts with its title. Case, hyphens and underscores
make no difference. The best match comes first.
"""

import dataclasses
import functools
import pathlib
import re
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("tiderace", "server", "load", "lab", "examples")
SHOWN_MAX = 12

# How well a place matches.
KEYWORD, NAME, WORD_OF_NAME, WORD_OF_PURPOSE, PART_OF_NAME, WORD_OF_HEAD, PART = range(9, 2, -1)


@dataclasses.dataclass(frozen=True)
class Place:
    path: str
    name: str  # "Acceptor", or "" where the first line has none
    purpose: str
    keywords: tuple
    head: str  # the whole comment


def place_of_header(path, text):
    """The place that the comment at the head of a header describes."""
    head = re.match(r"(?://[^\n]*\n)*", text).group()
    lines = [re.sub(r"^//+ ?", "", line) for line in head.splitlines()]
    listed = [line.partition(":")[2] for line in lines if line.startswith("Keywords:")]
    lines = [line for line in lines if not line.startswith("Keywords:")]
    first = " ".join("\n".join(lines).partition("\n\n")[0].split()).removeprefix("Internal. ")
    sentence = re.split(r"(?<=[^.]\.) (?=[A-Z])", first)[0]
    named = re.match(r"([\w:.+/ -]{2,40}): (.+)", sentence)
    keywords = tuple(word.strip() for word in ",".join(listed).split(",") if word.strip())
    name, purpose = named.groups() if named else ("", sentence)
    return Place(path, name, purpose, keywords, " ".join(lines))


def place_of_document(path, text):
    title = re.search(r"^# (.+)", text, re.M)
    return Place(path, "", title.group(1) if title else "", (), "")


def places(root=ROOT):
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.h")):
            if not path.name.endswith("_fixture.h"):
                name = str(path.relative_to(root))
                found.append(place_of_header(name, path.read_text(encoding="utf-8")))
    for path in [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]:
        found.append(place_of_document(str(path.relative_to(root)), path.read_text("utf-8")))
    return found


@functools.cache
def fold(text):
    """Words in lower case with one space between: `keep-alive`, `keep_alive` and `Keep alive`."""
    return " ".join(re.sub(r"[-_/\s]+", " ", text).lower().split())


def weigh(place, word):
    """How well a place matches, 0: not at all. The earlier of two keywords weighs more."""
    word = fold(word)
    solid = word.replace(" ", "")
    names = [fold(pathlib.PurePath(place.path).stem), fold(place.name)]
    keywords = [fold(keyword) for keyword in place.keywords]

    def is_word_of(text):
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None

    def is_part_of(text):
        return solid in text.replace(" ", "")

    for at, keyword in enumerate(keywords):
        if solid == keyword.replace(" ", ""):
            return KEYWORD + (solid in [name.replace(" ", "") for name in names]) - at / 10
    if any(solid == name.replace(" ", "") for name in names):
        return NAME
    if any(map(is_word_of, names + keywords)):
        return WORD_OF_NAME
    if is_word_of(fold(place.purpose)):
        return WORD_OF_PURPOSE
    if any(map(is_part_of, names + keywords)):
        return PART_OF_NAME
    if is_word_of(fold(place.head)):
        return WORD_OF_HEAD
    return PART if is_part_of(fold(place.path + " " + place.purpose)) else 0


def search(known, word):
    """The places that match, the best first."""
    weighed = [(weigh(place, word), place) for place in known]
    return [place for weight, place in sorted(weighed, key=lambda one: -one[0]) if weight > 0]


def lines_of(shown):
    width = max(len(place.path) for place in shown)
    for place in shown:
        yield f"{place.path:{width}}  {place.name + ': ' if place.name else ''}{place.purpose}"


def main(words):
    known = places()
    if not words:
        print("\n".join(lines_of(known)))
        return 0
    word = " ".join(words)
    found = search(known, word)
    if not found:
        print(
            f"no header names {word!r}: try a shorter word or another name of it, `git grep -i`, or"
            " `./dev where` alone, which prints the whole map",
            file=sys.stderr,
        )
        return 1
    print("\n".join(lines_of(found[:SHOWN_MAX])))
    if len(found) > SHOWN_MAX:
        print(f"and {len(found) - SHOWN_MAX} places that match less; a longer word finds fewer")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends quietly in front of `| head`
    sys.exit(main(sys.argv[1:]))
