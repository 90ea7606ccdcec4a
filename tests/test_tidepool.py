"""examples/tidepool over a real port, by two browsers, with and without scripts."""

import re
import struct
import time
import zlib

import pytest
from axe_playwright_python.sync_playwright import Axe

from test_browser import SCREENS, Visit

PASSWORD = "tidepool"  # of every member of the demo
PAGES = ["/", "/members/ada_1", "/members/brook_2", "/members/ada_1/followers",
         "/members/ada_1/following", "/posts/3", "/search", "/search?q=tide",
         "/search?q=nothingofthiskind", "/tags/tide", "/notifications", "/settings",
         "/settings/muted", "/settings/blocked", "/about",
         "/nowhere"]
GUEST_PAGES = ["/", "/sign-up", "/log-in", "/about", "/members/brook_2", "/posts/3", "/nowhere"]
FAULTS = {"/nowhere": 404, "/posts/x": 400}


def a_picture(width=300, height=200):
    """A PNG of a shore: bytes that any decoder takes."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + bytes((30 + y % 200, 120, 160) * width) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def picture_file(name="shore.png"):
    return {"name": name, "mimeType": "image/png", "buffer": a_picture()}


def accessible(page):
    """The findings of axe, in words: none."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], node["html"]) for one in found for node in one["nodes"]]


@pytest.fixture(scope="module")
def tidepool(run_example, tmp_path_factory):
    database = tmp_path_factory.mktemp("tidepool") / "tidepool.db"
    program = run_example("tidepool", "--listen", "127.0.0.1:0", "--demo", "20",
                          env={"TIDEPOOL_DB": f"sqlite:{database}",
                               "TIDEPOOL_MODERATORS": "lark_12"})
    return "http://{}:{}".format(*program.places()[0])


class Member(Visit):
    """A browser with a member logged in."""

    def __init__(self, chromium, site, name, scheme="light", screen="desk", javascript=True):
        super().__init__(chromium, scheme, screen, javascript)
        self.site = site
        if name:
            # All of these tests have one address, and it has a limit of log-ins.
            while self.log_in(name) == 429:
                self.page.wait_for_timeout(1000)
            assert self.page.url == site + "/"

    def log_in(self, name):
        self.go("/log-in")
        return self.press_log_in(name)

    def press_log_in(self, name):
        self.page.fill("#who", name)
        self.page.fill("#password", PASSWORD)
        with self.page.expect_navigation(wait_until="load", timeout=120_000) as answered:
            self.page.click("main button")
        return answered.value.status

    def go(self, path):
        # Not until the network is idle: a page of a member has an event stream open.
        return self.page.goto(self.site + path, wait_until="load")

    def until(self, expression):
        """Asked from here again and again: the pages let no script be made of a text."""
        deadline = time.monotonic() + 60
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, expression
            self.page.wait_for_timeout(50)

    def write(self, text):
        self.go("/")
        self.page.fill("#body", text)
        self.page.click("form[data-post] button")
        self.page.wait_for_url(self.site + "/")
        self.page.wait_for_load_state()

    def count(self, text):
        return self.page.locator("article", has_text=text).count()


def other_complaints(visit):
    """Without the complaints that a browser logs for each answer of 400 and above."""
    return [one for one in visit.complaints
            if not any((one[1] or "").endswith(path) for path in FAULTS)]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_its_screen_and_complains_of_nothing(chromium, tidepool, scheme, screen):
    with Member(chromium, tidepool, None, scheme, screen) as guest:
        for path in GUEST_PAGES:
            assert guest.go(path).status == FAULTS.get(path, 200), path
            assert not guest.is_wider_than_the_screen(), path
            assert accessible(guest.page) == [], path
            guest.picture(f"tidepool-guest{path.replace('/', '-')}-{scheme}-{screen}")
        assert other_complaints(guest) == []
    with Member(chromium, tidepool, "ada_1", scheme, screen) as ada:
        ada.go("/members/ada_1")
        own = ada.page.locator("article a[href$='/edit']").first.get_attribute("href")
        for path in [*PAGES, "/posts/x", own]:
            assert ada.go(path).status == FAULTS.get(path, 200), path
            assert not ada.is_wider_than_the_screen(), path
            assert accessible(ada.page) == [], path
            name = "edit" if path == own else re.sub("[/?=]", "-", path.strip("/")) or "feed"
            ada.picture(f"tidepool-{name}-{scheme}-{screen}")
        assert other_complaints(ada) == []


