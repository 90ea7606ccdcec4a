"""`tiderace top` of the real program, in a terminal and without one."""

import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest

from test_site_metrics import TWO, start  # noqa: F401
from test_sites import make, sites  # noqa: F401

DEADLINE = 60.0


def test_without_a_terminal_it_prints_one_picture(start):  # noqa: F811
    it = start()
    it.server.of("one.example", "/")
    done = it.use("top", it.file)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert any(line.startswith("connections   ") for line in lines)
    assert "generation    1, 1 alive" in lines and "last reload   none" in lines
    assert re.fullmatch(r"requests/s +\d+\.\d, \d+ in flight", lines[-3])
    assert sorted(line.split()[-1] for line in lines[-2:]) == ["default", "one.example"]
    assert "\x1b" not in done.stdout


def test_without_metrics_nothing_is_counted(start):  # noqa: F811
    it = start(metrics="")
    done = it.use("top", "--socket", it.socket)
    assert done.returncode == 0
    assert "requests/s    not counted" in done.stdout


def test_where_nobody_answers_it_says_so(start, tmp_path):  # noqa: F811
    it = start()
    done = it.use("top", "--socket", tmp_path / "absent.sock")
    assert done.returncode == 2 and "no server has this admin socket" in done.stderr
    done = it.use("top")
    assert done.returncode == 2 and "top needs a file, or --socket PATH" in done.stderr


class Terminal:
    def __init__(self, *words):
        self.mine, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (20, 80))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        self.heard = ""
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=theirs, stdout=theirs, stderr=theirs
        )

    def wait_for(self, pattern):
        until = time.monotonic() + DEADLINE
        while not (found := re.search(pattern, self.heard)):
            assert time.monotonic() < until, f"{pattern} in {self.heard!r}"
            if select.select([self.mine], [], [], 0.1)[0]:
                self.heard += os.read(self.mine, 65536).decode()
        return found

    def end(self):
        """Its exit status, and whether it restores the terminal."""
        self.wait_for(re.escape("\x1b[?1049l"))
        status = self.process.wait(DEADLINE)
        same = termios.tcgetattr(self.theirs) == self.before
        os.close(self.mine)
        os.close(self.theirs)
        return status, same


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_in_a_terminal_it_lives_until_a_key(binary, start, key):  # noqa: F811
    it = start()
    terminal = Terminal(binary, "top", it.file)
    terminal.wait_for(re.escape("\x1b[?1049h"))
    terminal.wait_for("generation    1, 1 alive")
    it.write(TWO.replace('"other"', '"another"'))
    assert it.use("reload", it.file).returncode == 0
    terminal.wait_for("generation    2, ")
    os.write(terminal.mine, b"x")
    os.write(terminal.mine, key)
    assert terminal.end() == (0, True)


def test_a_signal_leaves_the_terminal_as_it_was(binary, start):  # noqa: F811
    it = start()
    terminal = Terminal(binary, "top", it.file)
    terminal.wait_for("generation    1, 1 alive")
    terminal.process.terminate()
    assert terminal.end() == (0, True)


def test_a_server_that_ends_ends_it(binary, start):  # noqa: F811
    it = start()
    terminal = Terminal(binary, "top", it.file)
    terminal.wait_for("generation    1, 1 alive")
    it.server.stop()
    terminal.wait_for("no server has this admin socket")
    status, same = terminal.end()
    assert (status, same) == (2, True)
