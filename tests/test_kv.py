"""examples/kv, driven by redis-cli, redis-benchmark, a public client (redis-py) and raw bytes.

TIDERACE_KV_KILLS=1000 kills and restarts the server so many times in
test_nothing_acknowledged_is_lost_by_kill_9; kv_kills.py does so by hand, for as long as you like.
"""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import kv_kills
import redis_client_tests
from kv_kills import Kv, encode
from server import wait_until

redis = pytest.importorskip("redis")

KILLS = int(os.environ.get("TIDERACE_KV_KILLS", "30"))
SECONDS_MAX = 60
MIB = 1 << 20
TOOLS = Path(__file__).resolve().parent.parent / "build/tools"


def program(name):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed (apt: redis-server)")
    return path


@pytest.fixture
def kv(binary, tmp_path, tmp_path_factory):
    """Starts a server; its data is in a folder that outlives it."""
    running = []

    def start(*flags, folder=tmp_path):
        server = Kv(binary.parent / "examples/kv/kv", "--listen", "127.0.0.1:0", "--dir", folder,
                    *flags, folder=tmp_path_factory.mktemp("kv"))
        running.append(server)
        server.wait_ready()
        server.port = server.places()[0][1]
        return server

    yield start
    for server in running:
        if server.process.poll() is None:
            kill(server)


def client_of(server, **more):
    return redis.Redis("127.0.0.1", server.port, socket_timeout=SECONDS_MAX,
                       decode_responses=True, **more)


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS_MAX)


def kill(server):
    server.kill()


# Other people's programs


def test_redis_cli_works(kv):
    server = kv()

    def cli(*words, stdin=None):
        return subprocess.run([program("redis-cli"), "-p", str(server.port), *words], input=stdin,
                              capture_output=True, text=True, timeout=SECONDS_MAX,
                              check=True).stdout

    assert cli("ping") == "PONG\n"
    assert cli("set", "name", "two words", "ex", "100") == "OK\n"
    assert cli("get", "name") == "two words\n"
    assert cli("-3", "hset", "h", "f", "v") == "1\n"
    assert cli("-3", "--json", "hgetall", "h") == '{"f":"v"}\n'
    assert cli(stdin="multi\nincr n\nincr n\nexec\n") == "OK\nQUEUED\nQUEUED\n1\n2\n"
    assert cli("nonsense").startswith("ERR unknown command 'nonsense'")
    assert "used_memory:" in cli("info")
    assert cli("--scan", "--pattern", "na*") == "name\n"
    assert cli("--pipe", stdin=encode("SET", "a", 1).decode() * 100).endswith(
        "errors: 0, replies: 100\n")


def test_redis_benchmark_runs(kv):
    server = kv()
    said = subprocess.run(
        [program("redis-benchmark"), "-p", str(server.port), "-n", "2000", "-P", "16", "-q", "-t",
         "ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset"],
        capture_output=True, text=True, timeout=SECONDS_MAX, check=True).stdout
    assert said.count("requests per second") >= 15
    assert "rror" not in said


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [2, 3])
def test_a_public_clients_own_tests_pass(kv, tmp_path, protocol):
    source = TOOLS / f"redis-py-{redis.__version__}"
    if not source.exists():
        pytest.fail(f"{source} is absent; ./dev test all fetches it")
    names = redis_client_tests.names((source / "tests/test_commands.py").read_text())
    assert len(names) > 200
    report = tmp_path / "report.xml"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
             "-W", "ignore", "--timeout=60", f"--junitxml={report}", f"--protocol={protocol}",
             f"--redis-url=redis://127.0.0.1:{kv().port}/0",
             *(f"tests/test_commands.py::TestRedisCommands::{name}" for name in names)]
    done = subprocess.run(words, cwd=source, capture_output=True, text=True, timeout=350,
                          check=False)
    assert report.exists(), done.stdout[-4000:] + done.stderr
    passed, wrong, absent = 0, [], 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        faults = [*case.iter("failure"), *case.iter("error")]
        message = faults[0].get("message") if faults else ""
        if faults and redis_client_tests.is_absent(case.get("name"), message):
            absent += 1
        elif faults:
            wrong.append((case.get("name"), message))
        elif case.find("skipped") is None:
            passed += 1
    print(f"{passed} of redis-py's tests passed, {absent} use commands that are absent")
    assert not wrong
    assert passed >= 190 and absent <= 22


# The client's interface, by family


@pytest.fixture(params=[2, 3])
def r(kv, request):
    return client_of(kv(), protocol=request.param)


def test_strings(r):
    assert r.set("a", "1") and r.get("a") == "1"
    assert r.set("a", "2", nx=True) is None and r.set("b", "2", xx=True) is None
    assert r.set("a", "3", get=True) == "1"
    assert r.set("t", "x", ex=100) and 0 < r.ttl("t") <= 100
    assert r.set("t", "y", keepttl=True) and 0 < r.pttl("t") <= 100_000
    assert r.getex("t", persist=True) == "y" and r.ttl("t") == -1
    # As Redis: the words first, then the key, then the number.
    assert r.execute_command("GETEX", "none", "EX", "abc") is None
    assert r.execute_command("GETEX", "none", "EX", "0") is None
    r.lpush("getex_list", "a")
    for words, fault in ((("none", "nonsense"), "syntax error"),
                         (("getex_list", "EX"), "syntax error"),
                         (("getex_list", "EX", "abc"), "WRONGTYPE"),
                         (("t", "EX", "abc"), "not an integer"),
                         (("t", "EX", "0"), "invalid expire time in 'getex'")):
        with pytest.raises(redis.ResponseError, match=fault):
            r.execute_command("GETEX", *words)
    r.delete("getex_list")
    assert r.getdel("t") == "y" and r.get("t") is None
    assert r.getset("a", "4") == "3" and r.setnx("a", "5") is False
    assert r.mset({"x": 1, "y": 2}) and r.mget("x", "none", "y") == ["1", None, "2"]
    assert r.msetnx({"x": 3, "z": 3}) is False and r.get("z") is None
    assert r.append("s", "Hello") == 5 and r.append("s", " World") == 11
    assert r.getrange("s", 0, 4) == "Hello" and r.getrange("s", -5, -1) == "World"
    assert r.getrange("s", 5, 2) == "" and r.strlen("s") == 11
    assert r.setrange("s", 6, "Redis") == 11 and r.get("s") == "Hello Redis"
    assert r.setrange("pad", 3, "x") == 4 and r.get("pad") == "\0\0\0x"
    assert r.incr("n") == 1 and r.incrby("n", 9) == 10 and r.decr("n", 4) == 6
    assert r.incrbyfloat("n", 0.5) == 6.5 and r.get("n") == "6.5"
    with pytest.raises(redis.ResponseError, match="not an integer"):
        r.incr("s")
    r.set("n", (1 << 63) - 1)
    with pytest.raises(redis.ResponseError, match="overflow"):
        r.incr("n")


def test_lists(r):
    assert r.rpush("l", "a", "b", "c") == 3 and r.lpush("l", "z") == 4
    assert r.lrange("l", 0, -1) == ["z", "a", "b", "c"] and r.lrange("l", 5, 9) == []
    assert r.lindex("l", -1) == "c" and r.llen("l") == 4 and r.lpos("l", "b") == 2
    assert r.linsert("l", "BEFORE", "b", "x") == 5 and r.lset("l", 0, "y")
    assert r.lrem("l", -1, "b") == 1 and r.lrange("l", 0, -1) == ["y", "a", "x", "c"]
    assert r.ltrim("l", 1, 2) and r.lrange("l", 0, -1) == ["a", "x"]
    assert r.lmove("l", "m", "LEFT", "RIGHT") == "a" and r.rpoplpush("l", "m") == "x"
    assert r.lrange("m", 0, -1) == ["x", "a"] and not r.exists("l")
    assert r.lpop("m", 5) == ["x", "a"] and r.lpop("m") is None and r.lpushx("m", 1) == 0
    r.rpush("same", 1, 2, 3)
    assert r.lmove("same", "same", "LEFT", "RIGHT") == "1"
    assert r.lrange("same", 0, -1) == ["2", "3", "1"]


