"""HTTP/1.1 over time: many requests, slow peers, half-closes, limits. On each engine."""

import contextlib
import email.utils
import re
import time

import pytest

from kernel_sockets import needs_table, wait_until_nothing_is_kept
from raw_client import NoAnswer, request
from server import wait_until
from site_folder import BIG, HUGE, pattern

BIG_BODY = pattern(BIG, 4)
IMF_DATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] (Jan|Feb|Mar|Apr|May|Jun|Jul|"
                      r"Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT\Z")


def drip(connection, data, seconds):
    """One byte of `data` (repeated) every 20 ms until the server answers or `seconds` pass."""
    until = time.monotonic() + seconds
    sent = 0
    while time.monotonic() < until and not connection.readable(0.02):
        if not connection.send(data[sent % len(data):][:1]):
            break
        sent += 1
    return sent


# Many requests.


@pytest.mark.sanitizers
@pytest.mark.parametrize("count", [2, 16, 1000])
def test_pipelined_requests_are_answered_in_their_order(server, count):
    targets = ["/a.txt" if i % 3 else "/next.txt" for i in range(count)]
    with server.connect() as connection:
        connection.send(b"".join(request(t) for t in targets))
        for target in targets:
            wanted = b"hello\n" if target == "/a.txt" else b"next\n"
            assert connection.read_answer().body == wanted


@pytest.mark.sanitizers
def test_pipelined_requests_of_many_sizes_and_statuses_stay_apart(server):
    mix = [("/k.bin", "GET", 200, 1024), ("/middle.bin", "GET", 200, 57_244),
           ("/absent", "GET", 404, None), ("/a.txt", "HEAD", 200, 0), ("/empty.txt", "GET", 200, 0),
           ("/big.bin", "GET", 200, BIG), ("/dir", "GET", 301, None), ("/a.txt", "GET", 200, 6)] * 3
    with server.connect() as connection:
        connection.send(b"".join(request(t, method=m) for t, m, _, _ in mix))
        for target, method, status, size in mix:
            answer = connection.read_answer(method)
            assert answer.status in ({301, 308} if status == 301 else {status}), target
            assert size is None or len(answer.body) == size, target


@pytest.mark.sanitizers
def test_requests_that_come_while_a_large_answer_is_sent_wait_for_their_turn(server):
    with server.connect(receive_bytes=16384) as connection:
        connection.send(request("/big.bin"))
        head = connection.read_head()
        connection.take(100_000)
        connection.send(request("/a.txt") * 10 + request("/next.txt"))
        assert head.get("content-length") == str(BIG)
        assert connection.take(BIG - 100_000) == BIG_BODY[100_000:]
        for _ in range(10):
            assert connection.read_answer().body == b"hello\n"
        assert connection.read_answer().body == b"next\n"


def test_a_flood_of_pipelined_requests_that_nobody_reads_is_held_back(server, sanitized):
    """Reading pauses while the out-queue is full: the client's own socket fills up."""
    one = request("/middle.bin")
    with server.connect(receive_bytes=16384, deadline=1.0) as connection:
        before = server.pss_bytes()
        connection.socket.settimeout(1.0)
        sent = 0
        try:
            while sent < 200_000 * len(one):
                sent += connection.socket.send(one * 500)
        except TimeoutError:
            pass
        else:
            pytest.fail("the server read 200,000 requests without having their answers taken")
        if not sanitized:
            assert server.pss_bytes() - before < 16 << 20
        connection.deadline = 60.0
        for _ in range(20):
            assert len(connection.read_answer().body) == 57_244


def test_a_connection_serves_thousands_of_requests(server):
    with server.connect() as connection:
        for _ in range(3000):
            assert connection.get("/a.txt").body == b"hello\n"


@pytest.mark.sanitizers
def test_several_hundred_connections_are_served_at_once(server):
    baseline = server.descriptors()
    connections = [server.connect() for _ in range(400)]
    try:
        for connection in connections:
            connection.send(request("/k.bin"))
        for connection in connections:
            assert len(connection.read_answer().body) == 1024
        assert server.descriptors() >= 400
    finally:
        for connection in connections:
            connection.close()
    wait_until(lambda: server.descriptors() <= baseline + 2, what="descriptors given back")


