#!/usr/bin/env python3
"""The house rules as a test. A rule is a function from a Tree to complaints; none of them fixes.

usage: tidy.py [--count] [--aims] [--public] [--ratchet] [ROOT]

  --count    end with `N rules hold, M broken`, for tools/run_tests.py
  --aims     list what is above its aim but within its limit (never a failure)
  --public   list the public headers
  --ratchet  lower the entries of tools/tidy_ratchet.txt to today's sizes and drop what is within

Two lists of exceptions, both of which may only shrink: tools/tidy_ratchet.txt (sizes) and
tools/tidy_untested.txt (units without a test of their own, each with its reason).
"""

import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys

import tidy_includes

HEADER_LINES_MAX = 200
SOURCE_LINES_AIM, SOURCE_LINES_MAX = 300, 600
FUNCTION_LINES_AIM, FUNCTION_LINES_MAX = 25, 70
LINE_COLUMNS_MAX = 100
FOLDER_UNITS_AIM, FOLDER_UNITS_MAX = 20, 30
FACE_HEADERS_MAX, FACE_LINES_MAX = 15, 2_500  # tiderace/*.h: what a user reads first
# Examples that show how little is needed: the lines of their C++, without tests.
SMALL_EXAMPLES = {"examples/chat/": 80, "examples/proxy/": 40, "examples/todo/todo.cc": 150}
INTERNAL_MARK = "// Internal."  # begins an installed header that is not public
EXEMPT_MARK = "tidy: table"  # within the first ten lines: a generated table, exempt from sizes

RATCHET = "tools/tidy_ratchet.txt"
UNTESTED = "tools/tidy_untested.txt"
CPP = (".h", ".cc", ".c")

