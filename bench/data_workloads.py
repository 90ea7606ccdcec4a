"""The questions of `./dev bench data` to the databases, and the cost of each answer: by a bare loop
on the database's own client library, and by one loop of ours."""

from workloads import AtLeast, Limit, Target, Workload

GROUP = "data"
LIBPQ, CONNECTOR, SQLITE3 = "libpq", "Connector/C", "SQLite"
REDIS_BENCHMARK = "redis-benchmark"
POSTGRES, MARIADB, SQLITE = "db, PostgreSQL", "db, MariaDB", "db, SQLite"
REDIS = "redis"
OURS = (POSTGRES, MARIADB, SQLITE, REDIS)
NODE_SQLITE, NODE_POSTGRES = "Tidepool, SQLite", "Tidepool, PostgreSQL"
NODES = (NODE_SQLITE, NODE_POSTGRES)
FEED_SQLITE, FEED_POSTGRES = "feed, SQLite", "feed, PostgreSQL"
ORIGINAL_PAGE_MICROSECONDS = 83  # the original's simplest page, on this kind of machine
QUERY = "a row of three columns by its key"


def data(name, about, **facts):
    return Workload(f"data-{name}", about, group=GROUP, **facts)



def of_a_server(name, system, floor, ours):
    """Beside a bare loop on the same client library."""
    return data(
        name,
        f"{QUERY} from {system}, 64 tasks on 8 connections",
        kind="queries",
        servers=(floor, ours),
        targets=(
            Target(ours, 1.3, (floor,)),
            AtLeast(ours, "requests_per_second", 40_000, "a second"),
        ),
    )


def of_a_node(name):
    return (
        Limit(name, "cpu", ORIGINAL_PAGE_MICROSECONDS / 10, "µs"),
        Limit(name, "p99_milliseconds", 20, "ms"),
        Limit(name, "slowest_milliseconds", 100, "ms"),
        Limit(name, "megabytes", 64, "MB"),
    )


DATA_WORKLOADS = [
    of_a_server("postgres", "PostgreSQL", LIBPQ, POSTGRES),
    of_a_server("mariadb", "MariaDB", CONNECTOR, MARIADB),
    data(
        "sqlite",
        f"{QUERY} from a file of SQLite, 64 tasks, on one core",
        kind="queries",
        servers=(SQLITE3, SQLITE),
        targets=(AtLeast(SQLITE, "requests_per_second", 100_000, "a second"),),
    ),
    data(
        "redis",
        "GET of three bytes, 50 clients with 16 commands each at once",
        kind="queries",
        servers=(REDIS_BENCHMARK, REDIS),
        targets=(AtLeast(REDIS, "requests_per_second", 0.9, of=REDIS_BENCHMARK),),
    ),
    data(
        "page",
        "a page of Tidepool: session, member and a post with its replies, 100 connections",
        kind="pages",
        path="/posts/3",  # 3.7 KB; the original's has 3,658 bytes
        connections=100,
        servers=NODES,
        targets=tuple(target for name in NODES for target in of_a_node(name)),
    ),
    data(
        "feed",
        "20 posts for a member with 500 follows, 100,000 members, a million posts",
        kind="feeds",
        servers=(FEED_SQLITE, FEED_POSTGRES),
        targets=tuple(Limit(n, "p99", 2_000, "µs") for n in (FEED_SQLITE, FEED_POSTGRES)),
    ),
]
