"""examples/kv against clients that attack it, or that use it in other ways than its own tests.

What is right is what Redis does, where Redis has an answer; else what README.md says.
"""

import contextlib
import socket
import ssl

import pytest

from kv_kills import encode
from server import wait_until
from test_kv import MIB, SECONDS_MAX, Peak, client_of, connect, kv, on_linux, redis  # noqa: F401

# As a browser sends them; the last line of each would be executed.
HTTP = [
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n\r\nFLUSHALL\r\n",
    b"POST /\r\nFLUSHALL\r\n",
    b"Host: a\r\nFLUSHALL\r\n",
    b"GET / HTTP/1.1\r\nFLUSHALL\r\n",
    b"OPTIONS / HTTP/1.1\r\nFLUSHALL\r\n",
    b"PUT /k HTTP/1.1\r\n\r\nFLUSHALL\r\n",
    b"SET /k HTTP/1.1\r\n\r\nFLUSHALL\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nFLUSHALL\r\n",
    b"\x16\x03\x01\x02\x00\r\nFLUSHALL\r\n",
]


@pytest.mark.parametrize("sent", HTTP)
def test_what_a_browser_sends_is_not_executed(kv, sent):  # noqa: F811
    server = kv()
    r = client_of(server)
    r.set("kept", 1)
    for _ in range(3):
        with connect(server) as browser:
            browser.sendall(sent)
            browser.shutdown(socket.SHUT_WR)
            assert browser.recv(1000) == b"", "closed, without an answer"
    assert r.keys() == ["kept"]
    server.check_health()
    lines = [line for line in server.stderr.splitlines() if "no command" in line]
    assert len(lines) == 1 and "127.0.0.1:" in lines[0], "a page must not fill the log"


def test_a_tls_handshake_is_refused_at_once(kv):  # noqa: F811
    with connect(kv()) as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def test_a_person_may_type_commands(kv):  # noqa: F811
    with connect(kv()) as raw, raw.makefile("rb") as heard:
        raw.sendall(b"SET key 'a b'\r\nGET key\r\nget HTTP\r\n")
        assert heard.read(19) == b"+OK\r\n$3\r\na b\r\n$-1\r\n"


@pytest.mark.parametrize(
    "words",
    [
        "FLUSHALL FOO",
        "FLUSHDB FOO",
        "FLUSHALL SYNC ASYNC",
        "FLUSHDB 1",
        "MEMORY USAGE s FOO",
        "MEMORY USAGE s SAMPLES",
        "MEMORY USAGE s SAMPLES x",
        "CLIENT LIST FOO",
        "CLIENT LIST TYPE foo",
        "CLIENT LIST ID 1 FOO",
        "CLIENT LIST ID",
        "CLIENT NO-EVICT maybe",
        "CLIENT NO-TOUCH 1",
        "CLIENT SETINFO COLOUR red",
        "CONFIG RESETSTAT FOO",
        "BGSAVE FOO",
        "DEBUG SET-ACTIVE-EXPIRE 1 FOO",
        "SHUTDOWN SAVE NOSAVE",
    ],
)
def test_a_word_that_is_unknown_changes_nothing(kv, words):  # noqa: F811
    r = client_of(kv())
    r.set("s", "x")
    r.get("none")
    with pytest.raises(redis.ResponseError):
        r.execute_command(*words.split())
    assert r.get("s") == "x" and r.info()["keyspace_misses"] == 1
    assert not r.info()["rdb_bgsave_in_progress"]


def test_clients_are_listed_by_type_and_number(kv):  # noqa: F811
    server = kv()
    r = client_of(server)
    own = r.client_id()
    with connect(server) as subscriber:
        subscriber.sendall(encode("SUBSCRIBE", "c"))
        assert subscriber.recv(100)
        listed = {t: [c["id"] for c in r.client_list(_type=t)] for t in ("normal", "pubsub")}
        assert listed["normal"] == [str(own)] and len(listed["pubsub"]) == 1
        assert r.client_list(_type="replica") == []
        assert [c["id"] for c in r.client_list(client_id=[str(own)])] == [str(own)]
    assert r.flushall(asynchronous=True) and r.execute_command("FLUSHDB", "sync")


WAITS = [
    "BLPOP l {}",
    "BRPOP none l {}",
    "BLMPOP {} 1 l LEFT",
    "BLMOVE l to LEFT LEFT {}",
    "BRPOPLPUSH l to {}",
    "BZPOPMIN z {}",
    "BZPOPMAX none z {}",
    "BZMPOP {} 1 z MAX",
]


