"""Runs one of the programs of examples/: it prints where it listens, and ends on SIGTERM."""

import re

from server import Server, wait_until


class Example(Server):
    """As the server under test, but started and found by its own words."""

    def __init__(self, binary, *flags, folder, **more):
        super().__init__(binary, None, *flags, folder=folder, **more)

    def leading_words(self, *_):
        return []

    def wait_ready(self, listeners=1):
        def ready():
            self.check_health()
            return len(self.places()) >= listeners and self.stdout.endswith("\n")
        wait_until(ready, what="a line that says where it listens")
        return self

    def places(self):
        """(host, port) of each line, in order."""
        found = re.findall(r"^(?:\w+|listening on) (?:\w+://)?([\w.]+):(\d+)/?$", self.stdout, re.M)
        return [(host, int(port)) for host, port in found]

    @property
    def websocket(self):
        return self.places()[-1]

    @property
    def url(self):
        return "ws://{}:{}/".format(*self.websocket)