def test_requests_of_many_connections_may_arrive_in_interleaved_pieces(server):
    data = request("/next.txt", "X-Filler: " + "y" * 50)
    connections = [server.connect() for _ in range(20)]
    try:
        for at in range(0, len(data), 7):
            for connection in connections:
                connection.send(data[at:at + 7])
        for connection in connections:
            assert connection.read_answer().body == b"next\n"
    finally:
        for connection in connections:
            connection.close()


# How connections end.


@pytest.mark.sanitizers
@pytest.mark.parametrize("target, body", [("/a.txt", b"hello\n"), ("/big.bin", BIG_BODY)])
def test_a_client_that_half_closes_after_its_request_gets_the_whole_answer(server, target, body):
    with server.connect() as connection:
        connection.send(request(target))
        connection.finish_sending()
        assert connection.read_answer().body == body
        assert connection.wait_end()


def test_a_client_that_half_closes_after_many_requests_gets_all_answers(server):
    with server.connect() as connection:
        connection.send(request("/k.bin") * 500)
        connection.finish_sending()
        for _ in range(500):
            assert len(connection.read_answer().body) == 1024
        assert connection.wait_end()


@pytest.mark.sanitizers
def test_connection_close_is_said_and_done_after_the_whole_body(server):
    with server.connect() as connection:
        answer = connection.get("/big.bin", "Connection: close")
        assert answer.says_close
        assert answer.body == BIG_BODY
        assert connection.wait_end()
        assert not connection.was_reset


def test_an_http_1_0_client_is_told_when_the_connection_is_kept(server):
    with server.connect() as connection:
        answer = connection.get("/a.txt", "Connection: keep-alive", version="1.0")
        assert "keep-alive" in answer.get("connection", "").lower()
        answer = connection.get("/a.txt", version="1.0")
        assert answer.body == b"hello\n"
        assert connection.wait_end()


def test_a_whole_large_body_reaches_an_http_1_0_client(server):
    with server.connect() as connection:
        assert connection.get("/big.bin", version="1.0", host=None).body == BIG_BODY
        assert connection.wait_end()


@pytest.mark.sanitizers
def test_the_refusal_arrives_although_more_was_sent_than_is_read(server):
    """Closing with unread input would make the kernel send RST, which destroys the answer
    (RFC 9112 section 9.6)."""
    with server.connect() as connection:
        connection.send(b"GET / HTTP/x\r\nHost: x\r\n\r\n" + b"z" * 2_000_000)
        connection.finish_sending()
        assert connection.read_answer().status in (400, 505)


def test_a_client_that_never_stops_sending_after_a_refusal_is_dropped(server):
    with server.connect() as connection:
        connection.send(b"GET / HTTP/x\r\nHost: x\r\n\r\n")
        assert connection.read_answer().status in (400, 505)
        until = time.monotonic() + 100
        while connection.send(b"z" * 65536):
            assert time.monotonic() < until, "still read after 100 s"
            time.sleep(0.002)  # no faster: each send costs CPU on both sides


@pytest.mark.sanitizers
def test_a_reset_in_the_middle_of_an_answer_harms_nobody_else(server):
    with server.connect() as other:
        for _ in range(50):
            connection = server.connect(receive_bytes=16384)
            connection.send(request("/big.bin") * 2)
            connection.take(5000)
            connection.reset()
            assert other.get("/a.txt").body == b"hello\n"


# Bodies.


@pytest.mark.sanitizers
def test_a_body_that_nobody_asked_for_is_dropped_and_the_connection_lives(server):
    body = b"GET /secret.txt HTTP/1.1\r\nHost: x\r\n\r\n" * 2500  # 100 kB
    with server.connect() as connection:
        answer = connection.get("/a.txt", method="POST", body=body)
        assert answer.status == 405
        assert connection.get("/next.txt").body == b"next\n"


