"""examples/files: uploads that are interrupted and go on, by curl and in a browser."""

import base64
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from example_program import Example
from server import wait_until
from test_browser import SCREENS, Visit

CHUNK = 8 << 20  # of the page
TUS = "Tus-Resumable: 1.0.0"
BYTES = "Content-Type: application/offset+octet-stream"


@pytest.fixture
def start(binary, tmp_path):
    """start(): the program on a folder of its own; again: a new process on the same folder."""
    running = []
    program = binary.parent / "examples/files/files"
    if not program.exists():
        pytest.fail(f"{program} is not built")

    def begin(*, address="127.0.0.1:0", **more):
        for one in running:
            one.stop()
        running[:] = [Example(program, tmp_path / "shelf", address, folder=tmp_path, **more)]
        host, port = running[0].wait_ready().places()[0]
        return f"http://{host}:{port}"

    yield begin
    try:
        for one in running:
            one.stop()
    finally:
        for one in running:
            one.kill()


def curl(*words, status):
    """Returns the fields of the answer, by their names in lower case."""
    done = subprocess.run(["curl", "-sS", "-D", "-", "-o", os.devnull, *words],
                          capture_output=True, text=True, timeout=120, check=True)
    head = done.stdout.strip().split("\n\n")[-1].splitlines()
    assert int(head[0].split()[1]) == status, done.stdout
    return dict((name.lower(), value.strip())
                for name, _, value in (line.partition(":") for line in head[1:]))


def create(url, name, length):
    encoded = base64.b64encode(name.encode()).decode()
    made = curl("-X", "POST", "-H", TUS, "-H", f"Upload-Length: {length}",
                "-H", f"Upload-Metadata: filename {encoded}", url + "/uploads", status=201)
    return url + made["location"]


def offset_of(place):
    return int(curl("-I", "-H", TUS, place, status=200)["upload-offset"])


def send_half(place, offset, announced, sent):
    """A request that ends in its middle, once the server counts what came."""
    host, port, path = place.removeprefix("http://").replace("/", ":", 1).split(":", 2)
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        wire.sendall(f"PATCH /{path} HTTP/1.1\r\nHost: localhost\r\n{TUS}\r\n{BYTES}\r\n"
                     f"Upload-Offset: {offset}\r\nContent-Length: {announced}\r\n\r\n"
                     .encode() + sent)
        # A client that leaves takes with it what the handler has not read yet.
        wait_until(lambda: offset_of(place) == offset + len(sent), what="each byte counts")


def test_curl_goes_on_with_what_was_interrupted_and_after_a_restart(start, tmp_path):
    data = os.urandom(3_000_000)
    url = start()
    place = create(url, "../up load.bin", len(data))
    send_half(place, 0, len(data), data[:1_000_000])
    url, path = start(), place.split("/", 3)[3]  # on another port
    place = f"{url}/{path}"
    assert offset_of(place) == 1_000_000
    rest = tmp_path / "rest"
    rest.write_bytes(data[1_000_000:])
    digest = base64.b64encode(hashlib.sha256(rest.read_bytes()).digest()).decode()
    fields = ["-H", TUS, "-H", BYTES, "-H", "Upload-Offset: 1000000"]
    sent = ["-X", "PATCH", "--data-binary", f"@{rest}", place]
    wrong = base64.b64encode(hashlib.sha256(b"other").digest()).decode()
    curl(*fields, "-H", f"Upload-Checksum: sha256 {wrong}", *sent, status=460)
    wrong = base64.b64encode(hashlib.sha1(b"other").digest()).decode()
    curl(*fields, "-H", f"Upload-Checksum: sha1 {wrong}", *sent, status=460)
    answer = curl(*fields, "-H", f"Upload-Checksum: sha256 {digest}", *sent, status=204)
    assert answer["upload-offset"] == str(len(data))
    got = tmp_path / "got"
    got.write_bytes(data[:12345])  # a download that was interrupted
    subprocess.run(["curl", "-sS", "-C", "-", "-o", got, f"{url}/files/up%20load.bin"],
                   check=True, timeout=120)
    assert got.read_bytes() == data
    part = subprocess.run(["curl", "-sS", "-r", "5-9", f"{url}/files/up%20load.bin"],
                          check=True, capture_output=True, timeout=120)
    assert part.stdout == data[5:10]
    assert [one.name for one in (tmp_path / "shelf").iterdir()
            if not one.name.startswith(".")] == ["up load.bin"]
    assert list((tmp_path / "shelf/.unfinished").iterdir()) == []


