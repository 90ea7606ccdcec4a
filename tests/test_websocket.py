"""WebSocket in the real programs: other people's clients, a browser, rooms, hostile peers."""

import asyncio
import contextlib
import itertools
import json
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import websockets

import h2_client
from certificates import Authority
from raw_client import BadAnswer, get_once
from server import wait_until
from websocket_fanout import FanOut, Subscriber, delivered
from websocket_wire import BINARY, CLOSE, PING, TEXT, WebSocket, close_payload, frame, head


@pytest.fixture
def rooms_with(run_example):
    return lambda *flags: run_example("websocket_rooms", *flags)


@pytest.fixture
def rooms(rooms_with):
    return rooms_with()


# ---- other people's clients ---------------------------------------------------------------------


@pytest.mark.sanitizers
@pytest.mark.parametrize("compression", [None, "deflate"])
@pytest.mark.parametrize("windows", ["on", "windows"])
def test_the_websockets_package_agrees(echo_with, compression, windows):
    echo = echo_with("--compression", windows)

    async def talk():
        async with websockets.connect(echo.url, compression=compression, max_size=None) as socket:
            for message in ["", "hello", b"", os.urandom(70_000), "κόσμε" * 10_000,
                            b"z" * 3_000_000]:
                await socket.send(message)
                assert await socket.recv() == message
            await socket.send(["in ", "three ", "pieces"])
            assert await socket.recv() == "in three pieces"
            await (await socket.ping())
            await asyncio.gather(*(socket.send(f"burst {i}") for i in range(200)))
            assert [await socket.recv() for _ in range(200)] == [f"burst {i}" for i in range(200)]
        assert socket.close_code == 1000

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.sanitizers
@pytest.mark.parametrize("offer", ["on", "off", "windows"])
@pytest.mark.parametrize("compression", [None, "deflate"])
def test_our_client_talks_with_the_websockets_server(binary, offer, compression):
    client = binary.parent / "tests" / "websocket_client" / "websocket_client"

    async def serve(socket):
        for message in ["", "hello", bytes(70_000), "κόσμε" * 10_000]:
            await socket.send(message)
            assert await socket.recv() == message
        await socket.ping()
        await socket.close(3001, "done")

    async def talk():
        async with websockets.serve(serve, "127.0.0.1", 0, compression=compression) as server:
            port = server.sockets[0].getsockname()[1]
            process = await asyncio.create_subprocess_exec(
                client, f"127.0.0.1:{port}", "/", offer, stdout=subprocess.PIPE)
            out, _ = await process.communicate()
            assert (process.returncode, out) == (0, b"closed 3001 done\n")

    asyncio.run(asyncio.wait_for(talk(), 60))


# An application of ASGI for hypercorn: says the version of HTTP, echoes, and closes at "end".
ECHO_APPLICATION = """
async def app(scope, receive, send):
    version = "HTTP/" + scope["http_version"]
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": version.encode()})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": version})
        while (message := await receive())["type"] == "websocket.receive":
            if message["text"] == "end":
                await send({"type": "websocket.close", "code": 3001, "reason": "done"})
                return
            await send({"type": "websocket.send", "text": message["text"]})
"""


@pytest.mark.sanitizers
def test_our_client_talks_with_hypercorn(binary, tmp_path):
    """Another make's server, with which the client speaks HTTP/2 as well."""
    (tmp_path / "echo.py").write_text(ECHO_APPLICATION)
    path = tmp_path / "log"
    with path.open("w") as log, subprocess.Popen(
            [sys.executable, "-m", "hypercorn", "echo:app", "--bind", "127.0.0.1:0"],
            cwd=tmp_path, stdout=log, stderr=log) as hypercorn:
        try:
            place = wait_until(lambda: re.search(r"http://(\S+:\d+)", path.read_text()),
                               what="hypercorn")[1]
            done = subprocess.run(
                [binary.parent / "tests/samples/sample_websocket_talk", f"http://{place}/",
                 f"ws://{place}/talk"], capture_output=True, text=True, timeout=60)
            assert done.stdout.splitlines() == [
                "200 HTTP/2", "HTTP/1.1", "echoed", "echoed", "echoed", "closed 3001 done"]
            assert done.returncode == 0, done.stderr
        finally:
            hypercorn.terminate()