LONG_NAME = "W" * 50
LONG_USERNAME = "w" * 30
FULL_PAGES = ["/notifications", "/settings", "/settings/muted", "/settings/blocked", "/reports",
              f"/members/{LONG_USERNAME}", "/"]


@pytest.fixture(scope="module")
def crowded(chromium, tidepool):
    """lark_12 has something on each page, much of it from the longest of names."""
    with Member(chromium, tidepool, None) as guest:
        guest.go("/sign-up")
        for field, text in (("name", LONG_NAME), ("username", LONG_USERNAME), ("again", PASSWORD),
                            ("email", "w@example.org"), ("password", PASSWORD)):
            guest.page.fill(f"#{field}", text)
        guest.page.keyboard.press("Enter")
        guest.page.wait_for_url(tidepool + "/")
        guest.write(f"{'x' * 200} @lark_12 #{'long' * 12} \u6f6e\u6c34\u9000\u4e86")
        guest.go("/members/lark_12")
        guest.page.locator("[data-follow] button").click()
        guest.page.wait_for_load_state()
    with Member(chromium, tidepool, "lark_12") as lark:
        lark.go(f"/members/{LONG_USERNAME}")
        lark.page.locator("article summary").first.click()
        lark.page.get_by_role("button", name="Report").click()
        lark.page.wait_for_url("**notice=reported")
        for member, button in ((LONG_USERNAME, "Mute"), ("ada_1", "Block")):
            lark.page.once("dialog", lambda dialog: dialog.accept())
            lark.go(f"/members/{member}")
            lark.page.get_by_role("button", name=button, exact=True).click()
            lark.page.wait_for_load_state()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme, screen", [("light", "phone"), ("dark", "phone"),
                                            ("dark", "desk")])
def test_pages_full_of_long_names_fit(chromium, tidepool, crowded, scheme, screen, language):
    with Member(chromium, tidepool, "lark_12", scheme, screen) as lark:
        if language == "zh":
            with lark.page.expect_navigation():  # a click alone does not wait for the next page
                lark.page.click("footer button[name=language]")
        for path in FULL_PAGES:
            assert lark.go(path).status == 200, path
            assert lark.page.locator("html").get_attribute("lang") == language
            assert lark.page.locator(".empty").count() == 0, path
            assert not lark.is_wider_than_the_screen(), path
            assert accessible(lark.page) == [], path
            name = re.sub("[/?=]", "-", path.strip("/")) or "feed"
            lark.picture(f"tidepool-full-{name}-{language}-{scheme}-{screen}")
        assert not lark.complaints


def test_two_members_follow_like_and_hear_of_each_other(chromium, tidepool):
    with Member(chromium, tidepool, "brook_2") as brook, \
            Member(chromium, tidepool, "coral_3", screen="phone") as coral:
        coral.go("/members/brook_2")
        if coral.page.get_by_role("button", name="Unfollow").count() == 0:
            coral.page.get_by_role("button", name="Follow").click()
            coral.page.wait_for_load_state()
        coral.go("/")
        coral.until("document.querySelector('time').textContent.length > 0")
        coral.until("document.body.dataset.liveBy === 'socket'")
        brook.write("two browsers, one tide #live")
        # The open page hears of it without being loaded again.
        coral.page.wait_for_selector("#new-posts:not([hidden])", timeout=60_000)
        coral.page.click("#new-posts a")
        post = coral.page.locator("article", has_text="two browsers, one tide").first
        post.locator("[data-like] button").click()
        # This post's own, because the demo's members also like others.
        post.locator("[data-like] button.liked").wait_for(timeout=60_000)
        assert post.locator("[data-likes]").inner_text() == "1"
        brook.until("Number(document.querySelector('#unseen').textContent) > 0")
        brook.go("/notifications")
        assert "likes your post" in brook.page.inner_text("main")
        assert not brook.complaints and not coral.complaints


