"""Finds places in a C++ source where a small fault could be; writes a copy that holds the faults.

It knows C++ by its tokens only, and relies on clang-format, which puts spaces around operators of
two operands. What it does not understand it leaves alone: constant expressions, templates'
arguments, types, initialiser lists, macros. Faults are of these kinds:

    boundary   a < b      -> a <= b         removed    a_ = b;   -> nothing
    negated    if (a)     -> if (!(a))      constant   f(4)      -> f(5)
    equality   a == b     -> a != b         boolean    true      -> false
    logic      a && b     -> a || b         arithmetic a + b     -> a - b

A mutant is part of a region: a condition, an initialiser, or a statement. The copy holds each
region twice, and the number in `tiderace_mutant` decides which one runs. Lines keep their numbers.
"""

import bisect
import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<text>(?:u8|u|U|L)?R"(?P<mark>[^(]*)\(.*?\)(?P=mark)"|(?:u8|u|U|L)?"(?:\\.|[^"\\])*"
               |(?:u8|u|U|L)?'(?:\\.|[^'\\])+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><=>|->\*|<<=|>>=|\.\.\.|::|->|\+\+|--|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|<<|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
OPENS = {"(": ")", "[": "]", "{": "}"}
CLOSES = {close: open_ for open_, close in OPENS.items()}
SWAPPED = {
    "<": ("boundary", "<="), "<=": ("boundary", "<"),
    ">": ("boundary", ">="), ">=": ("boundary", ">"),
    "==": ("equality", "!="), "!=": ("equality", "=="),
    "&&": ("logic", "||"), "||": ("logic", "&&"),
    "+": ("arithmetic", "-"), "-": ("arithmetic", "+"),
    "+=": ("arithmetic", "-="), "-=": ("arithmetic", "+="),
    "true": ("boolean", "false"), "false": ("boolean", "true"),
}  # fmt: skip
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# A statement that begins with one of these is no expression.
KEYWORDS = set(
    "alignas asm auto break case catch class co_await co_return co_yield const constexpr constinit"
    " continue default delete do else enum explicit extern for friend goto if inline mutable"
    " namespace new noexcept operator private protected public register requires static"
    " static_assert struct switch template thread_local throw try typedef typename union using"
    " virtual volatile while".split()
)
# Without their effect on what the program does: a mutant there could not be noticed.
UNNOTICED = {"TR_CHECK", "assert_on_loop", "reserve", "shrink_to_fit", "prefetch", "static_assert"}
LOGS = re.compile(r"\b(log|logger|log_)\b|\bTR_LOG|\.(debug|info|warn|warning)$")


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True)
class Region:
    """Tokens [first, last): a `condition`, a `value` (an initialiser) or a `statement`, whose last
    token is its semicolon."""

    kind: str
    first: int
    last: int