@pytest.fixture(scope="module")
def secure(run_example, tmp_path_factory):
    """The rooms over HTTPS: its address, and a context that trusts it."""
    authority = Authority(tmp_path_factory.mktemp("authority"), "authority")
    pair = authority.issue("chat", hosts=("localhost", "127.0.0.1"))
    rooms = run_example("websocket_rooms", "--tls", pair.flag, "--events", "off")
    return rooms.places()[0], ssl.create_default_context(cafile=authority.file)


@pytest.mark.sanitizers
@pytest.mark.parametrize("compression", [None, "deflate"])
def test_the_websockets_package_agrees_over_tls(secure, compression):
    (_, port), trust = secure
    url = f"wss://localhost:{port}/chat?room=secure&name="

    async def talk():
        settings = {"ssl": trust, "compression": compression}
        async with websockets.connect(url + "Ann", **settings) as ann, \
                websockets.connect(url + "Bob", **settings) as bob:
            for text in ["hello", "κόσμε" * 300, "x" * 4_000, *map(str, range(200))]:
                await ann.send(text)
                for socket in (ann, bob):
                    assert json.loads(await socket.recv())["text"] == text
            await (await bob.ping())
        assert ann.close_code == bob.close_code == 1000

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.sanitizers
def test_streams_of_http2_over_tls_are_websockets_too(secure):
    """A room whose two guests are streams of one connection."""
    address, trust = secure
    trust.set_alpn_protocols(["h2"])
    sock = trust.wrap_socket(socket.create_connection(address, 10), server_hostname="localhost")
    assert sock.selected_alpn_protocol() == "h2"
    said = frame(TEXT, "to both")
    event = b'{"type":"said","from":"N","text":"to both"}'
    expected = head(TEXT, len(event), masked=False) + event
    with h2_client.Client(address, sock=sock) as client:
        streams = []
        for _ in range(2):
            stream, asked = client.request_bytes(
                "/chat?room=streams&name=N", "CONNECT",
                [(":protocol", "websocket"), ("sec-websocket-version", "13")], end_stream=False)
            client.send(asked)
            client.wait(lambda s=stream: client.streams[s].status == 200)
            streams.append(stream)
        client.send(h2_client.raw_frame(0, 0, streams[0], said))
        for stream in streams:
            client.wait(lambda s=stream: bytes(client.streams[s].body) == expected)


@pytest.mark.sanitizers
def test_a_stream_of_http2_is_a_websocket_too(echo):
    """RFC 8441, by prior knowledge: three sockets on one connection."""
    with h2_client.Client(echo.websocket) as client:
        streams = []
        for _ in range(3):
            stream, asked = client.request_bytes(
                "/", "CONNECT", [(":protocol", "websocket"), ("sec-websocket-version", "13")],
                end_stream=False)
            client.send(asked)
            streams.append(stream)
        for stream in streams:
            client.wait(lambda s=stream: s in client.streams and client.streams[s].status == 200)
            for piece in (frame(TEXT, f"to {stream}"), frame(CLOSE, close_payload(1000))):
                client.send(h2_client.raw_frame(0, 0, stream, piece))
        for stream in streams:
            said = f"to {stream}".encode()
            expected = (head(TEXT, len(said), masked=False) + said +
                        head(CLOSE, 2, masked=False) + close_payload(1000))
            client.wait(lambda s=stream, e=expected: bytes(client.streams[s].body) == e)


# ---- a browser ----------------------------------------------------------------------------------

PAGE = """<!doctype html><title>echo</title><script>
const tell = words => fetch('/told', { method: 'POST', body: words });
const socket = new WebSocket('%s');
socket.binaryType = 'arraybuffer';
const sent = ['hello', 'κόσμε', 'x'.repeat(300000), new Uint8Array([0, 1, 254, 255]).buffer];
let heard = 0;
socket.onopen = () => sent.forEach(one => socket.send(one));
socket.onmessage = ({ data }) => {
  const one = sent[heard++];
  const same = typeof one === 'string' ? data === one
             : new Uint8Array(data).join() === new Uint8Array(one).join();
  if (!same) return tell('message ' + heard + ' differs');
  if (heard === sent.length) socket.close(3333, 'enough');
};
socket.onclose = event => tell(`heard ${heard}, closed ${event.code} ${event.wasClean}, ` +
                               socket.extensions);
</script>"""