def test_a_blocked_pop_gets_what_is_pushed_later(kv):
    server = kv()
    heard = []
    waiting = threading.Thread(
        target=lambda: heard.append(client_of(server).blpop(["none", "q"], timeout=SECONDS_MAX)))
    waiting.start()
    r = client_of(server)
    wait_until(lambda: r.info()["blocked_clients"] == 1)
    r.rpush("q", "one", "two")
    waiting.join()
    assert heard == [("q", "one")] and r.lrange("q", 0, -1) == ["two"]
    assert r.brpop("empty", timeout=0.01) is None


def test_pops_from_several_lists_and_sorted_sets(r):
    r.rpush("l", *"abcde")
    assert r.lmpop(2, "none", "l", direction="LEFT") == ["l", ["a"]]
    assert r.lmpop(2, "none", "l", direction="RIGHT", count=2) == ["l", ["e", "d"]]
    assert r.lmpop(1, "l", direction="LEFT", count=100) == ["l", ["b", "c"]]
    assert r.lmpop(1, "l", direction="LEFT") is None and not r.exists("l")
    r.zadd("z", {"a": 1, "b": 2.5, "c": 3, "d": 4})
    assert numbers_in(r.zmpop(2, ["none", "z"], min=True)) == ["z", [["a", 1]]]
    assert r.zrange("z", 0, -1) == ["b", "c", "d"]
    popped = r.zmpop(1, ["z"], max=True, count=2)
    assert popped[0] == "z"
    assert [(m, float(score)) for m, score in popped[1]] == [("d", 4), ("c", 3)]
    assert r.bzpopmin(["none", "z"], timeout=1) in (("z", "b", 2.5), ["z", "b", 2.5])
    assert not r.exists("z") and r.bzpopmax("z", timeout=0.01) is None
    assert r.zmpop(1, ["z"], max=True) is None
    r.zadd("x", {"a": 1, "b": 2, "c": 3})
    r.sadd("y", "b", "c", "d")
    assert r.zintercard(2, ["x", "y"]) == 2 and r.zintercard(2, ["x", "y"], limit=1) == 1
    assert r.zintercard(2, ["x", "none"]) == 0
    r.set("text", 1)
    for wrong in (("LMPOP", 0, "l", "LEFT"), ("LMPOP", 2, "l", "LEFT"), ("LMPOP", 1, "l", "UP"),
                  ("LMPOP", 1, "l", "LEFT", "COUNT", 0), ("LMPOP", 1, "l", "LEFT", "COUNT"),
                  ("ZMPOP", 1, "z", "LEFT"), ("ZMPOP", "x", "z", "MIN"),
                  ("LMPOP", 1, "text", "LEFT"), ("ZMPOP", 1, "text", "MIN"),
                  ("BZPOPMIN", "z", -1), ("BZMPOP", "x", 1, "z", "MIN"),
                  ("BLMPOP", -1, 1, "l", "LEFT"), ("ZINTERCARD", 1, "x", "LIMIT", -1),
                  ("ZINTERCARD", 3, "x", "y"), ("ZINTERCARD", 1, "text"),
                  ("ZUNION", 1, "x", "AGGREGATE", "MEAN")):
        with pytest.raises(redis.ResponseError):
            r.execute_command(*wrong)
    r.lpush("again", 1)
    with pytest.raises(redis.ResponseError, match="numkeys"):
        r.execute_command("LMPOP", 0, "again", "LEFT")
    assert r.llen("again") == 1


@pytest.mark.parametrize("protocol", [2, 3])
def test_blocked_pops_of_several_keys_wait(kv, protocol):
    """Each waits, gets what comes, and is done again from the log in the same way."""
    server = kv("--appendonly", "yes", "--fsync", "always")
    r = client_of(server)
    waits = [
        (("BLMPOP", 0, 2, "none", "l", "RIGHT", "COUNT", 2), lambda: r.rpush("l", *"abc"),
         ["l", ["c", "b"]]),
        (("BZMPOP", 0, 2, "none", "z", "MAX", "COUNT", 2),
         lambda: r.zadd("z", {"a": 1, "b": 2, "c": 3}), ["z", [["c", 3], ["b", 2]]]),
        (("BZPOPMIN", "none", "p", 0), lambda: r.zadd("p", {"a": 1, "b": 2}), ["p", "a", 1]),
        (("BZPOPMAX", "none", "q", 0), lambda: r.zadd("q", {"a": 1, "b": 2}), ["q", "b", 2]),
    ]
    for words, change, wanted in waits:
        heard = []
        waiter = redis.Connection("127.0.0.1", server.port, protocol=protocol,
                                  socket_timeout=SECONDS_MAX, decode_responses=True)
        waiter.send_command(*words)
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        change()
        heard = waiter.read_response()
        assert numbers_in(heard) == wanted
        waiter.disconnect()
    left = [r.lrange("l", 0, -1), *(r.zrange(k, 0, -1) for k in "zpq")]
    assert left == [["a"], ["a"], ["b"], ["a"]]
    kill(server)
    r = client_of(kv("--appendonly", "yes"))
    assert left == [r.lrange("l", 0, -1), *(r.zrange(k, 0, -1) for k in "zpq")]


def numbers_in(reply):
    """RESP 2 has no numbers with fractions: scores are text there."""
    if isinstance(reply, (list, tuple)):
        return [numbers_in(each) for each in reply]
    return float(reply) if str(reply).isdigit() else reply


def test_hashes(r):
    assert r.hset("h", mapping={"a": 1, "b": 2}) == 2 and r.hset("h", "a", 3) == 0
    assert r.hget("h", "a") == "3" and r.hmget("h", "a", "x") == ["3", None]
    assert r.hgetall("h") == {"a": "3", "b": "2"} and sorted(r.hkeys("h")) == ["a", "b"]
    assert sorted(r.hvals("h")) == ["2", "3"] and r.hlen("h") == 2 and r.hexists("h", "a")
    assert r.hincrby("h", "a", 4) == 7 and r.hincrbyfloat("h", "b", 0.5) == 2.5
    assert r.hsetnx("h", "a", 0) == 0 and r.hstrlen("h", "a") == 1
    assert r.hrandfield("h") in ("a", "b") and len(r.hrandfield("h", 5)) == 2
    assert r.hdel("h", "a", "b", "c") == 2 and not r.exists("h")


def test_sets(r):
    assert r.sadd("s", 1, 2, 3) == 3 and r.sadd("s", 1) == 0 and r.scard("s") == 3
    assert r.smembers("s") == {"1", "2", "3"} and r.sismember("s", 2) and not r.sismember("s", 9)
    assert r.smismember("s", 1, 9) == [1, 0]
    r.sadd("u", 3, 4)
    assert set(r.sinter("s", "u")) == {"3"} and set(r.sunion("s", "u")) == {"1", "2", "3", "4"}
    assert set(r.sdiff("s", "u")) == {"1", "2"} and r.sinterstore("d", "s", "u") == 1
    assert r.sunionstore("d", "s", "u") == 4 and r.sdiffstore("d", "u", "s") == 1
    assert r.smembers("d") == {"4"} and r.sintercard(2, ["s", "u"]) == 1
    r.set("no_set", "x")
    assert not r.smove("none", "no_set", 1)
    for source, to in (("s", "no_set"), ("no_set", "s")):
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            r.smove(source, to, "absent")
    r.delete("no_set")
    assert r.smove("s", "u", 1) and r.sismember("u", 1) and r.srandmember("s") in ("2", "3")
    assert len(r.srandmember("s", -5)) == 5 and r.srem("s", 2) == 1
    assert r.spop("s") == "3" and r.spop("s") is None and not r.exists("s")


@pytest.mark.parametrize(("make", "command", "more"), [
    (("sadd", "k", "{}"), "srandmember", ()),
    (("hset", "k", "{}", "v"), "hrandfield", ()),
    (("hset", "k", "f", "{}"), "hrandfield", ("WITHVALUES",)),
    (("zadd", "k", 1, "{}"), "zrandmember", ("WITHSCORES",)),
])
def test_a_member_that_is_chosen_again_and_again_makes_no_answer_without_end(
        kv, make, command, more):
    r = client_of(kv())
    r.execute_command(*[w.format("m") if isinstance(w, str) else w for w in make])
    for count in (-1_000_001, -9_223_372_036_854_775_807):
        with pytest.raises(redis.ResponseError, match="out of range"):
            r.execute_command(command, "k", count, *more)
    assert len(r.execute_command(command, "k", -100_000, *more)) in (100_000, 200_000)
    # Few of them, but long: 65 times a MiB is above the bound of bytes, 60 times is not.
    r.delete("k")
    big = "m" * (1 << 20)
    r.execute_command(*[w.format(big) if isinstance(w, str) else w for w in make])
    with pytest.raises(redis.ResponseError, match="out of range"):
        r.execute_command(command, "k", -65, *more)
    assert len(r.execute_command(command, "k", -60, *more)) in (60, 120)


