"""The reference of the documents site: a page for each public header, made of its text.

A page has the header's first comment (what it is for, owner, thread, errors, limits, example), and
each class, function and constant with its signature and its comment. Of a class it shows what is
public; bodies are left out. The headers are formatted by one tool, so that a declaration ends with
the `;` or `}` that a new line follows, and no C++ parser is needed.
"""

import dataclasses
import functools
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATE = r"(template\s*<.*?>\s*\n\s*)?(requires[ (][^\n]*\n\s*)?"
TYPE = re.compile(r"(?:class|struct|union|enum(?: class)?)\s+(?:\[\[.*?\]\]\s*)?")
SCOPE = re.compile(r"(?:inline )?namespace ([\w:]*) ?\{")
NOT_SHOWN = re.compile(
    r"""(friend|using\ namespace|static_assert|extern\ template|template\ (class|struct))\b
    |(template\s*<.*>\s*)?(class|struct|enum\ class|enum)\b[^({=]*;\ *(//.*)?$  # no definition
    |(template\s*<.*>\s*)?[\w:&*<>.\ ]*?\w(<[\w.]+>)?::~?\w+\(  # a member outside its class
    """,
    re.S | re.X,
)
LABELLED = re.compile(r"([A-Z][a-z]+)(?:: |  +)(\S.*)")


@dataclasses.dataclass
class Item:
    name: str
    comment: list  # its lines, without //
    code: str


# ---- reading ------------------------------------------------------------------------------------


