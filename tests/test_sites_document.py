"""Each block of the documents about configuration files is a file that `tiderace check` takes."""

import re
import subprocess
import tempfile
import tomllib
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
DOCUMENTS = [DOCS / name for name in ("sites.md", "coming-from-caddy.md", "coming-from-nginx.md")]
BLOCK = re.compile(r"^```(?:toml|nginx)\n(.*?)^```", re.M | re.S)
BLOCKS = [block for document in DOCUMENTS for block in BLOCK.findall(document.read_text())]
FROM_NGINX = BLOCKS[-2:]


def test_they_have_blocks():
    assert len(BLOCKS) >= 6


def test_what_is_imported_from_nginx_is_what_the_page_shows(binary, tmp_path):
    theirs, ours = FROM_NGINX
    (tmp_path / "n.conf").write_text(theirs)
    done = subprocess.run(
        [binary, "import", "nginx", "n.conf"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert tomllib.loads(done.stdout.decode()) == tomllib.loads(ours)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block != FROM_NGINX[0]])
def test_a_block_is_right(binary, block):
    # Of root's own folders `check` would say that the user to serve as cannot enter them.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        check(binary, folder, block)


def check(binary, tmp_path, block):
    for folder in ("www", "net"):
        (tmp_path / folder).mkdir()
    (tmp_path / "www/404.html").write_text("none\n")
    # A page shows whole paths.
    (tmp_path / "tiderace.toml").write_text(block.replace("/srv/", ""))
    done = subprocess.run(
        [binary, "check", "tiderace.toml"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