@pytest.fixture
def browse(tmp_path):
    """browse(url): the system's Chromium without a window, until the test ends."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium here")
    running = []

    def start(url):
        running.append(subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", f"--user-data-dir={tmp_path}/profile", url],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    yield start
    for process in running:
        process.terminate()
    for process in running:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


class Told(BaseHTTPRequestHandler):
    """Serves the page, and keeps what it tells."""

    def do_GET(self):
        body = self.server.page.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.server.told.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_browser_agrees(echo, browse):
    with ThreadingHTTPServer(("127.0.0.1", 0), Told) as site:
        site.page, site.told = PAGE % echo.url, []
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        browse(f"http://127.0.0.1:{site.server_port}/")
        told = wait_until(lambda: site.told, 60, "a word from the browser", pause=0.05)
        site.shutdown()
    assert told == ["heard 4, closed 3333 true, permessage-deflate; server_no_context_takeover; "
                    "client_no_context_takeover"]


# ---- rooms --------------------------------------------------------------------------------------


def enter(rooms, room, name, **more):
    return WebSocket(rooms.websocket, f"/chat?room={room}&name={name}", **more)


def event(socket):
    kind, said = socket.read()
    assert kind == "text"
    read = json.loads(said)
    return read["type"], read["from"], read.get("text")


@pytest.mark.sanitizers
@pytest.mark.parametrize("threads", ["1", "3"])
def test_everyone_in_a_room_hears_it_and_nobody_else(rooms_with, threads):
    rooms = rooms_with("--threads", threads)
    with enter(rooms, "a", "Ann") as ann:
        assert event(ann) == ("came", "Ann", None)
        with enter(rooms, "a", "B%C3%B8b") as bob, enter(rooms, "b", "Eve") as eve:
            assert event(ann) == ("came", "Bøb", None)
            assert event(bob) == ("came", "Bøb", None)
            assert event(eve) == ("came", "Eve", None)
            ann.say('say "hello" \\ <b>\n\u2028')
            for socket in (ann, bob):
                assert event(socket) == ("said", "Ann", 'say "hello" \\ <b>\n\u2028')
            for number in range(100):
                (bob if number % 2 else ann).say(str(number))
            heard = [[event(socket)[2] for _ in range(100)] for socket in (ann, bob)]
            for words in heard:  # each one's words in their order
                assert [w for w in words if int(w) % 2] == [str(n) for n in range(1, 100, 2)]
                assert [w for w in words if int(w) % 2 == 0] == [str(n) for n in range(0, 100, 2)]
            eve.say("alone")
            assert event(eve) == ("said", "Eve", "alone")
            bob.close()
            assert event(ann) == ("went", "Bøb", None)


@pytest.mark.sanitizers
def test_rooms_refuse_what_they_are_not_made_for(rooms):
    assert get_once(rooms.websocket, "/chat?room=a").status == 400
    assert get_once(rooms.websocket, "/chat?room=a&name=x").status == 426
    assert get_once(rooms.websocket, "/chat?room=a&name=" + "x" * 41).status == 400
    assert get_once(rooms.websocket, "/").status == 200
    for fields in (["Origin: http://evil.example"], ["Origin: null"]):
        with pytest.raises(BadAnswer, match="403"):
            enter(rooms, "a", "x", fields=fields)
    for message, code in ((b"bytes", 1003), ("x" * 5_000, 1009)):
        with enter(rooms, "refused", "x") as socket:
            event(socket)
            socket.say(message)
            assert socket.read()[:2] == ("close", code)


# ---- one to many --------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_burst_reaches_everyone_and_waits_for_the_slowest(rooms_with, sanitized, threads):
    """300 subscribers, 400 messages at once; one of them does not read until the end."""
    rooms = rooms_with("--slow", "wait", "--events", "off", "--threads", threads)
    crowd = FanOut(rooms.websocket, 300, room=f"burst{threads}")
    crowd.publish(100)
    crowd.run()
    crowd.check()
    idle = rooms.pss_bytes()
    stalled = crowd.subscribers[17]
    crowd.pause(stalled)
    crowd.publish(300)
    others = [one for one in crowd.by_fd.values() if one is not stalled]
    crowd.run(ones=others)
    if not sanitized:
        assert rooms.pss_bytes() - idle < 32 << 20
    crowd.resume(stalled)
    crowd.run()
    crowd.check()
    crowd.close()


def test_a_publisher_is_held_back_by_a_subscriber_that_does_not_read(rooms_with, sanitized):
    rooms = rooms_with("--slow", "wait", "--events", "off")
    crowd = FanOut(rooms.websocket, 20, room="held")
    crowd.run()
    idle = rooms.pss_bytes()
    stalled = crowd.subscribers[0]
    crowd.pause(stalled)
    crowd.publish(150_000)  # 13 MB for each subscriber: no queue may hold it
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 0.5:  # until nothing moves any more
        if crowd.step():
            quiet_since = time.monotonic()
    assert crowd.missing() > 0
    if not sanitized:
        assert rooms.pss_bytes() - idle < 48 << 20
    crowd.resume(stalled)
    crowd.run()
    crowd.check()
    crowd.close()


class Heard:
    """The frames of one subscriber: the numbers of the messages, and its end."""

    def __init__(self, socket):
        self.socket, self.data, self.numbers, self.ended = socket, b"", [], False

    def listen(self):
        while not self.ended:
            try:
                more = self.socket.recv(1 << 18)
            except BlockingIOError:
                return
            except ConnectionResetError:
                more = b""
            self.ended = not more
            self.data += more
            size = len(delivered(0))
            while len(self.data) >= size:
                self.numbers.append(int(re.search(rb'"text":"(\d{10})', self.data)[1]))
                assert self.data[:size] == delivered(self.numbers[-1])
                self.data = self.data[size:]


@pytest.mark.parametrize("slow", ["drop", "close"])
def test_a_subscriber_that_does_not_read_harms_nobody_else(rooms_with, sanitized, slow):
    rooms = rooms_with("--slow", slow, "--events", "off")
    crowd = FanOut(rooms.websocket, 20, room=f"harmless-{slow}")
    before = rooms.pss_bytes()
    stalled = Heard(Subscriber(rooms.websocket, f"harmless-{slow}", receive_bytes=4096).socket)
    for _ in range(80):
        crowd.publish(1_000)
        crowd.run()  # the others stay in step, so that nobody else is slow
    if not sanitized:
        assert rooms.pss_bytes() - before < 8 << 20

    def caught_up():
        crowd.publish(1)
        crowd.run()
        stalled.listen()
        return stalled.ended or stalled.numbers and stalled.numbers[-1] >= 80_000

    wait_until(caught_up, what="its end, or what is said after it reads again")
    numbers = stalled.numbers
    if slow == "drop":  # it has gaps, and goes on
        assert not stalled.ended and numbers[0] == 0 and len(numbers) < crowd.published
        assert all(one < other for one, other in itertools.pairwise(numbers))
    else:  # it has all messages that were sent before its end
        assert stalled.ended and 0 < len(numbers) < 80_000
        assert numbers == list(range(len(numbers)))
    stalled.socket.close()
    crowd.run()
    crowd.check()
    crowd.close()


@contextlib.contextmanager
def room_for(sockets):
    """Descriptors for as many, in this process; the server's own limit is the hard one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = sockets + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"{sockets} sockets, and only {hard} descriptors may be open here")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@pytest.mark.sanitizers
