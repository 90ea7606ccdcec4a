"""`tiderace explain` describes a request exactly as the server treats it."""

import random
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server import end
from test_sites import HERE, SERVER, Sites, basic

REPOSITORY = Path(__file__).resolve().parent.parent
LINE = re.compile(
    r"(client|site|route|group|answer|file|cache|script|set|listen|line) +(.*?)(?: +# .*)?$"
)
TARGETS_AT_ONCE = 20
FOLDERS = ["", "a", "a/b", "d", "d/e"]
FILES = ["index.html", "x.html", "c.txt", "n.php"]
TARGETS = [
    "/", "/a", "/a/", "/a/b", "/a/b/", "/a/c.txt", "/a/b/c.txt", "/a/b/x.html", "/ab", "/a/none",
    "/d/e/x.html", "/d/e", "/d/c.txt", "/x.html", "/a/%62/./c.txt", "/a//b/../c.txt", "/n.php/a",
    "/none/c.txt", "/d/x%20y",
]  # fmt: skip
PATHS = ["/a", "/a/b", "=/a/b", "=/a", "/d", "/d/e", "*.txt", "*.html", "/a/**/c.txt", "/?/c.txt",
         "", "/none", "~[.]txt$", "~^/(a|d)/([^/]*)(/x)?", "~^/a$"]  # fmt: skip
LOG = '[log]\naccess = "access.log"\n'
HOSTS = ["a.test", "A.test:80", "a.test.", "x.b.test", "y.x.b.test", "b.test", "other.test"]


@dataclass
class Said:
    """What explain printed."""

    answer: str = ""
    names: list = field(default_factory=list)
    caches: dict = field(default_factory=dict)  # by name: Cache-Control
    settings: dict = field(default_factory=dict)
    line: str = ""  # of the access log
    status: int = 0  # of the answer
    text: str = ""