def test_sorted_sets(r):
    assert r.zadd("z", {"a": 1, "b": 2, "c": 3}) == 3 and r.zadd("z", {"a": 5}, nx=True) == 0
    assert r.zadd("z", {"a": 0.5}, lt=True, ch=True) == 1 and r.zscore("z", "a") == 0.5
    assert r.zincrby("z", 10, "b") == 12 and r.zrank("z", "b") == 2 and r.zrevrank("z", "b") == 0
    assert r.zrange("z", 0, -1) == ["a", "c", "b"] and r.zrevrange("z", 0, 0) == ["b"]
    assert r.zrangebyscore("z", "(0.5", "+inf", start=0, num=1) == ["c"]
    assert r.zrevrangebyscore("z", 12, 3) == ["b", "c"] and r.zcount("z", "-inf", "(12") == 2
    assert r.zrange("z", 0, 1, withscores=True) in ([("a", 0.5), ("c", 3)], [["a", 0.5], ["c", 3]])
    assert r.zrange("z", "(12", "-inf", desc=True, byscore=True) == ["c", "a"]
    r.zadd("x", dict.fromkeys("abcd", 0))
    assert r.zrangebylex("x", "(a", "[c") == ["b", "c"] and r.zlexcount("x", "-", "+") == 4
    assert r.zmscore("z", ["a", "none"]) == [0.5, None] and r.zcard("z") == 3
    assert r.zunionstore("u", {"z": 2, "x": 1}) == 4 and r.zscore("u", "a") == 1.0
    assert r.zinterstore("i", ["z", "x"], aggregate="MIN") == 3 and r.zscore("i", "b") == 0
    assert r.zremrangebyrank("x", 0, 0) == 1 and r.zremrangebylex("x", "[b", "[b") == 1
    assert r.zremrangebyscore("x", 0, 0) == 2 and not r.exists("x")
    assert r.zrem("z", "c", "none") == 1 and len(r.zpopmin("z", 5)) == 2 and not r.exists("z")


def test_keys_and_expiry(r):
    r.mset({"a": 1, "b": 2, "c:1": 3})
    assert r.exists("a", "b", "none") == 2 and r.type("a") == "string" and r.dbsize() == 3
    assert sorted(r.keys("?")) == ["a", "b"] and r.keys("c[:]*") == ["c:1"]
    assert sorted(r.scan_iter(count=1)) == ["a", "b", "c:1"] and r.randomkey() in ("a", "b", "c:1")
    assert r.rename("a", "d") and r.get("d") == "1" and not r.renamenx("b", "d")
    assert r.copy("b", "e") and r.get("e") == "2"
    assert r.expire("b", 100) and 0 < r.ttl("b") <= 100 and r.persist("b") and r.ttl("b") == -1
    assert r.ttl("none") == -2 and not r.expire("none", 1) and not r.expire("b", 9, xx=True)
    assert r.pexpire("b", 1)
    wait_until(lambda: r.get("b") is None)
    assert r.expireat("d", 1) and not r.exists("d")
    assert r.unlink("e", "none") == 1 and r.object("encoding", "c:1") == "int"
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        r.lpush("c:1", 1)
    assert r.flushall() and r.dbsize() == 0


def test_the_greatest_numbers_are_ends_as_any_other(r):
    most = 2**63 - 1
    r.zadd("z", {"a": 1, "b": 2})
    assert r.zrange("z", 0, most) == ["a", "b"] and r.zrevrange("z", 1, most) == ["a"]
    r.set("s", "text")
    assert r.getrange("s", 1, most) == "ext"
    assert r.pexpireat("s", most) and r.expiretime("s") == (most + 500) // 1000


def test_keys_expire_without_being_looked_for(kv):
    r = client_of(kv())
    for i in range(100):
        r.set(f"k{i}", i, px=1)
    wait_until(lambda: r.info()["expired_keys"] == 100)
    assert r.dbsize() == 0


def test_a_scan_finds_all_that_stays_while_the_table_grows_and_shrinks(kv):
    r = client_of(kv())
    stay = {f"stay:{i}" for i in range(500)}
    r.mset(dict.fromkeys(stay, 1))
    found, cursor, step = set(), 0, 0
    while True:
        cursor, keys = r.scan(cursor, count=20)
        found.update(keys)
        step += 1
        if step == 3:
            r.mset({f"more:{i}": 1 for i in range(5000)})
        if step == 60:
            r.delete(*(f"more:{i}" for i in range(5000)))
        if cursor == 0:
            break
    assert stay <= found


def test_transactions(kv):
    server = kv()
    r, other = client_of(server), client_of(server)
    with r.pipeline(transaction=True) as pipe:
        pipe.set("a", 1).incr("a").lpush("a", "wrong").get("a")
        assert pipe.execute(raise_on_error=False)[:2] == [True, 2]
    with r.pipeline() as pipe:
        pipe.watch("a")
        other.set("a", 10)
        pipe.multi()
        pipe.incr("a")
        with pytest.raises(redis.WatchError):
            pipe.execute()
    assert r.get("a") == "10"
    with connect(server) as raw:
        raw.sendall(encode("MULTI") + encode("NONSENSE") + encode("EXEC") + encode("PING"))
        heard = b""
        while not heard.endswith(b"+PONG\r\n"):
            heard += raw.recv(4096)
        assert b"-EXECABORT" in heard


def test_a_watched_key_that_expires_is_changed(kv):
    """Also when nothing has read it since; one that had expired before WATCH is absent."""
    server = kv()
    with connect(server) as raw:
        def ask(*commands, ends):
            raw.sendall(b"".join(encode(*each) for each in commands))
            heard = b""
            while not heard.endswith(ends):
                heard += raw.recv(4096)
            return heard

        for _ in range(10):  # now and then the server itself looks for expired keys
            ask(("SET", "a", 1, "PX", 20), ("WATCH", "a"), ("PING",), ends=b"+PONG\r\n")
            time.sleep(0.021)
            assert ask(("MULTI",), ("SET", "b", 1), ("EXEC",), ("PING",), ends=b"+PONG\r\n") == (
                b"+OK\r\n+QUEUED\r\n*-1\r\n+PONG\r\n")
        ask(("SET", "a", 1, "PX", 1), ("PING",), ends=b"+PONG\r\n")
        time.sleep(0.002)
        ask(("WATCH", "a"), ("PING",), ends=b"+PONG\r\n")
        assert ask(("MULTI",), ("SET", "b", 2), ("EXEC",), ("PING",), ends=b"+PONG\r\n") == (
            b"+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n+PONG\r\n")


def test_info_has_its_fields(kv):
    """Entries that monitoring programs read, each with its right value."""
    server = kv("--appendonly", "yes", "--maxmemory", "100mb")
    r = client_of(server)
    other = client_of(server)
    r.set("a", 1)
    r.set("short", 1, px=1)
    r.get("a")
    r.get("none")
    listener = other.pubsub()
    listener.subscribe("news")
    assert listener.get_message(timeout=SECONDS_MAX)["type"] == "subscribe"
    wait_until(lambda: r.info()["expired_keys"] == 1)
    info = r.info()
    assert info["redis_version"] == "7.0.0" and info["redis_mode"] == "standalone"
    assert info["process_id"] == server.process.pid and info["arch_bits"] in (32, 64)
    assert info["uptime_in_seconds"] >= 0
    assert info["connected_clients"] >= 2 and info["blocked_clients"] == 0
    assert 0 < info["used_memory"] < info["maxmemory"] == 100 * 1024 * 1024
    assert info["maxmemory_policy"]
    assert info["loading"] == 0 and info["rdb_bgsave_in_progress"] == 0
    assert info["rdb_last_bgsave_status"] == info["aof_last_write_status"] == "ok"
    assert info["aof_enabled"] == 1 and info["aof_current_size"] > 0
    assert info["total_connections_received"] >= 2
    assert info["keyspace_hits"] == 1 and info["keyspace_misses"] == 1
    assert info["pubsub_channels"] == 1 and info["pubsub_patterns"] == 0
    assert info["role"] == "master" and info["connected_slaves"] == 0
    assert info["cluster_enabled"] == 0
    assert info["db0"] == {"keys": 1, "expires": 0, "avg_ttl": 0}
    commands = info["total_commands_processed"]
    r.ping()
    assert r.info()["total_commands_processed"] == commands + 2


