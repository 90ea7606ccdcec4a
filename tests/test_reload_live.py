"""What a file changes while it is served, beside its sites: limits, protocols, logs, shares; and
the file that is watched."""

import contextlib
import os
import shutil
import signal
import subprocess
import time

import pytest

from certificates import Authority
from h2_client import Client
from raw_client import Connection, get_once, request
from server import wait_until
from test_reload import (  # noqa: F401
    BIG,
    DONE,
    ONE,
    REFUSED,
    TWO,
    folders,
    free_port,
    open_files,
    reloads,
    status,
)
from test_sites import HERE, SERVER, make, needs_openssl, sites  # noqa: F401
from tls_client import TlsConnection, client_context


def test_limits_hold_for_the_next_request_of_each_connection(reloads, folders):  # noqa: F811
    each = reloads(ONE)

    def statuses(h1, h2):
        long = "/" + "x" * 9_000
        fields = [(f"X-{i}", "1") for i in range(20)]
        target = h1.get(long, host="one.example").status
        if target != 404:  # then the connection has ended
            h1 = each.server.connect()
        more = h1.get("/", *[f"{name}: 1" for name, _ in fields], host="one.example").status
        lower = [(name.lower(), value) for name, value in fields]
        return (
            target,
            more,
            h2.answer(h2.get(long)).status,
            h2.answer(h2.get("/", more=lower)).status,
        )

    default = '[[site]]\nroot = "one"\n'
    assert each.ask(default)
    with Client(each.server.address) as h2:
        with each.server.connect() as h1:
            assert statuses(h1, h2) == (414, 200, 414, 200)
        with each.server.connect() as h1:
            h1.get("/", host="one.example")
            limits = '[limits]\nline_max = "32KiB"\nhead_max = "64KiB"\nfields_max = 10\n'
            assert each.ask(default + limits)
            assert statuses(h1, h2) == (404, 431, 404, 431)


def test_a_shorter_timeout_ends_what_is_idle(reloads, folders):  # noqa: F811
    each = reloads(ONE + '[limits]\nidle_timeout = "1h"\n')
    with each.server.connect() as kept:
        kept.get("/", host="one.example")
        assert each.ask(ONE + '[limits]\nidle_timeout = "100ms"\n')
        kept.get("/", host="one.example")
        kept.wait_end()


def test_protocols_come_and_go(reloads, folders):  # noqa: F811
    each = reloads(ONE)

    def speaks():
        try:
            with Client(each.server.address) as new:
                is_new = new.answer(new.get("/")).status == 421
        except (AssertionError, OSError):
            is_new = False
        try:
            is_old = get_once(each.server.address, host="one.example").text == "one"
        except (AssertionError, OSError):
            is_old = False
        return is_old, is_new

    with Client(each.server.address) as kept:
        assert speaks() == (True, True)
        for mode, spoken in {
            "off": (True, False),
            "only": (False, True),
            "on": (True, True),
        }.items():
            assert each.ask(ONE, SERVER + HERE + f'http2 = "{mode}"\n')
            assert speaks() == spoken, mode
            assert kept.answer(kept.get("/")).status == 421


@needs_openssl
def test_handshakes_offer_the_protocols_of_the_file(reloads, folders, tmp_path):  # noqa: F811
    authority = Authority(tmp_path, "ca")
    pair = authority.issue("a", ("localhost",))

    def head(mode):
        names = f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n'
        return SERVER + HERE + f'http2 = "{mode}"\n' + names

    each = reloads(ONE, head=head("on"))
    context = client_context(authority.file, alpn=("h2", "http/1.1"))

    def chosen():
        with TlsConnection(each.server.address, context) as tls:
            return tls.socket.selected_alpn_protocol()

    assert chosen() == "h2"
    assert each.ask(ONE, head("off"))
    assert chosen() == "http/1.1"
    assert each.ask(ONE, head("only"))
    assert chosen() == "h2"


