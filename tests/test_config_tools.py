"""The commands around a configuration file: fmt, dump, init."""

import json
import os
import pty
import re
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

from server import end
from test_sites import Sites

REPOSITORY = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"^```toml\n(.*?)^```", (REPOSITORY / "docs/sites.md").read_text(), re.M | re.S)
CORPUS = sorted((REPOSITORY / "fuzz/corpus/config").iterdir())


def use(binary, *words, status=0, **more):
    """What a command that ends with `status` wrote."""
    done = subprocess.run([binary, *map(str, words)], capture_output=True, timeout=60, **more)
    assert done.returncode == status, done.stdout + done.stderr
    return done


# tiderace fmt.

UNTIDY = b"""[[ listen ]]
address=":8080"# here
# a comment, which stays
[[site]]
  root = "www"


  route=[
{path="/a",redirect="/b"},   # first
      { path = "/c", deny = true}
  ]"""
TIDY = b"""[[listen]]
address = ":8080"  # here
# a comment, which stays
[[site]]
root = "www"

route = [
  { path = "/a", redirect = "/b" },  # first
  { path = "/c", deny = true }
]
"""


def formatted(binary, path, text):
    path.write_bytes(text)
    use(binary, "fmt", path)
    return path.read_bytes()


def test_fmt_puts_a_file_in_order_and_a_second_time_changes_nothing(binary, tmp_path):
    file = tmp_path / "a.toml"
    assert formatted(binary, file, UNTIDY) == TIDY
    before = file.stat()
    assert formatted(binary, file, TIDY) == TIDY
    use(binary, "fmt", file)
    assert (file.stat().st_ino, os.listdir(tmp_path)) == (before.st_ino, ["a.toml"])
    assert use(binary, "fmt", "--check", file).stdout == b""


def test_fmt_check_names_the_lines_and_writes_nothing(binary, tmp_path):
    file = tmp_path / "a.toml"
    file.write_bytes(UNTIDY)
    out = use(binary, "fmt", "a.toml", "--check", status=1, cwd=tmp_path).stdout.decode()
    assert file.read_bytes() == UNTIDY
    assert [line.split(":")[1] for line in out.splitlines()] == list("125789") + ["10", "11"]
    assert out.startswith('a.toml:1: [[ listen ]]\na.toml:2: address=":8080"# here\n')


def test_fmt_leaves_a_file_that_is_no_toml(binary, tmp_path):
    file = tmp_path / "a.toml"
    for text in (b"a =  1\nb = \n", b"a=1\na=2\n", b'a="\n"', b"\xff=1\n"):
        file.write_bytes(text)
        done = use(binary, "fmt", file, status=1)
        assert b"error" in done.stderr and file.read_bytes() == text
    assert b"no such file" in use(binary, "fmt", tmp_path / "none.toml", status=2).stderr
    assert use(binary, "fmt", tmp_path, status=2).stderr
    assert b"needs a file" in use(binary, "fmt", status=2).stderr


