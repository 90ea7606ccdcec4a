"""The requests to the servers, and the costs that the answers may have.

A target compares one server's figure with another's in the same run: CPU per request (or the
figure that the workload is about) must be at most `at_most` times that of the best of `of`.
"""

import dataclasses

FLOOR, FLOOR_SENDFILE = "floor, memory", "floor, sendfile"
NGINX, LIGHTTPD, TIDERACE, H2O = "nginx", "lighttpd", "tiderace", "h2o"
ECHO_RAW, ECHO_WEBSOCKET = "echo, raw TCP", "echo, WebSocket"
GZIPPED = "tiderace, gzip"
RIVALS = (NGINX, LIGHTTPD)
TLS_RIVALS = (NGINX, H2O)

ACCEPT_GZIP = ("Accept-Encoding: gzip",)

FILES = {  # name: bytes
    "1k.html": 1024,
    "57k.html": 57_244,
    "2.5m.html": 2_496_629,
    "1g.html": 1 << 30,
    "57k.txt": 57_244,  # words, of which gzip makes a third
}
USER = (  # as bench/lib/app.cc writes it
    b'{"id":1234567,"name":"Ada Lovelace","email":"ada@example.org","age":36,"active":true,'
    b'"score":97.25,"city":"London W1K","tags":["mathematics","poetry"],'
    b'"note":"writes programs","visits":128000}'
)
CONTENTS = {"hello.txt": b"hello\n", "r0/users/7": b"hello\n", "user.json": USER}
FILES.update((name, len(content)) for name, content in CONTENTS.items())


@dataclasses.dataclass(frozen=True)
class Target:
    server: str
    at_most: float
    of: tuple  # the best of these
    figure: str = "cpu"  # or p99, or a figure of a workload of its own kind


@dataclasses.dataclass(frozen=True)
class Limit:
    """An absolute bound on one figure."""

    server: str
    figure: str
    at_most: float
    unit: str


@dataclasses.dataclass(frozen=True)
class AtLeast:
    """A figure that is the better the higher it is: at least this, or this share of another's."""

    server: str
    figure: str
    least: float
    unit: str = ""
    of: str | tuple = ()


@dataclasses.dataclass(frozen=True)
class Above:
    """At most `more` above another server's figure."""

    server: str
    more: float
    of: str
    unit: str = "µs"
    figure: str = "cpu"


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    about: str
    path: str = "/1k.html"
    # load (by wrk), handshakes, h2 (by h2load), echo, idle, idle_h2 or start; and of lib_loads.py:
    # streams, requests, micro, compile or size; and of data_loads.py: queries; and of
    # tidepool_loads.py: pages or feeds
    kind: str = "load"
    group: str = ""  # `./dev bench GROUP` runs all of it
    secure: bool = False
    resumed: bool = False  # handshakes: with the ticket of the connection before
    streams: int = 1  # h2: at once on each connection
    requests: int = 0  # h2: of each round
    servers: tuple = (FLOOR, NGINX, LIGHTTPD, TIDERACE)
    connections: int = 64
    seconds: float = 4
    fields: tuple = ()
    plain: tuple = ()  # servers that get requests without these fields
    posts: bool = False  # POST, with the file's own content as a JSON body
    conditional: bool = False  # adds If-None-Match with the server's own entity tag
    status: int = 200
    pipelined: int = 1
    targets: tuple = ()

    @property
    def wants_gzip(self):
        return ACCEPT_GZIP[0] in self.fields

    @property
    def closes(self):
        return "Connection: close" in self.fields


BOTH_FLOORS = (FLOOR, FLOOR_SENDFILE, NGINX, LIGHTTPD, TIDERACE)
SERVERS = (NGINX, LIGHTTPD, TIDERACE)
TLS_SERVERS = (NGINX, H2O, TIDERACE)
BEST_OF_FLOORS = (FLOOR, FLOOR_SENDFILE)

