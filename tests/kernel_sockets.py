"""The state of a port's connections, from Linux's own table."""

import os
import pathlib

import pytest

from server import wait_until

TABLE = "/proc/net/tcp"
TCP_LISTEN = 10  # the state
needs_table = pytest.mark.skipif(not os.path.exists(TABLE),
                                 reason="no table of the kernel's sockets")


def kernel_sockets(port):
    """For each connection to this port: (state, bytes not yet taken by the peer)."""
    sockets = []
    for line in pathlib.Path(TABLE).read_text().splitlines()[1:]:
        words = line.split()
        state = int(words[3], 16)
        if int(words[1].split(":")[1], 16) == port and state != TCP_LISTEN:
            sockets.append((state, int(words[4].split(":")[0], 16)))
    return sockets


def wait_until_nothing_is_kept(server, baseline):
    """The server closes all but `baseline` of its sockets, and the kernel gives back what they had.
    Returns the most bytes that were unsent at one time."""
    port = server.address[1]
    most = 0

    def are_closed():
        nonlocal most
        most = max(most, sum(count for _, count in kernel_sockets(port)))
        return server.sockets() <= baseline
    wait_until(are_closed, what="the stalled connections closed")
    wait_until(lambda: not kernel_sockets(port), what="nothing kept for them", deadline=10)
    return most
