"""The pages that people see, in a real browser: light and dark, on a desk and on a phone.

Screenshots go to build/test-logs/browser/. The browser is the system's Chromium.
"""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

REPOSITORY = Path(__file__).resolve().parent.parent
PICTURES = REPOSITORY / "build/test-logs/browser"
SCREENS = {"desk": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def folder_of_many_kinds(tmp_path_factory):
    root = tmp_path_factory.mktemp("browsed")
    (root / "README.md").write_text("# Harbour\n\nWhat **lies** [here](docs/), `why`.\n\n"
                                      "- one\n- two\n\n```sh\n" + "wide " * 80 + "\n```\n\n"
                                      "| berth | plan |\n|---|---|\n| west | [map](docs/) |\n\n"
                                      "| flag | default |" + " more |" * 9 + "\n"
                                      "|---|--:|" + "---|" * 9 + "\n"
                                      "| `--listen ADDR` | 127.0.0.1:8080 |" + " a word |" * 9)
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
    """One page on one screen; collects its console errors."""

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
        """The lightness behind the text, 0 to 255."""
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
        names = visit.page.locator("main > table tbody a").all_inner_texts()
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
        rows = visit.page.locator("main > table tbody tr:visible")
        assert rows.count() == 1 and "alpha.txt" in rows.inner_text()
        assert visit.page.locator(".readme tbody tr:visible").count() == 2
        visit.page.keyboard.type("?")
        assert rows.count() == 0
        assert visit.page.get_by_role("status").inner_text() == "No match for \u201cALPHA?\u201d."
        visit.page.keyboard.press("Escape")
        assert rows.count() == 9
        assert visit.page.get_by_role("status").inner_text() == ""
        assert visit.complaints == []


def test_the_filter_leaves_the_columns_as_wide_as_they_are(chromium, servers):
    with Visit(chromium, "light", "desk") as visit:
        visit.go(servers["listing"] + "/")
        widths = """[...document.querySelectorAll("th")].map(e => e.offsetWidth)"""
        before = visit.page.evaluate(widths)
        visit.page.fill("#filter", "alpha")
        assert visit.page.evaluate(widths) == before


def test_a_phone_shows_the_date_on_a_second_line(chromium, servers):
    with Visit(chromium, "light", "phone") as visit:
        visit.go(servers["listing"] + "/")
        row = visit.page.locator("tbody tr", has_text="alpha.txt")
        name, date = row.locator("td a").bounding_box(), row.locator("time").bounding_box()
        assert date is not None and date["y"] >= name["y"] + name["height"] - 1


def test_the_lines_of_a_long_name_begin_below_each_other(chromium, servers):
    with Visit(chromium, "light", "phone") as visit:
        visit.go(servers["listing"] + "/")
        begins = visit.page.locator("tbody tr", has_text="alpha.txt").locator("td a").evaluate(
            """link => {
                link.firstChild.textContent = "a long name of a file ".repeat(9)
                const text = document.createRange()
                text.selectNodeContents(link.firstChild)
                return [...text.getClientRects()].map(line => Math.round(line.left))
            }""")
        assert len(begins) > 2 and len(set(begins)) == 1


@pytest.mark.parametrize("screen", SCREENS)
def test_a_name_begins_beside_its_picture_however_long_it_is(chromium, servers, screen):
    with Visit(chromium, "light", screen) as visit:
        visit.go(servers["listing"] + "/")
        links = """[...document.querySelectorAll("main>table tbody a")]"""
        tops = visit.page.evaluate(links + """.map(link => {
            const text = document.createRange()
            text.selectNodeContents(link.firstChild)
            return text.getClientRects()[0].top - link.getBoundingClientRect().top
        })""")
        assert max(tops) - min(tops) < 3


@pytest.mark.parametrize("screen", SCREENS)
def test_a_wide_table_is_scrolled_and_breaks_no_word(chromium, servers, screen):
    with Visit(chromium, "light", screen) as visit:
        visit.go(servers["listing"] + "/")
        lines = """[...document.querySelectorAll(".readme td")].filter(
                cell => /^[-0-9]/.test(cell.textContent)).map(cell => {
            const text = document.createRange()
            text.selectNodeContents(cell)
            const lines = [...text.getClientRects()].map(line => Math.round(line.bottom / 9))
            return new Set(lines).size
        })"""
        assert visit.page.evaluate(lines) == [1, 1]
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if screen == "phone":
            wide = visit.page.locator(".readme div").last
            assert wide.evaluate("e => e.scrollWidth > e.clientWidth")


def test_a_readme_can_be_told_apart_and_scrolled_without_a_mouse(chromium, servers):
    """The rules link-in-text-block and scrollable-region-focusable of axe."""
    with Visit(chromium, "light", "desk") as visit:
        visit.go(servers["listing"] + "/")
        link = visit.page.locator(".readme p a")
        assert "underline" in link.evaluate("e => getComputedStyle(e).textDecorationLine")
        out_of_reach = """[...document.querySelectorAll("*")].filter(e => e.tabIndex < 0 &&
            e.scrollWidth > e.clientWidth &&
            /auto|scroll/.test(getComputedStyle(e).overflowX)).map(e => e.outerHTML)"""
        assert visit.page.evaluate(out_of_reach) == []
        assert visit.page.locator(".readme pre").evaluate("e => e.scrollWidth > e.clientWidth")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name, path", [("listing", "/"), ("listing", "/lost"), ("site", "/")])
def test_axe_finds_nothing_in_the_servers_own_pages(chromium, servers, name, path, scheme, screen):
    with Visit(chromium, scheme, screen) as visit:
        visit.go(servers[name] + path)
        found = Axe().run(visit.page).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


# ---- HTTPS, HTTP/2 and a live WebSocket ---------------------------------------------------------

@pytest.fixture(scope="module")
def harbour(binary, tmp_path_factory):
    """tests/samples/routes.cc, whose /docs has a form for each route."""
    from example_program import Example
    folder = tmp_path_factory.mktemp("harbour")
    running = Example(binary.parent / "tests/samples/sample_routes", "127.0.0.1:0", folder,
                      folder=folder)
    try:
        yield "http://{}:{}".format(*running.wait_ready().places()[0])
        running.stop()
    finally:
        running.kill()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_routes_are_tried_on_a_page_of_their_document(chromium, harbour, scheme, screen):
    with Visit(chromium, scheme, screen) as visit:
        asked = []
        visit.page.on("request", lambda request: asked.append(request.url))
        assert visit.go(harbour + "/docs").status == 200
        page = visit.page
        assert "What is sent comes back" in page.inner_text("body")
        page.get_by_label("token").fill("key")
        rigs = page.locator("details", has_text="/rigs/{rig}")
        rigs.locator("summary").click()
        rigs.get_by_label("rig (path)").fill("ketch")
        rigs.get_by_label("body").fill("<script>document.title = 'run'</script>")
        rigs.get_by_role("button").click()
        shown = "document.querySelectorAll('details pre:not([hidden])').length"
        page.wait_for_function(shown + " === 2")
        assert "200 OK" in rigs.get_by_role("status").inner_text()
        assert "<script>document.title" in rigs.inner_text()
        boats = page.locator("details", has_text="POST").filter(has_text="/boats")
        boats.locator("summary").click()
        body = boats.get_by_label("body")
        assert '"name"' in body.input_value()  # an example of its schema
        visit.picture(f"try-page-{scheme}-{screen}")
        assert not visit.is_wider_than_the_screen()
        assert page.title() == "Harbour"
        assert visit.complaints == []
        brightness = visit.brightness()
        assert brightness > 180 if scheme == "light" else brightness < 90
        assert Axe().run(page).response["violations"] == []
        assert all(url.startswith((harbour, "data:")) for url in asked)
        # What its policy forbids does not happen.
        page.evaluate("fetch('http://127.0.0.1:1/').catch(() => { document.title = 'refused' })")
        page.wait_for_function("document.title === 'refused'")
        assert any("Content Security Policy" in text for text, _ in visit.complaints)


@pytest.fixture(scope="module")
def secure_chat(run_example, tmp_path_factory):
    from certificates import Authority
    authority = Authority(tmp_path_factory.mktemp("chat-authority"), "chat-authority")
    pair = authority.issue("chat", hosts=("localhost", "127.0.0.1"))
    _, port = run_example("chat", "127.0.0.1:0", str(pair.certificate), str(pair.key)).places()[0]
    return f"https://localhost:{port}/"


@pytest.fixture(scope="module")
def plain_chat(run_example):
    return "http://{}:{}/".format(*run_example("chat", "127.0.0.1:0").places()[0])


def members(visit):
    return sorted(visit.page.locator("#members li").all_inner_texts())


def wait_for_members(visit, *names):
    visit.page.wait_for_function(
        """names => [...document.querySelectorAll('#members li')].map(e => e.textContent).sort()
           .join() === names.sort().join()""", arg=list(names))


def say(visit, text):
    visit.page.get_by_label("Message", exact=True).fill(text)
    visit.page.keyboard.press("Enter")


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
            wait_for_members(visit, "Ann", "Bob")
            say(visit, f"{name} says: 潮")
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


def enter(visit, url, name, room):
    assert visit.page.goto(f"{url}#room={room}&name={name}").status == 200
    visit.page.get_by_text(f"in {room} as {name}").wait_for()


def test_two_tabs_see_who_comes_and_goes_and_nobody_else(chromium, plain_chat):
    with Visit(chromium, "dark", "desk") as ann, Visit(chromium, "light", "phone") as bob, \
            Visit(chromium, "light", "desk") as eve:
        enter(ann, plain_chat, "Ann", "pier")
        enter(eve, plain_chat, "Eve", "elsewhere")
        wait_for_members(ann, "Ann")
        enter(bob, plain_chat, "Bob", "pier")
        for visit in (ann, bob):
            wait_for_members(visit, "Ann", "Bob")
        text = "<b>no markup</b> & \"quotes\" \u2028 " + "wide " * 60
        say(ann, text)
        bob.page.get_by_text("<b>no markup</b>").wait_for()
        say(bob, "and " + "unbroken" * 40)
        ann.page.get_by_text("unbroken").wait_for()
        for visit, name in ((ann, "chat-talk-dark-desk"), (bob, "chat-talk-light-phone")):
            visit.picture(name)
            assert not visit.is_wider_than_the_screen()
        bob.page.get_by_role("button", name="Leave").click()
        wait_for_members(ann, "Ann")
        assert members(eve) == ["Eve"] and eve.page.locator("#said li").count() == 0
        for visit in (ann, bob, eve):
            assert visit.complaints == []


def test_a_tab_connects_again_when_the_server_is_back(chromium, binary, tmp_path):
    from example_program import Example
    program = binary.parent / "examples" / "chat" / "chat"

    def start(address):
        chat = Example(program, address, folder=tmp_path)
        chat.wait_ready()
        return chat

    first = start("127.0.0.1:0")
    host, port = first.places()[0]
    try:
        with Visit(chromium, "light", "phone") as ann:
            enter(ann, f"http://{host}:{port}/", "Ann", "pier")
            say(ann, "before")
            ann.page.get_by_text("before").wait_for()
            first.stop()
            ann.page.get_by_text("trying again").wait_for()
            assert ann.page.get_by_role("button", name="Send").is_disabled()
            second = start(f"{host}:{port}")
            try:
                ann.page.get_by_text("in pier as Ann").wait_for(timeout=60_000)
                ann.page.get_by_text("connected again").wait_for()
                say(ann, "afterwards")
                ann.page.get_by_text("afterwards").wait_for()
                assert ann.page.get_by_text("before").is_visible()
                wait_for_members(ann, "Ann")
                ann.picture("chat-again-light-phone")
            finally:
                second.stop()
    finally:
        first.kill()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chat_asks_for_a_name(chromium, plain_chat, scheme, screen):
    with Visit(chromium, scheme, screen) as visit:
        visit.go(plain_chat)
        assert "default-src 'self'" in visit.go(plain_chat).headers["content-security-policy"]
        visit.picture(f"chat-enter-{scheme}-{screen}")
        visit.page.get_by_label("Your name").fill("潮 O'Neill")
        visit.page.get_by_label("Room").fill(f"a room & {scheme}{screen}")
        visit.page.keyboard.press("Enter")
        visit.page.get_by_text("as 潮 O'Neill").wait_for()
        wait_for_members(visit, "潮 O'Neill")
        visit.picture(f"chat-alone-{scheme}-{screen}")
        assert not visit.is_wider_than_the_screen()
        assert visit.complaints == []