def test_pub_sub(r):
    listener = r.pubsub()
    listener.subscribe("news")
    listener.psubscribe("n*")
    for _ in range(2):
        assert listener.get_message(timeout=SECONDS_MAX)["type"] in ("subscribe", "psubscribe")
    assert r.publish("news", "hi") == 2
    heard = [listener.get_message(timeout=SECONDS_MAX) for _ in range(2)]
    assert {(m["type"], m["channel"], m["data"]) for m in heard} == {
        ("message", "news", "hi"), ("pmessage", "news", "hi")}
    assert r.pubsub_numsub("news") == [("news", 1)] or r.pubsub_numsub("news") == {"news": 1}
    listener.close()
    wait_until(lambda: r.publish("news", "gone") == 0)


def test_a_subscriber_that_has_said_quit_gets_nothing_more(kv):
    server = kv()
    r = client_of(server)
    with connect(server) as raw, raw.makefile("rb") as heard:
        raw.sendall(encode("SUBSCRIBE", "c") + encode("QUIT"))
        while heard.readline() != b"+OK\r\n":
            pass
        r.publish("c", "m")  # it is not closed yet, because its end is still on its way
        assert r.ping()
        assert heard.read() == b""


@pytest.mark.parametrize("flags", [(), ("--appendonly", "yes"),
                                   ("--appendonly", "yes", "--fsync", "always")])
def test_answers_reach_a_client_that_has_ended_its_direction(kv, flags):
    with connect(kv(*flags)) as raw, raw.makefile("rb") as heard:
        raw.sendall(encode("SET", "a", 1) + encode("GET", "a"))
        raw.shutdown(socket.SHUT_WR)
        assert heard.read() == b"+OK\r\n$1\r\n1\r\n"


def test_a_message_to_oneself_comes_behind_the_answers(kv):
    with connect(kv()) as raw, raw.makefile("rb") as heard:
        raw.sendall(encode("HELLO", 3) + encode("PING") + encode("SUBSCRIBE", "c") +
                    encode("PUBLISH", "c", "m") + encode("MULTI") + encode("PUBLISH", "c", "m") +
                    encode("ECHO", "e") + encode("EXEC"))
        while heard.readline() != b"+PONG\r\n":
            pass
        message = b">3\r\n" + encode("message", "c", "m").split(b"\r\n", 1)[1]
        wanted = (b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" + b":1\r\n" + message +
                  b"+OK\r\n" + 2 * b"+QUEUED\r\n" + b"*2\r\n:1\r\n$1\r\ne\r\n" + message)
        assert heard.read(len(wanted)) == wanted


def test_a_name_given_with_hello_is_checked_and_needs_the_password(kv):
    server = kv("--requirepass", "secret")
    with connect(server) as raw:
        def answer(*words, end):
            raw.sendall(encode(*words))
            heard = b""
            while not heard.endswith(end):
                heard += raw.recv(4096)
            return heard

        assert answer("HELLO", 2, "SETNAME", "early", end=b"\r\n").startswith(b"-NOAUTH")
        assert answer("AUTH", "secret", end=b"\r\n") == b"+OK\r\n"
        assert answer("CLIENT", "GETNAME", end=b"\r\n") == b"$-1\r\n"
        wrong = answer("HELLO", 2, "SETNAME", "a\nid=7", end=b"\r\n")
        assert wrong.startswith(b"-ERR Client names")
        assert answer("HELLO", 2, "SETNAME", "good", end=b"*0\r\n")
        assert answer("CLIENT", "GETNAME", end=b"good\r\n")


@pytest.mark.parametrize("end", [("SETNAME", "a b"), ("SETNAME",), ("NONSENSE", "x")])
def test_a_hello_that_is_refused_logs_nobody_in(kv, end):
    server = kv("--requirepass", "secret")
    with connect(server) as raw:
        stream = raw.makefile("rb")

        def answer(*words):
            """The first line of it."""
            raw.sendall(encode(*words))
            return stream.readline()

        assert answer("HELLO", 3, "AUTH", "default", "secret", *end).startswith(b"-ERR")
        assert answer("GET", "a").startswith(b"-NOAUTH")
    r = client_of(server, password="secret", client_name="good")
    assert r.client_getname() == "good"


def test_a_password_is_asked_for(kv):
    server = kv("--requirepass", "secret")
    with pytest.raises(redis.AuthenticationError):
        client_of(server).get("a")
    with pytest.raises(redis.AuthenticationError):
        client_of(server, password="wrong").get("a")
    assert client_of(server, password="secret").set("a", 1)


# What is kept


def test_nothing_acknowledged_is_lost_by_kill_9(kv):
    kv_kills.kill_again_and_again(lambda: kv(*kv_kills.FLAGS), KILLS)


def test_a_torn_tail_is_cut_off_at_every_byte(kv, tmp_path):
    flags = ("--appendonly", "yes", "--fsync", "always")
    whole = tmp_path / "whole"
    whole.mkdir()
    server = kv(*flags, folder=whole)
    r = client_of(server)
    r.set("first", "1")
    r.set("last", "abc")
    kill(server)
    log = (whole / "log-0").read_bytes()
    begin = log.rindex(b"*3")
    for cut in range(begin, len(log) + 1):
        torn = tmp_path / f"torn{cut}"
        torn.mkdir()
        (torn / "log-0").write_bytes(log[:cut])
        server = kv(*flags, folder=torn)
        r = client_of(server)
        assert r.get("first") == "1" and r.get("last") == ("abc" if cut == len(log) else None)
        assert ("were cut off" in server.stderr) == (begin < cut < len(log))
        assert r.set("next", "2")
        kill(server)
        if begin < cut < len(log):
            assert (torn / "log-0").read_bytes().startswith(log[:begin] + encode("SET", "next", 2))


def test_a_torn_transaction_is_not_done_at_all(kv, tmp_path):
    log = encode("SET", "a", 1) + encode("MULTI") + encode("SET", "a", 2) + encode("SET", "b", 2)
    (tmp_path / "log-0").write_bytes(log)
    server = kv("--appendonly", "yes")
    assert client_of(server).mget("a", "b") == ["1", None]
    kill(server)
    assert (tmp_path / "log-0").read_bytes() == encode("SET", "a", 1)


def test_a_log_with_something_else_in_it_stops_the_start(binary, tmp_path):
    log = encode("SET", "a", 1) + b"nonsense\r\n" + encode("SET", "b", 1)
    (tmp_path / "log-0").write_bytes(log)
    path = binary.parent / "examples/kv/kv"
    said = subprocess.run([path, "--listen", "127.0.0.1:0", "--dir", tmp_path],
                          capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert said.returncode == 1
    assert "log-0: at byte 27: ERR unknown command 'nonsense'" in said.stderr, said.stderr


@pytest.mark.parametrize("sync", ["always", "everysec", "no"])
def test_every_type_survives_log_snapshot_and_both(kv, sync):
    flags = ("--appendonly", "yes", "--fsync", sync)
    server = kv(*flags)

    def content(r):
        return (r.get("s"), r.lrange("l", 0, -1), r.hgetall("h"), r.smembers("set"),
                r.zrange("z", 0, -1, withscores=True), r.expiretime("s"), r.get("gone"),
                r.get("f"))

    r = client_of(server)
    r.set("s", "a\r\nb", ex=1000)
    r.rpush("l", *range(300))
    r.hset("h", mapping={str(i): i for i in range(300)})
    r.sadd("set", *range(300))
    r.spop("set", 20)
    r.zadd("z", {str(i): i / 3 for i in range(300)})
    r.set("gone", 1)
    r.delete("gone")
    r.incrbyfloat("f", 0.1)
    before = content(r)
    server.process.send_signal(signal.SIGTERM)
    server.process.wait()
    server.stopped = True
    server = kv(*flags)
    r = client_of(server)
    assert content(r) == before
    assert r.bgrewriteaof()
    wait_until(lambda: not r.info()["aof_rewrite_in_progress"])
    r.rpush("l", "after")
    r.incrbyfloat("f", 0.1)
    before = content(r)
    kill(server)
    assert content(client_of(kv(*flags))) == before


def test_its_files_are_its_owners_alone(kv, tmp_path):
    before = os.umask(0)
    try:
        server = kv("--appendonly", "yes")
    finally:
        os.umask(before)
    r = client_of(server)
    r.set("password", "x")
    r.bgrewriteaof()
    wait_until(lambda: (tmp_path / "snapshot-1").exists())
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()
             if path.is_file()}
    assert {"log-1", "snapshot-1"} <= modes.keys() and set(modes.values()) == {0o600}, modes