NO_SOCKETS = """window.WebSocket = class {
  constructor() { this.calls = {}; setTimeout(() => this.calls.close({ code: 1006 }), 0); }
  addEventListener(name, call) { this.calls[name] = call; }
};"""


def test_where_no_socket_passes_an_event_stream_brings_the_notice(chromium, tidepool):
    with Member(chromium, tidepool, "dune_4") as dune, \
            Member(chromium, tidepool, "ebb_5", screen="phone") as ebb:
        ebb.page.add_init_script(NO_SOCKETS)
        ebb.go("/about")
        ebb.until("document.body.dataset.liveBy === 'events'")
        dune.write("a shell for @ebb_5")
        ebb.until("document.querySelector('#toast').textContent.includes('mentioned you')")
        ebb.until("Number(document.querySelector('#unseen').textContent) > 0")
        assert accessible(ebb.page) == []
        ebb.picture("tidepool-notice-light-phone")


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/St_Johns"])
def test_times_are_those_of_the_readers_zone(chromium, tidepool, zone):
    with Member(chromium, tidepool, "brook_2") as brook:
        wire = brook.context.new_cdp_session(brook.page)
        wire.send("Emulation.setTimezoneOverride", {"timezoneId": zone})
        brook.go("/posts/3")
        # Relative, "2 hours ago", and beneath the pointer the moment itself.
        shown, moment = brook.page.evaluate("""zone => {
            const time = document.querySelector("article time");
            const at = new Date(time.dateTime);
            return [time.title, ["UTC", zone].map(z => at.toLocaleString("en", { timeZone: z }))];
        }""", zone)
        utc, local = moment
        assert shown == local and local != utc


def test_a_feed_goes_on_below_its_page(chromium, tidepool):
    with Member(chromium, tidepool, "ada_1") as ada:
        ada.go("/")
        first = ada.page.locator("article").count()
        assert first == 20
        ada.page.mouse.wheel(0, 100_000)
        ada.until("document.querySelectorAll('article').length > 20")
        assert ada.page.locator("form[data-post]").count() == 1


def test_it_works_without_scripts(chromium, tidepool):
    with Member(chromium, tidepool, "dune_4", javascript=False) as dune:
        dune.write("written without a script")
        post = dune.page.locator("article", has_text="written without a script").first
        post.locator("[data-like] button").click()
        dune.page.wait_for_load_state()
        post = dune.page.locator("article", has_text="written without a script").first
        assert post.locator("[data-likes]").inner_text() == "1"
        post.locator("summary").click()
        post.get_by_role("button", name="Delete").click()
        dune.page.wait_for_load_state()
        assert dune.page.locator("article", has_text="written without a script").count() == 0


