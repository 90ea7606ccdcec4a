"""Each of these was a bug of one of the servers this one descends from. One line of the list, one
test. Rules of the list that are tested elsewhere:

- two timers in one millisecond: TimerWheelTest.TwoInTheSameMillisecondFireInTheOrderOfArming;
- refresh after expiry: of a deadline TimerWheelTest.RefreshAfterExpiryArmsAnew, and of a cache
  FileCacheTest.AfterASecondItLooksAgainAndReadsOnlyWhatChanged, WhatWasAbsentIsSeenASecondLater;
- Date in September and December: HttpDate.KnowsSeptemberAndDecember;
- an idle process: test_program.py, test_an_idle_server_uses_no_cpu;
- an idle log thread: WriterTest.AnIdleWriterSleepsWhileABusyOneTurns;
- a CGI program that hangs: test_cgi.py, [hangs] and [deaf] of
  test_a_program_that_fails_is_logged_reaped_and_harms_no_other;
- a download longer than the idle limit: test_http1_behaviour.py;
- a benchmark that fails on wrong answers: bench/bench_test.py;
- the rows of a web application: examples/tidepool/tidepool_test.cc, test_tidepool_server.py."""

import json
import os
import random
import select
import signal
import socket
import struct
import time
from urllib.parse import quote

import pytest

from raw_client import NoAnswer, request
from server import wait_until
from site_folder import BIG, pattern

ORDINARY = request("/k.bin", "Accept: */*", "User-Agent: seeds", "Connection: keep-alive")
K = pattern(1024, 2)


@pytest.mark.sanitizers
def test_a_request_split_at_every_byte(server):
    with server.connect() as probe, server.connect() as connection:
        for cut in range(1, len(ORDINARY)):
            connection.send(ORDINARY[:cut])
            probe.get("/next.txt")  # the loop has turned: the first piece was read alone
            connection.send(ORDINARY[cut:])
            assert connection.read_answer().body == K


@pytest.mark.sanitizers
def test_many_requests_in_one_packet(server):
    with server.connect() as connection:
        connection.send(ORDINARY * 500)
        for _ in range(500):
            assert connection.read_answer().body == K


@pytest.mark.sanitizers
def test_half_close_after_the_request(server):
    with server.connect() as connection:
        connection.send(request("/big.bin"))
        connection.finish_sending()
        assert len(connection.read_answer().body) == BIG
        assert connection.wait_end()


