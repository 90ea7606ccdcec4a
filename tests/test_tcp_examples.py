"""The TCP examples as processes: echo at three levels, and the proxy between both sides."""

import os
import pathlib
import signal
import socket
import subprocess
import threading

import pytest

BUILD = pathlib.Path(os.environ["TIDERACE_BINARY"]).parent / "examples"
SECONDS_MAX = 30


class Program:
    """Runs until SIGTERM; its first line says where it listens."""

    def __init__(self, name, *words):
        path = BUILD / name
        if not path.exists():
            pytest.skip(f"{path} is not built")
        self.process = subprocess.Popen(
            [path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        host, port = self.process.stdout.readline().split()[-1].rsplit(":", 1)
        self.address = (host, int(port))

    def connect(self):
        return socket.create_connection(self.address, timeout=SECONDS_MAX)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=SECONDS_MAX)[1]
        return self.process.returncode, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def read_all(connection):
    heard = b""
    while piece := connection.recv(1 << 16):
        heard += piece
    return heard


def send_and_finish(connection, data):
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("level", ["session", "callbacks", "coroutine"])
def test_each_level_echoes_and_ends_in_order(level):
    with Program("echo/echo_levels", level, "127.0.0.1:0", "2") as echo:
        much = os.urandom(3_000_000)
        with echo.connect() as connection:
            sender = threading.Thread(target=send_and_finish, args=(connection, much))
            sender.start()
            assert read_all(connection) == much
            sender.join()
        idle = echo.connect()
        status, said = echo.stop()
        assert status == 0, said
        assert idle.recv(1) == b""
        idle.close()


def test_the_proxy_carries_both_directions_and_half_closes():
    with Program("echo/echo_levels", "coroutine", "127.0.0.1:0", "1") as echo:
        target = "%s:%d" % echo.address
        with Program("proxy/proxy", "127.0.0.1:0", target) as proxy:
            much = os.urandom(3_000_000)
            with proxy.connect() as connection:
                sender = threading.Thread(target=send_and_finish, args=(connection, much))
                sender.start()
                assert read_all(connection) == much
                sender.join()
            status, said = proxy.stop()
            assert status == 0, said


def test_the_proxy_passes_on_an_answer_that_comes_after_the_question_ended():
    listener = socket.create_server(("127.0.0.1", 0))
    target = "127.0.0.1:%d" % listener.getsockname()[1]
    with Program("proxy/proxy", "127.0.0.1:0", target) as proxy:
        with proxy.connect() as client:
            send_and_finish(client, b"question")
            server, _ = listener.accept()
            assert read_all(server) == b"question"
            server.sendall(b"answer")
            server.close()
            assert read_all(client) == b"answer"
    listener.close()


def test_a_target_that_nobody_serves_is_one_line_and_ends_the_client():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Program("proxy/proxy", "127.0.0.1:0", f"127.0.0.1:{port}") as proxy:
        with proxy.connect() as client:
            try:
                assert client.recv(1) == b""
            except ConnectionResetError:
                pass
        status, said = proxy.stop()
        assert status == 0
        assert f"proxy: connect to 127.0.0.1:{port}: connection refused" in said


def test_a_drain_finishes_what_runs():
    listener = socket.create_server(("127.0.0.1", 0))
    target = "127.0.0.1:%d" % listener.getsockname()[1]
    with Program("proxy/proxy", "127.0.0.1:0", target) as proxy:
        client = proxy.connect()
        client.sendall(b"question")
        server, _ = listener.accept()
        assert server.recv(8) == b"question"
        proxy.process.send_signal(signal.SIGTERM)
        assert read_all(server) == b"", "the client has nothing more to say"
        server.sendall(b"answer")
        server.close()
        assert read_all(client) == b"answer"
        client.close()
        said = proxy.process.communicate(timeout=SECONDS_MAX)[1]
        assert proxy.process.returncode == 0
        assert "cut off" not in said
    listener.close()