def explain(binary, file, urls, *words, status=0):
    """The output for each URL."""
    done = subprocess.run(
        [binary, "explain", file, *urls, *words], capture_output=True, timeout=60, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return [said_in(text) for text in done.stdout.split("\n\n")]


def said_in(text):
    said = Said(text=text)
    for line in text.splitlines():
        what, text = LINE.match(line).groups()
        if what == "answer":
            said.answer = text
        elif what == "line":
            said.line = text
        elif what == "file":
            said.names.append(text)
        elif what == "cache":
            said.caches[said.names[-1]] = text
        elif what == "set":
            key, _, value = text.partition(" = ")
            key = key + "." + value.strip('"').lower() if key == "response.remove" else key
            said.settings[key] = value.strip('"')
    return said


class Written:
    """A random configuration, by a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.number = 0

    def maybe(self, share):
        return self.random.random() < share

    def text(self):
        self.is_behind = self.maybe(0.3)
        lines = ['trusted_proxies = ["127.0.0.1"]'] if self.is_behind else []
        lines += ['[users]\nstaff = { anna = "secret" }']
        for name in ("one", "two"):
            lines += [f"[preset.{name}]", *self.settings(0.3)]
        for hosts in ('hosts = ["a.test"]', 'hosts = ["*.b.test", "b.test"]', "default = true"):
            if hosts.startswith("default") and self.maybe(0.3):
                continue
            lines += ["[[site]]", hosts, 'root = "www"', *self.settings(0.3), *self.presets()]
            if self.maybe(0.2) and hosts.startswith('hosts = ["a.t'):
                lines.append('canonical_host = "a.test"')
            for _ in range(self.random.randrange(12)):
                lines += self.route()
        return "\n".join(lines) + "\n"

    def presets(self):
        names = self.random.sample(["one", "two"], self.random.randrange(3))
        return [f"use = [{', '.join(map(repr, names))}]"] if names else []

    def settings(self, share):
        self.number += 1
        some = {
            "auth": ['{ users = "staff" }'],
            "cors": ['"*"', '"https://app.test"', '"off"'],
            "response.set.X-A": [f'"a{self.number}"'],
            "response.set.x-b": [f'"b{self.number}"'],
            "response.remove": ['["X-A"]', '["X-B", "X-A"]'],
            "error_pages.404": ['"404.html"', '"x.html"'],
            "error_pages.503": ['"503.html"'],
            "log": ['"off"', '"access.log"'],
        }
        keys = [key for key in some if self.maybe(share / 2)]
        return [f"{key} = {self.random.choice(some[key])}" for key in keys]

    def route(self):
        lines = ["[[site.route]]"]
        path = self.random.choice(PATHS)
        if path:
            lines.append(f'path = "{path}"')
        conditions = {
            "method": ['"POST"', '["GET", "PUT"]'],
            "header": ['{ X-Mode = "a*" }', "{ X-Mode = false }", "{ x-mode = true }"],
            "query": ['{ q = "1" }', "{ q = false }", "{ z = true }"],
            "remote": ['"127.0.0.0/8"', '"10.0.0.0/8"'],
            "scheme": ['"http"', '"https"'],
            "priority": ["1", "-1"],
        }
        chosen = [key for key in conditions if self.maybe(0.15)]
        lines += [f"{key} = {self.random.choice(conditions[key])}" for key in chosen]
        self.number += 1
        answers = [
            f'redirect = "https://away.test/{self.number}{{rest}}"',
            f'redirect = "/to/{self.number}"\nstatus = 302',
            f'respond = "text {self.number}"',
            f'respond = "gone {self.number}"\nstatus = 410',
            "deny = true",
            "deny = 403",
            "status = 503",
        ]
        files = [
            'root = "other"',
            "listing = true",
            'index = ["x.html"]',
            'try = ["{path}", "/x.html"]',
            'try = ["{path}", "/none/{rest}", 410]',
            'rewrite = "/a{path}"',
        ]
        if self.maybe(0.4):
            lines.append(self.random.choice(answers))
        elif self.maybe(0.6):
            lines.append(self.random.choice(files))
            if not set(chosen) - {"priority"} and self.maybe(0.5):
                lines.append(f'cache_control = "max-age={self.number}"')
        elif not set(chosen) - {"priority"} and self.maybe(0.3):
            lines.append(f'cache_control = "max-age={self.number}"')
        lines += self.settings(0.5)
        if self.maybe(0.2):
            lines += ['auth = "off"'] if not any(s.startswith("auth") for s in lines) else []
        return lines + self.presets()

    def requests(self, count):
        """Each with some targets."""
        for _ in range(0, count, TARGETS_AT_ONCE):
            yield self.request()

    def request(self):
        fields = []
        if self.maybe(0.5):
            fields.append(f"X-Mode: {self.random.choice(['abc', 'b', ''])}")
        if self.maybe(0.7):
            fields.append(basic("anna:secret"))
        if self.maybe(0.3):
            fields.append("Origin: https://app.test")
        if self.maybe(0.3):
            fields.append("X-Forwarded-For: 10.1.2.3, 127.0.0.1")
        return {
            "targets": [
                self.random.choice(TARGETS) + self.random.choice(["", "?q=1", "?q=2&z", "?"])
                for _ in range(TARGETS_AT_ONCE)
            ],
            "host": self.random.choice(HOSTS),
            "method": self.random.choice(["GET"] * 5 + ["HEAD", "POST", "PUT"]),
            "fields": fields,
        }


def write_folders(folder):
    for root in ("www", "other"):
        for inner in FOLDERS:
            (folder / root / inner).mkdir(parents=True, exist_ok=True)
            for name in FILES:
                path = folder / root / inner / name
                path.write_text(str(path.relative_to(folder)))
        for name in ("404.html", "503.html"):
            (folder / root / name).write_text(f"page {name}")


def check_fields(said, answer):
    for key, value in said.settings.items():
        if key.startswith("response.set."):
            assert answer.all(key.removeprefix("response.set.")) == [value], key
        if key.startswith("response.remove."):
            assert answer.all(key.removeprefix("response.remove.")) == [], key


def check_error(said, status, request, answer):
    page = said.settings.get(f"error_pages.{status}")
    assert answer.status == status
    if page and request["method"] != "HEAD":
        assert answer.text in (f"page {page}", f"www/{page}")


def check_files(said, folder, request, answer):
    """Of the names that are tried, the first that is there."""
    tries = said.settings.get("try", "")
    names = [folder / name for name in said.names]
    # Each name that is tried means a file; the last one means a folder where it is one.
    takes_folders = names[-1:] if tries and not tries.endswith("410]") else [] if tries else names
    there = [n for n in names if n.is_file() or (n in takes_folders and n.is_dir())]
    first = there[0] if there else None
    if first is None and tries.endswith("410]"):
        check_error(said, 410, request, answer)
    elif request["method"] not in ("GET", "HEAD"):
        assert answer.status == 405
    elif first is None:
        assert answer.status in (403, 404, 200, 308, 301), answer
        if answer.status == 404:
            check_error(said, 404, request, answer)
        assert answer.status != 200 or said.settings.get("listing") == "true"
    elif first.is_dir():
        assert answer.status in (301, 308), answer
    else:
        assert answer.status == 200, answer
        if request["method"] == "GET":
            assert answer.text == str(first.relative_to(folder))
        assert answer.get("Cache-Control") == said.caches.get(str(first))


def check(said, folder, request, answer):
    check_fields(said, answer)
    kind, *rest = said.answer.split(" ", 2)
    wants = said.settings.get("auth", "off") != "off" and said.answer != "status 421"
    is_canonical = said.answer.startswith("redirect 308 http://a.test")
    origin = said.settings.get("cors", "off")
    if "Origin: https://app.test" in request["fields"] and not is_canonical:
        expected = [] if origin == "off" else [origin]
        assert answer.all("Access-Control-Allow-Origin") == expected
    if wants and not is_canonical and basic("anna:secret") not in request["fields"]:
        assert answer.status == 401
    elif kind == "redirect":
        assert (str(answer.status), answer.get("Location")) == tuple(rest)
    elif kind == "respond":
        assert str(answer.status) == rest[0]
        if request["method"] != "HEAD":
            assert f'"{answer.text}"' == rest[1]
    elif kind in ("deny", "status"):
        check_error(said, int(rest[0]), request, answer)
    else:
        assert kind == "files"
        check_files(said, folder, request, answer)


def compare(binary, file, request, connection):
    words = ["-X", request["method"], "-H", f"Host: {request['host']}"]
    words += [word for each in request["fields"] for word in ("-H", each)]
    urls = ["http://127.0.0.1" + target for target in request["targets"]]
    all_said = explain(binary, file, urls, *words)
    for target, said in zip(request["targets"], all_said, strict=True):
        answer = connection.get(
            target, *request["fields"], host=request["host"], method=request["method"]
        )
        said.names = [str(Path(name).relative_to(file.parent)) for name in said.names]
        said.status = answer.status
        try:
            check(said, file.parent, request, answer)
        except AssertionError as fault:
            raise AssertionError(f"{fault}\n{target} {request}\n{said.text}\n{answer}\n{file}")
    return all_said


def check_log(asked, log):
    """Exactly the lines of the output; 0 stands for numbers that only an answer has."""
    expected = [(said.line, said.status) for said in asked if said.line]
    parts = re.compile(r'(.*?) \[.*?\] (".*") (\d+) \d+ (".*" ".*")')
    for (said, status), line in zip(expected, log.splitlines(), strict=True):
        ours, theirs = parts.fullmatch(said).groups(), parts.fullmatch(line).groups()
        assert (ours[:2], ours[3]) == (theirs[:2], theirs[3])
        assert int(theirs[2]) == status
        assert ours[2] in ("0", theirs[2]) or status == 401, (said, line)


def test_what_explain_says_is_what_the_server_does(binary, tmp_path, pytestconfig):
    files, requests = pytestconfig.getoption("--explained")
    kinds = set()
    for seed in range(files):
        folder = tmp_path / str(seed)
        write_folders(folder)
        file = folder / "tiderace.toml"
        for attempt in range(50):  # some contradict themselves
            written = Written(f"{seed} {attempt}")
            file.write_text(HERE + LOG + SERVER + written.text())
            if subprocess.run([binary, "check", file], capture_output=True).returncode == 0:
                break
        server = Sites(binary, file, folder=folder)
        asked = []
        try:
            server.wait_ready(1)
            with server.connect() as connection:
                for request in written.requests(requests):
                    asked += compare(binary, file, request, connection)
        finally:
            end([server])
        kinds |= {said.answer.split()[0] for said in asked}
        check_log(asked, (folder / "access.log").read_text())
    assert {"files", "redirect", "respond", "deny", "status"} <= kinds


def test_the_block_of_the_document(binary, tmp_path):
    text = (REPOSITORY / "docs/sites.md").read_text()
    (tmp_path / "tiderace.toml").write_text(re.search(r"^```toml\n(.*?)^```", text, re.M | re.S)[1])
    shown = re.search(r"^```\n(site .*?)^```", text, re.M | re.S)[1]
    done = subprocess.run(
        [binary, "explain", "tiderace.toml", "http://example.org/old-blog/7"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == shown


def test_no_file_but_the_configuration_is_opened(binary, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[[site]]\nroot = "/none"\nauth = { users = "./none" }\nfallback = "i.html"\n')
    assert [said.answer for said in explain(binary, file, ["http://a/b", "http://b/"])] == [
        "files /none"
    ] * 2
    explain(binary, tmp_path / "b.toml", ["http://a/b"], status=2)
    explain(binary, file, ["http://a/b", "a/b"], status=2)
    file.write_text("[[site]]\nrot = 1\n")
    explain(binary, file, ["http://a/b"], status=1)