def test_a_shorter_drain_ends_the_server(reloads, folders, tmp_path):  # noqa: F811
    (tmp_path / "one/big").write_bytes(b"x" * BIG * 10)
    each = reloads(ONE, head=SERVER + 'drain_timeout = "1h"\n' + HERE)
    with Connection(each.server.address, receive_bytes=4096) as slow:
        slow.send(request("/big", host="one.example"))
        assert slow.read_head().status == 200
        assert each.ask(ONE, SERVER + 'drain_timeout = "100ms"\n' + HERE)
        each.server.signal(signal.SIGTERM)
        each.server.process.wait(60)
        each.server.stopped = True


@pytest.mark.skipif(not shutil.which("ss"), reason="ss is not here")
def test_the_queue_of_a_socket_has_another_length(reloads, folders):  # noqa: F811
    each = reloads(ONE)

    def length():
        port = each.server.address[1]
        said = subprocess.run(
            ["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True, check=True
        )
        return said.stdout.split()[2]

    assert each.ask(ONE, SERVER + HERE + "backlog = 7\n")
    assert length() == "7"
    assert each.ask(ONE, SERVER + HERE + "backlog = 9\n")
    assert length() == "9"


def test_logs_rotate_from_now_on(reloads, folders, tmp_path):  # noqa: F811
    log = tmp_path / "a.log"

    def head(more):
        return SERVER + '[log]\nflush = "1ms"\n' + more + HERE

    site = ONE + f'log = "{log}"\n'
    each = reloads(site, head=head('level = "error"\n'))
    each.write(site, head('level = "info"\nrotate = "1KiB"\nkeep = 1\n'))
    each.server.signal(signal.SIGHUP)
    wait_until(lambda: each.said(DONE) == 1, what="the line of another level")
    for _ in range(40):
        each.server.of("one.example")
    wait_until((tmp_path / "a.log.1").exists)
    assert not (tmp_path / "a.log.2").exists()


def cached(each, folder):
    """How many files of a folder the server holds open."""
    return len([name for name in open_files(each) if name.startswith(f"{folder}/")])


def cache_of(size):
    return SERVER + f'[server.file_cache]\nsize = "{size}"\n' + HERE


def test_sites_that_stay_share_with_those_that_come(reloads, folders, tmp_path):  # noqa: F811
    for number in range(30):
        (tmp_path / f"one/{number}").write_bytes(b"x" * 100_000)
    each = reloads(ONE)

    def held():
        return cached(each, tmp_path / "one")

    for number in range(30):
        assert each.server.of("one.example", f"/{number}").status == 200
    assert held() >= 30
    more = "".join(f'[[site]]\nhosts = ["n{i}.example"]\nroot = "two"\n' for i in range(99))
    assert each.ask(ONE + more)
    wait_until(lambda: held() <= 8, what="files that were closed")
    assert each.server.of("one.example", "/1").status == 200


def test_a_cache_that_runs_shrinks_and_grows(reloads, folders, tmp_path):  # noqa: F811
    for number in range(30):
        (tmp_path / f"one/{number}").write_bytes(b"x" * 100_000)
    (tmp_path / "one/big").write_bytes(b"x" * BIG * 10)
    each = reloads(ONE, head=cache_of("16MiB"))

    def held():
        for number in range(30):
            assert each.server.of("one.example", f"/{number}").status == 200
        return cached(each, tmp_path / "one")

    with Connection(each.server.address, receive_bytes=4096) as slow:
        slow.send(request("/big", host="one.example"))
        assert slow.read_head().status == 200
        assert held() == 31
        assert each.ask(ONE, cache_of("32MiB"))
        assert cached(each, tmp_path / "one") == 31, "it is the same cache"
        # The cache also counts the memory of each path: there is room for a few.
        assert not each.ask(ONE + "indx = 1\n", cache_of("4KiB"))
        assert cached(each, tmp_path / "one") == 31
        assert each.ask(ONE, cache_of("4KiB"))
        assert cached(each, tmp_path / "one") < 15, "files that were closed at once"
        assert held() < 15
        assert each.ask(ONE, cache_of("16MiB"))
        assert held() == 31
        slow.skip(BIG * 10)


def test_other_rules_of_a_cache_hold_for_the_next_request(reloads, folders):  # noqa: F811
    # No look at the disk, and no cache at all.
    each = reloads(ONE, head=cache_of("16MiB").replace("size", 'check = "1h"\nsize'))
    with each.server.connect() as kept:
        assert kept.get("/", host="one.example").text == "one"
        assert each.ask(ONE, cache_of("0"))
        folders("one/index.html", "another")
        assert kept.get("/", host="one.example").text == "another"
        assert each.ask(ONE, cache_of("1MiB"))
        assert kept.get("/", host="one.example").text == "another"


def at_most(connections):
    return SERVER + f"connections_max = {connections}\n" + HERE


@pytest.mark.parametrize("accept", ["reuseport", "queue"])
def test_more_and_fewer_connections(reloads, folders, accept):  # noqa: F811
    def head(count):
        return at_most(count).replace("[server]", f'[server]\naccept = "{accept}"')

    each = reloads(ONE, head=head(2))

    def is_served():
        try:
            return get_once(each.server.address, host="one.example").status == 200
        except (AssertionError, OSError):
            return False

    with contextlib.ExitStack() as stack:
        kept = []

        def add():
            kept.append(stack.enter_context(each.server.connect()))
            assert kept[-1].get("/", host="one.example").text == "one"

        add(), add()
        assert not is_served()
        assert not each.ask(ONE + "indx = 1\n", head(9))
        assert not is_served(), "a refused file changes nothing"
        assert each.ask(ONE, head(4))
        add(), add()
        assert not is_served()
        # Those above a lower limit go on.
        assert each.ask(ONE, head(1))
        assert not is_served()
        for one in kept:
            assert one.get("/", host="one.example").text == "one"
        for one in kept[1:]:
            one.close()
        assert not is_served(), "one is still open"
        kept[0].close()
        wait_until(is_served, what="a place for another")


@needs_openssl
def test_a_redirecting_address_that_comes_has_room(reloads, folders, tmp_path):  # noqa: F811
    pair = Authority(tmp_path, "ca").issue("a", ("localhost",))
    names = f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n'
    each = reloads(ONE, head=SERVER + HERE + names)
    plain = "127.0.0.1", free_port()
    more = f'[[listen]]\naddress = "127.0.0.1:{plain[1]}"\nredirect_to_https = true\n'
    assert each.ask(ONE, SERVER + HERE + more + names)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            one = stack.enter_context(Connection(plain))
            assert one.get("/", host="one.example").status == 308


def unsent_max(size):
    return (
        SERVER
        + f'send_buffer_max = "{size}"\n[admin]\nsocket = "admin.sock"\n'
        + '[limits]\nwrite_timeout = "1h"\nsend_rate_min = "0"\n'
        + HERE
    )


def test_more_and_fewer_unsent_bytes(reloads, folders, tmp_path):  # noqa: F811
    (tmp_path / "one/big").write_bytes(b"x" * BIG * 10)
    (tmp_path / "one/8k").write_bytes(b"x" * 8_192)
    each = reloads(ONE, head=unsent_max("64MiB"))

    def connections():
        return status(each)["connections"]

    def stall(stack, count=12):
        """Readers that ask for more than the kernel takes, and read nothing."""
        before = connections()
        for _ in range(count):
            one = Connection(each.server.address, receive_bytes=4096)
            stack.callback(one.close)
            one.send(request("/8k", host="one.example") * 1_000)
        return before

    with contextlib.ExitStack() as stack:
        slow = stack.enter_context(Connection(each.server.address, receive_bytes=4096))
        slow.send(request("/big", host="one.example"))
        assert slow.read_head().status == 200
        stall(stack)
        assert each.ask(ONE + "response.set.X-New = 'yes'\n", unsent_max("64MiB"))
        assert not each.ask(ONE + "indx = 1\n", unsent_max("1MiB"))
        assert connections() == 13
        assert each.ask(ONE, unsent_max("1MiB"))
        wait_until(lambda: connections() < 13, what="readers that are cut off")
        # A download holds nothing in memory.
        slow.skip(BIG * 10)
    wait_until(lambda: connections() == 0)
    assert each.ask(ONE, unsent_max("64MiB"))
    with contextlib.ExitStack() as stack:
        stall(stack)
        assert each.server.of("one.example").text == "one"
        assert connections() == 12


def reload(each, text, head):
    """Through the admin socket: a line of the log may be late."""
    each.write(text, head)
    answer = get_once(str(each.file.parent / "admin.sock"), "/reload", method="POST", host="a")
    return answer.status == 200


def test_lines_of_a_log_wait_for_less_and_longer(reloads, folders, tmp_path):  # noqa: F811
    log = tmp_path / "a.log"
    site = ONE + f'log = "{log}"\n'

    def head(flush):
        return SERVER + f'[log]\nflush = "{flush}"\n[admin]\nsocket = "admin.sock"\n' + HERE

    each = reloads(site, head=head("1h"))
    targets = iter(range(1_000))

    def is_written_soon():
        """Of many: the first after a silence is written at once."""
        for _ in range(20):
            last = f"/{next(targets)} "
            each.server.of("one.example", last.strip())
        time.sleep(0.3)
        return last in log.read_text()

    assert not is_written_soon()
    assert not reload(each, site + "indx = 1\n", head("1ms"))
    assert not is_written_soon()
    assert reload(each, site, head("1ms"))
    wait_until(is_written_soon, what="the lines of a shorter interval")
    assert reload(each, site, head("1h"))
    assert not is_written_soon()


PROGRAM = """#!/bin/sh
touch "$0.$QUERY_STRING"
while [ ! -e "$0.end$QUERY_STRING" ]; do sleep 0.05; done
printf 'Content-Type: text/plain\\n\\nended'
"""


def test_more_and_fewer_programs(reloads, folders, tmp_path):  # noqa: F811
    folders("cgi-bin/a", PROGRAM).chmod(0o755)
    site = ONE + '[[site.route]]\npath = "/cgi"\ncgi = "cgi-bin"\n'

    def head(count):
        return SERVER + f"[cgi]\nprograms_max = {count}\n" + HERE

    each = reloads(site, head=head(1))

    def running():
        begun = [n for n in range(6) if (tmp_path / f"cgi-bin/a.{n}").exists()]
        return [n for n in begun if not (tmp_path / f"cgi-bin/a.end{n}").exists()]

    def end(number):
        (tmp_path / f"cgi-bin/a.end{number}").touch()
        assert asked[number].read_answer().text == "ended"

    with contextlib.ExitStack() as stack:
        asked = []

        def ask():
            asked.append(stack.enter_context(each.server.connect()))
            asked[-1].send(request(f"/cgi/a?{len(asked) - 1}", host="one.example"))

        ask()
        wait_until(lambda: running() == [0])
        for _ in range(4):
            ask()
            assert each.server.of("one.example").text == "one"
        assert not each.ask(site + "indx = 1\n", head(9))
        assert running() == [0]
        # The waiting requests begin, in the order in which they came.
        assert each.ask(site, head(3))
        wait_until(lambda: running() == [0, 1, 2], what="programs that waited")
        assert each.ask(site, head(1))
        assert running() == [0, 1, 2]
        for number in (0, 1):
            end(number)
        assert each.server.of("one.example").text == "one"
        assert running() == [2], "one more would be one too many"
        end(2)
        wait_until(lambda: running() == [3])
        end(3)
        end(4)


def test_the_folder_of_compressed_files(reloads, folders, tmp_path):  # noqa: F811
    def head(folder):
        return SERVER + (f'compress_cache = "{folder}"\n' if folder else "") + HERE

    each = reloads(ONE, head=head(None))
    gzip = "Accept-Encoding: gzip"

    def compressed(name):
        folders(f"one/{name}.css", f"a {{ color: {name}; }}\n" * 1_000)
        wait_until(
            lambda: each.server.of("one.example", f"/{name}.css", gzip).get("Content-Encoding"),
            what=f"{name} in gzip",
            pause=0.05,
        )

    def files(name):
        folder = tmp_path / name
        return len(list(folder.glob("*.gzip"))) if folder.exists() else 0

    compressed("a")
    assert each.ask(ONE, head("first"))
    compressed("b")
    wait_until(lambda: files("first") == 1)
    shut = tmp_path / "shut"
    shut.mkdir()
    shut.chmod(0o777)
    assert not each.ask(ONE, head("shut"))
    assert "shut" in each.server.stderr
    compressed("c")
    wait_until(lambda: files("first") == 2)
    assert each.ask(ONE, head("second"))
    compressed("d")
    wait_until(lambda: files("second") == 1)
    assert each.ask(ONE, head(None))
    compressed("e")
    assert (files("first"), files("second"), files("shut")) == (2, 1, 0)


@needs_openssl
def test_a_certificate_of_our_own_making_comes_and_goes(reloads, folders, tmp_path):  # noqa: F811
    pair = Authority(tmp_path, "ca").issue("a", ("localhost",))
    ours = SERVER + HERE + "[tls]\nself_signed = true\n"
    named = (
        SERVER + HERE + f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n'
    )
    each = reloads(ONE, head=named, env={"XDG_DATA_HOME": str(tmp_path / "data")})
    context = client_context()

    def shown():
        with TlsConnection(each.server.address, context) as tls:
            return tls.certificate

    assert shown() == pair.fingerprint()
    with TlsConnection(each.server.address, context) as kept:
        # It cannot be made.
        (tmp_path / "data").write_text("no folder")
        assert not each.ask(ONE, ours)
        assert shown() == pair.fingerprint()
        (tmp_path / "data").unlink()
        assert each.ask(ONE, ours)
        made = shown()
        assert made != pair.fingerprint()
        assert each.ask(ONE + TWO, ours)
        assert shown() == made
        assert each.ask(ONE, named)
        assert shown() == pair.fingerprint()
        assert kept.get("/", host="one.example").text == "one"


WATCH = SERVER + "watch = true\n" + HERE


def test_a_file_that_is_watched_is_read_when_it_changes(reloads, folders, tmp_path):  # noqa: F811
    more = tmp_path / "more"
    more.mkdir()
    head = 'include = ["more/*.toml"]\n' + WATCH
    each = reloads(ONE, head=head)

    def has(host, status=200):
        wait_until(lambda: each.server.of(host).status == status, what=f"{status} of {host}")

    # Renamed over, written in place, another that an include matches, that one's end.
    each.write(ONE + TWO)
    has("two.example")
    each.file.write_text(head + ONE)
    has("two.example", 421)
    two = TWO.replace('"two"', '"../two"')
    (more / "a.toml").write_text(two)
    has("two.example")
    (more / "a.toml").write_text(two.replace("two.example", "new.example"))
    has("new.example")
    (more / "a.toml").unlink()
    has("new.example", 421)
    # A wrong file is refused once, until it changes.
    refused = each.said(REFUSED)
    each.write(ONE + "indx = 1\n")
    wait_until(lambda: each.said(REFUSED) > refused)
    done = each.said(DONE)
    each.write(ONE + TWO)
    wait_until(lambda: each.said(DONE) > done)
    assert each.said(REFUSED) == refused + 1
    has("two.example")
    # It may be switched off, and on.
    each.write(ONE, SERVER + HERE)
    has("two.example", 421)
    assert each.ask(ONE + TWO, head)
    each.write(ONE)
    has("two.example", 421)


def test_a_watched_file_that_is_replaced_again_and_again(reloads, folders):  # noqa: F811
    each = reloads(ONE, head=WATCH)
    for number in range(100):
        each.write(ONE + f"response.set.X-N = 'n{number}'\n")
        assert each.server.of("one.example").text == "one"
    wait_until(lambda: each.server.of("one.example").get("X-N") == "n99")
    os.utime(each.file)
    done = each.said(DONE)
    wait_until(lambda: each.said(DONE) > done, what="a file that only got another time")