def test_a_body_that_comes_slowly_is_dropped_all_the_same(server):
    with server.connect() as connection:
        connection.send(b"POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n")
        assert connection.read_answer().status == 405
        for _ in range(40):
            connection.send(b"z")
            connection.readable(0.002)
        assert connection.get("/next.txt").body == b"next\n"


def test_a_client_that_waits_for_100_continue_is_not_left_waiting(server):
    with server.connect() as connection:
        answer = connection.ask(b"POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                                b"Expect: 100-continue\r\n\r\n")
        assert answer.status == 405
        if answer.says_close:
            assert connection.wait_end()
            return
        connection.send(b"hello")
        assert connection.get("/next.txt").body == b"next\n"


def test_a_body_over_the_limit_is_refused(serve, site, engine):
    server = serve(site, "--max-body", "1000", engine=engine)
    for framing in (b"Content-Length: 1001\r\n\r\n" + b"z" * 1001,
                    b"Transfer-Encoding: chunked\r\n\r\n" + b"1f4\r\n" + b"z" * 500 + b"\r\n" +
                    b"1f5\r\n" + b"z" * 501 + b"\r\n0\r\n\r\n"):
        with server.connect() as connection:
            connection.send(b"POST /a.txt HTTP/1.1\r\nHost: x\r\n" + framing)
            assert connection.read_answer().status in (405, 413)
            assert connection.wait_end()
    with server.connect() as connection:
        assert connection.get("/a.txt", method="POST", body=b"z" * 1000).status == 405
        assert connection.get("/next.txt").body == b"next\n"


def test_a_length_over_the_limit_is_413_where_the_client_waits_for_leave(serve, site, engine):
    server = serve(site, "--max-body", "1000", engine=engine)
    with server.connect() as connection:
        answer = connection.ask(b"POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n"
                                b"Expect: 100-continue\r\n\r\n")
        assert answer.status in (405, 413) and not answer.interim
        assert connection.wait_end()


# Slow peers.


@pytest.mark.sanitizers
def test_a_head_that_drips_is_answered_408(serve, site, engine):
    server = serve(site, "--header-timeout", "500ms", engine=engine)
    with server.connect() as connection:
        connection.send(b"GET /a.txt HTTP/1.1\r\nHost: x\r\nX-Drip: ")
        drip(connection, b"z", 8)
        assert server.get("/a.txt").body == b"hello\n"
        answer = connection.read_answer()
        assert answer.status == 408 and answer.says_close
        assert connection.wait_end()


def test_a_head_that_drips_after_an_answered_request_is_408_too(serve, site, engine):
    server = serve(site, "--header-timeout", "500ms", engine=engine)
    with server.connect() as connection:
        assert connection.get("/a.txt").status == 200
        connection.send(b"GET /a.txt HTTP/1.1\r\n")
        drip(connection, b"X: y\r\n", 8)
        assert connection.read_answer().status == 408
        assert connection.wait_end()


def test_a_connection_that_says_nothing_is_closed(serve, site, engine):
    server = serve(site, "--header-timeout", "500ms", "--idle-timeout", "500ms", engine=engine)
    with server.connect() as connection:
        try:
            assert connection.read_answer().status == 408
        except NoAnswer:
            assert connection.ended
        assert connection.wait_end()


def test_a_body_that_stalls_ends_the_connection(serve, site, engine):
    server = serve(site, "--body-timeout", "500ms", engine=engine)
    with server.connect() as connection:
        connection.send(b"POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello")
        assert connection.read_answer().status in (405, 408)
        assert connection.wait_end()


@pytest.mark.sanitizers
def test_an_idle_connection_is_closed_without_a_word(serve, site, engine):
    server = serve(site, "--idle-timeout", "500ms", engine=engine)
    with server.connect() as connection:
        assert connection.get("/a.txt").status == 200
        assert connection.wait_end()
        assert not connection.was_reset


def test_a_busy_connection_outlives_the_idle_limit(serve, site, engine):
    server = serve(site, "--idle-timeout", "500ms", "--header-timeout", "500ms", engine=engine)
    for _ in range(20):
        with server.connect() as connection:
            if stay_busy(connection, 1.5, pause_max=0.3):
                return
    pytest.fail("this machine never lets us be busy for as long as three idle limits")


def stay_busy(connection, seconds, pause_max):
    """Asks every 100 ms. False if we were idle for longer than `pause_max`: the machine was busy
    with something else, and the server may have closed the connection."""
    last = time.monotonic()
    until = last + seconds
    while last < until:
        try:
            body = connection.get("/a.txt").body
        except NoAnswer:
            body = None
        now = time.monotonic()
        if now - last > pause_max:
            return False
        assert body == b"hello\n" and not connection.ended
        last = now
        connection.readable(0.1)
    return True


@pytest.mark.sanitizers
def test_a_slow_reader_keeps_nobody_waiting_and_gets_every_byte(serve, huge_site, engine):
    server = serve(huge_site, engine=engine)
    with server.connect(receive_bytes=8192) as slow:
        slow.send(request("/huge.bin"))
        head = slow.read_head()
        assert head.get("content-length") == str(HUGE)
        for _ in range(100):
            assert server.get("/a.txt").body == b"hello\n"
        slow.skip(HUGE, time.monotonic() + 200)
        assert slow.get("/a.txt").body == b"hello\n"


def test_a_slow_reader_costs_no_cpu_while_it_does_not_read(serve, huge_site, engine, sanitized):
    server = serve(huge_site, "--write-timeout", "600s", "--min-send-rate", "off", engine=engine)
    with server.connect(receive_bytes=8192) as slow:
        slow.send(request("/huge.bin"))
        slow.read_head()
        wait_until(lambda: is_quiet(server), what="a server that waits for the reader")


def is_quiet(server, seconds=0.3):
    ticks, wakeups = server.cpu_ticks(), server.wakeups()
    time.sleep(seconds)  # the span of a measurement, not a wait for something
    return server.cpu_ticks() == ticks and server.wakeups() - wakeups <= 5


def test_a_download_may_take_longer_than_the_idle_limit(serve, huge_site, engine):
    server = serve(huge_site, "--idle-timeout", "500ms", "--header-timeout", "500ms",
                   "--write-timeout", "60s", "--min-send-rate", "off", engine=engine)
    with server.connect(receive_bytes=65536) as connection:
        connection.send(request("/huge.bin"))
        assert connection.read_head().status == 200
        began = time.monotonic()
        taken = 0
        while time.monotonic() - began < 2.0:  # four idle limits
            connection.skip(65536)
            taken += 65536
            time.sleep(0.02)  # the reader's pace
        connection.skip(HUGE - taken, time.monotonic() + 200)


def test_a_reader_that_stalls_is_cut_off(serve, huge_site, engine):
    server = serve(huge_site, "--write-timeout", "500ms", "--min-send-rate", "64KiB",
                   engine=engine)
    baseline = server.sockets()
    with server.connect(receive_bytes=8192) as stalled:
        stalled.send(request("/huge.bin"))
        stalled.read_head()
        wait_until(lambda: server.sockets() <= baseline, what="the stalled connection closed")
    assert server.get("/a.txt").status == 200


@needs_table
def test_readers_that_stall_are_reset_and_the_kernel_keeps_nothing_for_them(serve, huge_site,
                                                                            engine):
    server = serve(huge_site, "--write-timeout", "1s", "--min-send-rate", "64KiB", engine=engine)
    baseline = server.sockets()
    with contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(server.connect(receive_bytes=8192)) for _ in range(20)]
        for connection in stalled:
            connection.send(request("/huge.bin"))
        for connection in stalled:
            connection.read_head()
        held = wait_until_nothing_is_kept(server, baseline)
        assert held > 20 * 100_000  # there was something to give back
        print(f"{held} bytes were unsent in the kernel, none are kept")
        for connection in stalled:
            until = time.monotonic() + 60
            while connection.receive_some(until):
                connection.buffer.clear()
            assert connection.was_reset
    assert server.get("/a.txt").status == 200