@pytest.mark.parametrize("words", WAITS)
def test_a_time_that_is_none_takes_no_element(kv, words):  # noqa: F811
    """Whether there is an element or none: nan and inf must not wait for ever either."""
    r = client_of(kv())
    for filled in (True, False):
        if filled:
            r.rpush("l", "a")
            r.zadd("z", {"a": 1})
        for time, fault in (
            ("abc", "not a float"),
            ("nan", "not a float"),
            ("inf", "not a float"),
            ("-inf", "not a float"),
            ("1e999", "not a float"),
            ("", "not a float"),
            ("1e300", "out of range"),
            ("-1", "timeout is negative"),
        ):
            with pytest.raises(redis.ResponseError, match=fault):
                r.execute_command(*[time if w == "{}" else w for w in words.split()])
        assert r.llen("l") == r.zcard("z") == filled and not r.exists("to")
        r.delete("l", "z")


@pytest.mark.parametrize(
    "before, other, runs",
    [
        ("", "SET k 1", False),
        ("", "SET k 1|DEL k", False),
        ("", "SET k 1|FLUSHALL", False),
        ("SET k 1", "FLUSHALL", False),
        ("SET k 1", "FLUSHDB ASYNC", False),
        ("SET k 1", "GETEX k EX 100", False),
        ("SADD s m|SADD k n", "SMOVE s k m", False),
        # A key that was absent, or has not changed, lets it run.
        ("", "FLUSHALL", True),
        ("SET other 1", "FLUSHALL", True),
        ("", "DEL k", True),
        ("SET k 1", "GETEX k PERSIST", True),
        ("SADD s m|SADD k m", "SMOVE s k m", True),
    ],
)
def test_exec_after_watch_is_that_of_redis(kv, before, other, runs):  # noqa: F811
    """Each line was compared with Redis 7.0."""
    server = kv()
    r = client_of(server)
    for words in before.split("|") if before else []:
        r.execute_command(*words.split())
    with connect(server) as watcher, watcher.makefile("rb") as heard:
        watcher.sendall(encode("WATCH", "k"))
        assert heard.readline() == b"+OK\r\n"
        for words in other.split("|"):
            r.execute_command(*words.split())
        watcher.sendall(encode("MULTI") + encode("PING") + encode("EXEC"))
        assert [heard.readline() for _ in range(2)] == [b"+OK\r\n", b"+QUEUED\r\n"]
        assert heard.readline() == (b"*1\r\n" if runs else b"*-1\r\n")


def last_text(reply):
    """The last one of a reply that may be nested."""
    while isinstance(reply, list):
        reply = reply[-1]
    return reply.decode()


def test_numbers_are_written_as_by_redis(kv):  # noqa: F811
    """No exponent for a whole number: clients read scores as integers."""
    server = kv()
    ask = redis.Connection("127.0.0.1", server.port, socket_timeout=SECONDS_MAX)
    for text in ("100000", "1000000", "9007199254740992", "1e+17", "0.0001", "1e-05", "-0.5"):
        for words in (
            ("ZADD", "z", "INCR", text, "a"),
            ("ZSCORE", "z", "a"),
            ("ZMSCORE", "z", "a"),
            ("ZINCRBY", "z", 0, "a"),
            ("ZRANGE", "z", 0, -1, "WITHSCORES"),
            ("ZSCAN", "z", 0),
            ("ZRANDMEMBER", "z", 1, "WITHSCORES"),
            ("ZUNION", 1, "z", "WITHSCORES"),
            ("ZPOPMIN", "z"),
        ):
            ask.send_command(*words)
            assert last_text(ask.read_response()) == text, words
    for command in (("INCRBYFLOAT", "s"), ("HINCRBYFLOAT", "h", "f")):
        ask.send_command(*command, "100000")
        assert last_text(ask.read_response()) == "100000"


