"""`tiderace new DIR`: the project builds, tests and serves with the commands that it prints."""

import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

import commands

HERE = Path(__file__).resolve().parent
DEADLINE = 900.0

pytestmark = [
    pytest.mark.slow,  # builds a project
    pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja"),
]


def new(binary, folder):
    return subprocess.run(
        [binary, "new", folder], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture(scope="module", name="project")
def fixture_project(binary, tmp_path_factory):
    """A new project, built and tested against the installed library."""
    if not (binary.parent / "rooms/testing/libtiderace_testing_client.a").exists():
        pytest.fail("tiderace_library is not built; ./dev test all builds it")
    folder = tmp_path_factory.mktemp("new")
    tree, project = folder / "tiderace", folder / "boats"
    commands.ran("cmake", "--install", binary.parent, "--prefix", tree, "--component", "library")
    made = new(binary, project)
    assert made.returncode == 0, made.stderr
    first = re.search(r"^  (cmake --workflow .*?) +#", made.stdout, re.M)[1].split()
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
    done = subprocess.run(
        first,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        env={**os.environ, "CMAKE_PREFIX_PATH": str(tree), "CMAKE_GENERATOR": "Ninja", **launcher},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed" in done.stdout
    return project


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def test_it_serves(project):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = subprocess.Popen(
        [project / "build/boats"],
        cwd=project,
        env={**os.environ, "LISTEN": f"127.0.0.1:{port}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout.readline() == f"listening on http://127.0.0.1:{port}/\n"
        assert "Hello, ann" in get(f"http://127.0.0.1:{port}/hello/ann")
        assert '"title":"boats"' in get(f"http://127.0.0.1:{port}/openapi.json").replace(" ", "")
    finally:
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 0


def test_it_is_installed_where_its_service_looks_for_it(project, tmp_path):
    commands.ran("cmake", "--install", project / "build", "--prefix", tmp_path / "usr")
    service = (project / "boats.service").read_text()
    for path in ("/usr/bin/boats", "/usr/share/boats/templates"):
        assert path in service
        assert (tmp_path / path[1:]).exists()
    if shutil.which("systemd-analyze"):
        said = commands.finished("systemd-analyze", "verify", project / "boats.service").stderr
        lines = [it for it in said.splitlines() if "boats.service" in it]
        assert all("/usr/bin/boats" in it for it in lines), lines  # which is not there


def test_its_image_has_the_libraries_that_it_needs(project):
    containers = {
        path: re.findall(
            r"(?:lib[a-z0-9.-]*(?:\d|-dev)|zlib1g(?:-dev)?)(?=[ \n])", path.read_text()
        )
        for path in (project / "Containerfile", HERE.parent / "packaging/Containerfile")
    }
    own, known = containers.values()
    # test_packaging.py checks the libraries of the other image.
    assert set(own) - {"libgtest-dev"} <= set(known)
    needed = commands.ran("readelf", "-d", project / "build/boats")
    usual = {"libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}
    for library, version in re.findall(r"\[(\S+?)\.so\.([0-9]+)\]", needed):
        if library in usual:
            continue
        package = {"libcrypto": "libssl3", "libssl": "libssl3", "libz": "zlib1g"}.get(library)
        names = {package, library + version, f"{library}-{version}"} | {
            it for it in own if it.startswith(library.removesuffix("dec").removesuffix("enc"))
        }
        assert names & set(own), (library, version)


def test_what_is_there_is_not_touched(binary, tmp_path):
    (tmp_path / "boats").mkdir()
    (tmp_path / "boats/kept").write_text("mine")
    refused = new(binary, tmp_path / "boats")
    assert refused.returncode == 1 and "it is not empty" in refused.stderr
    assert [it.name for it in (tmp_path / "boats").iterdir()] == ["kept"]
    named = new(binary, tmp_path / "My Boats")
    assert named.returncode == 1 and "small letter" in named.stderr
    assert not (tmp_path / "My Boats").exists()
