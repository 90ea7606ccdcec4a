"""The pages that people see, in a real browser: light and dark, on a desk and on a phone.

Screenshots go to build/test-logs/browser/. The browser is the system's Chromium.
"""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PICTURES = REPOSITORY / "build/test-logs/browser"
SCREENS = {"desk": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def folder_of_many_kinds(tmp_path_factory):
    root = tmp_path_factory.mktemp("browsed")
    (root / "README.md").write_text("# Harbour\n\nWhat **lies** here, `why`.\n\n- one\n- two\n")
    for name in ("alpha.txt", "beta.bin", "<script>alert(1)<", "a very long name " * 10 + ".txt",
                 "unbroken" * 25, "潮.txt", "\u202etxt.exe"):
        (root / name).write_bytes(b"x" * (len(name) * 100))
    (root / "docs").mkdir()
    (root / "docs" / "page.html").write_text(
        "<!doctype html><link rel=icon href='data:,'><title>page</title>a page")
    return root


@pytest.fixture(scope="module")
def servers(binary, tmp_path_factory, folder_of_many_kinds):
    from server import Server
    started = {
        "site": Server(binary, REPOSITORY / "site", "--about",
                       folder=tmp_path_factory.mktemp("site-server")),
        "listing": Server(binary, folder_of_many_kinds, "--listing",
                          folder=tmp_path_factory.mktemp("listing-server")),
    }
    try:
        for server in started.values():
            server.wait_ready()
        yield {name: "http://{}:{}".format(*server.address) for name, server in started.items()}
        for server in started.values():
            server.stop()
    finally:
        for server in started.values():
            server.kill()


class Visit:
    """One page on one screen; what it complained about is kept."""

    def __init__(self, chromium, scheme, screen, javascript=True, secure=True):
        # Not secure: the certificate's authority is the test's own, which no browser knows.
        self.context = chromium.new_context(color_scheme=scheme, viewport=SCREENS[screen],
                                            java_script_enabled=javascript,
                                            ignore_https_errors=not secure)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", lambda message: self.complaints.append(
            (message.text, message.location.get("url"))) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append((str(error), None)))

        # How each WebSocket was answered: 101 over HTTP/1.1, 200 on a stream of HTTP/2.
        self.socket_statuses = []
        wire = self.context.new_cdp_session(self.page)
        wire.send("Network.enable")
        wire.on("Network.webSocketHandshakeResponseReceived", lambda told:
                self.socket_statuses.append(told["response"]["status"]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def go(self, url):
        answer = self.page.goto(url, wait_until="networkidle")
        # A browser calls the page's own 404 an error; we asked for it.
        self.complaints = [told for told in self.complaints if told[1] != url]
        return answer

    def is_wider_than_the_screen(self):
        return self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth")

    def brightness(self):
        """Of what is behind the text, 0 to 255."""
        colours = self.page.evaluate("""() => [document.body, document.documentElement]
            .map(e => getComputedStyle(e).backgroundColor)""")
        for colour in colours:
            parts = [float(part) for part in colour[colour.index("(") + 1:-1].split(",")]
            if len(parts) == 3 or parts[3] > 0:
                return sum(parts[:3]) / 3
        return None

    def picture(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


PAGES = {
    "site": ("site", "/", 200, ["It is running.", "Three commands", "epoll", "tiderace 0."]),
    "listing": ("listing", "/", 200, ["alpha.txt", "<script>alert(1)<", "潮.txt", "Harbour",
                                      "docs"]),
    "folder": ("listing", "/docs/", 200, ["page.html"]),
    "error": ("listing", "/absent", 404, ["404"]),
    "error in a site": ("site", "/absent/page", 404, ["404"]),
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_fit_to_be_seen(chromium, servers, name, scheme, screen):
    server, path, status, texts = PAGES[name]
    with Visit(chromium, scheme, screen) as visit:
        assert visit.go(servers[server] + path).status == status
        visit.picture(f"{name}-{scheme}-{screen}".replace(" ", "-"))
        seen = visit.page.inner_text("body")
        for text in texts:
            assert text in seen
        assert not visit.is_wider_than_the_screen()
        assert visit.complaints == []
        brightness = visit.brightness()
        assert brightness is not None
        assert brightness > 180 if scheme == "light" else brightness < 90


@pytest.mark.parametrize("javascript", [True, False])
def test_a_listing_leads_everywhere_with_and_without_javascript(chromium, servers, javascript):
    with Visit(chromium, "light", "desk", javascript) as visit:
        visit.go(servers["listing"] + "/")
        names = visit.page.locator("tbody a").all_inner_texts()
        assert len(names) == 9
        visit.page.click("text=Size")
        assert "sort=size" in visit.page.url
        visit.page.click("text=docs")
        assert visit.page.url.endswith("/docs/")
        visit.page.click("text=page.html")
        assert visit.page.inner_text("body") == "a page"
        assert visit.complaints == []


def test_the_filter_hides_what_was_not_typed(chromium, servers):
    with Visit(chromium, "light", "desk") as visit:
        visit.go(servers["listing"] + "/")
        visit.page.keyboard.press("/")
        visit.page.keyboard.type("ALPHA")
        rows = visit.page.locator("tbody tr:visible")
        assert rows.count() == 1 and "alpha.txt" in rows.inner_text()
        visit.page.keyboard.press("Escape")
        assert rows.count() == 9
        assert visit.complaints == []


# ---- HTTPS, HTTP/2 and a live WebSocket ---------------------------------------------------------

@pytest.fixture(scope="module")
def secure_chat(run_example, tmp_path_factory):
    from certificates import Authority
    authority = Authority(tmp_path_factory.mktemp("chat-authority"), "chat-authority")
    pair = authority.issue("chat", hosts=("localhost", "127.0.0.1"))
    _, port = run_example("chat", "--tls", pair.flag, "--threads", "2").places()[0]
    return f"https://localhost:{port}/"


def two_talk(browser, url, scheme, protocol, status):
    room = f"#room={scheme}-{protocol[-1]}&name="
    with Visit(browser, scheme, "desk", secure=False) as ann, \
            Visit(browser, scheme, "phone", secure=False) as bob:
        for visit, name in ((ann, "Ann"), (bob, "Bob")):
            # networkidle would wait for the WebSocket to end.
            assert visit.page.goto(url + room + name).status == 200
            visit.page.get_by_text(f"in {scheme}-{protocol[-1]} as {name}").wait_for()
            asked = "performance.getEntriesByType('navigation')[0].nextHopProtocol"
            assert visit.page.evaluate(asked) == protocol
            assert visit.page.evaluate("isSecureContext")
        for visit, name, other in ((ann, "Ann", bob), (bob, "Bob", ann)):
            visit.page.get_by_label("Message", exact=True).fill(f"{name} says: 潮")
            visit.page.keyboard.press("Enter")
            other.page.get_by_text(f"{name} says: 潮").wait_for()
        for visit, screen in ((ann, "desk"), (bob, "phone")):
            assert visit.socket_statuses == [status]
            visit.picture(f"chat-{scheme}-{screen}")
            assert not visit.is_wider_than_the_screen()
            assert visit.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_browsers_chat_over_https_and_http2(chromium, secure_chat, scheme):
    two_talk(chromium, secure_chat, scheme, "h2", 200)


def test_two_browsers_chat_over_https_and_http1(old_chromium, secure_chat):
    two_talk(old_chromium, secure_chat, "light", "http/1.1", 101)