def test_shutdown_saves_without_a_log(kv):
    server = kv()
    r = client_of(server)
    r.set("a", 1)
    r.shutdown()
    server.process.wait()
    assert server.process.returncode == 0
    server.stopped = True
    assert client_of(kv()).get("a") == "1"


def test_a_snapshot_succeeds_where_the_server_is_process_1(binary, tmp_path):
    """As in a container."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here (apt: util-linux)")
    child = subprocess.Popen(["unshare", "-rpf", "--kill-child", binary.parent / "examples/kv/kv",
                              "--listen", "127.0.0.1:0", "--dir", tmp_path],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        place = re.search(r"listens on [\w.]+:(\d+)", child.stdout.readline())
        if place is None:
            pytest.skip("no process numbers of our own here: " + child.communicate()[1])
        r = redis.Redis("127.0.0.1", int(place[1]), socket_timeout=SECONDS_MAX)
        r.set("a", 1)
        assert r.bgsave()
        wait_until(lambda: (tmp_path / "snapshot-1").exists())
    finally:
        child.kill()
        child.communicate()


def test_a_full_disk_loses_nothing_acknowledged(binary, tmp_path):
    """On a file system of 1 MB of its own. With `always` the program ends, because it executed a
    command that it cannot store; everything acknowledged is there when there is room again."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here (apt: util-linux)")
    disk = tmp_path / "disk"
    disk.mkdir()
    kv_program = binary.parent / "examples/kv/kv"
    script = ("mount -t tmpfs -o size=1m tmpfs $DISK || exit 77; $0 \"$@\"; "
              "echo \"ended $?\" >&2; cp -r $DISK/. $KEPT")
    kept = tmp_path / "kept"
    kept.mkdir()
    flags = ["--listen", "127.0.0.1:0", "--appendonly", "yes", "--fsync", "always"]
    child = subprocess.Popen(["unshare", "-rm", "sh", "-c", script, kv_program, *flags,
                              "--dir", disk],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "DISK": str(disk), "KEPT": str(kept)})
    answered = 0
    try:
        place = re.search(r"listens on [\w.]+:(\d+)", child.stdout.readline())
        if place is None:
            said = child.communicate(timeout=SECONDS_MAX)[1]
            assert "mount" in said or "unshare" in said, said
            pytest.skip("no mount of our own here: " + said)
        r = redis.Redis("127.0.0.1", int(place[1]), socket_timeout=SECONDS_MAX,
                        decode_responses=True)
        with pytest.raises((redis.RedisError, OSError)):
            while answered < 10_000:
                assert r.rpush("list", f"{answered}:" + "x" * 1000) == answered + 1
                answered += 1
        said = child.communicate(timeout=SECONDS_MAX)[1]
    finally:
        child.kill()
    assert "no space left" in said and "ended 1" in said, said
    assert answered > 100
    server = Kv(kv_program, "--listen", "127.0.0.1:0", "--dir", kept, "--appendonly", "yes",
                folder=tmp_path)
    server.wait_ready()
    server.port = server.places()[0][1]
    try:
        elements = client_of(server).lrange("list", 0, -1)
        assert len(elements) in (answered, answered + 1)
        assert [int(one.split(":")[0]) for one in elements] == list(range(len(elements)))
    finally:
        kill(server)


def test_a_sync_that_failed_stays_failed(kv, tmp_path):
    """Under `everysec`: the kernel may have dropped what it could not write, so a later sync that
    succeeds proves nothing. The log is a link to /dev/null, which takes writes and refuses to be
    synced, until it is started again."""
    log = tmp_path / "log-1"
    log.symlink_to("/dev/null")
    server = kv("--appendonly", "yes", "--fsync", "everysec")
    r = client_of(server)
    assert r.set("a", 1)
    wait_until(lambda: r.info()["aof_last_write_status"] == "err")

    def refused():
        with pytest.raises(redis.ResponseError, match="MISCONF.*sync"):
            r.set("a", 2)

    refused()
    begun = r.info()["uptime_in_seconds"]
    wait_until(lambda: r.info()["uptime_in_seconds"] > begun + 2)
    refused()
    assert r.info()["aof_last_write_status"] == "err" and r.get("a") == "1"
    assert "writes are refused until kv is started again" in server.stderr
    kill(server)
    log.unlink()
    r = client_of(kv("--appendonly", "yes", "--fsync", "everysec"))
    assert r.set("a", 3) and r.info()["aof_last_write_status"] == "ok"


def test_the_log_before_a_rotation_is_synced_too(kv, tmp_path):
    """Under `everysec`: the link to /dev/null refuses the sync that is still owed to it."""
    (tmp_path / "log-1").symlink_to("/dev/null")
    r = client_of(kv("--appendonly", "yes", "--fsync", "everysec"))
    with r.pipeline(transaction=False) as both:
        both.set("a", 1).execute_command("BGREWRITEAOF")
        both.execute()
    wait_until(lambda: r.info()["aof_last_write_status"] == "err")


def test_a_log_that_cannot_be_rewritten_is_reported_once(kv, tmp_path):
    server = kv("--appendonly", "yes", "--rewrite-min", "1000")
    r = client_of(server)
    (tmp_path / "log-1").mkdir()
    r.set("a", "x" * 2000)
    complaint = "kv: the log cannot be rewritten: "
    wait_until(lambda: complaint in server.stderr, what="the complaint")
    # A key expires in one of the next periods, each of which tries again.
    for expired in (1, 2):
        r.set("short", 1, px=1)
        wait_until(lambda: r.info()["expired_keys"] == expired)
    assert server.stderr.count(complaint) == 1, server.stderr
    (tmp_path / "log-1").rmdir()
    wait_until(lambda: (tmp_path / "snapshot-1").exists(), what="the snapshot")
    assert r.get("a") == "x" * 2000


@pytest.mark.slow
def test_a_pop_of_more_members_than_a_command_has_arguments_is_replayed(kv):
    flags = ("--appendonly", "yes", "--rewrite-min", "1g")
    server = kv(*flags)
    r = client_of(server)
    count = 1_060_000
    for begin in range(0, count, 10_000):
        r.sadd("s", *range(begin, begin + 10_000))
    assert len(r.spop("s", count - 5)) == count - 5
    stays = r.smembers("s")
    assert len(stays) == 5
    kill(server)
    r = client_of(kv(*flags))
    assert r.smembers("s") == stays


def test_a_log_that_was_torn_when_the_next_was_begun_is_cut_off(kv, tmp_path):
    """With `always` the next log stays empty until the one before it is whole and synced."""
    (tmp_path / "log-0").write_bytes(encode("SET", "a", 1) + encode("SET", "a", 2)[:-3])
    (tmp_path / "log-1").write_bytes(b"")
    flags = ("--appendonly", "yes", "--fsync", "always")
    server = kv(*flags)
    r = client_of(server)
    assert r.get("a") == "1" and "were cut off" in server.stderr
    assert r.set("b", 2)
    kill(server)
    assert client_of(kv(*flags)).mget("a", "b") == ["1", "2"]