# The arrows: a room may include itself and these. Anything else is a broken arrow.
BELOW_NET = {"base", "log", "core"}
WIRE = {
    *("http/wire", "http/wire/h2", "http/wire/text", "http/wire/websocket", "http/wire/cgi"),
}
HTTP = WIRE | {
    *("http", "http/h1", "http/h2", "http/websocket", "http/route", "http/coding"),
    *("http/files", "http/listing", "http/handler", "http/filter", "http/app"),
    *("http/app/pages", "http/app/life", "http/app/limits", "http/app/observe"),
    *("http/app/signed", "http/app/websocket"),
    *("http/client", "http/client/websocket", "http/cgi", "http/stores"),
}
# Pages, and what happens around the requests, are parts of an application: one target.
APPLICATION = {
    *("http/app", "http/app/checks", "http/app/from_request", "http/app/openapi"),
    *("http/app/pages", "http/app/life", "http/app/limits", "http/app/observe", "http/app/signed"),
}
PURE = {"json", "text", "resp"}
DATABASES = {"db", "db/sqlite", "db/postgres", "db/mariadb", "db/redis"}
PROTOCOLS = HTTP | DATABASES | {"tls", "tcp"}
EVERYTHING = BELOW_NET | {"metrics", "net", "task", "password", "jwt"} | PURE | PROTOCOLS
ARROWS = {
    "base": set(),
    "log": {"base"},
    "metrics": {"base"},
    "core": {"base", "log", "core/backend"},
    "core/backend": {"base", "log", "core"},
    "task": BELOW_NET,
    "net": BELOW_NET,
    "tcp": BELOW_NET | {"net", "task"},
    "password": BELOW_NET | {"task"},
    "jwt": BELOW_NET | {"json", "http", "http/wire", "http/filter", "http/app"},
    "tls": BELOW_NET | {"metrics", "net"},
    "db": BELOW_NET | {"metrics", "net", "task", "db/sqlite", "db/postgres", "db/mariadb"},
    "db/sqlite": BELOW_NET | {"net", "task", "db"},
    "db/postgres": BELOW_NET | {"net", "task", "db"},
    "db/mariadb": BELOW_NET | {"net", "task", "db"},
    "db/redis": BELOW_NET | {"net", "task", "tcp", "resp", "db"},
    "json": {"base"},
    "text": {"base"},
    "resp": {"base"},
    "http/wire": {"base"},
    # Of http/wire these two use what every version shares, and no more (decision 20): a header in
    # place of a room is an arrow to it alone.
    "http/wire/h2": {
        "base",
        "http/wire/field_name.h",
        "http/wire/field_syntax.h",
        "http/wire/framing.h",
        "http/wire/host.h",
        "http/wire/refusal.h",
        "http/wire/request_head.h",
        "http/wire/scan.h",
    },
    "http/wire/cgi": {"base", "http/wire"},
    "http/wire/text": {"base", "http/wire"},
    "http/wire/websocket": {
        "base",
        "http/wire/field_line.h",
        "http/wire/field_syntax.h",
        "http/wire/refusal.h",
        "http/wire/request_head.h",
    },
    "http/route": {"base", "http/wire"},
    "http": BELOW_NET
    | {"metrics", "net", "task", "http/wire", "http/wire/h2", "http/route"},
    "http/h2": BELOW_NET | {"net", "http", "http/wire", "http/wire/h2"},
    "http/h1": BELOW_NET | {"net", "http", "http/h2", "http/wire", "http/wire/h2"},
    "http/websocket": BELOW_NET
    | {"net", "task", "http", "http/wire", "http/wire/text", "http/wire/websocket"},
    "http/coding": BELOW_NET | {"http/wire"},
    **dict.fromkeys(
        APPLICATION,
        BELOW_NET
        | {"metrics", "net", "task", "json", "text", "http", "http/wire", "http/route"}
        | {"http/coding", "http/files", "http/handler", "http/filter", "http/cgi"}
        | APPLICATION,
    ),
    "http/app/websocket": BELOW_NET
    | {"net", "task", "http", "http/wire", "http/wire/websocket", "http/websocket", "http/app"},
    # Above both, which do not know each other (decision 31).
    "http/stores": BELOW_NET
    | {"net", "task", "http", "http/wire", "http/filter", "http/app", "http/app/limits", "db"}
    | {"db/redis"},
    "http/client": BELOW_NET
    | {"metrics", "net", "tcp", "task", "json", "http/wire", "http/wire/h2", "http/coding"},
    "http/client/websocket": BELOW_NET
    | {"net", "tcp", "task", "http", "http/wire", "http/websocket", "http/client"},
    "http/files": BELOW_NET | {"net", "http", "http/wire", "http/route", "http/coding"},
    "http/listing": BELOW_NET | {"net", "http", "http/wire", "http/wire/text", "http/files"},
    "http/handler": BELOW_NET | {"net", "http", "http/wire", "http/files", "http/listing"},
    "http/filter": BELOW_NET | {"net", "http", "http/wire", "http/wire/text", "http/coding"},
    "http/cgi": BELOW_NET
    | {"net", "http", "http/wire", "http/wire/cgi", "http/route", "http/filter"},
    "serve": EVERYTHING,
    "testing": BELOW_NET | HTTP | {"net", "core/backend", "tls", "task", "json", "db"},
    "load": EVERYTHING,
    "server": EVERYTHING | {"serve", "load", "lab"},
    "lab": EVERYTHING | {"core/backend", "load"},
    "examples": EVERYTHING | {"serve"},
    "bench": EVERYTHING | {"testing", "core/backend", "server", "load", "lab", "examples"},
    "fuzz": EVERYTHING | {"testing", "core/backend", "server", "load"},
    "tests": EVERYTHING | {"testing", "core/backend", "serve", "server"},
}
# The others are in tiderace/.
TOP_ROOMS = {"server", "load", "lab", "examples", "bench", "fuzz", "tests"}
# Rooms that may wait for descriptors (the log's writer and the loop), and headers that no codec
# includes.
MAY_WAIT = {"base", "log", "core", "core/backend"}
MAY_WAIT |= {"testing", "load", "lab", "bench", "fuzz", "tests"}
KERNEL_HEADERS = re.compile(
    r"sys/epoll\.h|poll\.h|sys/select\.h|sys/event\.h|liburing\.h|linux/io_uring\.h"
)
SOCKET_HEADERS = re.compile(r"sys/socket\.h|netinet/.*|arpa/inet\.h|netdb\.h|sys/un\.h")
SYSTEM_HEADERS = re.compile(
    r"(sys|netinet|arpa|linux)/.*|unistd\.h|fcntl\.h|netdb\.h|poll\.h|time\.h|ctime"
    r"|thread|mutex|iostream|fstream"
)
CAPABILITY = re.compile(r"\b(supports|has|can)_(epoll|io_uring|completions?|kqueue|multishot)\b")
TYPE_NAME = re.compile(r"\b(?:class|struct|enum(?: class)?|concept|using|namespace)\s+(\w+)")
SCOPE_OPENER = re.compile(
    r"\s*(template\s*<[^{}]*>\s*)?(namespace|class|struct|union|enum|extern)\b"
)
LITERALS_ALLOWED = {"tiderace/base/units.h"}  # the one header that gives everyone `60s`

