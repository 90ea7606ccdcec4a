"""The soak of soak.py: a few seconds in every run, a minute with TIDERACE_SOAK_SECONDS=60."""

import os

import pytest

from server import wait_until
from soak import Soak

SECONDS = float(os.environ.get("TIDERACE_SOAK_SECONDS") or 12)


@pytest.mark.timeout(SECONDS * 2 + 120)
def test_a_soak_leaves_memory_and_descriptors_flat_and_no_answer_wrong(
        serve, site, sanitized, tmp_path):
    server = serve(site, "--header-timeout", "20s", "--access-log", tmp_path / "access.log",
                   "--max-connections", "5000", threads=2)
    warm = Soak(server.address, SECONDS / 4, seed=1).run()
    assert not warm.wrong, warm.wrong
    wait_until(lambda: server.descriptors() < 60, what="connections given back")
    descriptors, memory = server.descriptors(), server.pss_bytes()
    soak = Soak(server.address, SECONDS * 3 / 4, seed=2).run()
    assert not soak.wrong, soak.wrong
    assert soak.counts["checked answers"] > 100
    print(f"{SECONDS} s: {dict(soak.counts)}")
    wait_until(lambda: server.descriptors() <= descriptors, what="connections given back")
    print(f"memory: {memory} bytes, then {server.pss_bytes()}")
    if not sanitized:
        assert server.pss_bytes() - memory < 2 << 20
