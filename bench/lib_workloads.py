"""The questions of `./dev bench lib` to the library, and the cost of each answer."""

from lib_servers import APP, COROUTINE, ECHO_LEVELS, FLOOR_ECHO, RIVALS, ROUTES, WAITING
from workloads import FLOOR, Above, Limit, Target, Workload

GROUP = "lib"
CLIENT, TIDERACE_LOAD = "http::Client", "tiderace load"
ONE_ROUTE, STANDARD, HELLO = "one route", "its standard headers alone", "hello, stripped"
TEMPLATE = "4 KB with 20 values"
SLOWEST = ("cpp-httplib", "Pistache")


def lib(name, about, **facts):
    return Workload(f"lib-{name}", about, group=GROUP, **facts)


LIB_WORKLOADS = [
    lib(
        "text",
        "a handler that returns a text, 64 connections",
        path="/hello.txt",
        servers=(FLOOR, APP, *RIVALS),
        targets=(
            Target(APP, 1.15, (FLOOR,)),
            *(Target(APP, 1.0, (rival,)) for rival in RIVALS),
            *(Target(APP, 1 / 3, (rival,)) for rival in SLOWEST),
        ),
    ),
    lib(
        "routed",
        "the same behind a path parameter, among 1, 100 and 10,000 routes",
        path="/r0/users/7",
        servers=(FLOOR, *ROUTES),
        targets=tuple(Target(name, 1.03, (list(ROUTES)[0],)) for name in list(ROUTES)[1:]),
    ),
    lib(
        "json-out",
        "a struct of ten fields as JSON",
        path="/user.json",
        servers=(FLOOR, APP, "Go net/http"),
        targets=(Target(APP, 1.25, (FLOOR,)), Target(APP, 1.0, ("Go net/http",))),
    ),
    lib(
        "json-in-out",
        "JSON of ten fields read into a struct, checked, and written again",
        path="/user.json",
        posts=True,
        servers=(FLOOR, APP, "Go net/http"),
        targets=(Target(APP, 1.5, (FLOOR,)), Target(APP, 1.0, ("Go net/http",))),
    ),
    lib(
        "coroutine",
        "the text from a coroutine: one that does not suspend, one that suspends once",
        path="/hello.txt",
        servers=(APP, COROUTINE, WAITING),
        targets=(Target(COROUTINE, 1.05, (APP,)), Above(WAITING, 1.5, COROUTINE)),
    ),
    lib(
        "echo",
        "TCP echo of 64 B on 1,000 sockets at the three levels, and a bare epoll echo",
        kind="echo",
        connections=1_000,
        servers=(FLOOR_ECHO, *ECHO_LEVELS),
        targets=tuple(
            Target(name, most, (FLOOR_ECHO,))
            for name, most in zip(ECHO_LEVELS, (1.1, 1.1, 1.25), strict=True)
        ),
    ),
    lib(
        "events",
        "memory of 10,000 open event streams",
        kind="streams",
        path="/events",
        connections=10_000,
        servers=(APP,),
        targets=(Limit(APP, "per_connection", 4_096, "B"),),
    ),
    lib(
        "client",
        "what a request costs who makes it, 64 connections to the floor",
        kind="requests",
        path="/hello.txt",
        servers=(TIDERACE_LOAD, CLIENT),
        targets=(Target(CLIENT, 1.2, (TIDERACE_LOAD,)),),
    ),
    lib(
        "template",
        "a page of 4 KB with 20 values",
        kind="micro",
        servers=(TEMPLATE,),
        targets=(Limit(TEMPLATE, "microseconds", 10, "µs"),),
    ),
    lib(
        "compile",
        "processor time of compiling a file with one route at -O2",
        kind="compile",
        servers=(STANDARD, ONE_ROUTE),
        targets=(Limit(ONE_ROUTE, "seconds", 1.5, "s"),),
    ),
    lib(
        "size",
        "size of that program, stripped",
        kind="size",
        servers=(HELLO,),
        targets=(Limit(HELLO, "bytes", 1_500_000, "B"),),
    ),
]
