"""examples/tidepool over a real port, by two browsers, with and without scripts."""

import time

import pytest

from test_browser import SCREENS, Visit

PASSWORD = "tidepool"  # of every member of the demo
PAGES = ["/", "/members/ada_1", "/members/ada_1/followers", "/posts/3", "/search?q=tide",
         "/tags/tide", "/notifications", "/settings", "/about", "/nowhere"]


@pytest.fixture(scope="module")
def tidepool(run_example, tmp_path_factory):
    database = tmp_path_factory.mktemp("tidepool") / "tidepool.db"
    program = run_example("tidepool", "--listen", "127.0.0.1:0", "--demo", "20",
                          env={"TIDEPOOL_DB": f"sqlite:{database}"})
    return "http://{}:{}".format(*program.places()[0])


class Member(Visit):
    """A browser in which somebody is logged in."""

    def __init__(self, chromium, site, name, scheme="light", screen="desk", javascript=True):
        super().__init__(chromium, scheme, screen, javascript)
        self.site = site
        if name:
            self.go("/log-in")
            self.page.fill("#who", name)
            self.page.fill("#password", PASSWORD)
            self.page.click("main button")
            self.page.wait_for_url(site + "/")

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
        self.page.click("form[action='/posts'] button")
        self.page.wait_for_load_state()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_its_screen_and_complains_of_nothing(chromium, tidepool, scheme, screen):
    with Member(chromium, tidepool, None, scheme, screen) as guest:
        for path in ("/", "/sign-up", "/log-in"):
            assert guest.go(path).status == 200
            assert not guest.is_wider_than_the_screen(), path
            guest.picture(f"tidepool-guest{path.replace('/', '-')}-{scheme}-{screen}")
        assert not guest.complaints
    with Member(chromium, tidepool, "ada_1", scheme, screen) as ada:
        for path in PAGES:
            answer = ada.go(path)
            assert answer.status == (404 if path == "/nowhere" else 200), path
            assert not ada.is_wider_than_the_screen(), path
            name = path.split("?")[0].strip("/").replace("/", "-") or "feed"
            ada.picture(f"tidepool-{name}-{scheme}-{screen}")
        assert not [one for one in ada.complaints if "/nowhere" not in (one[1] or "")]


def test_two_members_follow_like_and_hear_of_each_other(chromium, tidepool):
    with Member(chromium, tidepool, "brook_2") as brook, \
            Member(chromium, tidepool, "coral_3", screen="phone") as coral:
        coral.go("/members/brook_2")
        if coral.page.get_by_role("button", name="Unfollow").count() == 0:
            coral.page.get_by_role("button", name="Follow").click()
            coral.page.wait_for_load_state()
        coral.go("/")
        coral.until("document.querySelector('time').textContent.length > 0")
        brook.write("two browsers, one tide #live")
        # The open page hears of it without being loaded again.
        coral.page.wait_for_selector("#new-posts:not([hidden])", timeout=60_000)
        coral.page.click("#new-posts a")
        post = coral.page.locator("article", has_text="two browsers, one tide").first
        post.locator("[data-like] button").click()
        coral.until("document.querySelector('article [data-like] button.liked') !== null")
        assert post.locator("[data-likes]").inner_text() == "1"
        brook.go("/about")
        brook.until("Number(document.querySelector('#unseen').textContent) > 0")
        brook.go("/notifications")
        assert "likes your post" in brook.page.inner_text("main")
        assert not brook.complaints and not coral.complaints


def test_a_feed_goes_on_below_its_page(chromium, tidepool):
    with Member(chromium, tidepool, "ada_1") as ada:
        ada.go("/")
        first = ada.page.locator("article").count()
        assert first == 20
        ada.page.mouse.wheel(0, 100_000)
        ada.until("document.querySelectorAll('article').length > 20")
        assert ada.page.locator("form[action='/posts']").count() == 1


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


def test_a_script_in_every_field_runs_nowhere(chromium, tidepool):
    attack = ("\"><script>document.title='owned'</script>"
              "<img src=x onerror=\"document.title='owned'\">")
    with Member(chromium, tidepool, "ebb_5") as ebb:
        ebb.write(attack)
        ebb.go("/settings")
        ebb.page.fill("#name", attack[:50])
        ebb.page.fill("#about", attack)
        ebb.page.click("form[action='/settings/profile'] button")
        ebb.page.wait_for_load_state()
        for path in ("/", "/members/ebb_5", "/settings", "/search?q=%22%3E%3Cscript%3Edocument"):
            ebb.go(path)
            assert ebb.page.title() != "owned", path
            assert ebb.page.locator("main script, main img[src=x]").count() == 0, path
        assert not ebb.complaints