ATTACKS = ["\"><script>document.title='owned'</script>",
           "'><img src=x onerror=document.title='owned'>", "</textarea><svg onload=alert(1)>",
           "javascript:document.title='owned'", "{{ 7 * 7 }} {% if %}"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_script_in_every_field_runs_nowhere(chromium, tidepool, attack):
    with Member(chromium, tidepool, "ebb_5") as ebb:
        ebb.page.on("dialog", lambda _: ebb.complaints.append(("a dialog", None)))
        ebb.go("/")
        ebb.page.fill("#body", attack)
        ebb.page.click("summary:text('Add a picture')")
        ebb.page.set_input_files("#picture", picture_file(attack.replace("/", "") + ".png"))
        ebb.page.fill("#alt", attack)
        ebb.page.click("form[data-post] button")
        ebb.page.wait_for_load_state()
        assert ebb.page.locator("article img.picture").first.get_attribute("alt") == attack
        ebb.page.locator("article a[href^='/posts/']").first.click()
        ebb.page.wait_for_load_state()
        ebb.page.fill("#body", attack)
        ebb.page.click("form[data-post] button")
        ebb.page.wait_for_load_state()
        thread = ebb.page.url
        ebb.go("/settings")
        ebb.page.fill("#name", attack[:50])
        ebb.page.fill("#about", attack)
        ebb.page.click("form[action='/settings/profile'] button")
        ebb.page.wait_for_load_state()
        ebb.go("/")
        ebb.page.fill("#find", attack)
        ebb.page.keyboard.press("Enter")
        ebb.page.wait_for_load_state()
        assert ebb.page.input_value("#q") == attack
        for path in ("/", "/members/ebb_5", "/settings", thread[len(tidepool):]):
            ebb.go(path)
            assert ebb.page.title() != "owned", path
            assert ebb.page.locator("main script, main img[src=x], main svg[onload]").count() == 0
            assert ebb.page.locator("a[href^='javascript']").count() == 0
        assert attack in ebb.page.inner_text("main")
        assert not ebb.complaints


def test_a_picture_is_sent_seen_and_gone(chromium, tidepool):
    with Member(chromium, tidepool, "fern_6") as fern, \
            Member(chromium, tidepool, "gull_7", scheme="dark", screen="phone") as gull:
        fern.go("/")
        fern.page.fill("#body", "low water at the shore")
        fern.page.click("summary:text('Add a picture')")
        fern.page.set_input_files("#picture", picture_file())
        fern.page.fill("#alt", "A shore at low water")
        fern.page.click("form[data-post] button")
        fern.page.wait_for_url(tidepool + "/")
        fern.go("/settings")
        fern.page.set_input_files("#picture", picture_file())
        fern.page.click("form[action='/settings/face'] button")
        fern.page.wait_for_url("**/settings?notice=saved")
        fern.picture("tidepool-settings-face-light-desk")
        gull.go("/members/fern_6")
        shore = gull.page.locator("article img.picture")
        assert shore.get_attribute("alt") == "A shore at low water"
        gull.until("[...document.querySelectorAll('main img')].every(e => e.naturalWidth > 0)")
        assert not gull.is_wider_than_the_screen()
        assert accessible(gull.page) == []
        gull.picture("tidepool-picture-dark-phone")
        address = shore.get_attribute("src")
        told = gull.page.request.get(tidepool + address)
        assert told.headers["content-type"] == "image/webp"
        assert told.headers["x-content-type-options"].startswith("nosniff")
        # Opened by itself it is a picture, and runs nothing.
        gull.go(address)
        assert gull.page.locator("img").count() == 1
        fern.go("/settings")
        fern.page.set_input_files("#picture", {"name": "x.png", "mimeType": "image/png",
                                               "buffer": b"<svg onload=alert(1)>"})
        fern.page.click("form[action='/settings/face'] button")
        fern.page.wait_for_load_state()
        assert "This is no JPEG" in fern.page.inner_text("[role=alert]")
        # The browser's own style for a picture alone is refused, as any style is there.
        assert not [one for one in gull.complaints if address not in (one[1] or "")]


def test_back_and_a_second_press_post_once(chromium, tidepool):
    with Member(chromium, tidepool, "heron_8") as heron:
        heron.go("/")
        heron.page.fill("#body", "pressed twice, said once")
        with heron.page.expect_navigation():  # or the next page would stop the form on its way
            heron.page.dblclick("form[data-post] button")
        heron.go("/members/heron_8")
        assert heron.count("pressed twice, said once") == 1
        heron.go("/")
        heron.page.go_back()
        heron.page.wait_for_load_state()
        heron.page.go_back()
        heron.page.wait_for_load_state()
        # A form that Back brought again may be sent again.
        heron.go("/")
        heron.write("after going back")
        heron.go("/members/heron_8")
        assert heron.count("pressed twice, said once") == 1
        assert heron.count("after going back") == 1
        heron.page.locator("article summary").first.click()
        heron.page.locator("article a", has_text="Edit").first.click()
        heron.page.wait_for_url("**/edit")
        assert accessible(heron.page) == []
        heron.picture("tidepool-edit-light-desk")
        heron.page.go_back()
        # Reloading what a form led to sends nothing.
        heron.page.reload()
        assert heron.count("after going back") == 1


def test_offline_nothing_is_lost_and_afterwards_it_goes_on(chromium, tidepool):
    with Member(chromium, tidepool, "isle_9") as isle:
        isle.write("before the cable broke")
        like = isle.page.locator("article [data-like] button").first
        isle.context.set_offline(True)
        isle.page.fill("#body", "typed while offline")
        isle.page.evaluate("window.dispatchEvent(new Event('offline'))")
        isle.page.click("form[data-post] button")
        isle.page.wait_for_selector("#offline:not([hidden])")
        assert isle.page.input_value("#body") == "typed while offline"
        isle.context.set_offline(False)
        isle.page.evaluate("window.dispatchEvent(new Event('online'))")
        isle.page.wait_for_selector("#offline", state="hidden")
        isle.page.click("form[data-post] button")
        isle.page.wait_for_load_state()
        isle.go("/members/isle_9")
        assert isle.count("typed while offline") == 1
        assert like is not None


def test_a_member_ends_the_session_of_another_browser(chromium, tidepool):
    with Member(chromium, tidepool, "jetty_10") as here, \
            Member(chromium, tidepool, "jetty_10", screen="phone") as there:
        here.go("/settings")
        assert here.page.locator("#logins li").count() == 2
        assert here.page.locator("#logins li", has_text="this browser").count() == 1
        here.page.locator("#logins li form button").click()
        here.page.wait_for_load_state()
        assert here.page.locator("#logins li").count() == 1
        there.go("/settings")
        assert there.page.url.endswith("/log-in?back=%2Fsettings")


@pytest.mark.parametrize("screen", SCREENS)
def test_a_text_outlives_the_log_in(chromium, tidepool, screen):
    with Member(chromium, tidepool, "quay_17") as here, \
            Member(chromium, tidepool, "quay_17", screen=screen) as there:
        here.write("A heron sleeps in the boathouse.")
        post = here.page.locator("article", has_text="A heron sleeps in the boathouse.").first
        there.go("/" + post.locator("a[href^='/posts/']").first.get_attribute("href").lstrip("/"))
        place = there.page.url
        there.page.fill("#body", "Which <one>?\nAll of them?")
        here.go("/settings")
        here.page.locator("form[action='/settings/log-out-elsewhere'] button").click()
        here.page.wait_for_load_state()
        there.page.click("form[data-post] button")
        there.page.wait_for_selector("#who")
        assert "your text is here again" in there.page.inner_text("[role=alert]")
        assert accessible(there.page) == []
        there.picture(f"tidepool-logged-out-{screen}")
        # All of these tests have one address, and it has a limit of log-ins.
        while there.press_log_in("quay_17") == 429:
            there.page.go_back()
            there.page.wait_for_timeout(1000)
        assert there.page.input_value("#body") == "Which <one>?\nAll of them?"
        there.page.click("form[data-post] button")
        there.page.wait_for_url(place + "#post-*")
        assert there.count("Which <one>?") == 1
        # Under what is removed, it stays.
        here.go("/")
        post = here.page.locator("article", has_text="A heron sleeps in the boathouse.").first
        post.locator("summary").click()
        here.page.on("dialog", lambda dialog: dialog.accept())
        post.locator("form[action$='/delete'] button").click()
        here.page.wait_for_load_state()
        there.go(place.removeprefix(there.site))
        assert there.count("Which <one>?") == 1
        assert "This post was removed." in there.page.inner_text("main")
        assert accessible(there.page) == []
        assert not there.is_wider_than_the_screen()
        there.picture(f"tidepool-removed-{screen}")


def test_a_guest_signs_up_by_keyboard_in_chinese(chromium, tidepool):
    with Member(chromium, tidepool, None, screen="phone") as guest:
        guest.go("/sign-up")
        guest.page.click("footer button[name=language]")
        guest.page.wait_for_load_state()
        assert guest.page.locator("html").get_attribute("lang") == "zh"
        guest.page.focus("#name")
        for text in ("潮", "chao_1", "chao@example.org", "a long password", "a long password"):
            guest.page.keyboard.type(text)
            guest.page.keyboard.press("Tab")
        guest.page.keyboard.press("Enter")
        guest.page.wait_for_url(tidepool + "/")
        guest.write("潮水退了 #海边")
        assert guest.page.locator("a[href^='/tags/']").first.inner_text() == "#海边"
        assert accessible(guest.page) == []
