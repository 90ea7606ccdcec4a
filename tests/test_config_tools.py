"""The commands around a configuration file: fmt, dump, init."""

import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest

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