FORBIDDEN_WORDS = {
    "util",
    "utils",
    "common",
    "misc",
    "helper",
    "helpers",
    "manager",
    "managers",
    "impl",
    "impls",
}
# Names that were changed because they said too little, each with its successor.
RETIRED_NAMES = {
    "Arrangement": "ThreadingModel",
    "Door": "a name that says between what",
    "Errands": "BlockingJobs",
    "FileRoom": "FileBudget",
    "OptionsCall": "Flag<Options>",
    "OptionsOf": "Flag<Options>",
    "Telling": "ProgressPrinter",
    "crowded_": "backlogged_",
    "let_go": "complete, disconnect or forget",
    "note_said": "mark_fired",
    "set_again": "rearm",
    "tell_room": "notify_writable",
}


@dataclasses.dataclass(frozen=True)
class Complaint:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


class Tree:
    """The tracked (or, outside git, all) files below a folder, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.paths = sorted(self._list())
        self.ratchet = self._entries(RATCHET)
        self.untested = self._entries(UNTESTED)

    def _list(self):
        said = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=False,
        )
        if said.returncode == 0:
            names = said.stdout.splitlines()
        else:
            names = [str(p.relative_to(self.root)) for p in self.root.rglob("*")]
        return [n for n in names if (self.root / n).is_file() and not n.startswith("build/")]

    def _entries(self, name):
        """`key: rest` lines; # starts a comment line."""
        path = self.root / name
        lines = path.read_text().splitlines() if path.exists() else []
        pairs = (line.partition(":") for line in lines if line.strip() and line[0] != "#")
        return {key.strip(): rest.strip() for key, _, rest in pairs}

    @functools.cache
    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    @functools.cache
    def lines(self, path):
        return self.text(path).splitlines()

    @functools.cache
    def code(self, path):
        return blank_comments_and_strings(self.text(path))

    def having(self, *suffixes):
        return [path for path in self.paths if path.endswith(suffixes)]

    def is_table(self, path):
        return any(EXEMPT_MARK in line for line in self.lines(path)[:10])


