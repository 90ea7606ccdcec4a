"""Lighthouse's scores of each page of Tidepool, and the bytes of its first page.

tools/suite_needs.py installs the npm package at the versions of tests/lighthouse/package-lock.json.
"""

import json
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from test_browser import Visit
from test_tidepool import PAGES, Member, tidepool  # noqa: F401: the fixture

pytestmark = pytest.mark.slow  # an npm package

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parent / "build/tools/lighthouse"
FIRST_PAGE_BYTES_MAX = 60_000
GUEST_PAGES = ["/", "/sign-up", "/log-in", "/about", "/nowhere"]


def ratings(launch_chromium, *flags):
    """Gives rate(addresses, cookie, language): one report for each address."""
    if not (INSTALLED / "installed-lock.json").exists():
        if shutil.which("node") is None or shutil.which("npm") is None:
            pytest.skip("no Node.js with npm here")
        pytest.skip(f"no {INSTALLED}: ./dev test installs it, with Node.js 18.16 or newer")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    browser = launch_chromium(f"--remote-debugging-port={port}", *flags)
    as_it_is = browser.new_context(color_scheme="null")
    is_dark = as_it_is.new_page().evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert is_dark == bool(flags)
    as_it_is.close()

    def rate(addresses, cookie="", language=""):
        asked = {"port": port, "cookie": cookie, "language": language, "addresses": addresses}
        done = subprocess.run(["node", HERE / "lighthouse/rate.mjs", INSTALLED],
                              input=json.dumps(asked), capture_output=True, text=True, timeout=380,
                              check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    yield rate
    browser.close()


@pytest.fixture(scope="module")
def lighthouse(launch_chromium):
    yield from ratings(launch_chromium)


@pytest.fixture(scope="module")
def dark_lighthouse(launch_chromium):
    yield from ratings(launch_chromium, "--blink-settings=preferredColorScheme=0")


def assert_perfect(reports, addresses):
    assert [one["address"] for one in reports] == addresses
    for one in reports:
        assert not one.get("fault"), one
        if one["address"].endswith("/nowhere"):
            # The browser reports each 404 on its console, which Lighthouse counts as our error.
            (audit, items), = one["lost"]
            assert audit == "errors-in-console" and "status of 404" in items, one
            assert len(json.loads(items)) == 1 and one["scores"]["accessibility"] == 1, one
            continue
        assert one["scores"] == {"accessibility": 1, "best-practices": 1}, one


def test_pages_of_guests_have_full_marks(tidepool, lighthouse):
    addresses = [tidepool + path for path in GUEST_PAGES]
    assert_perfect(lighthouse(addresses), addresses)


@pytest.fixture(scope="module")
def ada(chromium, tidepool):
    """(cookie, pages): hers, with one to edit."""
    with Member(chromium, tidepool, "ada_1") as ada:
        ada.go("/members/ada_1")
        post = ada.page.locator("article").first.get_attribute("id").removeprefix("post-")
        cookie = "; ".join(f"{one['name']}={one['value']}" for one in ada.context.cookies())
    return cookie, [*PAGES, f"/posts/{post}/edit"]


# In parts: each has the time of one test.
@pytest.mark.parametrize("part", [0, 1, 2])
def test_pages_of_members_have_full_marks(tidepool, lighthouse, ada, part):
    cookie, pages = ada
    addresses = [tidepool + path for path in pages[part::3]]
    assert_perfect(lighthouse(addresses, cookie), addresses)


def test_dark_chinese_pages_of_guests_have_full_marks(tidepool, dark_lighthouse):
    addresses = [tidepool + path for path in GUEST_PAGES]
    assert_perfect(dark_lighthouse(addresses, language="zh-CN"), addresses)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_dark_chinese_pages_of_members_have_full_marks(tidepool, dark_lighthouse, ada, part):
    cookie, pages = ada
    addresses = [tidepool + path for path in pages[part::3]]
    assert_perfect(dark_lighthouse(addresses, cookie, "zh-CN"), addresses)


@pytest.mark.parametrize("screen", ["desk", "phone"])
def test_the_first_page_is_light(chromium, tidepool, screen):
    with Visit(chromium, "light", screen) as visit:
        wire = visit.context.new_cdp_session(visit.page)
        wire.send("Network.enable")
        loaded = []
        wire.on("Network.loadingFinished", lambda told: loaded.append(told["encodedDataLength"]))
        visit.go(tidepool + "/")
        print(f"first page: {sum(loaded)} bytes in {len(loaded)} answers")
        assert len(loaded) >= 3  # the page, its style, its script
        assert 0 < sum(loaded) < FIRST_PAGE_BYTES_MAX
