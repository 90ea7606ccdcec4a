"""ServeOptions::watchdog on a real program (tests/samples/blocked.cc)."""

import http.client
import sys

import pytest

from server import wait_until


@pytest.fixture
def blocked(sample):
    return sample("blocked")


def get(blocked, path):
    client = http.client.HTTPConnection(*blocked.places()[0], timeout=60)
    client.request("GET", path)
    answer = client.getresponse().read()
    client.close()
    assert answer == b"done\n"


def test_a_handler_that_blocks_is_logged_once_with_its_stack(blocked):
    get(blocked, "/block")
    wait_until(lambda: "turns again" in blocked.stderr, what="the end of the block")
    lines = [line for line in blocked.stderr.splitlines() if "a handler blocks its loop" in line]
    assert len(lines) == 1
    assert "route=/block" in lines[0]
    if sys.platform == "linux":
        assert "block_for_half_a_second()" in blocked.stderr
    get(blocked, "/block")
    wait_until(lambda: blocked.stderr.count("turns again") == 2, what="the second end")
    assert blocked.stderr.count("a handler blocks its loop") == 2


def test_a_task_that_waits_and_a_loop_that_idles_are_not_logged(blocked):
    get(blocked, "/wait")
    get(blocked, "/block")  # the watchdog has checked all before this
    wait_until(lambda: "turns again" in blocked.stderr, what="the end of the block")
    assert blocked.stderr.count("a handler blocks its loop") == 1