def blank_comments_and_strings(text):
    """Same length and lines, with the inside of comments, literals and directives made spaces."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
        re.S | re.M,
    )
    return token.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def room_of(path):
    """`tiderace/http/wire/uri.cc` is in http/wire; `server/main.cc` in server."""
    folders = path.split("/")[:-1]
    if folders[:1] == ["tiderace"]:
        folders = folders[1:]
        for depth in (3, 2, 1):
            if "/".join(folders[:depth]) in ARROWS:
                return "/".join(folders[:depth])
        return "/".join(folders[:2]) or None
    return folders[0] if folders and folders[0] in TOP_ROOMS else None


def is_test(path):
    return re.search(r"_test\.(cc|py)$|_fixture\.(h|cc)$", path) is not None


def includes_of(tree, path):
    for number, line in enumerate(tree.lines(path), 1):
        found = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1), found.group(2)


# ---- rules --------------------------------------------------------------------------------------


def arrows(tree):
    """Includes follow the arrows of the house, and each arrow to a header is used."""
    unused = {room: {name for name in ARROWS[room] if name.endswith(".h")} for room in ARROWS}
    rooms = set()
    for path in tree.having(*CPP):
        room = room_of(path)
        if room is None:
            continue
        if room not in ARROWS:
            yield Complaint(
                path, 0, f"room {room} has no arrows; add it to ARROWS in tools/tidy.py"
            )
            continue
        rooms.add(room)
        allowed = ARROWS[room] | {room}
        if is_test(path):
            allowed = allowed | BELOW_NET | {"net", "core/backend", "testing"}
            allowed = allowed | (HTTP if room in HTTP else set())
        for number, quote, name in includes_of(tree, path):
            if name.startswith("../") or (
                quote == '"' and "/" not in name and room_of(path) != "bench"
            ):
                yield Complaint(path, number, f"include {name} by its full path")
            target = room_of(name)
            header = name.removeprefix("tiderace/")
            if not is_test(path):
                unused[room].discard(header)
            if target is not None and not {target, header} & allowed:
                yield Complaint(path, number, f"{room} may not include {target} ({name})")
    for room in sorted(rooms):
        for header in sorted(unused[room]):
            yield Complaint(
                "tools/tidy.py", 0, f"{room} does not use {header}: take it out of ARROWS"
            )


def inner_folder_of(path):
    """The folder inside a room of tiderace/ that is no room: `tiderace/net/ring/a.h` is in it."""
    room = room_of(path)
    if room is None or not path.startswith("tiderace/") or room in TOP_ROOMS:
        return None
    folder = path.rpartition("/")[0]
    if room == "core/backend":  # a room for the arrows, which say who else may look into it
        return folder
    return folder if folder != f"tiderace/{room}" else None


def inner_folders(tree):
    """A room's inner folders are private to it: no other room includes them, no user does."""
    for path in tree.having(*CPP):
        for number, _, name in includes_of(tree, path):
            inner = inner_folder_of(name)
            if inner is None or room_of(name) in (room_of(path), "core/backend"):
                continue
            yield Complaint(path, number, f"{name} is private to {room_of(name)}")
    for path, listed_in in installed_headers_of(tree).items():
        if inner_folder_of(path) is not None:
            yield Complaint(listed_in, 0, f"lists {path}, which is in an inner folder: private")


def seams(tree):
    """Nothing sees below its seam: no pollers above core, no sockets in a protocol."""
    for path in tree.having(*CPP):
        room = room_of(path)
        if room is None or is_test(path):
            continue
        for number, _, name in includes_of(tree, path):
            if room not in MAY_WAIT and KERNEL_HEADERS.fullmatch(name):
                yield Complaint(path, number, f"<{name}> belongs below the loop, in core")
            elif room.split("/")[0] in ("http", "db") and SOCKET_HEADERS.fullmatch(name):
                yield Complaint(path, number, f"<{name}>: a protocol sees bytes, never sockets")
            elif (room in WIRE or room in PURE) and SYSTEM_HEADERS.fullmatch(name):
                yield Complaint(path, number, f"<{name}>: a codec has no system, clock or thread")
            elif path.startswith("tiderace/") and path.endswith(".h") and "simdjson" in name:
                yield Complaint(path, number, f"<{name}>: a user's program would compile it, too")
        if room not in ("core", "core/backend"):
            for number, line in enumerate(tree.code(path).splitlines(), 1):
                if CAPABILITY.search(line):
                    yield Complaint(path, number, "a backend's capability leaks above the seam")


def limit_of(path):
    return HEADER_LINES_MAX if path.endswith(".h") else SOURCE_LINES_MAX


def functions_of(code):
    """(name, first line, lines) of each outermost function body in clang-formatted code."""

    def line_at(offset):
        return code.count("\n", 0, offset) + 1

    position, start = 0, 0
    while position < len(code):
        letter = code[position]
        if letter in ";}":
            start = position + 1
        elif letter == "{":
            before = code[start:position]
            if before and (before[-1].isalnum() or before[-1] in "_>)]=,("):
                position = closing_brace(code, position)  # an initializer such as `size_{0}`
            elif re.search(r"\)", before) and not re.match(SCOPE_OPENER, before):
                end = closing_brace(code, position)
                first = start + len(before) - len(before.lstrip())
                named = re.search(r"([~\w]+|operator\S+)\s*\(", before)
                yield (
                    named.group(1) if named else "?",
                    line_at(first),
                    line_at(end) - line_at(first) + 1,
                )
                position, start = end, end + 1
            else:
                start = position + 1  # a namespace, a class, an enum: look inside
        position += 1


