"""The documents site as ./dev docs makes it: every link leads somewhere, and a browser requests
nothing from elsewhere.

Screenshots go to build/test-logs/docs/.
"""

import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import pytest

from server import Server

pytestmark = pytest.mark.slow  # mkdocs is fetched for it

REPOSITORY = Path(__file__).resolve().parent.parent
SITE = REPOSITORY / "build/docs/site"
PICTURES = REPOSITORY / "build/test-logs/docs"
SCREENS = {"desk": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


class Page(HTMLParser):
    """The links and anchors of a page, and what it fetches."""

    def __init__(self, path):
        super().__init__()
        self.links, self.fetched, self.anchors = set(), set(), {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") != "canonical" and given.get("href"):
            self.fetched.add(given["href"])
        elif given.get("src"):
            self.fetched.add(given["src"])


@pytest.fixture(scope="module")
def site():
    done = subprocess.run([sys.executable, REPOSITORY / "tools/docs.py"], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return SITE


def pages_of(site):
    return {path: Page(path) for path in site.rglob("*.html") if path.is_file()}


@pytest.fixture(scope="module")
def url(site, binary, tmp_path_factory):
    server = Server(binary, site, folder=tmp_path_factory.mktemp("docs-server"))
    try:
        server.wait_ready()
        yield "http://{}:{}/".format(*server.address)
        server.stop()
    finally:
        server.kill()


def test_every_link_leads_somewhere(site):
    pages = pages_of(site)
    assert len(pages) > 100
    broken = []
    for path, page in pages.items():
        for link in page.links | page.fetched:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = urllib.parse.unquote(parts.path)
            target = site / place.lstrip("/") if place.startswith("/") else path.parent / place
            target = path if not place else target.resolve()
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file():
                broken.append((str(path.relative_to(site)), link))
            elif target in pages and anchor not in pages[target].anchors:
                broken.append((str(path.relative_to(site)), link))
    assert not broken


def test_no_page_fetches_from_elsewhere(site):
    for path, page in pages_of(site).items():
        for link in page.fetched:
            assert not urllib.parse.urlsplit(link).netloc, (path, link)


class Visit:
    """A browser that records requests that leave 127.0.0.1, and what its console reports."""

    def __init__(self, chromium, scheme, screen):
        self.context = chromium.new_context(color_scheme=scheme, viewport=SCREENS[screen])
        self.page = self.context.new_page()
        self.outside, self.complaints = [], []
        self.context.on("request", self.look_at)
        self.page.on("console", lambda message: self.complaints.append(message.text)
                     if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def look_at(self, request):
        parts = urllib.parse.urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            self.outside.append(request.url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


PAGES = ("", "library/", "coming-from/", "tutorial/5-sign-in/", "reference/http/app/app.h/")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_fit_to_be_seen_and_request_nothing_from_elsewhere(chromium, url, scheme, screen):
    PICTURES.mkdir(parents=True, exist_ok=True)
    with Visit(chromium, scheme, screen) as visit:
        for name in PAGES:
            assert visit.page.goto(url + name, wait_until="networkidle").status == 200
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= SCREENS[screen][
                "width"], name
            dark = visit.page.evaluate("document.body.dataset.mdColorScheme") == "slate"
            assert dark == (scheme == "dark")
            picture = f"{name.strip('/').replace('/', '-') or 'start'}-{scheme}-{screen}.png"
            visit.page.screenshot(path=PICTURES / picture)
        assert not visit.outside
        assert not visit.complaints


def test_the_search_finds_a_page(chromium, url):
    with Visit(chromium, "light", "desk") as visit:
        visit.page.goto(url, wait_until="networkidle")
        visit.page.get_by_placeholder("Search").click()
        visit.page.keyboard.type("rate_limit")
        result = visit.page.locator(".md-search-result__link").first
        result.wait_for()
        assert "rate_limit" in visit.page.locator(".md-search-result__list").inner_text()
        visit.page.screenshot(path=PICTURES / "search.png")
        result.click()
        visit.page.wait_for_load_state("networkidle")
        assert visit.page.url.startswith(url) and visit.page.url != url
        assert not visit.outside


def test_a_request_that_leaves_is_noticed(chromium, url):
    with Visit(chromium, "light", "desk") as visit:
        visit.page.goto(url, wait_until="networkidle")
        visit.page.evaluate("fetch('http://127.0.0.2:9/').catch(() => 0)")
        assert visit.outside == ["http://127.0.0.2:9/"]
