"""Each block of docs/sites.md is a file that `tiderace check` takes."""

import re
import subprocess
import tempfile
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parent.parent / "docs/sites.md"
BLOCKS = re.findall(r"^```toml\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)


def test_it_has_blocks():
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS)
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
    (tmp_path / "tiderace.toml").write_text(block)
    done = subprocess.run(
        [binary, "check", "tiderace.toml"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