def closing_brace(code, position):
    depth = 0
    for offset in range(position, len(code)):
        if code[offset] == "{":
            depth += 1
        elif code[offset] == "}":
            depth -= 1
            if depth == 0:
                return offset
    return len(code) - 1


def sizes_today(tree):
    """(kind, key, line, size, aim, limit) of everything that has a size."""
    for path in tree.having(*CPP):
        if room_of(path) is None or tree.is_table(path):
            continue
        aim = limit_of(path) if path.endswith(".h") else SOURCE_LINES_AIM
        yield "file", path, 0, len(tree.lines(path)), aim, limit_of(path)
        for name, line, size in functions_of(tree.code(path)):
            if name == "TEST" or name.startswith("TEST_"):
                name = "".join(re.findall(r"\w+", tree.lines(path)[line - 1]))
            yield "function", f"{path} {name}", line, size, FUNCTION_LINES_AIM, FUNCTION_LINES_MAX


def sizes(tree):
    """Files and functions are within their limits, or in the ratchet and not grown."""
    over = set()
    for kind, key, line, size, _, limit in sizes_today(tree):
        if size <= limit:
            continue
        over.add(key)
        path, name = key.split(" ")[0], key.split(" ")[-1]
        known = tree.ratchet.get(key)
        if known is None:
            yield Complaint(path, line, f"{kind} {name} has {size} lines, limit {limit}")
        elif size > int(known):
            yield Complaint(path, line, f"{kind} {name} grew from {known} to {size} lines")
    for key in tree.ratchet.keys() - over:
        yield Complaint(RATCHET, 0, f"`{key}` is within its limit now or gone: remove the entry")


def units_of_folders(tree):
    """{folder: its units}. A unit is x.h, x.cc and x_test.cc. What continues it under a longer name
    without a header of its own (x_linux.cc, x_absent.cc, x_parts_test.cc) belongs to it."""
    folders = {}
    for path in tree.having(*CPP):
        if room_of(path) is None or tree.is_table(path):
            continue
        folder, _, name = path.rpartition("/")
        stem, kind = re.fullmatch(r"(.*?)(?:_test)?(\.\w+)", name).groups()
        folders.setdefault(folder, {}).setdefault(stem, set()).add(kind)
    units = {}
    for folder, stems in folders.items():
        headers = {stem for stem, kinds in stems.items() if ".h" in kinds}
        units[folder] = {
            stem
            for stem in stems
            if stem in headers or not any(stem.startswith(header + "_") for header in headers)
        }
    return units


def small_examples(tree):
    for place, lines_max in SMALL_EXAMPLES.items():
        paths = [p for p in tree.having(*CPP) if p.startswith(place) and not is_test(p)]
        size = sum(len(tree.lines(path)) for path in paths)
        if size > lines_max:
            yield Complaint(place, 0, f"{size} lines of C++; it shows that {lines_max} are enough")


def face_size(tree):
    """The whole face can be read in an hour."""
    face = umbrellas_of(tree)
    size = sum(len(tree.lines(path)) for path in face)
    if len(face) > FACE_HEADERS_MAX or size > FACE_LINES_MAX:
        limits = f"{FACE_HEADERS_MAX} headers and {FACE_LINES_MAX} lines"
        yield Complaint("tiderace", 0, f"{len(face)} headers of {size} lines; at most {limits}")


def folder_sizes(tree):
    """A folder holds a number of units that one can survey."""
    for folder, units in units_of_folders(tree).items():
        if len(units) > FOLDER_UNITS_MAX:
            yield Complaint(folder, 0, f"{len(units)} units, limit {FOLDER_UNITS_MAX}")


def line_length(tree):
    """No line of code is longer than 100 columns; a line that carries a link may be."""
    for path in [
        *tree.having(*CPP, ".py", ".sh"),
        *(p for p in tree.paths if p in ("dev", ".ci/run")),
    ]:
        for number, line in enumerate(tree.lines(path), 1):
            if len(line) > LINE_COLUMNS_MAX and "://" not in line and not tree.is_table(path):
                yield Complaint(path, number, f"{len(line)} columns, limit {LINE_COLUMNS_MAX}")