def test_a_reader_below_the_least_rate_is_cut_off(serve, huge_site, engine):
    server = serve(huge_site, "--write-timeout", "1s", "--min-send-rate", "1MiB", engine=engine)
    baseline = server.sockets()
    with server.connect(receive_bytes=4096) as slow:
        slow.send(request("/huge.bin"))
        slow.read_head()

        def gone():
            if slow.readable(0.02):
                slow.skip(min(1024, max(1, len(slow.buffer))), time.monotonic() + 60)
            return server.sockets() <= baseline

        try:
            wait_until(gone, what="the crawling connection closed")
        except (NoAnswer, ConnectionResetError):
            pass
    assert server.get("/a.txt").status == 200


# Limits.


def test_connections_over_the_limit_are_told_or_wait_but_are_never_broken(serve, site, engine):
    server = serve(site, "--max-connections", "4", engine=engine)
    kept = [server.connect() for _ in range(4)]
    try:
        for connection in kept:
            assert connection.get("/a.txt").status == 200
        with server.connect() as extra:
            extra.send(request("/a.txt"))
            if not extra.readable(1.0):
                kept.pop().close()
            answer = extra.read_answer()
            assert answer.status in (200, 503)
            if answer.status == 503:
                assert answer.says_close and extra.wait_end()
        for connection in kept:
            assert connection.get("/next.txt").body == b"next\n"
    finally:
        for connection in kept:
            connection.close()

    def served():
        try:
            return server.get("/a.txt").status == 200
        except (AssertionError, OSError):
            return False
    wait_until(served, what="room again after the others have gone")


