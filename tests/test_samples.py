"""The programs that say what the library is for (tests/samples), as they stand: with their ports.

Each has a network of its own (unshare), so that the ports are free.
"""

import json
import shutil
import subprocess
import sys

import pytest


def can_unshare():
    words = ["unshare", "-rn", "ip", "link", "set", "lo", "up"]
    return (shutil.which("unshare") and shutil.which("ip")
            and subprocess.run(words, capture_output=True).returncode == 0)


pytestmark = pytest.mark.skipif(not can_unshare(), reason="no network namespaces here")

# Runs beside the program, in its network: one program for each line of its input.
DRIVER = r"""
import json, signal, socket, subprocess, sys, time
program, port, asks = sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
running = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
running.stdout.readline()
answers = []
for ask, enough in asks:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(ask.encode("latin-1"))
        heard = b""
        while enough.encode() not in heard:
            piece = client.recv(65536)
            if not piece:
                break
            heard += piece
        answers.append(heard.decode("latin-1"))
running.send_signal(signal.SIGTERM)
json.dump([answers, running.wait(60)], sys.stdout)
"""


def drive(binary, name, port, asks, folder):
    program = binary.parent / "tests/samples" / name
    if not program.exists():
        pytest.fail(f"{program} is not built")
    done = subprocess.run(["unshare", "-rn", sys.executable, "-c", DRIVER, program, str(port)],
                          input=json.dumps(asks), capture_output=True, text=True, cwd=folder,
                          timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    answers, status = json.loads(done.stdout)
    assert status == 0
    return answers


def request(method, path, body=""):
    text = f"{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    if body:
        text += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return text + "\r\n" + body


@pytest.mark.parametrize("name", ["sample_tcp_task", "sample_tcp_callbacks"])
def test_an_echo_in_a_line(binary, name, tmp_path):
    assert drive(binary, name, 7, [["hello", "hello"]], tmp_path) == ["hello"]


# A WebSocket's opening, and a text in a frame whose mask changes nothing (RFC 6455, 5.3).
CHAT = ("GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        "\x81\x87\0\0\0\0flotsam")

# A route of the program, its request, and what its answer contains. A line for each.
APP = [
    (request("GET", "/"), "200 OK", "hello\n"),
    (request("GET", "/users/7"), "200 OK", '{"id":7,"name":"ann"}'),
    (request("GET", "/users/8"), "404 Not Found", ""),
    (request("POST", "/users", '{"name":"bob"}'), "201 Created", '{"id":8,"name":"bob"}'),
    (request("POST", "/users", '{"name":"root"}'), "409 Conflict", ""),
    (request("POST", "/users", '{"name":1}'), "422 ", '"name"'),
    (request("POST", "/echo", "tide"), "200 OK", "tide"),
    (request("GET", "/ticks"), "text/event-stream", "data: 1\n"),
    (CHAT, "101 Switching Protocols", "\x81\x07flotsam"),
    (request("GET", "/static/a.txt"), "200 OK", "a file\n"),
]


def test_a_service_in_a_few_lines(binary, tmp_path):
    (tmp_path / "public").mkdir()
    (tmp_path / "public/a.txt").write_text("a file\n")
    endless = {"/ticks": "data: 1\n", "/chat": "flotsam"}  # these answers end with the client
    asks = [[ask, endless.get(ask.split()[1], "\0")] for ask, _, _ in APP]
    answers = drive(binary, "sample_app", 8080, asks, tmp_path)
    for (ask, start, content), answer in zip(APP, answers, strict=True):
        assert start in answer, (ask, answer)
        assert content in answer, (ask, answer)
