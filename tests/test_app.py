"""The library's App by its smallest example (examples/hello), over real sockets."""

import http.client
import json
import signal
import socket
import subprocess

import pytest


@pytest.fixture
def hello(run_example):
    return run_example("hello", "127.0.0.1:0")


def ask(hello, method, path, body=None, fields=None):
    client = http.client.HTTPConnection(*hello.places()[0], timeout=60)
    client.request(method, path, body, fields or {})
    answer = client.getresponse()
    content = answer.read()
    client.close()
    return answer, content


def test_it_answers_text_json_and_errors(hello):
    assert ask(hello, "GET", "/")[1] == b"hello\n"
    answer, content = ask(hello, "GET", "/users/7")
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(content) == {"id": 7, "name": "ann"}
    assert ask(hello, "GET", "/users/8")[0].status == 404
    answer, content = ask(hello, "GET", "/users/x")
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert json.loads(content)["errors"][0]["name"] == "id"
    assert ask(hello, "DELETE", "/users/7")[0].headers["Allow"] == "GET, HEAD, OPTIONS"


def test_json_is_taken_and_refused(hello):
    kind = {"Content-Type": "application/json"}
    answer, content = ask(hello, "POST", "/users", '{"id": 8, "name": "bob"}', kind)
    assert (answer.status, answer.headers["Location"]) == (201, "/users/8")
    assert json.loads(content) == {"id": 8, "name": "bob"}
    assert ask(hello, "POST", "/users", '{"id": 8', kind)[0].status == 400
    assert ask(hello, "POST", "/users", '{"id": -8, "name": 1}', kind)[0].status == 422
    assert ask(hello, "POST", "/users", '{"id": 8, "name": "b"}')[0].status == 415


def test_a_body_comes_back_and_has_a_bound(hello):
    assert ask(hello, "POST", "/echo", b"x" * 1_000_000)[1] == b"x" * 1_000_000
    with socket.create_connection(hello.places()[0], timeout=60) as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.slow  # half a minute of waiting
def test_a_body_that_drips_is_not_waited_for(hello):
    """Five bytes in a hundred seconds would hold a handler as long."""
    with socket.create_connection(hello.places()[0], timeout=60) as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
        client.settimeout(2)
        heard = b""
        for _ in range(40):
            try:
                heard = client.recv(100)
                break
            except TimeoutError:
                client.sendall(b"x")
        assert heard.startswith(b"HTTP/1.1 408 "), heard


def test_events_come_one_by_one(hello):
    with socket.create_connection(hello.places()[0], timeout=60) as client:
        client.sendall(b"GET /ticks HTTP/1.1\r\nHost: a\r\n\r\n")
        heard = b""
        while b"data: 1\n\n" not in heard:
            piece = client.recv(4096)
            assert piece
            heard += piece
        assert b"Content-Type: text/event-stream\r\n" in heard


def test_http2_is_spoken_in_clear(hello):
    host, port = hello.places()[0]
    done = subprocess.run(
        ["curl", "-s", "--http2-prior-knowledge", "-w", "%{http_version}", f"http://{host}:{port}/"],
        capture_output=True, check=True, timeout=60)
    assert done.stdout == b"hello\n2"


def test_it_drains_and_ends_in_order(binary):
    with subprocess.Popen([binary.parent / "examples/hello/hello", "127.0.0.1:0"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        host, port = program.stdout.readline().split("/")[2].split(":")
        # A request that came before the signal is answered, and then the connection ends.
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(4096).endswith(b"hello\n")
            program.send_signal(signal.SIGTERM)
            assert client.recv(4096) == b""
        assert program.wait(60) == 0


def test_a_port_in_use_is_one_sentence(hello, binary):
    host, port = hello.places()[0]
    done = subprocess.run([binary.parent / "examples/hello/hello", f"{host}:{port}"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and "in use" in done.stderr
