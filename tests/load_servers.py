"""Servers for the tests of tiderace load: scripted ones, and nginx."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading

import pytest

from server import wait_until

DEADLINE = 200.0

needs_nginx = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")


@contextlib.contextmanager
def scripted(talk):
    """A server that does talk(connection) with each of its connections, each on a thread."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threads = []

    def serve(connection):
        with connection, contextlib.suppress(OSError):
            talk(connection)

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()
    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    host, port = listener.getsockname()
    try:
        yield f"http://{host}:{port}/"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(DEADLINE)
        for thread in threads:
            thread.join(DEADLINE)


def answering(answers):
    """Says answers(i) to the i-th request of each connection; None: ends the connection."""
    def talk(connection):
        pending, count = b"", 0
        while received := connection.recv(65536):
            pending += received
            while b"\r\n\r\n" in pending:
                pending = pending.partition(b"\r\n\r\n")[2]
                answer = answers(count)
                count += 1
                if answer is None:
                    return
                connection.sendall(answer)
    return talk


@contextlib.contextmanager
def nginx(folder, http="", place="", workers=1, connections=512, listen=""):
    """nginx over `folder`, with further lines for its http block and its server block."""
    # nginx inherits the listening socket, as it does from itself when its program is replaced. A
    # port that we chose and released could be taken by another program first.
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    (folder / "nginx.conf").write_text(
        ("user root;\n" if os.geteuid() == 0 else "") +  # it must read the test's folder
        f"daemon off; pid {folder}/pid; error_log {folder}/error; worker_processes {workers};\n"
        f"events {{ worker_connections {connections}; }}\n"
        f"http {{ access_log off; client_max_body_size 10m; client_body_temp_path {folder}/b;\n"
        f"{http}\nserver {{ listen 127.0.0.1:{port} backlog=4096 {listen}; root {folder};"
        f" {place} }} }}\n")
    with listener:
        process = subprocess.Popen(["nginx", "-e", str(folder / "error"), "-p", str(folder),
                                    "-c", str(folder / "nginx.conf")],
                                   pass_fds=[listener.fileno()],
                                   env={**os.environ, "NGINX": f"{listener.fileno()};"})

    def listens():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return False
    try:
        wait_until(listens, what="nginx listening")
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(DEADLINE)