def test_a_power_cut_during_a_rotation_leaves_logs_that_start(kv, binary, tmp_path,
                                                              tmp_path_factory):
    """Under `everysec`, with syncs that take a minute: bytes not synced are cut off by hand."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    (tmp_path / "snapshot-1.part" / "in the way").mkdir(parents=True)  # so that log-0 stays
    other = tmp_path_factory.mktemp("strace")
    trace, said = other / "trace", other / "said"
    words = ["strace", "-f", "-s", "200", "-o", trace,
             "-e", "trace=fdatasync,recvfrom,read", "-e",
             "inject=fdatasync:delay_enter=60000000", binary.parent / "examples/kv/kv", "--listen",
             "127.0.0.1:0", "--dir", tmp_path, "--appendonly", "yes", "--fsync", "everysec"]
    with said.open("w") as out:
        tracer = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
    traced = lambda text: trace.exists() and text in trace.read_text(errors="replace")
    try:
        wait_until(lambda: tracer.poll() is not None or "listens on" in said.read_text())
        if "listens on" not in said.read_text():
            pytest.skip("strace may not trace here: " + said.read_text())
        port = int(re.search(r"listens on [\w.]+:(\d+)$", said.read_text(), re.M)[1])
        with (socket.create_connection(("127.0.0.1", port), SECONDS_MAX) as first,
              socket.create_connection(("127.0.0.1", port), SECONDS_MAX) as second,
              first.makefile("rb") as heard):
            first.sendall(encode("SET", "a", 1))
            assert heard.readline() == b"+OK\r\n"
            first.sendall(encode("SET", "a", 2) + encode("BGREWRITEAOF"))
            assert heard.readline() == b"+OK\r\n"
            wait_until(lambda: traced("fdatasync(") and (tmp_path / "log-1").exists())
            first.sendall(encode("SET", "behind the rotation", 3))
            wait_until(lambda: traced("behind the rotation"))
            second.sendall(encode("PING", "a turn later"))
            wait_until(lambda: traced("a turn later"))
    finally:
        os.killpg(tracer.pid, signal.SIGKILL)  # with what it traces
        tracer.wait(SECONDS_MAX)
    log = (tmp_path / "log-0").read_bytes()
    assert log == encode("SET", "a", 1) + encode("SET", "a", 2)
    (tmp_path / "log-0").write_bytes(log[:-3])
    server = kv("--appendonly", "yes", "--fsync", "everysec")
    assert client_of(server).get("a") == "1" and "were cut off" in server.stderr


def test_an_older_log_is_synced_before_the_next_one_is_written_to(binary, tmp_path):
    """A program that was killed may have left it with the system. The link to /dev/null refuses."""
    (tmp_path / "log-0").symlink_to("/dev/null")
    (tmp_path / "log-1").write_bytes(b"")
    path = binary.parent / "examples/kv/kv"
    tried = subprocess.run(["timeout", "10", path, "--listen", "127.0.0.1:0", "--dir", tmp_path,
                            "--appendonly", "yes"], capture_output=True, text=True,
                           timeout=SECONDS_MAX, check=False)
    assert tried.returncode == 1 and f"sync {tmp_path}/log-0: " in tried.stderr, tried


def test_what_was_stored_is_replayed_with_a_smaller_limit(kv):
    server = kv("--appendonly", "yes")
    r = client_of(server)
    r.set("a", "x" * 5000)
    r.append("b", "x" * 600)
    r.append("b", "x" * 600)
    kill(server)
    r = client_of(kv("--appendonly", "yes", "--proto-max-bulk-len", "1000"))
    assert r.strlen("a") == 5000 and r.strlen("b") == 1200


# Limits


def test_keys_used_longest_ago_make_room(kv):
    r = client_of(kv("--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru"))
    r.set("hot", "x")
    value = "v" * 1000
    for i in range(20_000):
        if i % 200 == 0:
            assert r.get("hot") == "x"
            with r.pipeline(transaction=False) as pipe:
                for k in range(i, i + 200):
                    pipe.set(f"k{k}", value)
                pipe.execute()
    info = r.info()
    assert info["evicted_keys"] > 1000
    assert info["used_memory"] < 9 << 20
    assert not r.exists("k0") and r.exists("k19999")


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["volatile-lru", "volatile-random", "volatile-ttl"])
def test_only_keys_that_expire_make_room(kv, policy):
    r = client_of(kv("--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru"))
    assert r.config_set("maxmemory-policy", policy)
    assert r.info()["maxmemory_policy"] == policy
    r.mset({f"stays{i}": "v" * 1000 for i in range(1000)})
    for i in range(20_000 // 200):
        with r.pipeline(transaction=False) as pipe:
            for k in range(200):
                pipe.set(f"k{i}:{k}", "v" * 1000, ex=1000 + i)
            pipe.execute()
    info = r.info()
    assert info["evicted_keys"] > 1000 and info["used_memory"] < 9 << 20
    assert r.exists(*(f"stays{i}" for i in range(1000))) == 1000
    # Keys that never expire fill the rest; then writes are refused.
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        for i in range(20_000):
            r.set(f"more{i}", "v" * 1000)
    assert r.info()["db0"]["expires"] == 0


def test_writes_are_refused_without_memory(kv):
    r = client_of(kv("--maxmemory", "4mb"))
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        for i in range(100_000):
            r.set(f"k{i}", "v" * 1000)
    assert r.get("k0") is not None and r.delete("k0") == 1


@pytest.mark.parametrize("sent, answer", [
    (b"*1\r\n$999999999999\r\n", b"-ERR Protocol error: too large a bulk string\r\n"),
    (b"*99999999\r\n", b"-ERR Protocol error: too many elements\r\n"),
    (b"*1\r\nPING\r\n", b"-ERR Protocol error: expected '$', got 'P'\r\n"),
    (b"*x\r\n", b"-ERR Protocol error: invalid length\r\n"),
    (b'set "a\r\n', b"-ERR Protocol error: unbalanced quotes in request\r\n"),
    (b"a" * 100_000, b"-ERR Protocol error: too long a line\r\n"),
])
def test_what_breaks_the_protocol_is_answered_and_closed(kv, sent, answer):
    server = kv()
    with connect(server) as raw:
        raw.sendall(encode("PING") + sent)
        heard = b""
        try:
            while piece := raw.recv(65536):
                heard += piece
        except ConnectionResetError:
            pass
        assert heard == b"+PONG\r\n" + answer
    assert client_of(server).ping()


def test_incomplete_commands_of_all_have_one_bound(kv):
    server = kv("--input-max", "2mb")
    # Two of these fit, although the memory for each may be twice its bytes, by the pieces.
    big = b"*2\r\n$3\r\nGET\r\n$400000\r\n" + b"x" * 390_000
    with connect(server) as one, connect(server) as two, connect(server) as three:
        for each in (one, two):
            each.sendall(big)
        r = client_of(server)
        assert r.ping()
        try:
            three.sendall(b"*2\r\n$3\r\nGET\r\n$4000000\r\n" + b"x" * 3_000_000)
            heard = three.recv(4096)
        except ConnectionError:
            heard = b"-ERR too many bytes"
        assert heard.startswith(b"-ERR too many bytes")
        assert r.ping(), "a client whose commands are whole is served"
        one.sendall(b"x" * 10_000 + b"\r\n")
        assert one.recv(100) == b"$-1\r\n"


def test_a_client_that_does_not_read_makes_us_keep_little(kv):
    server = kv()
    r = client_of(server)
    r.set("big", "x" * 1_000_000)
    before = r.info()["used_memory"]
    with connect(server) as lazy:
        lazy.setblocking(False)
        sent = 0
        try:
            while sent < 4000:
                lazy.send(encode("GET", "big") * 10)
                sent += 10
        except BlockingIOError:
            pass
        # Another is served meanwhile, and little is kept for the lazy one.
        assert r.get("big") and r.info()["used_memory"] < before + (8 << 20)


class SlowReader:
    """Sends a command, and reads the first byte of its answer, and the rest with rest()."""

    def __init__(self, server, *words):
        self.socket = socket.socket()
        # Little room, so that nearly all of the answer stays with the server.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(SECONDS_MAX)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(encode(*words))
        self.begun = self.socket.recv(1)

    def rest(self, size):
        """The answer, or what came of it."""
        answer = bytearray(size)
        answer[:1], come = self.begun, 1
        with self.socket:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)
            while come < size:
                try:
                    part = self.socket.recv_into(memoryview(answer)[come:])
                except ConnectionResetError:
                    break
                if part == 0:
                    break
                come += part
        return answer[:come]


class Peak:
    """The largest resident memory of a server since this began, beyond what it had then."""

    def __init__(self, server):
        self.folder = Path(f"/proc/{server.process.pid}")
        (self.folder / "clear_refs").write_text("5")
        self.before = self.read("VmRSS")

    def read(self, name):
        return int(re.search(name + r":\s+(\d+) kB", (self.folder / "status").read_text())[1]) << 10

    def bytes(self):
        return self.read("VmHWM") - self.before


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc has the peak of memory")


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("flags", [(), ("--appendonly", "yes", "--fsync", "always")])
def test_slow_clients_share_a_large_value(kv, flags):
    server = kv(*flags)
    value = os.urandom(MIB) * 32
    r = client_of(server)
    r.set("big", value)
    whole = b"$%d\r\n%s\r\n" % (len(value), value)
    peak = Peak(server)
    readers = [SlowReader(server, "GET", "big") for _ in range(4)]
    readers.append(SlowReader(server, "MGET", *["big"] * 8))
    assert r.ping() and peak.bytes() < 8 * MIB
    # A change of the key does not change the answers that are on their way.
    r.append("big", "more")
    r.setrange("big", 0, "other")
    r.set("big", "small")
    r.delete("big")
    assert peak.bytes() < 2 * len(value) + 8 * MIB, "a copy to change, and room to grow"
    assert all(each.rest(len(whole)) == whole for each in readers[:4])
    assert readers[4].rest(4 + 8 * len(whole)) == b"*8\r\n" + 8 * whole
    assert r.get("big") is None


@on_linux
def test_parts_and_relatives_of_a_large_value_are_not_copied(kv):
    server = kv()
    value = os.urandom(MIB) * 32
    r = client_of(server)
    r.set("big", value)
    half = value[:len(value) // 2]
    peak = Peak(server)
    readers = [SlowReader(server, *words) for words in (
        ("GETRANGE", "big", 0, len(half) - 1), ("GETEX", "big"), ("SET", "big", "new", "GET"))]
    assert r.get("big") == "new" and peak.bytes() < 8 * MIB
    for reader, text in zip(readers, (half, value, value)):
        assert reader.rest(len(text) + 13) == b"$%d\r\n%s\r\n" % (len(text), text)
    r.set("big", value)
    with connect(server) as raw:
        raw.sendall(encode("MULTI") + encode("GET", "big") + encode("INCR", "n") + encode("EXEC"))
        expected = (b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n$%d\r\n%s\r\n:1\r\n"
                    % (len(value), value))
        with raw.makefile("rb") as file:
            assert file.read(len(expected)) == expected


@on_linux
def test_subscribers_share_a_large_message(kv):
    server = kv("--subscriber-output-max", "64mb")
    message = os.urandom(MIB) * 24
    readers = [SlowReader(server, "SUBSCRIBE", "c") for _ in range(4)]
    r = client_of(server)
    wait_until(lambda: r.pubsub_numsub("c") == [("c", 4)])
    peak = Peak(server)
    assert r.publish("c", message) == 4
    assert peak.bytes() < 4 * len(message), "the command, the message, and room to grow"
    begin = b"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n"
    whole = begin + b"$%d\r\n%s\r\n" % (len(message), message)
    assert all(each.rest(len(whole)) == whole for each in readers)


@on_linux
def test_values_that_only_slow_clients_hold_have_one_bound(kv):
    server = kv("--output-max", "64mb")
    r = client_of(server)
    size = 16 * MIB
    peak = Peak(server)
    readers = []
    for i in range(16):
        r.set("big", bytes([i]) * size)
        readers.append(SlowReader(server, "GET", "big"))
    whole = size + 13
    came = [len(each.rest(whole)) for each in readers]
    assert r.ping() and came[-1] == whole
    cut = sum(each < whole for each in came)
    assert cut >= 16 - 64 // 16 - 1, came
    # The bound, the value itself, and the command that brings the next one.
    assert peak.bytes() < (64 + 16 + 4 * 16) * MIB


def test_a_start_removes_old_files_once_the_snapshot_is_on_the_disk(kv, tmp_path):
    """A crash may have come behind the rename of the snapshot and before the sync of its folder."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    server = kv("--appendonly", "yes")
    r = client_of(server)
    r.set("k", "v")
    assert r.bgrewriteaof()
    wait_until(lambda: (tmp_path / "snapshot-1").exists())
    kill(server)
    shutil.copy(tmp_path / "log-1", tmp_path / "log-0")
    trace = tmp_path.parent / "trace"
    words = ["strace", "-f", "-y", "-e", "trace=fsync,unlink,unlinkat,rmdir", "-o", trace]
    tracer = subprocess.Popen([*words, server.command[0], "--listen", "127.0.0.1:0", "--dir",
                               tmp_path, "--appendonly", "yes"], stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: tracer.poll() is not None or not (tmp_path / "log-0").exists())
    finally:
        os.killpg(tracer.pid, signal.SIGTERM)  # with what it traces
        tracer.wait(SECONDS_MAX)
    lines = trace.read_text().splitlines() if trace.exists() else []
    if not any("unlink" in line for line in lines):
        pytest.skip("strace may not trace here")
    calls = [("fsync" if "fsync" in line else "unlink") for line in lines
             if "log-0" in line or f"{tmp_path}>" in line]
    assert calls[:2] == ["fsync", "unlink"], lines