def test_fmt_writes_through_a_link_and_keeps_the_mode(binary, tmp_path):
    (tmp_path / "inner").mkdir()
    file, link = tmp_path / "inner/a.toml", tmp_path / "link.toml"
    file.write_bytes(UNTIDY)
    file.chmod(0o640)
    link.symlink_to("inner/a.toml")
    use(binary, "fmt", link)
    assert link.is_symlink() and file.read_bytes() == TIDY
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "inner") == ["a.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_fmt_of_a_folder_that_is_closed(binary, tmp_path):
    file = tmp_path / "a.toml"
    file.write_bytes(UNTIDY)
    tmp_path.chmod(0o555)
    try:
        assert b"cannot" in use(binary, "fmt", file, status=1).stderr
    finally:
        tmp_path.chmod(0o755)
    assert file.read_bytes() == UNTIDY


def same_meaning(binary, path, text):
    """Whatever the text: its meaning stays, and once is enough. Whether it is TOML at all."""
    path.write_bytes(text)
    done = subprocess.run([binary, "fmt", path], capture_output=True, timeout=60)
    once = path.read_bytes()
    if done.returncode != 0:
        assert (done.returncode, once) == (1, text), done.stderr
        assert b"error: " in done.stderr, "a fault of the file, not of fmt"
        return False
    assert tomllib.loads(once.decode("utf-8-sig")) == tomllib.loads(text.decode("utf-8-sig"))
    assert comments(once) == comments(text)
    use(binary, "fmt", "--check", path)
    return True


def comments(text):
    return re.findall(rb"#.*?(?=[ \t\r]*$)", text, re.M)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_fmt_keeps_the_meaning_of_the_documents(binary, tmp_path, ends, mark):
    for block in BLOCKS:
        for text in (block, re.sub(r" *([=\[\]{}]) *", r"\1", block), block.rstrip()):
            whole = mark + text.encode().replace(b"\n", ends)
            assert same_meaning(binary, tmp_path / "a.toml", whole)


def test_fmt_keeps_the_meaning_of_the_files_of_the_fuzzer(binary, tmp_path):
    taken = [same_meaning(binary, tmp_path / "a.toml", file.read_bytes()) for file in CORPUS]
    assert any(taken) and not all(taken)


def test_the_documents_are_in_order(binary, tmp_path):
    for block in BLOCKS:
        assert formatted(binary, tmp_path / "a.toml", block.encode()).decode() == block


# tiderace dump.


def test_dump_is_toml_and_names_each_origin(binary, tmp_path):
    for name in ("sites", "www"):
        (tmp_path / name).mkdir()
    (tmp_path / "key").write_text("hidden\n")
    (tmp_path / "sites/a.toml").write_text('[[site]]\nroot = "www"\nuse = ["plain"]\n')
    (tmp_path / "a.toml").write_text(
        'include = ["sites/*.toml"]\n[log]\nformat = "${FORMAT}"\n'
        '[preset.plain]\ncompress = "off"\nresponse.set.A = "${file:key}"\n'
        '[users.staff]\nann = "password"\n'
    )
    environment = {**os.environ, "FORMAT": "json"}
    more = {"cwd": tmp_path, "env": environment}
    text = use(binary, "dump", "a.toml", **more).stdout.decode()
    assert tomllib.loads(text)["site"] == [{"root": "www", "use": ["plain"]}]
    assert 'format = "json"                         # a.toml:3, variable FORMAT\n' in text
    assert "hidden" not in text and "password" not in text
    text = use(binary, "dump", "--effective", "a.toml", **more).stdout.decode()
    whole = tomllib.loads(text)
    assert whole["site"][0]["compress"] == "off" and whole["limits"]["header_timeout"] == "10s"
    assert "# a.toml:5, preset plain\n" in text and "preset" not in whole
    found = json.loads(use(binary, "dump", "a.toml", "--json", "--effective", **more).stdout)
    assert {
        "key": "log.format",
        "value": "json",
        "file": "a.toml",
        "line": 3,
        "variable": "FORMAT",
    } in found
    assert "not set" in use(binary, "dump", "a.toml", cwd=tmp_path, status=1).stderr.decode()
    use(binary, "dump", tmp_path / "none.toml", status=2)


def test_the_dump_of_the_documents_is_what_was_read(binary, tmp_path):
    for block in BLOCKS:
        (tmp_path / "a.toml").write_text(block)
        text = use(binary, "dump", tmp_path / "a.toml").stdout.decode()
        wanted = tomllib.loads(block)
        for people in wanted.get("users", {}).values():
            people.update({name: "…" for name in people})
        assert tomllib.loads(text) == wanted


# tiderace init.


@pytest.fixture
def serving(binary, tmp_path_factory):
    """serving(file): the server that it makes."""
    servers = []

    def start(file):
        servers.append(Sites(binary, file, folder=tmp_path_factory.mktemp("server")))
        return servers[-1].wait_ready()

    yield start
    end(servers)


def serves(binary, serving, folder, file="tiderace.toml"):
    """That `check` takes the file, and the server that it makes."""
    text = (folder / file).read_text()
    use(binary, "check", file, cwd=folder)
    use(binary, "fmt", "--check", file, cwd=folder)
    # The tests own no user that may enter their folders.
    root = '[server]\nuser = "root"\n' if os.geteuid() == 0 else ""
    (folder / file).write_text(text + root)
    return serving(folder / file)


@pytest.fixture
def place(tmp_path):
    """Where any user may enter."""
    folder = Path("/tmp") / f"tiderace-init-{os.getpid()}-{tmp_path.name}"
    (folder / "www").mkdir(parents=True)
    (folder / "www/index.html").write_text("here\n")
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_init_of_a_folder(binary, place, serving):
    done = use(binary, "init", "--folder", "www", "--listen", "127.0.0.1:0", cwd=place)
    assert done.stdout.decode().splitlines() == [
        "tiderace.toml is written. Next:",
        "  tiderace check tiderace.toml",
        "  tiderace run tiderace.toml",
    ]
    before = (place / "tiderace.toml").read_bytes()
    assert b"there already" in use(binary, "init", "--php", cwd=place, status=1).stderr
    assert (place / "tiderace.toml").read_bytes() == before
    assert serves(binary, serving, place).of("x.example").body == b"here\n"


def test_init_elsewhere_names_the_folder_as_a_whole(binary, place, serving):
    (place / "etc").mkdir()
    use(binary, "init", "--folder=www", "-l", "127.0.0.1:0", "etc/a.toml", cwd=place)
    assert serves(binary, serving, place / "etc", "a.toml").of("x").body == b"here\n"


def test_init_of_php(binary, place, serving):
    words = ["init", "--php=unix:/run/none.sock", "--folder", "www", "--listen", "127.0.0.1:0"]
    use(binary, *words, cwd=place)
    server = serves(binary, serving, place)
    assert server.of("x").body == b"here\n"
    (place / "www/a.php").write_text("<?php")
    assert server.of("x", "/a.php").status == 502


def test_init_of_hosts_makes_their_folders(binary, place, serving):
    use(binary, "init", "--hosts", "a.example, *.b.example", "-l", "127.0.0.1:0", cwd=place)
    (place / "a.example/index.html").write_text("a\n")
    (place / "b.example/index.html").write_text("b\n")
    server = serves(binary, serving, place)
    assert [server.of(host).body for host in ("a.example", "x.b.example")] == [b"a\n", b"b\n"]
    assert server.of("other").status == 421


@pytest.mark.parametrize(
    "words",
    [
        ["--folder", "none"],
        ["--hosts", "a b"],
        ["--hosts", "../x"],
        ["--folder", "www", "--listen", "8080"],
        ["--php", "--folder", "www", "--listen", "x"],
        ["--folder", "www", "none/a.toml"],
    ],
)
def test_init_leaves_no_file_that_is_wrong(binary, place, words):
    assert use(binary, "init", *words, cwd=place, status=1).stderr
    assert not (place / "tiderace.toml").exists()


def test_init_without_a_terminal_asks_nothing(binary, place):
    done = use(binary, "init", cwd=place, status=2, stdin=subprocess.DEVNULL)
    assert b"no terminal" in done.stderr
    use(binary, "init", "--hosts", "a", "--php", cwd=place, status=2)


@pytest.mark.parametrize(
    "answers, words",
    [
        (b"\nwww\n127.0.0.1:0\n", ['root = "www"', 'address = "127.0.0.1:0"']),
        (b"page\nphp\nwww\n\n", ["fastcgi = ", 'address = "127.0.0.1:8080"']),
        (b"hosts\na.example,b.example\n\n", ['root = "b.example"', "status = 421"]),
    ],
)
def test_init_asks_three_questions_in_a_terminal(binary, place, answers, words):
    ours, theirs = pty.openpty()
    os.write(ours, answers)
    use(binary, "init", cwd=place, stdin=theirs)
    os.close(ours)
    os.close(theirs)
    text = (place / "tiderace.toml").read_text()
    assert all(word in text for word in words)


def test_init_ends_with_its_input(binary, place):
    ours, theirs = pty.openpty()
    os.write(ours, b"folder\n\x04")
    use(binary, "init", cwd=place, stdin=theirs, status=1)
    os.close(ours)
    os.close(theirs)
    assert not (place / "tiderace.toml").exists()
