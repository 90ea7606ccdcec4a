"""The soak of soak.py: a few seconds in every run, a minute with TIDERACE_SOAK_SECONDS=60."""

import os
import shutil

import pytest

from certificates import Authority
from changing_site import Deploying, Releases, Renewing
from server import wait_until
from soak import Soak

pytestmark = pytest.mark.slow  # it goes on until it is stopped

SECONDS = float(os.environ.get("TIDERACE_SOAK_SECONDS") or 12)


@pytest.fixture
def changes(serve, tmp_path):
    """Two servers of a site that is deployed by a link: one whose certificate changes, if there is
    openssl to make some."""
    (tmp_path / "site").mkdir()
    releases = Releases(tmp_path / "site")
    all_changes = [Deploying(releases, serve(releases.link, threads=2).address)]
    if shutil.which("openssl"):
        renewing = Renewing(Authority(tmp_path, "tide"), releases)
        secure = serve(releases.link, "--tls", renewing.place.flag, threads=2)
        all_changes.append(renewing.serve_with(secure))
    return all_changes


@pytest.mark.timeout(SECONDS * 2 + 120)
def test_a_soak_leaves_memory_and_descriptors_flat_and_no_answer_wrong(
        serve, site, sanitized, tmp_path, changes):
    server = serve(site, "--header-timeout", "20s", "--access-log", tmp_path / "access.log",
                   "--max-connections", "5000", threads=2)
    warm = Soak(server.address, SECONDS / 4, seed=1).run()
    assert not warm.wrong, warm.wrong
    wait_until(lambda: server.descriptors() < 60, what="connections given back")
    descriptors, memory = server.descriptors(), server.pss_bytes()
    soak = Soak(server.address, SECONDS * 3 / 4, seed=2, changes=changes).run()
    assert not soak.wrong, soak.wrong
    assert soak.counts["checked answers"] > 100
    print(f"{SECONDS} s: {dict(soak.counts)}")
    for change in changes:
        print(change)
    for kind in ("deploying", "reading", *(["renewing", "shaking_hands"] * (len(changes) - 1))):
        assert soak.counts[kind] > 0, kind
    wait_until(lambda: server.descriptors() <= descriptors, what="connections given back")
    print(f"memory: {memory} bytes, then {server.pss_bytes()}")
    if not sanitized:
        assert server.pss_bytes() - memory < 2 << 20