def units_tested(tree):
    """Each unit x.h or x.cc has x_test.cc beside it, or a reason in tools/tidy_untested.txt."""
    units = set()
    for path in tree.having(".h", ".cc"):
        if path.startswith(("tiderace/", "server/")) and not is_test(path):
            units.add(re.sub(r"\.(h|cc)$", "", path))
    lacking = {unit for unit in units if f"{unit}_test.cc" not in tree.paths}
    for unit in sorted(lacking - tree.untested.keys()):
        yield Complaint(unit, 0, f"no {pathlib.PurePath(unit).name}_test.cc beside it")
    for unit, reason in tree.untested.items():
        if unit not in lacking:
            yield Complaint(UNTESTED, 0, f"`{unit}` has a test now or is gone: remove the entry")
        elif not reason:
            yield Complaint(UNTESTED, 0, f"`{unit}` needs a reason")


def map_is_true(tree):
    """Each path that ARCHITECTURE.md names exists."""
    name = "ARCHITECTURE.md"
    if name not in tree.paths:
        yield Complaint(name, 0, "missing")
        return
    folders = {str(parent) for path in tree.paths for parent in pathlib.PurePath(path).parents}
    tops = {path.split("/")[0] for path in tree.paths if "/" in path}
    for number, line in enumerate(tree.lines(name), 1):
        for quoted in re.findall(r"`([^`\s]+)`", line):
            path = quoted.rstrip("/")
            if "*" in path or path.split("/")[0] not in tops:
                continue
            if path not in tree.paths and path not in folders:
                yield Complaint(name, number, f"names {quoted}, which does not exist")


def map_shows_rooms(tree):
    """The drawing of ARCHITECTURE.md shows each room that is a target."""
    name = "ARCHITECTURE.md"
    text = tree.text(name) if name in tree.paths else ""
    drawing = text.partition("## The house")[2].partition("\n## ")[0]
    for path in tree.having("CMakeLists.txt"):
        room = re.fullmatch(r"tiderace/(.+)/CMakeLists\.txt", path)
        if room is None or "tiderace_room(" not in tree.text(path):
            continue
        # Inside http the drawing leaves its name out.
        known = "|".join({re.escape(room[1]), re.escape(room[1].removeprefix("http/"))})
        if not re.search(rf"(?<![\w/])({known})(?![\w/])", drawing):
            yield Complaint(name, 0, f"the drawing lacks the room {room[1]}")


def names(tree):
    """No file, folder or type is called util, common, misc, helper, manager or impl."""
    for path in tree.paths:
        for part in pathlib.PurePath(path).parts:
            bad = FORBIDDEN_WORDS & set(re.split(r"[_.\-]", part.lower()))
            if bad:
                yield Complaint(path, 0, f"`{part}` is called {bad.pop()}; say what it does")
    for path in tree.having(*CPP):
        for number, line in enumerate(tree.code(path).splitlines(), 1):
            found = TYPE_NAME.search(line)
            words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", found.group(1)) if found else []
            bad = FORBIDDEN_WORDS & {word.lower() for word in words}
            if bad:
                yield Complaint(path, number, f"type {found.group(1)} is called {bad.pop()}")


def retired_names(tree):
    """A name that was changed does not come back."""
    word = re.compile(r"\b(" + "|".join(RETIRED_NAMES) + r")\b")
    for path in tree.having(*CPP):
        for number, line in enumerate(tree.code(path).splitlines(), 1):
            for name in word.findall(line):
                yield Complaint(path, number, f"{name} is now {RETIRED_NAMES[name]}")


def exceptions_once(tree):
    """No list of exceptions names one twice: the second would outlive the first."""
    for path in (RATCHET, UNTESTED):
        seen = set()
        for number, line in enumerate(tree.lines(path) if path in tree.paths else [], 1):
            key = line.partition(":")[0].strip()
            if key in seen and key and key[0] != "#":
                yield Complaint(path, number, f"`{key}` is here twice")
            seen.add(key)


