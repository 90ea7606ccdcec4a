"""What a file changes while it is served, beside its sites: limits, protocols, logs, shares; and
the file that is watched."""

import os
import shutil
import signal
import subprocess

import pytest

from certificates import Authority
from h2_client import Client
from raw_client import Connection, get_once, request
from server import wait_until
from test_reload import BIG, DONE, ONE, REFUSED, TWO, folders, open_files, reloads  # noqa: F401
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


def test_sites_that_stay_share_with_those_that_come(reloads, folders, tmp_path):  # noqa: F811
    for number in range(30):
        (tmp_path / f"one/{number}").write_bytes(b"x" * 100_000)
    each = reloads(ONE)

    def held():
        return len([name for name in open_files(each) if name.startswith(str(tmp_path / "one/"))])

    for number in range(30):
        assert each.server.of("one.example", f"/{number}").status == 200
    assert held() >= 30
    more = "".join(f'[[site]]\nhosts = ["n{i}.example"]\nroot = "two"\n' for i in range(99))
    assert each.ask(ONE + more)
    wait_until(lambda: held() <= 8, what="files that were closed")
    assert each.server.of("one.example", "/1").status == 200


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