class Traced:
    """The program under strace, with what is injected; its port and the lines of the trace."""

    def __init__(self, binary, folder, *options):
        if shutil.which("strace") is None:
            pytest.skip("strace is not installed")
        self.trace, self.said = folder / "trace", folder / "said"
        with self.said.open("w") as out:
            self.process = subprocess.Popen(
                ["strace", "-f", "-y", "-o", self.trace, *options, binary.parent /
                 "examples/files/files", folder / "shelf", "127.0.0.1:0"],
                stdout=out, stderr=out, start_new_session=True)

    def __enter__(self):
        def found():
            return re.search(r"^listening on (\S+)/$", self.said.read_text(), re.M)
        try:
            wait_until(lambda: self.process.poll() is not None or found())
            if not found():
                pytest.skip("strace may not trace here: " + self.said.read_text())
        except BaseException:
            self.__exit__()
            raise
        self.url = found()[1]
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)  # with what it traces
        self.process.wait(60)

    def lines(self):
        return self.trace.read_text().splitlines()


def end_upload(place, offset, data, status):
    curl("-X", "PATCH", "-H", TUS, "-H", BYTES, "-H", f"Upload-Offset: {offset}", "-d", data,
         place, status=status)


def test_an_upload_is_forgotten_once_its_file_is_on_the_disk(binary, tmp_path):
    """A crash of the machine leaves the one or the other: the folder is synced in between."""
    with Traced(binary, tmp_path, "-e", "trace=link,linkat,fsync,unlink,unlinkat") as traced:
        place = create(traced.url, "a.txt", 3)
        end_upload(place, 0, "abc", 204)
        name = place.rsplit("/", 1)[1]
        wait_until(lambda: any(f"{name}.json" in line for line in traced.lines()))
        calls = [re.search(r"(link|fsync|unlink)(at)?\(", line)[1] for line in traced.lines()
                 if f"/{name}" in line or f"{tmp_path}/shelf>" in line]
    # The file's bytes, its name, the folder; then the upload and its record.
    assert calls == ["fsync", "link", "fsync", "unlink", "unlink"], traced.lines()