def leftovers(tree):
    """Nothing is left to do in the source: no TODO, FIXME, XXX, HACK, no `#if 0`."""
    for path in tree.having(*CPP, ".py", ".cmake", ".txt", ".html", ".css", ".js", "dev"):
        if path.startswith("tools/tidy") or "/corpus/" in path:
            continue
        for number, line in enumerate(tree.lines(path), 1):
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b|^\s*#\s*if 0\b", line):
                yield Complaint(path, number, "left over: do it, or open an issue and say why here")


# What stands for the code and the documents of users.
OUTSIDERS = ("README.md", "docs/", "examples/", "bench/lib/")
OUTSIDERS += ("tests/consumer/", "tests/installed/", "tests/outside/", "tests/samples/")


def headers(tree):
    """A header begins with its purpose, is included once, and opens no namespace for others."""
    for path in tree.having(".h"):
        if room_of(path) is None:
            continue
        if not tree.text(path).startswith("//"):
            yield Complaint(path, 1, "a header begins with a comment: what it is")
        if "#pragma once" not in tree.lines(path):
            yield Complaint(path, 0, "no #pragma once")
    for path in tree.having(*CPP):
        for number, line in enumerate(tree.code(path).splitlines(), 1):
            opened = re.search(r"\busing namespace\s+([\w:]+)", line)
            literals = opened and opened.group(1).endswith("literals")
            if opened and path.startswith(OUTSIDERS) and opened.group(1).startswith("tiderace"):
                continue  # as an outsider's program does
            if opened and not (literals and (path in LITERALS_ALLOWED or not path.endswith(".h"))):
                yield Complaint(path, number, f"using namespace {opened.group(1)}")


@functools.cache
def within_reach(tree, path):
    """The headers that a file includes, itself or through others of ours."""
    names = {name for _, _, name in includes_of(tree, path)}
    ours = {name for name in names if (tree.root / name).is_file()}
    return frozenset(names.union(*(within_reach(tree, name) for name in ours)))


def standard_headers(tree):
    """The used parts of the standard library are included, directly or by an included header."""
    for path in tree.having(".h", ".cc"):
        if room_of(path) is None:
            continue
        code = tree.code(path)
        for name, header, offset in tidy_includes.lacking(code, within_reach(tree, path)):
            line = code.count("\n", 0, offset) + 1
            yield Complaint(path, line, f"std::{name} without <{header}>")


def installed_headers_of(tree):
    """The headers that rooms list as INSTALLED in their CMakeLists.txt (cmake/Room.cmake)."""
    found = {}
    for path in tree.having("CMakeLists.txt"):
        for listed in re.findall(r"^  INSTALLED\n((?:    \S+\.h\n)+)", tree.text(path), re.M):
            for name in listed.split():
                folder = pathlib.PurePosixPath(path).parent
                found[os.path.normpath(folder / name)] = path
    return found


def umbrellas_of(tree):
    return [path for path in tree.having(".h") if re.fullmatch(r"tiderace/\w+\.h", path)]


def named_headers_of(tree, umbrella):
    """(line, name, path) of each header that the comments of an umbrella header name, by the path
    below tiderace/. The path is None where there is none."""
    for number, line in enumerate(tree.lines(umbrella), 1):
        comment = line.partition("//")[2]
        if "#include" in comment:  # of the example
            continue
        for name in re.findall(r"[\w/]+\.h\b", comment):
            paths = [path for path in (name, f"tiderace/{name}") if path in tree.paths]
            yield number, name, paths[0] if paths else None


def public_headers_of(tree):
    """The headers that are promised (decision 27): the umbrella headers tiderace/*.h, what they
    include, and what their comments name."""
    public = set(umbrellas_of(tree))
    for umbrella in umbrellas_of(tree):
        public.update(name for _, _, name in includes_of(tree, umbrella))
        public.update(path for _, _, path in named_headers_of(tree, umbrella))
    return public & set(tree.paths)


LANGUAGE = "tiderace/base/language.h"