@on_linux
def test_the_answers_of_a_transaction_have_the_bound_of_all(kv):
    server = kv("--output-max", "16mb")
    r = client_of(server)
    r.rpush("list", *["x" * 1024] * 1024)
    peak = Peak(server)
    with connect(server) as greedy:
        queued = encode("LRANGE", "list", 0, -1) * 200
        greedy.sendall(encode("MULTI") + queued + encode("INCR", "n"))
        with greedy.makefile("rb") as heard:
            assert [heard.readline() for _ in range(202)] == [b"+OK\r\n"] + 201 * [b"+QUEUED\r\n"]
            greedy.sendall(encode("EXEC"))
            with contextlib.suppress(ConnectionResetError):
                while heard.read1(MIB):
                    pass
    assert r.get("n") == "1", "a transaction is done as a whole"
    assert peak.bytes() < 64 * MIB


def test_a_subscriber_that_does_not_read_is_closed(kv):
    server = kv("--subscriber-output-max", "1mb")
    r = client_of(server)
    with connect(server) as lazy:
        lazy.sendall(encode("SUBSCRIBE", "c"))
        assert lazy.recv(100)
        wait_until(lambda: r.publish("c", "x" * 100_000) == 0)
    assert r.ping()


def test_a_transaction_grows_nothing_without_memory(kv):
    """Its commands were queued while there was memory."""
    server = kv()
    r = client_of(server)
    r.set("k0", 1)
    with connect(server) as raw, raw.makefile("rb") as heard:
        raw.sendall(encode("MULTI") + encode("SET", "late", 1) + encode("DEL", "k0"))
        assert [heard.readline() for _ in range(3)] == [b"+OK\r\n"] + 2 * [b"+QUEUED\r\n"]
        assert r.config_set("maxmemory", 1000)
        raw.sendall(encode("EXEC"))
        assert heard.readline().startswith(b"-EXECABORT Transaction discarded because of: OOM ")
        assert not r.exists("late") and r.exists("k0")
        raw.sendall(encode("MULTI") + encode("DEL", "k0") + encode("EXEC"))
        assert [heard.readline() for _ in range(4)] == [b"+OK\r\n", b"+QUEUED\r\n", b"*1\r\n",
                                                        b":1\r\n"]


def test_a_transaction_changes_nothing_while_the_log_fails(kv, tmp_path):
    (tmp_path / "log-1").symlink_to("/dev/null")
    server = kv("--appendonly", "yes", "--fsync", "everysec")
    r = client_of(server)
    with connect(server) as raw, raw.makefile("rb") as heard:
        raw.sendall(encode("MULTI") + encode("SET", "late", 1))
        assert [heard.readline() for _ in range(2)] == [b"+OK\r\n", b"+QUEUED\r\n"]
        assert r.set("a", 1)
        wait_until(lambda: r.info()["aof_last_write_status"] == "err")
        raw.sendall(encode("EXEC"))
        assert heard.readline().startswith(
            b"-EXECABORT Transaction discarded because of: MISCONF ")
        assert not r.exists("late")


def test_whoever_has_not_authenticated_makes_way(kv):
    """Else strangers could fill the bound, and clients with the password would be refused."""
    server = kv("--input-max", "200kb", "--requirepass", "secret")
    with contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(connect(server)) for _ in range(8)]
        for each in strangers:
            each.sendall(b"*2\r\n$4\r\nAUTH\r\n$16000\r\n" + b"x" * 15_000)
        member = stack.enter_context(connect(server))
        member.sendall(encode("AUTH", "secret") + encode("MULTI") +
                       encode("SET", "a", "x" * 150_000) + encode("EXEC"))
        heard = b""
        while not heard.endswith(b"*1\r\n+OK\r\n"):
            piece = member.recv(4096)
            assert piece, heard
            heard += piece
        refused = 0
        for each in strangers:
            each.settimeout(1)
            with contextlib.suppress(TimeoutError, ConnectionError):
                refused += each.recv(100).startswith(b"-ERR too many bytes")
        assert 1 <= refused < 8


