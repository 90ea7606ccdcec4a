"""HTTP/2 on the real program: what clients see, and that it says what HTTP/1.1 says."""

import signal

import pytest

from h2_client import Client, NO_ERROR, PROTOCOL_ERROR
from server import wait_until
from site_folder import BIG, MIDDLE, pattern
from two_versions import http1, http2, masked


@pytest.mark.sanitizers
def test_files_of_every_size_come_whole(server):
    with Client(server.address, {4: (1 << 31) - 1}) as client:
        wanted = {"/a.txt": b"hello\n", "/empty.txt": b"", "/k.bin": pattern(1024, 2),
                  "/middle.bin": pattern(MIDDLE, 3), "/big.bin": pattern(BIG, 4)}
        streams = {path: client.get(path) for path in wanted}
        for path, body in wanted.items():
            answer = client.answer(streams[path])
            assert answer.status == 200, path
            assert bytes(answer.body) == body, path
            assert answer.get("content-length") == str(len(body)), path


def test_a_small_window_is_waited_for(server):
    with Client(server.address, {4: 1000}, window=None) as client:
        stream = client.get("/middle.bin")
        body = client.streams[stream].body
        window = 1000
        while not client.streams[stream].ended:
            client.wait(lambda: len(body) == window or client.streams[stream].ended)
            window += 1000
            client.send(client.window_update_bytes(stream, 1000) +
                        client.window_update_bytes(0, 1000))
        assert bytes(body) == pattern(MIDDLE, 3)


def test_a_thousand_requests_on_one_connection(server):
    with Client(server.address) as client:
        for _ in range(20):
            streams = []
            data = b""
            for _ in range(50):
                stream, more = client.request_bytes("/a.txt")
                streams.append(stream)
                data += more
            client.send(data)
            for stream in streams:
                assert bytes(client.answer(stream).body) == b"hello\n"


# HTTP/1.1 and HTTP/2 answer alike.

TARGETS = ["/", "/a.txt", "/empty.txt", "/k.bin", "/middle.bin", "/dir", "/dir/", "/bare/",
           "/absent", "/app.js", "/only.css", "/data.json", "/noextension", "/with%20space.txt",
           "/a%2ftxt", "/%00", "/a//b", "/../a.txt", "/.hidden", "/a.txt?q=1", "/dir?x", "/%zz",
           "/" + "a" * 5000, "/" + "a" * 9000]
VARIANTS = [("GET", []), ("HEAD", []), ("OPTIONS", []), ("POST", []), ("DELETE", []), ("BREW", []),
            ("GET", [("range", "bytes=0-3")]), ("GET", [("range", "bytes=2-3,5-5")]),
            ("GET", [("range", "bytes=99999999-")]), ("GET", [("accept-encoding", "gzip, br")]),
            ("GET", [("accept-encoding", "zstd;q=0.5, gzip")]),
            ("GET", [("if-modified-since", "Fri, 01 Jan 2100 00:00:00 GMT")]),
            ("GET", [("if-none-match", "*")]), ("GET", [("if-match", '"none"')]),
            ("HEAD", [("range", "bytes=0-3")]), ("GET", [("accept", "text/html")])]


def test_http1_and_http2_answers_agree(head_server):
    different = []
    with Client(head_server.address, {4: 1 << 24}) as client:
        for target in TARGETS:
            for method, fields in VARIANTS:
                one = masked(http1(head_server, target, method, fields))
                two = masked(http2(client, target, method, fields))
                if one != two:
                    different.append((method, target[:40], fields, one[:2], two[:2]))
    assert not different, different[:5]
    assert len(TARGETS) * len(VARIANTS) == 384


# Its end.


def test_sigterm_finishes_what_runs(serve, site):
    server = serve(site)
    with Client(server.address, {4: 1000}) as client:
        stream = client.get("/big.bin")
        client.wait(lambda: client.streams[stream].status == 200)
        server.signal(signal.SIGTERM)
        assert client.wait_goaway() == NO_ERROR
        client.send(client.window_update_bytes(stream, 1 << 30))
        answer = client.answer(stream)
        assert bytes(answer.body) == pattern(BIG, 4)
    assert server.wait_exit() == 0


def test_http2_can_be_off(serve, site):
    server = serve(site, "--http2", "off")
    with server.connect() as connection:
        connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert connection.read_answer().status in (400, 505)


def test_the_access_log_names_the_version(serve, site, tmp_path):
    log = tmp_path / "access.log"
    server = serve(site, "--access-log", log, "--log-flush", "1ms")
    with Client(server.address) as client:
        client.answer(client.get("/a.txt"))
    wait_until(lambda: log.exists() and b'"GET /a.txt HTTP/2.0" 200 6' in log.read_bytes(),
               what="a line in the log")


def test_no_websocket_is_announced_where_none_is_served(server):
    with Client(server.address) as client:
        client.wait(lambda: client.settings, what="the server's settings")
        assert client.settings.get(8, 0) == 0  # SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441)
        stream, data = client.request_bytes(method="CONNECT", more=[(":protocol", "websocket")])
        client.send(data)
        assert client.answer(stream).reset == PROTOCOL_ERROR


def test_a_fault_names_its_reason(server):
    with Client(server.address) as client:
        client.send(client.header_bytes(2, client.request_fields()))
        assert client.wait_goaway() == PROTOCOL_ERROR