def installed_headers(tree):
    """Public headers are installed, and what is installed includes nothing else of ours, and the
    sentence about C++23."""
    installed = installed_headers_of(tree)
    for path, listed_in in installed.items():
        if path not in tree.paths:
            yield Complaint(listed_in, 0, f"lists {path}, which does not exist")
    for path in sorted(public_headers_of(tree) - installed.keys()):
        yield Complaint(path, 0, "is public: list it as INSTALLED in a CMakeLists.txt")
    for path in sorted(installed.keys() & set(tree.paths)):
        for number, _, name in includes_of(tree, path):
            if room_of(name) is not None and name not in installed:
                yield Complaint(path, number, f"{name} is not installed: list it as INSTALLED")
        if LANGUAGE in tree.paths and path != LANGUAGE and LANGUAGE not in within_reach(tree, path):
            yield Complaint(path, 0, f"an older C++ finds no sentence here: include {LANGUAGE}")


def public_headers(tree):
    """An installed header that is not public begins with the mark, and code that stands for a
    user's includes public headers only."""
    public = public_headers_of(tree)
    for umbrella in umbrellas_of(tree):
        for number, name, path in named_headers_of(tree, umbrella):
            if path is None:
                yield Complaint(umbrella, number, f"names {name}, which is no header of ours")
    for path in sorted((installed_headers_of(tree).keys() | public) & set(tree.paths)):
        marked = tree.text(path).startswith(INTERNAL_MARK)
        if marked and path in public:
            yield Complaint(path, 1, f"is public, but begins with `{INTERNAL_MARK}`")
        elif not marked and path not in public:
            yield Complaint(path, 1, f"is not public, but does not begin with `{INTERNAL_MARK}`")
    for path in tree.having(*CPP, ".md"):
        if not path.startswith(OUTSIDERS):
            continue
        for number, _, name in includes_of(tree, path):
            own = room_of(name) == "examples"
            if room_of(name) is not None and not own and name not in public:
                yield Complaint(path, number, f"{name} is not public: no umbrella header names it")


def machine_paths(tree):
    """No path of one person's machine is in the tree."""
    for path in tree.paths:
        if (
            path.startswith("tools/tidy")
            or "/corpus/" in path
            or b"\0" in (tree.root / path).read_bytes()
        ):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            found = re.search(r"(?<![\w.])/(home/\w+/|Users/\w+/|root/\.?\w|work/\w)", line)
            if found:
                yield Complaint(path, number, f"a machine's own path: {found.group()}…")


RULES = [
    arrows,
    inner_folders,
    seams,
    sizes,
    small_examples,
    face_size,
    folder_sizes,
    line_length,
    units_tested,
    map_is_true,
    map_shows_rooms,
    names,
    retired_names,
    exceptions_once,
    leftovers,
    headers,
    installed_headers,
    public_headers,
    standard_headers,
    machine_paths,
]


# ---- the command --------------------------------------------------------------------------------


def show_aims(tree):
    for kind, key, line, size, aim, limit in sizes_today(tree):
        if aim < size <= limit:
            path, name = key.split(" ")[0], key.split(" ")[-1]
            print(f"{path}:{line or 1}: {kind} {name}: {size} lines, aim {aim}")
    for folder, units in units_of_folders(tree).items():
        if FOLDER_UNITS_AIM < len(units) <= FOLDER_UNITS_MAX:
            print(f"{folder}: {len(units)} units, aim {FOLDER_UNITS_AIM}")


def tighten(tree):
    today = {key: size for _, key, _, size, _, limit in sizes_today(tree) if size > limit}
    path = tree.root / RATCHET
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    kept = [
        f"{key}: {min(int(known), today[key])}"
        for key, known in tree.ratchet.items()
        if key in today
    ]
    path.write_text("\n".join([*comments, *kept]) + "\n")


def main(arguments):
    flags = {word for word in arguments if word.startswith("--")}
    places = [word for word in arguments if not word.startswith("--")]
    tree = Tree(places[0] if places else pathlib.Path(__file__).resolve().parent.parent)
    if "--aims" in flags:
        show_aims(tree)
        return 0
    if "--public" in flags:
        print("\n".join(sorted(public_headers_of(tree))))
        return 0
    if "--ratchet" in flags:
        tighten(tree)
        return 0
    broken = 0
    for rule in RULES:
        complaints = list(rule(tree))
        broken += bool(complaints)
        for complaint in complaints:
            print(f"{complaint}  [{rule.__name__}]")
    if "--count" in flags:
        print(f"{len(RULES) - broken} rules hold, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