def skip_text(text, at):
    """Behind the literal or comment that begins at `at`; `at` where there is none."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    raw = re.compile(r'R"(\w*)\(').match(text, at)
    if raw:
        return text.index(f'){raw[1]}"', at) + len(raw[1]) + 2
    if text[at] == '"' or (text[at] == "'" and not text[at - 1].isalnum()):
        end = at + 1
        while text[end] != text[at]:
            end += 2 if text[end] == "\\" else 1
        return end + 1
    return at


def end_of_block(text, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        behind = skip_text(text, at)
        if behind > at:
            at = behind
            continue
        depth += (text[at] in "{([") - (text[at] in "})]")
        at += 1
        if depth == 0:
            return at


def end_of_declaration(text, at):
    while True:
        behind = skip_text(text, at)
        if behind > at:
            at = behind
        elif text[at] in "{([":
            brace = text[at] == "{"
            at = end_of_block(text, at)
            if brace and re.compile(r"\s*(//.*)?(\n|$)(?!\s*(&&|\|\||\{|,))").match(text, at):
                return at
        elif text[at] == ";":
            return at + 1
        else:
            at += 1


def without_body(code):
    """A function without its body and initializers; anything else as it is."""
    head = re.match(TEMPLATE, code, re.S)[0]
    if TYPE.match(code, len(head)) or code.startswith(("concept", "using", "#"), len(head)):
        return code
    at, called = len(head), False
    while at < len(code):
        behind = skip_text(code, at)
        if behind > at:
            at = behind
        elif code[at] == "=" and not called and "operator" not in code[len(head) : at]:
            return code  # the value of a constant
        elif code[at] in "([":
            called = called or code[at] == "("
            at = end_of_block(code, at)
        elif called and (code[at] == "{" or re.compile(r"\s:\s(?!:)").match(code, at)):
            return code[:at].rstrip() + ";"
        elif code[at] == "{":
            at = end_of_block(code, at)
        else:
            at += 1
    return code


def pieces(text):
    """Comment lines, and code, of each declaration of a scope; blank lines end a comment."""
    at, comment = 0, []
    while at < len(text):
        line = re.compile(r"[ \t]*(.*)(\n|$)").match(text, at)
        content = line[1]
        if not content:
            comment, at = [], line.end()
        elif content.startswith("//"):
            comment.append(content)
            at = line.end()
        elif content.startswith("#"):
            while text[line.end() - 2 : line.end() - 1] == "\\":
                line = re.compile(r"(.*)(\n|$)").match(text, line.end())
            comment, at = [], line.end()
        elif re.match(r"(public|protected|private):", content):
            yield [], content
            comment, at = [], line.end()
        elif SCOPE.match(content):
            begin = text.index("{", at)
            end = end_of_block(text, begin)
            yield comment, text[at:end]
            comment, at = [], text.find("\n", end) + 1 or len(text)
        else:
            end = end_of_declaration(text, at)
            rest = re.compile(r"[ \t]*(//.*)?(\n[ \t]{12,}//.*)*(\n|$)").match(text, end)
            code = text[at:end] + (rest[0].rstrip() if rest else "")
            margin = len(code) - len(code.lstrip(" "))
            yield comment, "\n".join(line[margin:] for line in code.split("\n"))
            comment, at = [], rest.end() if rest else end


def indented(code, depth):
    return "\n".join(" " * depth + line if line else "" for line in code.split("\n"))


def public_part(code, depth=0):
    """A class as its users see it: no private members, no bodies."""
    head = re.match(TEMPLATE, code, re.S)[0]
    kind = TYPE.match(code, len(head))
    brace = code.find("{")
    if not kind or kind[0].startswith("enum") or brace < 0 or ";" in code[:brace]:
        return indented(without_body(code), depth)
    end = end_of_block(code, brace)
    shown = [indented(code[:brace].rstrip() + " {", depth)]
    visible = not kind[0].startswith("class")
    for comment, piece in pieces(code[brace + 1 : end - 1].lstrip("\n")):
        if re.match(r"(public|protected|private):", piece):
            visible = piece.startswith("public")
        elif visible and is_shown(piece):
            shown += [""] if comment and len(shown) > 1 else []
            shown += [" " * (depth + 4) + line for line in comment]
            shown.append(public_part(piece, depth + 4))
    return "\n".join(shown) + "\n" + " " * depth + "}" + code[end:].rstrip()


def is_shown(code):
    return not NOT_SHOWN.match(code) and not code.endswith("= delete;")


def name_of(code):
    head = re.match(TEMPLATE, code, re.S)[0]
    rest = code[len(head) :]
    kind = TYPE.match(rest)
    if kind:
        return re.match(r"[\w:]*(<[^{]*?>+)?(::\w+)?", rest[kind.end() :])[0]
    named = re.match(r"using (?:[\w:]+::)?(\w+)(?: =|;)|(?:inline )?concept (\w+)", rest)
    if named:
        return named[1] or named[2]
    operator = re.search(r"operator\s*(\"\"\s*\w+|[^\s(]+|\(\))", rest.split("\n")[0])
    if operator:
        return "operator" + operator[1].replace(" ", "")
    called = re.search(r"([\w:~]+)(<[^;{}()]*>)?\s*[(;={\[]", rest)
    return called[1] if called else rest.split("\n")[0]


def items_of(text, inside=()):
    """What the namespaces of a header declare; inner namespaces called …_parts are not public."""
    for comment, code in pieces(text):
        scope = SCOPE.match(code)
        if scope:
            if scope[1] and not scope[1].endswith("_parts"):
                begin = code.index("{")
                yield from items_of(code[begin + 1 : -1].lstrip("\n"), (*inside, scope[1]))
        elif inside and is_shown(code):
            lines = [line.removeprefix("//").removeprefix(" ") for line in comment]
            yield Item(name_of(code), lines, public_part(code))


def first_comment(text):
    lines = itertools.takewhile(lambda line: line.startswith("//"), text.splitlines())
    return [line[2:].removeprefix(" ") for line in lines]


# ---- writing ------------------------------------------------------------------------------------


def prose(line):
    """What Markdown would take for its own is escaped; a public header becomes a link."""
    parts = re.split(r"(`[^`]+`|(?:\w+/)+\w+\.h\b)", line)
    for number, part in enumerate(parts):
        header = "tiderace/" + part.removeprefix("tiderace/")
        if not part.startswith("`"):
            part = re.sub(r"([\\*_\[\]`#|])", r"\\\1", part)
            part = part.replace("&", "&amp;").replace("<", "&lt;")
        parts[number] = f"[{part}]({ROOT / header})" if header in public() else part
    return "".join(parts)


def prose_of(lines):
    """A comment as Markdown: indented lines are code, "Owner  …" an entry of a list."""
    shown, code, entry = [], [], False

    def flush():
        while code and not code[-1].strip():
            code.pop()
        if code:
            drop = min(len(it) - len(it.lstrip()) for it in code if it.strip())
            language = "cpp" if re.search(r"[;{]", "".join(code)) else "text"
            shown.extend(["", f"```{language}", *(it[drop:] for it in code), "```", ""])
            code.clear()

    for line in lines:
        labelled = LABELLED.fullmatch(line)
        if entry and re.match(r" {4,}\S", line):
            shown.append("    " + prose(line.strip()))
        elif line.startswith("  ") or (code and not line.strip()):
            code.append(line)
        else:
            flush()
            entry = bool(labelled) and (labelled[1] == "Keywords" or "  " in line)
            if entry:
                if shown and not shown[-1].startswith(("- **", "    ")):
                    shown.append("")
                shown.append(f"- **{labelled[1]}**: {prose(labelled[2])}")
            else:
                shown.append(prose(line))
    flush()
    return "\n".join(shown) + "\n"


def slug(name):
    return re.sub(r"[^\w]+", "-", name).strip("-") or "operator"


def page_of(header):
    """The Markdown of a public header's page, and the names on it."""
    text = (ROOT / header).read_text()
    lines = [f"# {header.removeprefix('tiderace/')}", "", f"`#include <{header}>`", ""]
    lines.append(prose_of(first_comment(text)))
    included = re.findall(r'^#include "(tiderace/[^"]+)" *(?:// *(.*))?', text, re.M)
    shared = [(name, what) for name, what in included if name in public()]
    lines += ["Includes:", ""] if shared else []
    for name, what in shared:
        about = f": {prose(what)}" if what else ""
        lines.append(f"- [{name.removeprefix('tiderace/')}]({ROOT / name}){about}")
    lines.append("")
    anchors, last = {}, None
    for item in items_of(text):
        if item.name not in anchors:
            anchors[item.name] = slug(item.name)
            lines += [f"## {prose(item.name)} {{#{anchors[item.name]}}}", ""]
        elif item.name != last:
            lines += [f"## {prose(item.name)}", ""]
        last = item.name
        lines += [prose_of(item.comment), "```cpp", item.code, "```", ""]
    return "\n".join(lines), anchors


@functools.cache
def public():
    """The public headers, as tools/tidy.py lists them."""
    words = [sys.executable, ROOT / "tools/tidy.py", "--public"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.split()


def groups():
    """Each umbrella header with the headers that it brings; the other headers by their room."""
    umbrellas = [it for it in public() if it.count("/") == 1]
    rest = {it for it in public() if it not in umbrellas}
    grouped = {it: [it] for it in umbrellas}
    for header in umbrellas:
        for name in re.findall(r'^#include "([^"]+)"', (ROOT / header).read_text(), re.M):
            if name in rest:
                grouped[header].append(name)
                rest.remove(name)
    for header in sorted(rest):
        grouped.setdefault(str(pathlib.PurePath(header).parent), []).append(header)
    return grouped