def test_before_auth_a_command_is_small(kv):  # noqa: F811
    server = kv("--requirepass", "secret")
    large, many = encode("SET", "k", "x" * 20_000), encode("DEL", *range(20))
    just = encode("AUTH", "x" * (16 << 10))
    for sent, heard in (
        (b"*11\r\n", b"-ERR Protocol error: unauthenticated multibulk length\r\n"),
        (
            b"*2\r\n$4\r\nAUTH\r\n$16385\r\n",
            b"-ERR Protocol error: unauthenticated bulk length\r\n",
        ),
        (
            b"AUTH" + b" x" * 10 + b"\r\n",
            b"-ERR Protocol error: unauthenticated multibulk length\r\n",
        ),
        (b"AUTH %s\r\n" % (b"x" * 16385), b"-ERR Protocol error: unauthenticated bulk length\r\n"),
        (encode("AUTH", "secret") + large + many, b"+OK\r\n+OK\r\n:0\r\n"),
        (
            encode("AUTH", "secret") + encode("RESET") + large,
            b"+OK\r\n+RESET\r\n-ERR Protocol error: unauthenticated bulk length\r\n",
        ),
        (just, b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
    ):
        with connect(server) as raw, raw.makefile("rb") as answers:
            raw.sendall(sent)
            assert answers.read(len(heard)) == heard
    with connect(kv()) as raw:
        raw.sendall(large)
        assert raw.recv(100) == b"+OK\r\n", "without a password all may send as much"


def read_all(connection, size):
    heard = bytearray()
    while len(heard) < size and (part := connection.recv(MIB)):
        heard += part
    return bytes(heard)


@pytest.mark.parametrize("flags", [(), ("--appendonly", "yes", "--fsync", "always")])
def test_a_client_may_send_all_before_it_reads(kv, tmp_path, flags):  # noqa: F811
    """As hiredis and its throughput test do; Redis keeps the answers meanwhile."""
    path = tmp_path / "kv.sock"
    r = client_of(kv("--listen", f"unix:{path}", *flags))
    r.set("k", "x" * 1000)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(60)
        raw.connect(str(path))
        raw.sendall(encode("GET", "k") * 20_000)
        answer = b"$1000\r\n" + b"x" * 1000 + b"\r\n"
        assert read_all(raw, 20_000 * len(answer)) == 20_000 * answer
        raw.sendall(encode("INCR", "n") * 20_000)
        assert read_all(raw, 1).startswith(b":1\r\n")


def test_a_million_pings_are_answered_when_they_are_read(kv, tmp_path):  # noqa: F811
    path = tmp_path / "kv.sock"
    kv("--listen", f"unix:{path}")
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(60)
        raw.connect(str(path))
        raw.sendall(b"PING\r\n" * 1_000_000)
        assert read_all(raw, 7_000_000) == b"+PONG\r\n" * 1_000_000


@on_linux
@pytest.mark.parametrize(
    "words, count",
    [
        (("MGET", *["v"] * 20_000), 1),
        (("HMGET", "h", *["f"] * 20_000), 1),
        (("LRANGE", "l", 0, -1), 1),
        (("ZUNION", 300, *["z"] * 300), 0),
        (("HSCAN", "large", 0, "COUNT", 1_000_000), 1),
        (("PUBSUB", "NUMSUB", *["c" * 100] * 300_000), 1),
    ],
)
def test_an_answer_that_nobody_may_have_is_not_built(kv, words, count):  # noqa: F811
    server = kv("--output-max", "16mb")
    r = client_of(server)
    value = "x" * 31_000
    r.set("v", value)
    r.hset("h", "f", value)
    for start in range(0, 3000, 500):
        r.rpush("l", *[value] * 500)
        r.hset("large", mapping={f"f{start + i}": value for i in range(500)})
    r.zadd("z", {f"member:{i}": i for i in range(10_000)})
    peak = Peak(server)
    with connect(server) as greedy:
        greedy.sendall(encode(*words))
        with contextlib.suppress(ConnectionResetError):
            # Cut, or small after all.
            assert bool(read_all(greedy, 1)) == (count == 0)
    assert peak.bytes() < 100 * MIB and r.ping()


@on_linux
def test_clients_that_do_not_read_have_one_bound_for_all(kv):  # noqa: F811
    """The answers are short, so each is a copy. A client that reads late is served beside them."""
    server = kv("--output-max", "16mb")
    r = client_of(server)
    r.set("k", "x" * 1000)
    peak = Peak(server)
    hogs = [connect(server) for _ in range(12)]
    for each in hogs:
        with contextlib.suppress(ConnectionError):
            each.sendall(encode("GET", "k") * 6_000)
    with connect(server) as late:
        late.sendall(b"PING\r\n" * 100_000)
        assert read_all(late, 700_000) == b"+PONG\r\n" * 100_000
    assert peak.bytes() < 64 * MIB
    wait_until(lambda: r.info()["connected_clients"] < 12)
    for each in hogs:
        each.close()


def test_clients_without_a_password_take_no_answers_of_a_member(kv):  # noqa: F811
    """The member holds more than any of them, and less than all."""
    server = kv("--output-max", "16mb", "--requirepass", "secret")
    with connect(server) as member:
        member.sendall(encode("AUTH", "secret") + encode("SET", "k", "x" * 20_000))
        assert read_all(member, 10) == b"+OK\r\n+OK\r\n"
        member.sendall(encode("GET", "k") * 600)
        hogs = [connect(server) for _ in range(12)]
        for each in hogs:
            with contextlib.suppress(ConnectionError):
                each.sendall(b"PING\r\n" * 150_000)
        r = client_of(server, password="secret")
        wait_until(lambda: r.info()["connected_clients"] < 14)
        size = 600 * len(b"$20000\r\n" + b"x" * 20_000 + b"\r\n")
        assert len(read_all(member, size)) == size
        for each in hogs:
            each.close()


def test_clients_without_a_password_do_not_take_all_connections(kv):  # noqa: F811
    server = kv("--maxclients", "20", "--requirepass", "secret")
    with contextlib.ExitStack() as stack:
        member = stack.enter_context(connect(server))
        member.sendall(encode("AUTH", "secret"))
        assert member.recv(100) == b"+OK\r\n"
        for _ in range(30):
            stack.enter_context(connect(server))
        other = socket.create_connection(("127.0.0.1", server.port), 60, ("127.0.0.2", 0))
        stack.enter_context(other)
        other.sendall(encode("AUTH", "secret"))
        assert other.recv(100) == b"+OK\r\n"
        member.sendall(encode("PING"))
        assert member.recv(100) == b"+PONG\r\n"


def test_names_count_as_input(kv):  # noqa: F811
    server = kv("--input-max", "2mb")
    for words in (
        ("SUBSCRIBE", *(f"{i}" for i in range(10_000))),
        ("PSUBSCRIBE", *(f"{i}{'x' * 500}" for i in range(3_000))),
        ("CLIENT", "SETNAME", "x" * 2_500_000),
        ("WATCH", *(f"{i}" for i in range(20_000))),
    ):
        with connect(server) as greedy:
            greedy.sendall(encode(*words) + encode("PING"))
            heard = b""
            with contextlib.suppress(ConnectionResetError):
                while part := greedy.recv(MIB):
                    heard = heard[-1000:] + part
            assert b"too many bytes" in heard, words[0]
    with connect(server) as fair:
        fair.sendall(encode("SUBSCRIBE", *range(100)) + encode("UNSUBSCRIBE") * 100)
        fair.sendall(encode("SUBSCRIBE", *range(100)) + encode("PING"))
        assert b"pong" in read_until(fair, b"pong")


def read_until(connection, end):
    heard = b""
    while end not in heard and (part := connection.recv(MIB)):
        heard += part
    return heard


@on_linux
def test_what_a_transaction_publishes_to_itself_has_the_bound_of_subscribers(kv):  # noqa: F811
    server = kv("--subscriber-output-max", "1mb")
    r = client_of(server)
    peak = Peak(server)
    with connect(server) as raw:
        raw.sendall(encode("HELLO", 3) + encode("PSUBSCRIBE", *("*" * i for i in range(1, 200))))
        raw.sendall(encode("MULTI") + encode("PUBLISH", "c", "x" * 20_000) * 20 + encode("EXEC"))
        with contextlib.suppress(ConnectionResetError):
            read_all(raw, 100 * MIB)
    assert r.ping() and peak.bytes() < 32 * MIB


def test_hostile_patterns_do_not_hold_up_the_loop(kv):  # noqa: F811
    """Each was 4 * 10^9 steps."""
    server = kv()
    names = [f"{i}{'a' * MIB}" for i in range(4)]
    r = client_of(server)
    r.mset(dict.fromkeys(names, 1))
    r.sadd("set", *names)
    impatient = redis.Redis("127.0.0.1", server.port, socket_timeout=15, decode_responses=True)
    pattern = "*" + "a" * 1000 + "b"
    assert impatient.keys(pattern) == []
    assert impatient.scan(match=pattern, count=100)[1] == []
    assert impatient.sscan("set", match=pattern, count=100)[1] == []
    assert len(impatient.keys("*" + "a" * 1000)) == 4


def test_long_patterns_and_channels_are_refused(kv):  # noqa: F811
    server = kv()
    client_of(server).sadd("s", "m")
    for name, wanted in (("x" * 1024, True), ("x" * 1025, False)):
        for words in (
            ("KEYS", name),
            ("SCAN", 0, "MATCH", name),
            ("SSCAN", "s", 0, "MATCH", name),
            ("CONFIG", "GET", name),
            ("PUBSUB", "CHANNELS", name),
            ("PUBLISH", name, "m"),
            ("SUBSCRIBE", name),
            ("PSUBSCRIBE", name),
        ):
            with connect(server) as raw:
                raw.sendall(encode(*words))
                heard = raw.recv(4096)
            assert (b"is longer than 1024 bytes" not in heard) == wanted, words[0]


def test_a_key_that_is_named_often_is_waited_for_once(kv):  # noqa: F811
    server = kv()
    r = client_of(server)
    with connect(server) as first, connect(server) as second:
        first.sendall(encode("BLPOP", *["k"] * 200_000, 0))
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        second.sendall(encode("BLPOP", "other", *["k"] * 200_000, 0))
        wait_until(lambda: r.info()["blocked_clients"] == 2)
        assert r.rpush("k", "1", "2") == 2
        assert first.recv(100) == encode("k", "1") and second.recv(100) == encode("k", "2")
    assert r.info()["blocked_clients"] == 0 and r.rpush("other", "x") == 1
