"""The servers of `./dev bench lib`: ours, written with the public headers alone, and the same with
other libraries. Each is one loop on one core and answers the same bytes."""

APP, FLOOR_ECHO = "app", "floor, echo"
COROUTINE, WAITING = "app, coroutine", "app, coroutine that waits"
ROUTES = {f"app, {count:,} route{'s' * (count > 1)}": count for count in (1, 100, 10_000)}
ECHO_LEVELS = {f"tcp, {level}": level for level in ("session", "callbacks", "coroutine")}
RIVALS = {
    "cpp-httplib": "rival_httplib",
    "Pistache": "rival_pistache",
    "RESTinio": "rival_restinio",
    "Boost.Beast": "rival_beast",
    "Go net/http": "rival_go",
}

PROGRAMS = {  # name: (program in the build, words before the port, words behind it)
    APP: ("bench/lib/lib_app", ["plain"], []),
    COROUTINE: ("bench/lib/lib_app", ["coroutine"], []),
    WAITING: ("bench/lib/lib_app", ["waiting"], []),
    **{name: ("bench/lib/lib_app", ["plain"], [count]) for name, count in ROUTES.items()},
    **{name: ("examples/echo/echo_levels", [level], ["1"]) for name, level in ECHO_LEVELS.items()},
    **{name: (f"bench/lib/{program}", [], []) for name, program in RIVALS.items()},
}


def is_ours(name):
    return name in PROGRAMS and name not in RIVALS


def program(name, build):
    return build / PROGRAMS[name][0]


def words(name, plan):
    _, before, behind = PROGRAMS[name]
    port = f"127.0.0.1:{plan.port}" if name in ECHO_LEVELS else plan.port
    return [program(name, plan.build), *before, port, *behind]