def test_a_file_whose_name_cannot_be_kept_is_still_an_upload(binary, start, tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    with Traced(binary, tmp_path, "-P", folder, "-e", "trace=fsync", "-e",
                "inject=fsync:error=EIO") as traced:
        place = create(traced.url, "a.txt", 3)
        end_upload(place, 0, "abc", 500)
        assert offset_of(place) == 3
        assert [one.name for one in folder.iterdir()] == [".unfinished"]
    place = f"{start()}/{place.split('/', 3)[3]}"
    assert offset_of(place) == 3
    end_upload(place, 3, "", 204)
    assert (folder / "a.txt").read_text() == "abc"


def test_a_newer_request_takes_over_from_one_that_hangs(start):
    place = create(start(), "a", 6)
    host, port, path = place.removeprefix("http://").replace("/", ":", 1).split(":", 2)
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        wire.sendall(f"PATCH /{path} HTTP/1.1\r\nHost: localhost\r\n{TUS}\r\n{BYTES}\r\n"
                     "Upload-Offset: 0\r\nContent-Length: 6\r\n\r\nabc".encode())
        wait_until(lambda: offset_of(place) == 3, what="three bytes are there")
        curl("-X", "PATCH", "-H", TUS, "-H", BYTES, "-H", "Upload-Offset: 3", "-d", "def", place,
             status=204)
        wire.sendall(b"def")
        assert wire.recv(100).split()[1] == b"423"


def test_uploads_are_bounded_from_outside(start):
    url = start(env={"FILES_MAX": "1000", "FILES_ALL_MAX": "1500"})
    options = curl("-X", "OPTIONS", url + "/uploads", status=204)
    assert options["tus-max-size"] == "1000"
    create(url, "a", 1000)
    for length, status in ((1001, 413), (501, 507), (500, 429)):
        curl("-X", "POST", "-H", TUS, "-H", f"Upload-Length: {length}", url + "/uploads",
             status=status)


def test_only_names_that_were_given_are_answered(start):
    url = start(env={"FILES_HOSTS": "files.example.org,nas"})
    for host, status in (("files.example.org", 200), ("NAS:80", 200), ("[::1]:1", 200),
                         ("evil.example", 421)):
        curl("-H", f"Host: {host}", url + "/", status=status)


def test_wrong_words_on_the_command_line_are_explained(binary, tmp_path):
    program = binary.parent / "examples/files/files"
    for words, more, status, text in (
            ([], {}, 2, "usage: files FOLDER [ADDRESS [CERTIFICATE KEY]]\n"),
            ([tmp_path], {"FILES_MAX": "much"}, 2,
             "files: FILES_MAX=much: expected a size such as 500MiB\n"),
            (["/proc/nowhere"], {}, 1, None)):
        done = subprocess.run([program, *words], env={**os.environ, **more}, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == status
        assert text is None or done.stderr == text
        assert done.stderr.startswith(("files: ", "usage: ")) and done.stderr.count("\n") == 1


# ---- in a browser -------------------------------------------------------------------------------


@pytest.fixture
def big_file(tmp_path):
    path = tmp_path / "tides and moons.bin"
    path.write_bytes(os.urandom(3 * CHUNK + 12345))
    return path


def patches(page):
    """The offsets of the page's PATCH requests, in their order, as they are made."""
    offsets = []
    page.on("request", lambda request: request.method == "PATCH" and offsets.append(
        int(request.headers["upload-offset"])))
    return offsets


def test_an_upload_shows_progress_and_goes_on_after_a_lost_connection(chromium, start, big_file,
                                                                      tmp_path):
    with Visit(chromium, "light", "desk") as visit:
        page = visit.page
        offsets = patches(page)
        shown = []
        page.expose_function("note", lambda part: shown.append(part))
        visit.go(start())
        page.evaluate("""() => new MutationObserver(() => {
            const bar = document.querySelector('progress');
            if (bar) note(bar.value / bar.max);
        }).observe(document.getElementById('moving'), {subtree: true, childList: true,
            attributes: true, characterData: true})""")
        failures = []

        def lose_one(route):
            if route.request.headers.get("upload-offset") == str(CHUNK) and not failures:
                failures.append(1)
                return route.abort()
            return route.continue_()
        page.route("**/uploads/*", lose_one)
        page.set_input_files("#choose", big_file)
        page.wait_for_selector("#files a")
        assert page.inner_text("#files a") == big_file.name
        assert offsets == [0, CHUNK, CHUNK, 2 * CHUNK, 3 * CHUNK]
        assert shown == sorted(shown) and len(set(shown)) >= 4 and 0 < shown[len(shown) // 2] < 1
        assert page.is_hidden("#moving")
        assert page.inner_text("#said") == f"{big_file.name} is here."
        assert (tmp_path / "shelf" / big_file.name).read_bytes() == big_file.read_bytes()
        with page.expect_download() as download:
            page.click("#files a")
        assert download.value.path().read_bytes() == big_file.read_bytes()
        visit.picture("files-list-light-desk")
        page.click(f"[aria-label='Remove {big_file.name}']")
        assert "There is nothing here yet." in page.inner_text("#files")


def test_an_upload_goes_on_when_the_file_is_chosen_again(chromium, start, big_file, tmp_path):
    with Visit(chromium, "dark", "phone") as visit:
        page = visit.page
        offsets = patches(page)
        held = []
        page.route("**/uploads/*", lambda route: held.append(route) if
                   route.request.headers.get("upload-offset") == str(2 * CHUNK)
                   else route.continue_())
        visit.go(start())
        page.set_input_files("#choose", big_file)
        wait_until(lambda: page.evaluate("1") and held, what="the third piece is on its way")
        page.click("text=Pause")
        assert "paused" in page.inner_text("#moving li")
        visit.picture("files-paused-dark-phone")
        assert not visit.is_wider_than_the_screen()
        page.unroute("**/uploads/*")
        page.reload()
        offsets.clear()
        page.set_input_files("#choose", big_file)
        page.wait_for_selector("#files a")
        assert offsets == [2 * CHUNK, 3 * CHUNK]
        assert (tmp_path / "shelf" / big_file.name).read_bytes() == big_file.read_bytes()


def test_a_cancelled_upload_leaves_nothing(chromium, start, big_file, tmp_path):
    with Visit(chromium, "light", "desk") as visit:
        page = visit.page
        held = []
        page.route("**/uploads/*", lambda route: held.append(route) if
                   route.request.method == "PATCH" else route.continue_())
        visit.go(start())
        page.set_input_files("#choose", big_file)
        wait_until(lambda: page.evaluate("1") and held, what="the first piece is on its way")
        page.click(f"[aria-label='Cancel {big_file.name}']")
        assert page.is_hidden("#moving")
        unfinished = tmp_path / "shelf/.unfinished"
        wait_until(lambda: page.evaluate("1") and not list(unfinished.iterdir()),
                   what="the server has removed it")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_works_without_javascript_on_every_screen(chromium, start, tmp_path, scheme,
                                                           screen):
    names = ["chart.pdf", "unbroken" * 20 + ".txt", "a harbour in the evening.jpg"]
    for name in names:
        (tmp_path / name).write_bytes(b"x" * 1_234_567)
    with Visit(chromium, scheme, screen, javascript=False) as visit:
        page = visit.page
        visit.go(start())
        visit.picture(f"files-empty-{scheme}-{screen}")
        page.set_input_files("#choose", [tmp_path / name for name in names])
        page.click("text=Upload")
        assert page.locator("#files li").count() == 3
        assert "1.2 MB" in page.inner_text("#files")
        visit.picture(f"files-plain-{scheme}-{screen}")
        assert not visit.is_wider_than_the_screen()
        assert (visit.brightness() > 180) == (scheme == "light")
        page.click("[aria-label='Remove chart.pdf']")
        assert page.locator("#files li").count() == 2
        assert visit.complaints == []