TALK = [(200, request("/next.txt")),
        (405, request("/x", method="POST", body=b"hello world")),
        (200, b"GET /next.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              b"5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
        (405, request("/x", "Expect: 100-continue", method="PUT", body=b"abc"))]


@pytest.mark.sanitizers
def test_a_half_close_at_every_byte_gets_what_was_asked_for_and_is_not_waited_for(head_server):
    data = b"".join(text for _, text in TALK)
    heads = [data.find(b"\r\n\r\n", sum(len(text) for _, text in TALK[:number])) + 4
             for number in range(len(TALK))]
    for cut in range(len(data)):
        with head_server.connect() as connection:
            connection.send(data[:cut])
            connection.finish_sending()
            for (status, _), end in zip(TALK, heads):
                if end <= cut:
                    assert connection.read_answer().status == status, data[:cut]
            assert connection.wait_end(), data[:cut]  # --body-timeout is longer


@pytest.mark.sanitizers
def test_reset_while_sending(server):
    for _ in range(100):
        connection = server.connect(receive_bytes=4096)
        connection.send(request("/big.bin"))
        connection.readable(0.5)
        connection.reset()
    assert server.get("/a.txt").body == b"hello\n"


def test_a_slow_reader_does_not_block_the_others(server):
    slow = [server.connect(receive_bytes=4096) for _ in range(20)]
    for connection in slow:
        connection.send(request("/big.bin") * 4)
    for _ in range(50):
        assert server.get("/k.bin").body == K
    for connection in slow[:3]:
        for _ in range(4):
            assert len(connection.read_answer().body) == BIG
    for connection in slow:
        connection.close()


def test_a_header_drip_is_ended_and_a_header_without_end_too(serve, site, engine):
    server = serve(site, "--header-timeout", "500ms", engine=engine)
    drips = [server.connect() for _ in range(50)]
    for connection in drips:
        connection.send(b"GET / HTTP/1.1\r\nHost: x\r\nX-Drip: ")
    ended = 0
    until = time.monotonic() + 60
    while ended < len(drips) and time.monotonic() < until:
        for connection in drips:
            if not connection.readable(0.002):
                connection.send(b"z")
        assert server.get("/a.txt").status == 200
        ended = sum(1 for c in drips if c.readable())
    assert ended == len(drips)
    assert {c.read_answer().status for c in drips} == {408}
    for connection in drips:
        connection.close()
    with server.connect() as endless:
        endless.send(b"GET / HTTP/1.1\r\nHost: x\r\n")
        until = time.monotonic() + 60
        while not endless.readable() and endless.send(b"X-Endless: yes\r\n" * 100):
            assert time.monotonic() < until
        assert endless.read_answer().status == 431


@pytest.mark.sanitizers
def test_10241_resets(server):
    """One seed leaked its table entry on each, and its table had 10,240."""
    before = server.descriptors()
    for i in range(10_241):
        with socket.socket() as s:
            s.connect(server.address)
            if i % 2:
                s.send(b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert server.get("/a.txt").body == b"hello\n"
    wait_until(lambda: server.descriptors() <= before + 2, what="descriptors given back")


@pytest.mark.sanitizers
def test_no_more_descriptors(serve, site, engine, sanitized):
    """EMFILE at accept: no spin, no end, and service again when there is room."""
    if sanitized == "asan":
        pytest.skip("UBSan checks an address with a pipe of its own, and finds none left")
    server = serve(site, engine=engine, nofile=48)
    held = []
    for _ in range(80):
        try:
            connection = server.connect(deadline=2)
            connection.send(request("/a.txt"))
            held.append(connection)
        except OSError:
            break
    wait_until(lambda: sum(c.readable() for c in held) >= 20, what="answers on 20 connections")
    ticks = server.cpu_ticks()
    time.sleep(1.0)  # the span of a measurement
    assert server.cpu_ticks() - ticks <= 20, "it spins while no descriptor is left"
    for connection in held:
        connection.close()

    def again():
        try:
            return server.get("/big.bin", deadline=5).status == 200
        except (AssertionError, OSError):
            return False
    wait_until(again, what="service when there is room again")


@pytest.mark.sanitizers
def test_no_descriptor_for_the_file(serve, site):
    """Connections get all descriptors there are: the file cannot be opened, which is no 404."""
    server = serve(site, "--cache", "off", nofile=40)
    held = []
    try:
        for _ in range(60):
            connection = server.connect(deadline=2)
            held.append(connection)
            connection.send(request("/k.bin"))
            try:
                answer = connection.read_answer(deadline=1)
            except NoAnswer:
                break
            assert answer.status in (200, 500, 503)
            if answer.status == 200:
                assert answer.body == K
    finally:
        for connection in held:
            connection.close()


def test_a_file_truncated_grown_or_replaced_while_served_and_while_cached(serve, tmp_path, engine):
    root = tmp_path / "root"
    root.mkdir()
    path = root / "f.bin"
    rng = random.Random(5)
    server = None
    versions = []
    for turn in range(60):
        content = bytes([turn]) * rng.choice([10, 1000, 30_000, 300_000])
        versions.append(content)
        if turn % 3 == 0:
            (root / "new").write_bytes(content)
            os.rename(root / "new", path)
        elif turn % 3 == 1:
            os.truncate(path, 0)
            path.write_bytes(content)
        else:
            with open(path, "r+b") as file:
                file.write(content)
                file.truncate()
        server = server or serve(root, "--cache-check", "0s", engine=engine)
        with server.connect() as connection:
            for _ in range(3):
                body = connection.get("/f.bin").body
                assert body == content, (turn, len(body), len(content), body[:1])


@pytest.mark.parametrize("target, status", [
    ("/../a.txt", 400), ("/%2e%2e/a.txt", 400), ("/..", 400), ("/%2e%2e", 400), ("/a.txt%00", 400),
    ("//a.txt", 200), ("/.", 200), ("/./", 200), ("//", 200), ("/dir/.", 200), ("/dir/..", 200),
    ("/dir", 301)])
def test_dots_nul_slashes_and_a_folder_without_slash(server, target, status):
    with server.connect() as connection:
        answer = connection.get(target)
        assert answer.status == status
        if status == 301:
            assert answer.get("location") == "/dir/"
        if status == 400:
            assert answer.says_close and connection.wait_end()
        else:
            assert connection.get("/next.txt").body == b"next\n"


def test_a_symlink_out_of_the_root(serve, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.txt").write_text("OUTSIDE")
    (tmp_path / "root/link").symlink_to("../outside.txt")
    (tmp_path / "root/above").symlink_to("..")
    server = serve(tmp_path / "root", "--listing")
    for target in ("/link", "/above/outside.txt", "/above/", "/above/root/link"):
        answer = server.get(target)
        assert answer.status == 404 and b"OUTSIDE" not in answer.body, target


def test_head_of_an_absent_file(server):
    with server.connect() as connection:
        for _ in range(3):
            assert connection.get("/absent", method="HEAD").status == 404
        assert connection.get("/a.txt").body == b"hello\n"


@pytest.mark.sanitizers
def test_a_connect_storm_finds_room_in_the_backlog(serve, site, engine):
    """A short backlog drops SYNs, and the client's kernel tries again after 1, 3 and 7 seconds. The
    server is stopped while 1,000 clients connect; none of them may need a second SYN."""
    server = serve(site, engine=engine)
    room = int(open("/proc/sys/net/core/somaxconn").read())
    clients = []
    server.signal(signal.SIGSTOP)
    try:
        for _ in range(min(1000, room)):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(server.address)
            clients.append(s)
        for s in clients:
            poll = select.poll()
            poll.register(s, select.POLLOUT)
            assert poll.poll(60_000), "not connected after many SYNs"
        again = sum(retransmissions(s) > 0 for s in clients)
        assert again == 0, f"{again} of {len(clients)} needed another SYN"
    finally:
        server.signal(signal.SIGCONT)
    for s in clients:
        s.setblocking(True)
        s.settimeout(60)
        s.sendall(request("/a.txt", "Connection: close"))
    for s in clients:
        assert s.recv(65536).startswith(b"HTTP/1.1 200")
        s.close()


def retransmissions(connected):
    """tcpi_total_retrans of struct tcp_info: segments sent again, SYNs included."""
    return struct.unpack_from("I", connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104),
                              100)[0]


def test_get_with_a_body_on_keep_alive(server):
    """A seed took the body for the next request."""
    smuggled = request("/secret.txt")
    with server.connect() as connection:
        for _ in range(10):
            assert connection.get("/a.txt", body=smuggled).body == b"hello\n"
        assert connection.get("/next.txt").body == b"next\n"


def test_length_and_chunked_together(server):
    with server.connect() as connection:
        connection.send(b"GET /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + request("/secret.txt"))
        assert connection.read_answer().status == 400
        assert connection.wait_end()


@pytest.mark.parametrize("size", ["0x5", "+5", " 5", "5 ", "-5"])
def test_chunk_sizes_of_a_seed(server, size):
    with server.connect() as connection:
        connection.send(f"POST /a.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                        f"{size}\r\nhello\r\n0\r\n\r\n".encode() + request("/secret.txt"))
        assert connection.read_answer().status in (400, 405)
        assert connection.wait_end()


def test_nul_and_bare_cr_in_fields(server):
    for text in (b"X: a\0b", b"X: a\rb", b"X\0: a", b"X\r: a"):
        with server.connect() as connection:
            answer = connection.ask(b"GET / HTTP/1.1\r\nHost: x\r\n" + text + b"\r\n\r\n")
            assert answer.status == 400 and connection.wait_end()


def test_a_post_in_two_packets(server):
    with server.connect() as connection:
        connection.send(b"POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhello")
        assert connection.read_answer().status == 405
        connection.send(b"world")
        assert connection.get("/next.txt").body == b"next\n"


def test_fifty_less_than_signs_as_a_name(serve, tmp_path):
    (tmp_path / ("<" * 50)).write_text("fifty")
    server = serve(tmp_path, "--listing")
    page = server.get("/", "Accept: text/html").text
    assert "<<" not in page and "&lt;" * 50 in page
    assert server.get("/" + quote("<" * 50)).text == "fifty"


def test_markup_in_the_query_is_not_echoed(serve, site):
    server = serve(site, "--listing")
    for target in ("/bare/?q=%22%3E%3Cscript%3E", '/bare/?q="><script>',
                   "/absent%22%3E%3Cscript%3E", '/absent"><script>', "/dir?\"><script>"):
        for accept in ("text/html", "application/json"):
            answer = server.get(target, f"Accept: {accept}")
            assert b"<script>\"" not in answer.body and b'"><script>' not in answer.body
            if "json" in (answer.get("content-type") or ""):
                json.loads(answer.body)


def test_an_http_1_0_benchmark_client_gets_200(server):
    for fields in ([], ["Connection: keep-alive"], ["User-Agent: ApacheBench/2.3", "Accept: */*"],
                   ["Pragma: no-cache"]):
        answer = server.get("/k.bin", *fields, version="1.0", host=None if not fields else "x")
        assert answer.status == 200 and answer.body == K