def test_queued_commands_of_all_have_the_bound_of_incomplete_ones(kv):
    server = kv("--input-max", "2mb")
    with connect(server) as one, connect(server) as two:
        for each in (one, two):
            each.sendall(encode("MULTI") + encode("SET", "a", "x" * 700_000))
            heard = b""
            while not heard.endswith(b"+QUEUED\r\n"):
                heard += each.recv(100)
        with connect(server) as three:
            three.sendall(encode("MULTI") + encode("SET", "a", "x" * 800_000))
            heard = b""
            while piece := three.recv(4096):
                heard += piece
            # All are of one address, so the largest goes.
            assert heard.endswith(b"-ERR too many bytes of incomplete commands, of all clients\r\n")
        one.sendall(encode("DISCARD"))
        assert one.recv(100) == b"+OK\r\n"
        # Another may have what one has given back.
        with connect(server) as four:
            four.sendall(encode("MULTI") + encode("SET", "a", "x" * 700_000) + encode("EXEC"))
            heard = b""
            while not heard.endswith(b"*1\r\n+OK\r\n"):
                piece = four.recv(4096)
                assert piece, heard
                heard += piece


def test_many_small_queued_commands_are_counted_with_what_they_take(kv):
    server = kv("--input-max", "2mb")
    with connect(server) as raw:
        try:
            raw.sendall(encode("MULTI") + 40_000 * encode("PING"))
            heard = b""
            while piece := raw.recv(65536):
                heard += piece
        except ConnectionError:
            heard = b"too many bytes"
        assert b"too many bytes" in heard[-200:]


def test_a_client_that_is_gone_takes_no_element(kv):
    """Its end stands behind commands that wait for the element as well."""
    server = kv()
    r = client_of(server)
    with connect(server) as waits:
        waits.sendall(encode("BLPOP", "l", 0) + encode("PING"))
        wait_until(lambda: r.info()["blocked_clients"] == 1)
    wait_until(lambda: r.info()["blocked_clients"] == 0)
    assert r.rpush("l", "kept") == 1 and r.lrange("l", 0, -1) == ["kept"]


@pytest.mark.parametrize("words, other, wanted, answer", [
    (("BLPOP", "k", 0), ("ZADD", "k", 1, "m"), ("RPUSH", "k", "e"), encode("k", "e")),
    (("BZPOPMIN", "k", 0), ("SET", "k", "x"), ("ZADD", "k", 1, "e"),
     b"*3\r\n$1\r\nk\r\n$1\r\ne"),
    (("BLMOVE", "k", "to", "LEFT", "LEFT", 0), ("SET", "k", "x"), ("RPUSH", "k", "e"),
     b"$1\r\ne\r\n"),
    (("BLMPOP", 0, 1, "k", "LEFT"), ("SADD", "k", "x"), ("RPUSH", "k", "e"),
     b"*2\r\n$1\r\nk\r\n*1"),
])
def test_a_key_of_another_type_ends_no_waiting(kv, words, other, wanted, answer):
    """As in Redis: what is waited for may still come, to this key or to another one."""
    server = kv()
    r = client_of(server)
    with connect(server) as waits, waits.makefile("rb") as heard:
        waits.sendall(encode(*words))
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        r.execute_command(*other)
        assert r.info()["blocked_clients"] == 1
        r.delete("k")
        r.execute_command(*wanted)
        assert heard.read(len(answer)) == answer


def test_waiting_goes_on_behind_one_that_waits_for_another_type(kv):
    server = kv()
    r = client_of(server)
    with connect(server) as first, connect(server) as second, second.makefile("rb") as heard:
        first.sendall(encode("BLPOP", "k", "other", 0))
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        second.sendall(encode("BZPOPMIN", "k", 0))
        wait_until(lambda: r.info()["blocked_clients"] == 2)
        r.zadd("k", {"e": 1, "f": 2})
        assert heard.read(15) == b"*3\r\n$1\r\nk\r\n$1\r\n"
        assert r.info()["blocked_clients"] == 1
        r.rpush("other", "x")
        assert first.recv(100) == encode("other", "x")


def test_a_client_that_sent_much_and_is_gone_takes_no_element(kv):
    """More than a connection keeps for its session stands between the command and the end."""
    server = kv("--input-max", str(4 * MIB))
    r = client_of(server)
    with connect(server) as waits:
        waits.sendall(encode("BLPOP", "l", 0))
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        for _ in range(3):
            waits.sendall(encode("ECHO", "x" * 100_000))
    wait_until(lambda: r.info()["blocked_clients"] == 0)
    assert r.rpush("l", "kept") == 1 and r.lrange("l", 0, -1) == ["kept"]


def test_what_a_waiting_client_sends_is_bounded(kv):
    server = kv("--input-max", str(4 * MIB))
    r = client_of(server)
    heard = b""
    with connect(server) as waits:
        try:
            waits.sendall(encode("BLPOP", "l", 0))
            for _ in range(100):
                waits.sendall(encode("ECHO", "x" * 100_000))
        except ConnectionError:
            pass
        wait_until(lambda: r.info()["blocked_clients"] == 0)
        try:
            while piece := waits.recv(65536):
                heard += piece
        except ConnectionError:
            heard = heard or b"too many bytes"
    assert b"too many bytes" in heard
    assert r.rpush("l", "kept") == 1 and r.lrange("l", 0, -1) == ["kept"]


def test_a_waiting_client_that_waits_again_keeps_its_order(kv):
    server = kv()
    r = client_of(server)
    with connect(server) as waits, waits.makefile("rb") as heard:
        for i in range(20):
            waits.sendall(encode("BLPOP", "l", 0) + encode("SET", "big", "x" * 50_000)
                          + encode("ECHO", i))
        for i in range(20):
            wait_until(lambda: r.info()["blocked_clients"] == 1)
            r.rpush("l", f"a{i}")
            wanted = encode("l", f"a{i}") + b"+OK\r\n" + b"$%d\r\n%d\r\n" % (len(str(i)), i)
            assert heard.read(len(wanted)) == wanted


def test_a_waiting_client_may_send_much(kv):
    server = kv()
    r = client_of(server)
    with connect(server) as waits, waits.makefile("rb") as heard:
        waits.sendall(encode("BLPOP", "l", 0))
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        for _ in range(3):
            waits.sendall(encode("ECHO", "x" * 100_000))
        r.rpush("l", "a")
        assert heard.read(len(encode("l", "a"))) == encode("l", "a")
        for _ in range(3):
            assert heard.readline() == b"$100000\r\n" and len(heard.read(100_002)) == 100_002


def test_a_client_that_was_killed_takes_no_element(kv):
    server = kv()
    r = client_of(server)
    with connect(server) as waits:
        waits.sendall(encode("CLIENT", "ID") + encode("BLPOP", "l", 0))
        number = int(waits.recv(100)[1:])
        wait_until(lambda: r.info()["blocked_clients"] == 1)
        with connect(server) as raw, raw.makefile("rb") as heard:
            raw.sendall(encode("CLIENT", "KILL", "ID", number) + encode("RPUSH", "l", "kept"))
            assert [heard.readline(), heard.readline()] == [b":1\r\n", b":1\r\n"]
    assert r.lrange("l", 0, -1) == ["kept"]


@pytest.mark.parametrize("count", [1000, 10_000])
def test_many_clients(kv, count):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < count + 500:
        pytest.skip(f"the limit of descriptors is below {count} clients")
    server = kv("--maxclients", "10100")
    clients = [connect(server) for _ in range(count)]
    for i, each in enumerate(clients):
        each.sendall(encode("SET", f"k{i}", i) + encode("GET", f"k{i}"))
    for i, each in enumerate(clients):
        wanted = b"+OK\r\n$%d\r\n%d\r\n" % (len(str(i)), i)
        heard = b""
        while len(heard) < len(wanted):
            heard += each.recv(4096)
        assert heard == wanted
        each.close()
    assert client_of(server).dbsize() == count