@dataclasses.dataclass
class Mutant:
    line: int
    kind: str
    region: Region
    at: int = -1  # the token that is replaced; -1: the whole region
    by: str = ""
    before: str = ""  # what a report shows
    after: str = ""
    number: int = 0


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = []
        for found in TOKEN.finditer(text):
            if found.lastgroup != "skip" and found["skip"] is None:
                kind = next(k for k in ("text", "number", "name", "sign") if found[k] is not None)
                self.tokens.append(Token(kind, found[0], found.start(), found.end()))
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.partner = self._pair()
        self.regions = []
        self._in_scope(0, len(self.tokens))

    def line(self, index):
        return bisect.bisect_right(self.line_starts, self.tokens[index].begin)

    def is_(self, index, *texts):
        return 0 <= index < len(self.tokens) and self.tokens[index].text in texts

    def _pair(self):
        partner, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in OPENS:
                opened.append(i)
            elif token.text in CLOSES and opened:
                partner[i] = opened.pop()
                partner[partner[i]] = i
        return partner

    def _after(self, index):
        """The token after the one at `index`, or after what that opens."""
        if self.is_(index, *OPENS) and self.tokens[index].kind == "sign":
            return self.partner.get(index, len(self.tokens)) + 1
        return index + 1

    # Namespaces and classes.

    def _in_scope(self, i, end):
        while i < end:
            i = self._declaration(i, end)

    def _declaration(self, first, end):
        """Looks through one declaration for functions' bodies. Returns where it ends."""
        i, arguments, initialisers, constant = first, False, False, False
        while i < end:
            text = self.tokens[i].text
            if text == ";":
                return i + 1
            if text in ("constexpr", "consteval", "constinit", "enum", "static_assert"):
                constant = True
            if text == ":" and arguments and not initialisers and self.is_(i - 1, ")", "noexcept"):
                initialisers = True
            if text == "{":
                close = self.partner.get(i, end)
                if not arguments:
                    words = {t.text for t in self.tokens[first:i]}
                    if words & {"namespace", "class", "struct", "union", "extern"} and not constant:
                        self._in_scope(i + 1, close)
                    if words & {"namespace", "extern"}:
                        return close + 1
                elif not (initialisers and self.tokens[i - 1].kind == "name"):
                    if not constant and not self.is_(i - 1, "="):
                        self._in_body(i + 1, close)
                    return close + 1
                i = close + 1
                continue
            if text == "(" and self.tokens[i - 1].kind == "name":
                arguments = True
            elif text == "=" and arguments:
                pass  # = default, = delete, or an initialiser
            if text in ("public", "private", "protected") and self.is_(i + 1, ":"):
                return i + 2
            i = self._after(i)
        return end

    # Functions' bodies.

    def _in_body(self, i, end):
        while i < end:
            i = self._statement(i, end)

    def _statement(self, i, end):
        """Notes the regions of one statement. Returns where the next begins."""
        text = self.tokens[i].text
        if text == "{":
            close = self.partner.get(i, end)
            self._in_body(i + 1, close)
            return close + 1
        if text in ("if", "while", "switch", "for"):
            return self._controlled(i, end)
        if text in ("else", "do", "try", ";"):
            return i + 1
        if text in ("case", "default") or (self.is_(i + 1, ":") and self.tokens[i].kind == "name"):
            while i < end and not self.is_(i, ":"):
                i = self._after(i)
            return i + 1
        if text in ("struct", "class", "union", "enum", "using", "static_assert", "constexpr"):
            return self._past_semicolon(i, end)
        if text == "static" and "constexpr" in (t.text for t in self.tokens[i : i + 4]):
            return self._past_semicolon(i, end)
        stop = self._past_semicolon(i, end)
        if not self.is_(stop - 1, ";"):
            return max(stop, i + 1)
        self._simple(i, stop)
        return stop

    def _past_semicolon(self, i, end):
        while i < end and not self.is_(i, ";"):
            i = self._after(i)
        return min(i + 1, end)

    def _controlled(self, i, end):
        kind = self.tokens[i].text
        i += 1
        constant = self.is_(i, "constexpr", "consteval")
        i += constant
        if not self.is_(i, "("):
            return i
        close = self.partner.get(i, end)
        self._lambdas(i + 1, close)
        if constant or kind == "switch":
            return close + 1
        parts, begin, j = [], i + 1, i + 1
        while j < close:
            if self.is_(j, ";"):
                parts.append((begin, j))
                begin = j + 1
            j = self._after(j)
        parts.append((begin, close))
        if kind == "for":
            first, last = parts[1] if len(parts) == 3 else (0, 0)
        else:
            first, last = parts[-1]
            declared = self._assignment(first, last)
            if declared is not None:  # if (const auto x = f())
                first = declared + 1
        if first < last and not self._has_braces(first, last):
            self.regions.append(Region("condition", first, last))
        return close + 1

    def _has_braces(self, first, last):
        return any(self.is_(i, "{", "}") for i in range(first, last))

    def _assignment(self, first, last):
        i = first
        while i < last:
            if self.tokens[i].kind == "sign" and self.tokens[i].text in ASSIGNS:
                return i
            i = self._after(i)
        return None

    def _lambdas(self, i, end):
        """Looks for the bodies of lambdas among the tokens of an expression."""
        while i < end:
            opens = self.is_(i, "[") and not (
                self.tokens[i - 1].kind == "name"
                and not self.is_(i - 1, "return")
                or self.is_(i - 1, ")", "]")
            )
            if opens:
                j = self.partner.get(i, end) + 1
                constant = False
                while j < end and not self.is_(j, "{", ";", ",", ")"):
                    constant = constant or self.is_(j, "constexpr")
                    j = self._after(j)
                if self.is_(j, "{") and j < end:
                    close = self.partner.get(j, end)
                    if not constant:
                        self._in_body(j + 1, close)
                    i = close + 1
                    continue
            i += 1

    def _simple(self, first, stop):
        """An expression, a return, or a declaration, from `first` to its semicolon."""
        self._lambdas(first, stop)
        if self.is_(first, "return"):
            if stop - first > 2:
                self.regions.append(Region("statement", first, stop))
            return
        if self._is_expression(first, stop - 1):
            self.regions.append(Region("statement", first, stop))
            return
        begins = self._assignment(first, stop)
        if begins is None or not self.is_(begins, "=") or self._has_braces(begins, stop):
            return
        if any(self.is_(i, "constexpr", "constinit") for i in range(first, begins)):
            return
        self.regions.append(Region("value", begins + 1, stop - 1))

    def _is_expression(self, i, end):
        """*a.b->c[d](e) with an assignment behind it, or a call, or ++ and --."""
        steps = self.is_(i, "++", "--")
        while self.is_(i, "*", "++", "--"):
            i += 1
        if self.tokens[i].kind != "name" and not self.is_(i, "::", "("):
            return False
        called = False
        expects_name = True
        while i < end:
            token = self.tokens[i]
            if token.kind == "name":
                if not expects_name or token.text in KEYWORDS:
                    return False
                expects_name = called = False
                i += 1
            elif token.text in ("(", "["):
                called = token.text == "("
                if expects_name and token.text == "[":
                    return False
                expects_name = False
                i = self._after(i)
            elif token.text in (".", "->", "::"):
                expects_name = True
                called = False
                i += 1
            elif token.text in ("++", "--"):
                return i + 1 == end
            else:
                return token.text in ASSIGNS
        return called or steps