@pytest.mark.parametrize("flag, value, inside, outside, status", [
    ("--max-line", "1KiB", "/a.txt?" + "x" * 900, "/a.txt?" + "x" * 1100, 414),
    ("--max-head", "2KiB", "/a.txt", None, 431),
    ("--max-fields", "10", "/a.txt", None, 431),
])
def test_limits_of_the_head_are_options(serve, site, engine, flag, value, inside, outside, status):
    server = serve(site, flag, value, engine=engine)
    assert server.get(inside).status == 200
    assert server.get(inside, *[f"X-{i}: y" for i in range(9)]).status == 200
    if outside:
        over = server.get(outside)
    else:
        over = server.get(inside, *[f"X-{i}: {'y' * 300}" for i in range(10)])
    assert over.status == status and over.says_close


# Every answer.


@pytest.mark.sanitizers
@pytest.mark.parametrize("target", ["/a.txt", "/absent", "/dir", "/big.bin"])
def test_every_answer_has_a_fresh_date(server, target):
    before = int(time.time())
    date = server.get(target).get("date")
    assert IMF_DATE.match(date), date
    then = email.utils.parsedate_to_datetime(date).timestamp()
    assert before - 2 <= then <= time.time() + 1


def test_the_date_goes_on_with_the_clock(server):
    with server.connect() as connection:
        first = connection.get("/a.txt").get("date")
        wait_until(lambda: connection.get("/a.txt").get("date") != first, what="another Date")
        second = connection.get("/a.txt").get("date")
    seconds = [email.utils.parsedate_to_datetime(d).timestamp() for d in (first, second)]
    assert seconds[0] < seconds[1] <= time.time() + 1


def test_refusals_have_date_length_type_and_close(server):
    for data in (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", b"GET /\r\n\r\n",
                 b"GET / HTTP/1.1\r\n\r\n", b"FROB / HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"):
        with server.connect() as connection:
            answer = connection.ask(data)
            assert answer.status >= 400
            assert IMF_DATE.match(answer.get("date", ""))
            assert answer.get("content-length") and answer.get("content-type")


def test_the_server_names_itself_unless_told_not_to(server, serve, site):
    assert "tiderace" in server.get("/a.txt").get("server", "").lower()
    silent = serve(site, "--no-server-header")
    for target in ("/a.txt", "/absent"):
        assert silent.get(target).get("server") is None


@pytest.mark.sanitizers
def test_known_sizes_are_never_chunked(server):
    for target in ("/a.txt", "/big.bin", "/absent", "/dir", "/empty.txt", "/"):
        answer = server.get(target)
        assert not answer.chunked and answer.get("content-length") is not None, target