WORKLOADS = [
    Workload(
        "1k",
        "1,024 B, keep-alive, 64 connections",
        targets=(Target(TIDERACE, 1.12, (FLOOR,)),),
    ),
    Workload(
        "1k-10000",
        "1,024 B, keep-alive, 10,000 connections",
        connections=10_000,
        seconds=6,
        targets=(Target(TIDERACE, 1.12, (FLOOR,)), Target(TIDERACE, 2.0, (FLOOR,), "p99")),
    ),
    Workload(
        "57k",
        "57,244 B, keep-alive, 64 connections",
        path="/57k.html",
        servers=BOTH_FLOORS,
        targets=(Target(TIDERACE, 1.10, BEST_OF_FLOORS), Target(TIDERACE, 0.90, RIVALS)),
    ),
    Workload(
        "57k-close",
        "57,244 B, a connection for each request, 64 at once",
        path="/57k.html",
        fields=("Connection: close",),
        servers=BOTH_FLOORS,
        targets=(Target(TIDERACE, 1.10, BEST_OF_FLOORS), Target(TIDERACE, 0.90, RIVALS)),
    ),
    Workload(
        "2.5m",
        "2,496,629 B, hot, 64 connections",
        path="/2.5m.html",
        seconds=5,
        servers=BOTH_FLOORS,
        targets=(Target(TIDERACE, 1.08, BEST_OF_FLOORS), Target(TIDERACE, 0.60, (NGINX,))),
    ),
    Workload(
        "1g",
        "1 GiB, beyond the cache, 2 connections",
        path="/1g.html",
        connections=2,
        seconds=8,
        servers=(FLOOR_SENDFILE, *SERVERS),
        targets=(Target(TIDERACE, 1.05, (FLOOR_SENDFILE,)),),
    ),
    Workload(
        "304",
        "If-None-Match that matches, 64 connections",
        conditional=True,
        status=304,
        servers=SERVERS,
        targets=(Target(TIDERACE, 1.0, (NGINX,)), Target(TIDERACE, 1.0, (LIGHTTPD,))),
    ),
    Workload(
        "404",
        "a file that is not there, 64 connections",
        path="/absent.html",
        status=404,
        servers=SERVERS,
        targets=(Target(TIDERACE, 1.0, (NGINX,)), Target(TIDERACE, 1.0, (LIGHTTPD,))),
    ),
    Workload(
        "pipelined",
        "1,024 B, 16 requests in each write, 64 connections",
        pipelined=16,
        servers=SERVERS,
        targets=(Target(TIDERACE, 0.25, (NGINX,)), Target(TIDERACE, 1.0, (LIGHTTPD,))),
    ),
    Workload(
        "access-log",
        "1,024 B; the access log as JSON to a file, and off",
        servers=(TIDERACE, "tiderace, JSON access log"),
        targets=(Target("tiderace, JSON access log", 1.05, (TIDERACE,)),),
    ),
    Workload(
        "deadlines",
        "1,024 B; all deadlines and minimum rates on, and off",
        servers=(TIDERACE, "tiderace, no deadlines"),
        targets=(Target(TIDERACE, 1.01, ("tiderace, no deadlines",)),),
    ),
    Workload(
        "idle",
        "memory of a server with one loop, and of 10,000 idle connections",
        kind="idle",
        connections=10_000,
        servers=SERVERS,
        targets=(
            Limit(TIDERACE, "per_connection", 340, "B"),
            Limit(TIDERACE, "base", 2_500_000, "B"),
        ),
    ),
    Workload(
        "start",
        "from exec to the first byte of an answer",
        kind="start",
        servers=SERVERS,
        targets=(Limit(TIDERACE, "milliseconds", 10, "ms"),),
    ),
    Workload(
        "tls-1k",
        "1,024 B over TLS 1.3, keep-alive, 64 connections",
        group="tls",
        secure=True,
        servers=TLS_SERVERS,
        targets=(Target(TIDERACE, 0.80, TLS_RIVALS),),
    ),
    Workload(
        "tls-2.5m",
        "2,496,629 B over TLS 1.3, 64 connections",
        group="tls",
        path="/2.5m.html",
        secure=True,
        seconds=5,
        servers=TLS_SERVERS,
        targets=(Target(TIDERACE, 0.85, TLS_RIVALS),),
    ),
    Workload(
        "tls-handshakes",
        "full TLS 1.3 handshakes (P-256), each with one request, 16 at once",
        group="tls",
        kind="handshakes",
        secure=True,
        connections=16,
        servers=TLS_SERVERS,
        targets=(Target(TIDERACE, 1.0, TLS_RIVALS),),
    ),
    Workload(
        "tls-resumed",
        "resumed TLS 1.3 handshakes, each with one request, 16 at once",
        group="tls",
        kind="handshakes",
        secure=True,
        resumed=True,
        connections=16,
        servers=TLS_SERVERS,
        targets=(Target(TIDERACE, 1.0, TLS_RIVALS),),
    ),
    Workload(
        "h2-1k",
        "1,024 B, HTTP/2 over TLS, 16 connections with 16 streams each",
        group="h2",
        kind="h2",
        secure=True,
        connections=16,
        streams=16,
        requests=400_000,
        servers=TLS_SERVERS,
        targets=(Target(TIDERACE, 1.0, (H2O,)),),
    ),
    Workload(
        "h2-57k",
        "57,244 B, HTTP/2 over TLS, 16 connections with 16 streams each",
        group="h2",
        kind="h2",
        path="/57k.html",
        secure=True,
        connections=16,
        streams=16,
        requests=40_000,
        servers=TLS_SERVERS,
        targets=(Target(TIDERACE, 0.90, (H2O,)),),
    ),
    Workload(
        "tls-idle",
        "memory of 4,000 idle connections of HTTP/1 over TLS 1.3",
        group="tls",
        kind="idle",
        secure=True,
        connections=4_000,  # the client is in Python, and opens them before the first ones time out
        servers=TLS_SERVERS,
        targets=(Limit(TIDERACE, "per_connection", 3_300, "B"),),
    ),
    Workload(
        "h2-idle",
        "memory of 10,000 idle connections of HTTP/2 over TLS",
        group="h2",
        kind="idle_h2",
        secure=True,
        connections=10_000,
        servers=TLS_SERVERS,
        targets=(Limit(TIDERACE, "per_connection", 6_000, "B"),),
    ),
    Workload(
        "ws-echo",
        "WebSocket echo of 64 B on 1,000 sockets, and the same bytes through a plain TCP echo",
        group="ws",
        kind="echo",
        connections=1_000,
        servers=(ECHO_RAW, ECHO_WEBSOCKET),
        targets=(Target(ECHO_WEBSOCKET, 1.25, (ECHO_RAW,)),),
    ),
    Workload(
        "compress-gzip",
        "57,244 B of text, asked for with gzip; tiderace also without, which is what it is held to",
        group="compress",
        path="/57k.txt",
        fields=ACCEPT_GZIP,
        plain=(TIDERACE,),
        servers=(NGINX, H2O, TIDERACE, GZIPPED),
        targets=(Target(GZIPPED, 1.10, (TIDERACE,)), Target(GZIPPED, 1.0, TLS_RIVALS)),
    ),
]