def mutants_of(source):
    """Every mutant, in the order of the lines."""
    found = []
    for region in source.regions:
        found += _whole(source, region)
        found += _single(source, region)
    return sorted(found, key=lambda m: (m.line, m.at, m.kind))


SHOWN_CHARACTERS = 60  # of a region, on each side of the token that is replaced


def _shown(text, at=0, end=0):
    """The text on one line, without what is far from [at, end)."""
    cut = text[max(0, at - SHOWN_CHARACTERS) : end + SHOWN_CHARACTERS]
    before = "… " if at > SHOWN_CHARACTERS else ""
    after = " …" if end + SHOWN_CHARACTERS < len(text) else ""
    return before + re.sub(r"\s+", " ", cut) + after


def _whole(source, region):
    first, last = region.first, region.last
    shown = _shown(source.text[source.tokens[first].begin : source.tokens[last - 1].end])
    words = {t.text for t in source.tokens[first:last]}
    if words & UNNOTICED:
        return
    if region.kind == "condition" and not (words & {"true", "false"} and last - first == 1):
        yield Mutant(source.line(first), "negated", region, before=shown, after=f"!({shown})")
    elif region.kind == "statement" and not source.is_(first, "return") and not LOGS.search(shown):
        yield Mutant(source.line(first), "removed", region, before=shown, after="(nothing)")