def test_a_publisher_and_five_thousand_subscribers(rooms_with, sanitized):
    """A million deliveries, in bursts of a hundred thousand: none lost, none kept."""
    subscribers = 500 if sanitized else 5_000
    rooms = rooms_with("--slow", "wait", "--events", "off")
    with room_for(subscribers):
        crowd = FanOut(rooms.websocket, subscribers)
        idle = most = rooms.pss_bytes()
        for _ in range(10):
            crowd.publish(20)
            crowd.run()
            most = max(most, rooms.pss_bytes())
        crowd.check()
        crowd.close()
    if not sanitized:
        assert idle < 16 << 20 and most - idle < 16 << 20


# ---- hostile and unlucky peers ------------------------------------------------------------------

GOOD = (frame(TEXT, "Hello", fin=False) + frame(PING, "ping") + frame(0, " there") +
        frame(BINARY, bytes(200)) + frame(CLOSE, close_payload(1000, b"bye")))


@pytest.mark.sanitizers
def test_peers_that_vanish_at_every_byte_leave_nothing_behind(echo):
    before = echo.descriptors()
    for end in range(len(GOOD)):
        socket = WebSocket(echo.websocket)
        socket.send(GOOD[:end])
        if end % 2:
            socket.connection.reset()
        else:
            socket.connection.close()
    wait_until(lambda: echo.descriptors() <= before, what="every descriptor to be closed")
    with WebSocket(echo.websocket) as socket:
        socket.say("still there")
        assert socket.read() == ("text", "still there")


