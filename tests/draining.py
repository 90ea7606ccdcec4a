"""How a server ends on request: the same for every engine."""

import time

from raw_client import Connection, request
from server import wait_until
from site_folder import HUGE


def refuses(address):
    try:
        Connection(address, deadline=2).close()
        return False
    except OSError:
        return True


def finish_the_running_download(server, number):
    """Told to end while one connection downloads and one is idle. It serves huge.bin."""
    address = server.address
    with server.connect(receive_bytes=16384) as running, server.connect() as idle:
        assert idle.get("/a.txt").status == 200
        running.send(request("/huge.bin"))
        assert running.read_head().status == 200
        server.signal(number)
        assert idle.wait_end()
        wait_until(lambda: refuses(address), what="no new connections")
        assert server.alive()
        running.skip(HUGE, time.monotonic() + 100)
        assert running.wait_end()
        assert server.wait_exit() == 0


def end_at_once(server, number, connections):
    """Told to end while so many are idle."""
    connections = [server.connect() for _ in range(connections)]
    for connection in connections:
        assert connection.get("/a.txt").status == 200
    server.signal(number)
    assert server.wait_exit() == 0
    for connection in connections:
        assert connection.wait_end()
        connection.close()