def _single(source, region):
    tokens = source.tokens
    words = {t.text for t in tokens[region.first : region.last]}
    if words & UNNOTICED:
        return
    if region.kind == "condition" and words == {"true"}:
        return  # behind a loop without an end stands nothing: what would run is undefined
    single = region.kind == "condition" and not words & {"&&", "||", "?"}
    inner = [r for r in source.regions if region.first < r.first and r.last <= region.last]
    for i in range(region.first, region.last):
        token = tokens[i]
        if any(r.first <= i < r.last for r in inner) or token.kind == "text":
            continue  # the inner region has it
        if token.kind == "number":
            change = _next_number(source, i)
        elif token.text in SWAPPED and _is_operation(source, i):
            change = SWAPPED[token.text]
            if change[0] == "equality" and single:
                continue  # which is what negating it does
        else:
            change = None
        if change is None:
            continue
        kind, by = change
        begin = tokens[region.first].begin
        text = source.text[begin : tokens[region.last - 1].end]
        at, end = token.begin - begin, token.end - begin
        yield Mutant(
            source.line(i),
            kind,
            region,
            at=i,
            by=by,
            before=_shown(text, at, end),
            after=_shown(text[:at] + by + text[end:], at, at + len(by)),
        )


def _is_operation(source, i):
    """Whether clang-format saw an operator of two operands here, or a word."""
    token = source.tokens[i]
    if token.kind == "name":
        return True
    before, after = source.tokens[i - 1], source.tokens[i + 1]
    if token.text == "+" and "text" in (before.kind, after.kind):
        return False  # text that is put together
    return before.end < token.begin and token.end < after.begin


def _next_number(source, i):
    token = source.tokens[i]
    number = r"(0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)([uUlLzZ]*|_?[a-zA-Z]+)"
    found = re.fullmatch(number, token.text)
    if not found or source.is_(i - 1, "<", "::") or source.is_(i + 1, ">"):
        return None
    digits = found[1].replace("'", "")
    octal = len(digits) > 1 and digits[0] == "0"
    base = {"0x": 16, "0b": 2}.get(digits[:2].lower(), 8 if octal else 10)
    return "constant", f"{int(digits, base) + 1}{found[2]}"


# ---- the copy -----------------------------------------------------------------------------------


def instrumented(source, mutants):
    """The source with `mutants` in it. Each stands before what it replaces, on the same lines."""
    by_region = {}
    for mutant in mutants:
        by_region.setdefault(mutant.region, []).append(mutant)
    regions = sorted(by_region, key=lambda r: (r.first, -r.last))
    return _rendered(source, 0, len(source.text), regions, by_region)


def _rendered(source, begin, end, regions, by_region):
    """The text of [begin, end) with its regions, which are sorted and lie within each other."""
    parts = []
    while regions:
        region, *regions = regions
        first, last = source.tokens[region.first].begin, source.tokens[region.last - 1].end
        inner = [r for r in regions if r.first < region.last]
        regions = regions[len(inner) :]
        original = _rendered(source, first, last, inner, by_region)
        parts += [source.text[begin:first], _choice(source, region, by_region[region], original)]
        begin = last
    parts.append(source.text[begin:end])
    return "".join(parts)


def _mutated(source, mutant):
    """On one line, without comments."""
    if mutant.kind == "removed":
        return ";"
    line, previous = "", None
    for i in range(mutant.region.first, mutant.region.last):
        token = source.tokens[i]
        if previous is not None and previous.end < token.begin:
            line += " "
        line += mutant.by if i == mutant.at else token.text.replace("\n", " ")
        previous = token
    return line


def _choice(source, region, mutants, original):
    if region.kind == "statement":
        chosen = "".join(
            f"if (tiderace_mutant == {m.number}) {{ {_mutated(source, m)} }} else " for m in mutants
        )
        return f"{{ {chosen}{{ {original} }} }}"
    cast = "bool" if region.kind == "condition" else ""
    chosen = "".join(
        f"tiderace_mutant == {m.number} ? {'!' if m.kind == 'negated' else ''}"
        f"{cast}({_mutated(source, m)}) : "
        for m in mutants
    )
    return f"({chosen}{cast}({original}))"