def test_peers_that_finish_their_side_are_answered_and_closed(echo):
    with WebSocket(echo.websocket) as socket:
        socket.send(frame(TEXT, "last words"), frame(TEXT, "half a mess", fin=False))
        socket.connection.finish_sending()
        assert socket.read() == ("text", "last words")
        assert socket.wait_end()


@pytest.mark.sanitizers
def test_garbage_of_every_first_two_bytes_is_refused_or_waited_for(echo):
    """Every head there is, with a payload that is not there: never a crash, never an echo."""
    for first in range(256):
        for second in (0, 1, 0x7D, 0x7E, 0x7F, 0x80, 0x81, 0xFD, 0xFE, 0xFF):
            with WebSocket(echo.websocket) as socket:
                socket.send(bytes((first, second)))
                socket.connection.finish_sending()
                data = socket.connection.buffer
                until = time.monotonic() + 10
                while socket.connection.receive_some(until):
                    pass
                assert not data or re.match(rb"\x88.\x03[\xea\xef\xf1]", bytes(data), re.S)
    echo.check_health()


def test_a_slow_writer_does_not_hold_memory_for_what_it_only_announces(echo, sanitized):
    before = echo.pss_bytes()
    sockets = [WebSocket(echo.websocket) for _ in range(50)]
    for socket in sockets:
        socket.send(head(BINARY, 16 << 20) + b"key." + bytes(1000))
    with WebSocket(echo.websocket) as socket:  # all of the above was read when this is answered
        socket.say("x")
        assert socket.read() == ("text", "x")
    if not sanitized:
        assert echo.pss_bytes() - before < 8 << 20
    for socket in sockets:
        socket.connection.close()


def test_a_reader_that_stops_is_not_read_from_either(echo, sanitized):
    before = echo.pss_bytes()
    with WebSocket(echo.websocket, receive_bytes=4096) as socket:
        wire = socket.connection.socket
        wire.setblocking(False)
        data = frame(BINARY, bytes(60_000))
        sent = 0
        stuck = 0
        while stuck < 20:  # until both ends' sockets are full
            try:
                sent += wire.send(data[sent % len(data):])
                stuck = 0
            except BlockingIOError:
                stuck += 1
                time.sleep(0.01)
            assert sent < 64 << 20, "it reads without being read"
        if not sanitized:
            assert echo.pss_bytes() - before < 8 << 20
    echo.check_health()


def test_a_bomb_is_refused_at_the_limit(echo, sanitized):
    offer = ["Sec-WebSocket-Extensions: permessage-deflate"]
    before = echo.pss_bytes()
    with WebSocket(echo.websocket, fields=offer) as socket:
        socket.send(frame(BINARY, socket.deflate.deflate(bytes(200 << 20)), rsv=4))
        assert socket.read()[:2] == ("close", 1009)
    if not sanitized:
        assert echo.pss_bytes() - before < 40 << 20
