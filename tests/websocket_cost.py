"""The memory of an open WebSocket, and the processor time of an echo.

websocket_cost.py PROGRAM PATH [sockets [echoes]]: `websocket_rooms` has its echo as a task at
/echo, the example `echo` has one of callbacks at /.
"""

import re
import resource
import select
import subprocess
import sys

from websocket_fanout import cpu_seconds, pss_mib
from websocket_wire import TEXT, WebSocket, frame, head

BUSY = 1000  # sockets that take part in the echoes
TEXT_BYTES = 64


def echo_all(sockets, rounds):
    """`rounds` echoes on each, one at a time on each; every byte is checked."""
    asked = frame(TEXT, "x" * TEXT_BYTES)
    expected = head(TEXT, TEXT_BYTES, masked=False) + b"x" * TEXT_BYTES
    left = {one.fileno(): [one, rounds, b""] for one in sockets}
    poll = select.epoll()
    for fd, (one, _, _) in left.items():
        poll.register(fd, select.EPOLLIN)
        one.sendall(asked)
    while left:
        for fd, _ in poll.poll():
            state = left[fd]
            state[2] += state[0].recv(1 << 16)
            if len(state[2]) < len(expected):
                continue
            assert state[2] == expected
            state[1], state[2] = state[1] - 1, b""
            if state[1] > 0:
                state[0].sendall(asked)
            else:
                poll.unregister(fd)
                del left[fd]
    poll.close()


def measure(program, path, count=10_000, echoes=200_000):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200,
                                                resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    flag = "--websocket" if path == "/" else "--listen"
    server = subprocess.Popen([program, flag, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        lines = [server.stdout.readline() for _ in range(2 if path == "/" else 1)]  # TCP, too
        port = int(re.search(r":(\d+)/?$", lines[-1])[1])
        address = ("127.0.0.1", port)
        idle = pss_mib(server.pid)
        sockets = [WebSocket(address, path).connection.socket for _ in range(count)]
        opened = pss_mib(server.pid)
        echo_all(sockets[:BUSY], 5)
        began = cpu_seconds(server.pid)
        echo_all(sockets[:BUSY], echoes // BUSY)
        used = cpu_seconds(server.pid) - began
        print(f"{count} sockets: Pss {idle:.1f} MiB before, {opened:.1f} MiB with them, "
              f"{(opened - idle) * 1024 * 1024 / count:.0f} bytes each; {echoes} echoes of "
              f"{TEXT_BYTES} bytes on {BUSY}: {used / echoes * 1e6:.2f} µs of processor time each")
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    measure(*sys.argv[1:3], *map(int, sys.argv[3:]))
