"""The strict table: raw requests, and what a server that reads RFC 9110 and RFC 9112 strictly says.

Each row has the section it rests on. `want` lists the statuses of the answers in order, each one
status or a set of them; `then` says what becomes of the connection:

    "open"    it answers a further request, and that answer is the right one
    "closed"  it ends, and not a byte comes after the wanted answers
    "any"     either of the two

`rfc_want` is there where the RFC leaves more room than this server takes; only the comparison
with other servers reads it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    section: str
    data: bytes
    want: tuple
    then: str
    methods: tuple = ()  # of the answers, where not all are GET
    version: str = "1.1"
    fin: bool = False  # the client ends its side after the data
    rfc_want: tuple = ()
    rfc_then: str = ""


CASES = []
SMUGGLED = b"GET /secret.txt HTTP/1.1\r\nHost: x\r\n\r\n"
METHOD_CLASS = {200, 204}


def raw(name, section, data, *want, then="closed", **more):
    if isinstance(data, str):
        data = data.encode("latin-1")
    CASES.append(Case(name, section, data, want, then, **more))


def line(name, section, text, *want, then="closed", **more):
    """A request line, with a good Host after it."""
    raw(f"line: {name}", section, text + "\r\nHost: x\r\n\r\n", *want, then=then, **more)


def fields(name, section, text, *want, then="closed", host="Host: x\r\n", **more):
    """Fields of a good GET; `text` ends its own lines."""
    raw(f"field: {name}", section, "GET /a.txt HTTP/1.1\r\n" + host + text + "\r\n", *want,
        then=then, **more)


def host(name, text, *want, then="closed", version="1.1", **more):
    raw(f"host: {name}", "9112 3.2", f"GET /a.txt HTTP/{version}\r\n{text}\r\n", *want, then=then,
        version=version, **more)


def length(name, section, text, body, *want, then="closed", **more):
    """A POST with framing fields `text`; static files answer it 405."""
    raw(f"length: {name}", section,
        ("POST /a.txt HTTP/1.1\r\nHost: x\r\n" + text + "\r\n").encode("latin-1") + body, *want,
        then=then, **more)


def chunk(name, section, body, *want, then="closed", **more):
    if isinstance(body, str):
        body = body.encode("latin-1")
    raw(f"chunk: {name}", section,
        b"POST /a.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body, *want,
        then=then, **more)


def connection(name, text, then, version="1.1"):
    raw(f"connection: {name}", "9112 9.3", f"GET /a.txt HTTP/{version}\r\nHost: x\r\n{text}\r\n",
        200, then=then, version=version)


# --- Request line: its shape (RFC 9112, 2.2 and 3) ------------------------------------------------
L = "9112 3"
line("plain", L, "GET /a.txt HTTP/1.1", 200, then="open")
raw("line: one empty line before it", "9112 2.2",
    "\r\nGET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", 200, then="open")
raw("line: two empty lines before it", "9112 2.2",
    "\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", {200, 400}, then="any")
raw("line: a bare LF before it", "9112 2.2",
    "\nGET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", 400, rfc_want=({200, 400},), rfc_then="any")
raw("line: a bare CR before it", "9112 2.2",
    "\rGET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", 400)
line("space before the method", L, " GET /a.txt HTTP/1.1", 400)
line("tab before the method", L, "\tGET /a.txt HTTP/1.1", 400)
line("two spaces after the method", L, "GET  /a.txt HTTP/1.1", 400)
line("two spaces before the version", L, "GET /a.txt  HTTP/1.1", 400)
line("tab after the method", L, "GET\t/a.txt HTTP/1.1", 400)
line("tab before the version", L, "GET /a.txt\tHTTP/1.1", 400)
line("vertical tab as separator", L, "GET\x0b/a.txt HTTP/1.1", 400)
line("form feed as separator", L, "GET /a.txt\x0cHTTP/1.1", 400)
line("CR as separator", L, "GET\r/a.txt HTTP/1.1", 400)
line("space after the version", L, "GET /a.txt HTTP/1.1 ", 400)
line("tab after the version", L, "GET /a.txt HTTP/1.1\t", 400)
line("a fourth word", L, "GET /a.txt HTTP/1.1 x", 400)
line("space inside the target", L, "GET /a .txt HTTP/1.1", 400)
line("no version", L, "GET /a.txt", {400, 505})
line("method only", L, "GET", 400)
line("method and a space", L, "GET ", 400)
line("target only", L, "/a.txt", 400)
line("no target", L, "GET HTTP/1.1", 400)
line("no target, two spaces", L, "GET  HTTP/1.1", 400)
line("no method", L, " /a.txt HTTP/1.1", 400)
raw("line: ended by a bare LF", "9112 2.2", "GET /a.txt HTTP/1.1\nHost: x\r\n\r\n", 400,
    rfc_want=({200, 400},), rfc_then="any")
raw("line: all lines ended by bare LF", "9112 2.2", "GET /a.txt HTTP/1.1\nHost: x\n\n", 400,
    rfc_want=({200, 400},), rfc_then="any")
raw("line: ended by a bare CR", "9112 2.2", "GET /a.txt HTTP/1.1\rHost: x\r\n\r\n", 400)
raw("line: ended by CR CR LF", "9112 2.2", "GET /a.txt HTTP/1.1\r\r\nHost: x\r\n\r\n", 400)
line("NUL before the method", "9110 5.5", "\0GET /a.txt HTTP/1.1", 400)
line("NUL in the method", "9110 5.5", "GE\0T /a.txt HTTP/1.1", 400)
line("NUL in the target", "9110 5.5", "GET /a\0.txt HTTP/1.1", 400)
line("NUL in the version", "9110 5.5", "GET /a.txt HTTP/1\0.1", 400)
raw("line: a TLS hello", L,
    b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + bytes(range(32)) + b"\x00\r\n\r\n", 400)
raw("line: an SSH banner", L, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 400)
raw("line: a Redis command", L, "*1\r\n$4\r\nPING\r\n\r\n", 400)
raw("line: an SMTP greeting", L, "EHLO example.org\r\n\r\n", 400)
raw("line: high bytes", L, b"\xff\xfe\xfd\xfc\r\n\r\n", 400)
raw("line: a byte order mark", L, b"\xef\xbb\xbfGET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n", 400)
raw("line: nothing at all, then the end", L, b"", then="closed", fin=True)
raw("line: half of it, then the end", "9112 8", "GET /a.t", then="closed", fin=True,
    rfc_want=({400, None},))
raw("line: half of the fields, then the end", "9112 8", "GET /a.txt HTTP/1.1\r\nHo", then="closed",
    fin=True, rfc_want=({400, None},))

# --- Version (RFC 9112, 2.3) ----------------------------------------------------------------------
V = "9112 2.3"
line("HTTP/1.0", V, "GET /a.txt HTTP/1.0", 200, then="closed", version="1.0")
line("HTTP/1.2 is answered as 1.1", V, "GET /a.txt HTTP/1.2", 200, then="open")
line("HTTP/1.9 is answered as 1.1", V, "GET /a.txt HTTP/1.9", 200, then="open")
for version in ("2.0", "3.0", "9.9", "0.9", "0.0", "0.1"):
    line(f"HTTP/{version}", V, f"GET /a.txt HTTP/{version}", 505, rfc_want=({400, 505},))
for version in ("1", "1.", ".1", "11", "1.10", "01.1", "1.01", "11.1", "10.0", "1,1", "1-1", "1.x",
                "x.1", "+1.1", "1.+1", "-1.1", "1.1.1", " 1.1", "1. 1", "", "1.1x", "1.1/",
                "\u00b9.1"):
    line(f"HTTP/{version!r}", V, f"GET /a.txt HTTP/{version}", {400, 505})
for version in ("http/1.1", "Http/1.1", "HTTp/1.1", "HTTP 1.1", "HTTP1.1", "HTTP//1.1", "HTTP\\1.1",
                "HTTPS/1.1", "XTTP/1.1", "HTCPCP/1.0", "/1.1", "HTTP", "HTTP/"):
    line(f"{version!r}", V, f"GET /a.txt {version}", {400, 505})

# --- Method (RFC 9110, 9) -------------------------------------------------------------------------
M = "9110 9"
line("HEAD", M, "HEAD /a.txt HTTP/1.1", 200, then="open", methods=("HEAD",))
line("HEAD of nothing", M, "HEAD /absent HTTP/1.1", 404, then="open", methods=("HEAD",))
line("HEAD in HTTP/1.0", M, "HEAD /a.txt HTTP/1.0", 200, methods=("HEAD",), version="1.0")
line("OPTIONS of a file", M, "OPTIONS /a.txt HTTP/1.1", METHOD_CLASS, then="open",
     rfc_want=({200, 204, 405},), rfc_then="any")
for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE"):
    line(f"{method} of a file", "9110 15.5.6", f"{method} /a.txt HTTP/1.1", 405, then="open",
         rfc_then="any")
line("an unknown method", "9110 15.6.2", "FROB /a.txt HTTP/1.1", 501, then="any",
     rfc_want=({405, 501},))
line("a lower-case method is another method", "9110 9.1", "get /a.txt HTTP/1.1", 501, then="any",
     rfc_want=({400, 405, 501},))
line("a method with a known beginning", "9110 9.1", "GETS /a.txt HTTP/1.1", 501, then="any",
     rfc_want=({400, 405, 501},))
line("a method with a known ending", "9110 9.1", "XGET /a.txt HTTP/1.1", 501, then="any",
     rfc_want=({400, 405, 501},))
line("a method of odd token characters", "9110 5.6.2", "M-S!#$%&'*+.^_`|~ /a.txt HTTP/1.1", 501,
     then="any", rfc_want=({400, 405, 501},))
line("a long method", "9110 9.1", "A" * 200 + " /a.txt HTTP/1.1", 501, then="any",
     rfc_want=({400, 405, 501},))
line("a very long method", "9112 3", "A" * 20_000 + " /a.txt HTTP/1.1", {400, 414, 501})
for bad in ("G(T", "G,T", "G/T", "G:T", "G;T", "G<T", "G=T", "G?T", "G@T", "G[T", "G\\T", "G{T",
            'G"T', "G\x01T", "G\x7fT", "G\xe9T"):
    line(f"method {bad!r}", "9110 5.6.2", f"{bad} /a.txt HTTP/1.1", 400)
line("CONNECT", "9110 9.3.6", "CONNECT x:80 HTTP/1.1", {400, 405, 501}, then="any")
line("CONNECT with a path", "9112 3.2.3", "CONNECT /a.txt HTTP/1.1", {400, 405, 501}, then="any")

# --- Target (RFC 9112, 3.2) -----------------------------------------------------------------------
T = "9112 3.2"
line("the root", T, "GET / HTTP/1.1", 200, then="open")
line("with a query", T, "GET /a.txt?x=1&y=%20 HTTP/1.1", 200, then="open")
line("with an empty query", T, "GET /a.txt? HTTP/1.1", 200, then="open")
line("with a question mark in the query", T, "GET /a.txt?a?b/c HTTP/1.1", 200, then="open")
line("percent-encoded letter", "3986 2.1", "GET /%61.txt HTTP/1.1", 200, then="open")
line("with a fragment", T, "GET /a.txt#top HTTP/1.1", 400)
line("no leading slash", T, "GET a.txt HTTP/1.1", 400)
line("a backslash in front", T, "GET \\a.txt HTTP/1.1", 400)
line("only a query", T, "GET ?x HTTP/1.1", 400)
line("a dot", T, "GET . HTTP/1.1", 400)
line("authority form with GET", "9112 3.2.3", "GET x:80 HTTP/1.1", 400)
line("asterisk with GET", "9112 3.2.4", "GET * HTTP/1.1", 400)
line("asterisk with HEAD", "9112 3.2.4", "HEAD * HTTP/1.1", 400, methods=("HEAD",))
line("asterisk with OPTIONS", "9112 3.2.4", "OPTIONS * HTTP/1.1", METHOD_CLASS, then="open",
     rfc_want=({200, 204},), rfc_then="any")
line("asterisk and more with OPTIONS", "9112 3.2.4", "OPTIONS *x HTTP/1.1", 400)
line("control character", T, "GET /a\x01 HTTP/1.1", 400)
line("DEL", T, "GET /a\x7f HTTP/1.1", 400)
line("raw UTF-8", T, "GET /\xc3\xa9 HTTP/1.1", 400)
line("lone high byte", T, "GET /\x80 HTTP/1.1", 400)
line("percent and nothing", "3986 2.1", "GET /% HTTP/1.1", 400)
line("percent and one digit", "3986 2.1", "GET /%4 HTTP/1.1", 400)
line("percent and no digits", "3986 2.1", "GET /%zz HTTP/1.1", 400)
line("percent and a half digit", "3986 2.1", "GET /%4g HTTP/1.1", 400)
line("encoded NUL", "3986 2.1", "GET /a.txt%00 HTTP/1.1", {400, 404}, then="any")
for c in '"<>^`{|}':
    line(f"character {c} that no URI may hold", "3986 2", f"GET /a{c} HTTP/1.1", {400, 404},
         then="any")
line("as long as allowed", T, "GET /" + "x" * 7_000 + " HTTP/1.1", {404, 414}, then="any")
line("query nearly as long as allowed", T, "GET /a.txt?" + "x" * 7_000 + " HTTP/1.1", 200,
     then="open")
line("too long", "9110 15.5.15", "GET /" + "x" * 9_000 + " HTTP/1.1", 414)
line("far too long", "9110 15.5.15", "GET /" + "x" * 60_000 + " HTTP/1.1", 414)
line("too long by its query", "9110 15.5.15", "GET /a.txt?" + "x" * 9_000 + " HTTP/1.1", 414)
A = "9112 3.2.2"
line("absolute form", A, "GET http://x/a.txt HTTP/1.1", 200, then="open")
line("absolute form with another case", A, "GET HTTP://x/a.txt HTTP/1.1", 200, then="open")
line("absolute form with a port", A, "GET http://x:80/a.txt HTTP/1.1", 200, then="open")
line("absolute form with an empty port", A, "GET http://x:/a.txt HTTP/1.1", 200, then="open")
line("absolute form overrules Host", A, "GET http://y/a.txt HTTP/1.1", 200, then="open")
line("absolute form without a path", A, "GET http://x HTTP/1.1", 200, then="open")
line("absolute form with only a query", A, "GET http://x?q=1 HTTP/1.1", 200, then="open")
line("absolute form, IPv6", A, "GET http://[::1]:80/a.txt HTTP/1.1", 200, then="open")
line("absolute form, OPTIONS without a path", A, "OPTIONS http://x HTTP/1.1", METHOD_CLASS,
     then="open", rfc_want=({200, 204, 405},), rfc_then="any")
line("absolute form in HTTP/1.0", A, "GET http://x/a.txt HTTP/1.0", 200, version="1.0")
raw("line: absolute form without Host", "9112 3.2", "GET http://x/a.txt HTTP/1.1\r\n\r\n", 400)
line("absolute form without a host", "9110 4.2.1", "GET http:///a.txt HTTP/1.1", 400)
line("absolute form with user information", "9110 4.2.4", "GET http://u@x/a.txt HTTP/1.1", 400,
     rfc_want=({200, 400},), rfc_then="any")
line("absolute form with user and password", "9110 4.2.4", "GET http://u:p@x/a.txt HTTP/1.1", 400,
     rfc_want=({200, 400},), rfc_then="any")
line("absolute form with a bad port", A, "GET http://x:8x/a.txt HTTP/1.1", 400)
line("absolute form with an open bracket", A, "GET http://[::1/a.txt HTTP/1.1", 400)
line("absolute form with a space in the host", A, "GET http://x y/a.txt HTTP/1.1", 400)
line("absolute form of another scheme", A, "GET ftp://x/a.txt HTTP/1.1", {400, 421},
     rfc_want=({200, 400, 404, 421},), rfc_then="any")
line("absolute form with one slash", A, "GET http:/x/a.txt HTTP/1.1", 400)
line("absolute form without slashes", A, "GET http:x/a.txt HTTP/1.1", 400)
line("absolute form with a backslash", A, "GET http:\\\\x\\a.txt HTTP/1.1", 400)

# --- Host (RFC 9112, 3.2) -------------------------------------------------------------------------
host("missing", "", 400)
host("missing in HTTP/1.0", "", 200, version="1.0")
host("twice", "Host: x\r\nHost: x\r\n", 400)
host("twice, different", "Host: x\r\nHost: y\r\n", 400)
host("twice, different case of the name", "Host: x\r\nhOST: y\r\n", 400)
host("twice in HTTP/1.0", "Host: x\r\nHost: y\r\n", 400, version="1.0")
host("bad in HTTP/1.0", "Host: x y\r\n", 400, version="1.0")
host("empty", "Host:\r\n", {200, 400}, then="any")
host("only spaces", "Host:   \r\n", {200, 400}, then="any")
for good in ("Host:x", "Host:   x   ", "Host:\tx\t", "hOsT: x", "Host: x:80", "Host: x:",
             "Host: 127.0.0.1:8080", "Host: [::1]", "Host: [::1]:80", "Host: a-b_c.d~e",
             "Host: x.", "Host: X.EXAMPLE", "Host: %41", "Host: xn--mnchen-3ya.de",
             "Host: [2001:db8::192.0.2.1]"):
    host(f"{good!r}", good + "\r\n", 200, then="open")
for bad in ("x y", "x\ty", "x/y", "/", "x?y", "x#y", "u@x", "x\\y", "x<y", 'x"y', "x{y", "x|y",
            "x^y", "x`y", "http://x", "x:abc", "x:-1", "x:+80", "x:80:80", "x:8 0", "x: 80",
            "[::1", "::1", "[::1]x", "[::g]", "[1:2:3:4:5:6:7:8:9]", "[]", "[x]", "%zz", "%4",
            "%", "\xc3\xa9", "x\x80", ":80"):
    host(f"{bad!r}", f"Host: {bad}\r\n", 400)
host("a list", "Host: x, y\r\n", 400)
host("a port beyond 65535", "Host: x:99999\r\n", {200, 400}, then="any")

# --- Field lines (RFC 9112, 5; RFC 9110, 5) -------------------------------------------------------
F = "9112 5"
fields("none besides Host", F, "", 200, then="open")
fields("ordinary", F, "X-A: b\r\n", 200, then="open")
fields("no space after the colon", F, "X-A:b\r\n", 200, then="open")
fields("much space around the value", F, "X-A: \t  b \t \r\n", 200, then="open")
fields("empty value", F, "X-A:\r\n", 200, then="open")
fields("value of spaces", F, "X-A:    \r\n", 200, then="open")
fields("tab inside a value", "9110 5.5", "X-A: a\tb\r\n", 200, then="open")
fields("high bytes in a value", "9110 5.5", "X-A: \x80\xff\xe9\r\n", 200, then="open")
fields("all token characters in a name", "9110 5.6.2", "!#$%&'*+-.^_`|~09azAZ: v\r\n", 200,
       then="open")
fields("a long name", F, "X" * 1000 + ": v\r\n", 200, then="open")
fields("a long value", F, "X: " + "v" * 4000 + "\r\n", 200, then="open")
fields("a value of colons", F, "X: ::::\r\n", 200, then="open")
fields("the same name twice", "9110 5.3", "X: 1\r\nX: 2\r\n", 200, then="open")
fields("space before the colon", "9112 5.1", "X-A : b\r\n", 400)
fields("tab before the colon", "9112 5.1", "X-A\t: b\r\n", 400)
fields("space before the colon of Content-Length", "9112 5.1", "Content-Length : 0\r\n", 400)
fields("space before the colon of Host", "9112 5.1", "", 400, host="Host : x\r\n")
fields("a line that begins with a space", "9112 2.2", "X: y\r\n", 400, host=" Host: x\r\n")
fields("a first line that begins with a tab", "9112 2.2", "Host: x\r\n", 400, host="\tX: y\r\n")
fields("a first line of spaces", "9112 2.2", "Host: x\r\n", 400, host="   \r\n")
fields("folded with a space", "9112 5.2", "X-A: a\r\n b\r\n", 400,
       rfc_want=({200, 400},), rfc_then="any")
fields("folded with a tab", "9112 5.2", "X-A: a\r\n\tb\r\n", 400,
       rfc_want=({200, 400},), rfc_then="any")
fields("folded to nothing", "9112 5.2", "X-A: a\r\n \r\n", 400,
       rfc_want=({200, 400},), rfc_then="any")
fields("folded from nothing", "9112 5.2", "X-A:\r\n b\r\n", 400,
       rfc_want=({200, 400},), rfc_then="any")
fields("folded Host", "9112 5.2", "", 400, host="Host:\r\n x\r\n", rfc_want=({200, 400},),
       rfc_then="any")
fields("folded Transfer-Encoding", "9112 5.2", "Transfer-Encoding:\r\n chunked\r\n", 400)
fields("no colon", F, "X-A\r\n", 400)
fields("no colon but a value", F, "X-A b\r\n", 400)
fields("no name", F, ": b\r\n", 400)
fields("only a colon", F, ":\r\n", 400)
for bad in (" ", "(", ")", ",", "/", ";", "<", "=", ">", "?", "@", "[", "\\", "]", "{", "}", '"',
            "\x01", "\x7f", "\x80", "\xe9", "\0", "\r", "\x0b"):
    fields(f"name with {bad!r}", "9110 5.1", f"X{bad}A: b\r\n", 400)
for bad in ("\0", "\x01", "\x07", "\x08", "\x0b", "\x0c", "\x1b", "\x1f", "\x7f"):
    fields(f"value with {bad!r}", "9110 5.5", f"X: a{bad}b\r\n", 400)
fields("bare CR in a value", "9112 2.2", "X: a\rb\r\n", 400)
fields("bare CR before the end of a line", "9112 2.2", "X: a\r\r\n", 400)
fields("bare CR that would be a field", "9112 2.2", "X: a\rTransfer-Encoding: chunked\r\n", 400)
fields("bare LF in a value", "9112 2.2", "X: a\nY: b\r\n", 400,
       rfc_want=({200, 400},), rfc_then="any")
fields("bare LF that would frame", "9112 2.2", "X: a\nContent-Length: 5\r\n", 400)
raw("field: head ended by a bare LF", "9112 2.2", "GET /a.txt HTTP/1.1\r\nHost: x\r\n\n", 400,
    rfc_want=({200, 400},), rfc_then="any")
raw("field: head ended by CR CR LF", "9112 2.2", "GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\r\n", 400)
fields("a hundred of them", "6585 5", "".join(f"X-{i}: v\r\n" for i in range(99)), 200,
       then="open")
fields("a hundred and one", "6585 5", "".join(f"X-{i}: v\r\n" for i in range(100)), 431,
       rfc_want=({200, 400, 431},), rfc_then="any")
fields("five thousand", "6585 5", "".join(f"X-{i}: v\r\n" for i in range(5000)), 431,
       rfc_want=({400, 431},))
fields("one far too long", "6585 5", "X: " + "v" * 70_000 + "\r\n", 431, rfc_want=({400, 431},))
fields("a name far too long", "6585 5", "X" * 70_000 + ": v\r\n", 431, rfc_want=({400, 431},))
fields("all together too long", "6585 5", "".join(f"X-{i}: {'v' * 900}\r\n" for i in range(60)),
       431, rfc_want=({400, 431},))

# --- Content-Length and Transfer-Encoding (RFC 9112, 6) -------------------------------------------
N = "9110 8.6"
length("zero", N, "Content-Length: 0\r\n", b"", 405, then="open", rfc_then="any")
length("five", N, "Content-Length: 5\r\n", b"hello", 405, then="open", rfc_then="any")
length("with space around", N, "Content-Length:  5 \t\r\n", b"hello", 405, then="open",
       rfc_then="any")
raw("length: on GET", "9110 9.3.1",
    b"GET /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, then="open")
raw("length: a request as the body of GET", "9110 9.3.1",
    b"GET /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED, 200,
    then="open")
raw("length: on HEAD", "9110 9.3.2",
    b"HEAD /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 200, then="open",
    methods=("HEAD",))
for bad in ("+5", "-5", "-0", "+0", "0x5", "5.0", "5,5", "5, 6", "5;", "5 5", "1e1", "abc", "", " ",
            "5a", "a5", "\xb2", "\"5\"", "_5", "5_0", "0b1", "5-", "\x00", "5\x00", "5,", ",5",
            "\u00bd"):
    length(f"{bad!r}", N, f"Content-Length: {bad}\r\n", b"hello" + SMUGGLED, 400)
for big in ("18446744073709551616", "18446744073709551621", "99999999999999999999999999",
            "9223372036854775808", "1" + "0" * 300):
    length(f"overflow {big[:22]}", N, f"Content-Length: {big}\r\n", b"hello" + SMUGGLED,
           {400, 413})
length("leading zeros", N, "Content-Length: 005\r\n", b"hello", 400, rfc_want=({400, 405},),
       rfc_then="any")
length("twice the same", "9112 6.3", "Content-Length: 5\r\nContent-Length: 5\r\n",
       b"hello" + SMUGGLED, 400, rfc_want=({400, 405},))
length("twice, different", "9112 6.3", "Content-Length: 5\r\nContent-Length: 6\r\n",
       b"hello" + SMUGGLED, 400)
length("twice, one of them empty", "9112 6.3", "Content-Length: 5\r\nContent-Length:\r\n",
       b"hello" + SMUGGLED, 400)
length("too large", "9110 15.5.14", "Content-Length: 1048577\r\n", b"", {405, 413},
       then="closed", rfc_then="any")
length("cut short by the end", "9112 8", "Content-Length: 10\r\n", b"hello", {400, 405},
       fin=True, rfc_want=({400, 405, None},))
E6 = "9112 6.1"
BODY = b"5\r\nhello\r\n0\r\n\r\n"
length("with chunked", "9112 6.3", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
       BODY + SMUGGLED, 400, rfc_want=({400},))
length("chunked, then a length", "9112 6.3", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
       BODY + SMUGGLED, 400)
length("zero with chunked", "9112 6.3", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
       BODY + SMUGGLED, 400)
length("chunked", E6, "Transfer-Encoding: chunked\r\n", BODY, 405, then="any")
length("Chunked in another case", E6, "Transfer-Encoding: cHuNkEd\r\n", BODY, 405, then="any")
length("chunked with space around", E6, "Transfer-Encoding: \t chunked \t\r\n", BODY, 405,
       then="any")
raw("length: chunked on GET", "9110 9.3.1",
    b"GET /a.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + BODY, 200,
    then="any")
raw("length: chunked in HTTP/1.0", E6,
    b"POST /a.txt HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + BODY, 400,
    version="1.0", rfc_want=({400, 405, 411},))
for coding in ("gzip", "gzip, chunked", "identity", "chunked, gzip", "chunked, identity",
               "xchunked", "chunkedx", "chunk", "foo", "deflate", "identity, chunked", "x-chunked"):
    length(f"coding {coding!r}", E6, f"Transfer-Encoding: {coding}\r\n", BODY + SMUGGLED,
           {400, 501})
for coding in ("chunked, chunked", "chunked;q=1", "chunked; a=b", "\"chunked\"", "'chunked'", "",
               " ", "\x0bchunked", "chunked\x0b", "chunked\x00", "chunked chunked", "chun ked",
               ";chunked", "chunked;", "chunked=1"):
    length(f"coding {coding!r}", E6, f"Transfer-Encoding: {coding}\r\n", BODY + SMUGGLED,
           {400, 501})
for coding in ("chunked,", ",chunked", ", ,chunked"):
    length(f"coding {coding!r}", "9110 5.6.1", f"Transfer-Encoding: {coding}\r\n", BODY,
           {400, 405}, then="any")
length("chunked on two lines", E6, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
       BODY + SMUGGLED, {400, 501})
length("gzip and chunked on two lines", E6,
       "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", BODY + SMUGGLED, {400, 501})
length("chunked and identity on two lines", E6,
       "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", BODY + SMUGGLED,
       {400, 501})
length("space before the colon of chunked", "9112 5.1", "Transfer-Encoding : chunked\r\n",
       BODY + SMUGGLED, 400)
length("underscore for the hyphen is another field", "9110 5.1", "Transfer_Encoding: chunked\r\n",
       b"0\r\n\r\n", 405, 400, rfc_want=({405}, {400}))
length("underscore in Content_Length is another field", "9110 5.1", "Content_Length: 5\r\n",
       b"(hello\r\n\r\n", 405, 400, rfc_want=({405}, {400}))

# --- Chunks (RFC 9112, 7.1) -----------------------------------------------------------------------
# A handler that wants no body may answer before the framing fails, and may close the connection
# rather than read a body of unknown size; but nothing after the bad byte may be taken for a
# request.
K = "9112 7.1"
BAD = {400, 405, 413}
for name, body in {
    "one": BODY, "none": b"0\r\n\r\n", "two": b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "upper case size": b"A\r\n0123456789\r\n0\r\n\r\n",
    "lower case size": b"a\r\n0123456789\r\n0\r\n\r\n",
    "leading zeros": b"005\r\nhello\r\n000\r\n\r\n",
    "sixteen digits": b"0000000000000005\r\nhello\r\n0\r\n\r\n",
    "data with line ends": b"6\r\n\r\n0\r\n\r\r\n0\r\n\r\n",
    "a request as data": b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n0\r\n\r\n",
    "two thousand of one byte": b"1\r\nx\r\n" * 2000 + b"0\r\n\r\n",
    "extension": b"5;a\r\nhello\r\n0\r\n\r\n",
    "extension with value": b"5;a=b\r\nhello\r\n0\r\n\r\n",
    "extension with quotes": b'5;a="b;\\"c"\r\nhello\r\n0\r\n\r\n',
    "two extensions": b"5;a=b;c=d\r\nhello\r\n0\r\n\r\n",
    "extension on the last": b"5\r\nhello\r\n0;a=b\r\n\r\n",
    "trailer": b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
    "two trailers": b"5\r\nhello\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n",
}.items():
    chunk(name, K, body, 405, then="any")
for name, body in {
    "space before an extension": b"5 ;a=b\r\nhello\r\n0\r\n\r\n",
    "space inside an extension": b"5; a = b\r\nhello\r\n0\r\n\r\n",
}.items():
    chunk(name, "9112 7.1.1", body, {400, 405}, then="any")
for size in ("0x5", "0X5", "+5", "-5", " 5", "\t5", "5 ", "5\t", "", " ", "g", "5g", "5h", "5.0",
             "5,", "5_0", "\"5\"", "5\x00", "\x005", "5\r", "5\x0b", "x", "-0", "+0", "\xb5",
             "fffffffffffffffff", "10000000000000000", "ffffffffffffffff", "fffffffffffffffb",
             "8000000000000000", "7fffffffffffffff", "00000000000000000000000000000000005x"):
    chunk(f"size {size!r}", K, size.encode("latin-1") + b"\r\nhello\r\n0\r\n\r\n" + SMUGGLED, BAD)
for name, body in {
    "bare LF after the size": b"5\nhello\r\n0\r\n\r\n",
    "bare CR after the size": b"5\rhello\r\n0\r\n\r\n",
    "CR CR LF after the size": b"5\r\r\nhello\r\n0\r\n\r\n",
    "bare LF after the data": b"5\r\nhello\n0\r\n\r\n",
    "bare CR after the data": b"5\r\nhello\r0\r\n\r\n",
    "nothing after the data": b"5\r\nhello0\r\n\r\n",
    "data longer than said": b"5\r\nhelloo\r\n0\r\n\r\n",
    "data shorter than said": b"6\r\nhello\r\n0\r\n\r\n",
    "last without zero": b"5\r\nhello\r\n\r\n",
    "last with sign": b"5\r\nhello\r\n-0\r\n\r\n",
    "last of zeros and x": b"5\r\nhello\r\n0x0\r\n\r\n",
    "last ended by bare LF": b"5\r\nhello\r\n0\n\n",
    "trailer section ended by bare LF": b"5\r\nhello\r\n0\r\n\n",
    "trailer section ended by CR CR LF": b"5\r\nhello\r\n0\r\n\r\r\n",
    "extension without a name": b"5;\r\nhello\r\n0\r\n\r\n",
    "extension with only a value": b"5;=b\r\nhello\r\n0\r\n\r\n",
    "extension with two semicolons": b"5;;a\r\nhello\r\n0\r\n\r\n",
    "extension with a bad name": b"5;(=b\r\nhello\r\n0\r\n\r\n",
    "extension with an open quote": b'5;a="b\r\nhello\r\n0\r\n\r\n',
    "extension with bare LF": b"5;a\nhello\r\n0\r\n\r\n",
    "extension with bare CR": b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "extension with NUL": b"5;a\0\r\nhello\r\n0\r\n\r\n",
    "extension with a control character": b"5;a=\x01\r\nhello\r\n0\r\n\r\n",
    "extension too long": b"5;a=" + b"b" * 70_000 + b"\r\nhello\r\n0\r\n\r\n",
    "extensions too long together":
        (b"1;" + b"a" * 1000 + b"\r\nx\r\n") * 200 + b"0\r\n\r\n",
    "trailer without colon": b"5\r\nhello\r\n0\r\nX\r\n\r\n",
    "trailer with space before the colon": b"5\r\nhello\r\n0\r\nX : y\r\n\r\n",
    "trailer with a bad name": b"5\r\nhello\r\n0\r\nX(: y\r\n\r\n",
    "trailer folded": b"5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n",
    "trailer with NUL": b"5\r\nhello\r\n0\r\nX: \0\r\n\r\n",
    "trailer with bare CR": b"5\r\nhello\r\n0\r\nX: a\rb\r\n\r\n",
    "trailer with bare LF": b"5\r\nhello\r\n0\r\nX: a\nY: b\r\n\r\n",
    "trailers too long": b"5\r\nhello\r\n0\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
}.items():
    chunk(name, K, body + SMUGGLED, BAD | {431})
for name in ("Content-Length: 5", "Transfer-Encoding: chunked", "Host: y"):
    chunk(f"trailer {name}", "9110 6.5.1", b"5\r\nhello\r\n0\r\n" + name.encode() + b"\r\n\r\n",
          {400, 405}, then="closed", rfc_then="any")
chunk("cut short by the end", "9112 8", b"5\r\nhel", {400, 405}, fin=True,
      rfc_want=({400, 405, None},))
chunk("body too large", "9110 15.5.14",
      b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(17)) + b"0\r\n\r\n", {405, 413},
      then="closed", rfc_then="any")

# --- Expect (RFC 9110, 10.1.1) --------------------------------------------------------------------
X = "9110 10.1.1"
fields("Expect without a body", X, "Expect: 100-continue\r\n", 200, then="open")
fields("Expect in another case", X, "Expect: 100-CONTINUE\r\n", 200, then="open")
fields("Expect of something else", X, "Expect: tea\r\n", 417, then="any",
       rfc_want=({200, 417},), rfc_then="any")
fields("Expect of more than one", X, "Expect: 100-continue, tea\r\n", 417, then="any",
       rfc_want=({200, 417},), rfc_then="any")
raw("field: Expect in HTTP/1.0 is ignored", X,
    "GET /a.txt HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", 200, version="1.0")
length("Expect of something else, with a body", X, "Content-Length: 5\r\nExpect: tea\r\n",
       b"hello", 417, then="any", rfc_want=({405, 417},), rfc_then="any")

# --- Connection (RFC 9112, 9.3; RFC 9110, 7.6.1) --------------------------------------------------
connection("nothing said", "", "open")
connection("close", "Connection: close\r\n", "closed")
connection("Close", "Connection: Close\r\n", "closed")
connection("keep-alive", "Connection: keep-alive\r\n", "open")
connection("close in a list", "Connection: x, close\r\n", "closed")
connection("close in a list without spaces", "Connection: x,close,y\r\n", "closed")
connection("close beats keep-alive", "Connection: keep-alive, close\r\n", "closed")
connection("close before keep-alive", "Connection: close, keep-alive\r\n", "closed")
connection("close among empty elements", "Connection: , close ,,\r\n", "closed")
connection("close on a second line", "Connection: x\r\nConnection: close\r\n", "closed")
connection("close on the first of two lines", "Connection: close\r\nConnection: keep-alive\r\n",
           "closed")
connection("closed is not close", "Connection: closed\r\n", "open")
connection("unknown option", "Connection: x-tide\r\n", "open")
connection("empty", "Connection:\r\n", "open")
connection("an upgrade nobody offers", "Connection: upgrade\r\nUpgrade: foo/2\r\n", "open")
connection("an h2c upgrade", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
           "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n", "open")
connection("Proxy-Connection means nothing", "Proxy-Connection: close\r\n", "open")
connection("1.0, nothing said", "", "closed", version="1.0")
connection("1.0 keep-alive", "Connection: keep-alive\r\n", "open", version="1.0")
connection("1.0 Keep-Alive", "Connection: Keep-Alive\r\n", "open", version="1.0")
connection("1.0 keep-alive in a list", "Connection: x, keep-alive\r\n", "open", version="1.0")
connection("1.0 close", "Connection: close\r\n", "closed", version="1.0")
connection("1.0 keep-alive and close", "Connection: keep-alive, close\r\n", "closed",
           version="1.0")
connection("1.2, nothing said", "", "open", version="1.2")
connection("1.2 close", "Connection: close\r\n", "closed", version="1.2")

# --- Several requests (RFC 9112, 9.3.2) -----------------------------------------------------------
P = "9112 9.3.2"
GET = "GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = "HEAD /a.txt HTTP/1.1\r\nHost: x\r\n\r\n"
raw("pipeline: two", P, GET * 2, 200, 200, then="open")
raw("pipeline: sixteen", P, GET * 16, *[200] * 16, then="open")
raw("pipeline: GET, HEAD, GET", P, GET + HEAD + GET, 200, 200, 200, then="open",
    methods=("GET", "HEAD", "GET"))
raw("pipeline: HEAD, HEAD", P, HEAD + HEAD, 200, 200, then="open", methods=("HEAD", "HEAD"))
raw("pipeline: right, absent, right", P, GET + "GET /absent HTTP/1.1\r\nHost: x\r\n\r\n" + GET,
    200, 404, 200, then="open")
raw("pipeline: a body, then a request", P,
    "POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + GET, 405, 200,
    then="open", rfc_want=({405}, {200, None}), rfc_then="any")
raw("pipeline: a chunked body, then a request", P,
    b"POST /a.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + BODY + GET.encode(),
    405, {200, None}, then="any")
raw("pipeline: nothing after a close", P,
    "GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + GET, 200)
raw("pipeline: nothing after HTTP/1.0", P, "GET /a.txt HTTP/1.0\r\n\r\n" + GET, 200,
    version="1.0")
raw("pipeline: HTTP/1.0 kept, then 1.1", P,
    "GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + GET, 200, 200, then="open",
    version="1.0")
raw("pipeline: right, then broken", P, GET + "GET /a.txt HTTP/x\r\n\r\n", 200, {400, 505})
raw("pipeline: nothing after a broken one", P, "GET /a.txt HTTP/x\r\nHost: x\r\n\r\n" + GET,
    {400, 505})
raw("pipeline: an empty line between", "9112 2.2", GET + "\r\n" + GET, 200, 200, then="open",
    rfc_want=({200}, {200, 400}), rfc_then="any")
raw("pipeline: the end after two", "9112 9.6", GET * 2, 200, 200, fin=True)

NAMES = [case.name for case in CASES]
assert len(set(NAMES)) == len(NAMES), [n for n in NAMES if NAMES.count(n) > 1]
