"""h2spec in strict mode: every one of its 146 cases, in clear text and over TLS.

tools/suite_needs.py builds the program once from the Go module proxy, into build/tools.
"""

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a program in Go

VERSION = "v2.2.1+incompatible"
CASES = 146
TOOLS = Path(__file__).resolve().parent.parent / "build/tools"


@pytest.fixture(scope="session")
def h2spec():
    program = TOOLS / f"h2spec-{VERSION}"
    if not program.exists():
        if shutil.which("go") is None:
            pytest.skip("no Go here")
        pytest.fail(f"{program} is not built; ./dev test all builds it")
    return program


def run(h2spec, address, report, *more):
    host, port = address
    done = subprocess.run([h2spec, "--strict", "--host", host, "--port", str(port),
                           "--timeout", "2", "--junit-report", report, "--path", "/big.bin",
                           *more],
                          capture_output=True, text=True, timeout=280, stdin=subprocess.DEVNULL)
    failed, passed = [], 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        if bad or case.find("skipped") is not None:
            failed.append(f'{case.get("package")}: {case.get("classname")}')
        else:
            passed += 1
    assert not failed, "\n".join(failed)
    assert passed == CASES and done.returncode == 0, done.stdout[-2000:]


# With HTTP/1.1 on the same port one case cannot hold: bytes of neither protocol are answered with a
# 400 of HTTP/1.1, as RFC 9112 requires, before the connection is closed.
def test_every_case_in_clear_text(h2spec, serve, site, tmp_path):
    run(h2spec, serve(site, "--http2", "only").address, tmp_path / "report.xml")


def test_every_case_over_tls(h2spec, serve, site, tmp_path):
    server = serve(site, "--tls-self-signed", cwd=tmp_path, env={"HOME": str(tmp_path)})
    run(h2spec, server.address, tmp_path / "report.xml", "--tls", "--insecure")
