"""The library in a project of somebody else's: tests/outside, which add_subdirectory()s it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OUTSIDE = HERE / "outside"
DEADLINE = 280.0


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=DEADLINE,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_a_project_that_holds_tiderace_builds_what_it_links_and_no_more(tmp_path):
    build = tmp_path / "build"
    # Without precompiled headers, which are more than what is compiled here.
    run("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", build, f"-DTIDERACE_SOURCE={HERE.parent}",
        "-DTIDERACE_PRECOMPILED_HEADERS=OFF",
        *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []))
    run("cmake", "--build", build)
    assert run(build / "outside") == "42 info\n"
    assert list(build.rglob("unity_0_cxx.cxx")), "files are compiled one by one"
    made = {path.name for path in build.rglob("*") if os.access(path, os.X_OK) and path.is_file()
            and "CMakeFiles" not in path.parts}
    assert made == {"outside"}
    assert {path.name for path in build.rglob("*.a")} == {"libtiderace_base.a", "libtiderace_log.a"}
    targets = run("cmake", "--build", build, "--target", "help")
    for name in ("tiderace_http", "tiderace_tls", "tiderace_net"):
        assert f"{name}:" in targets, name
    for name in ("tiderace:", "tiderace-lab:", "core_test:", "tiderace_share:", "example_echo:"):
        assert f"\n{name}" not in targets, name


def blocks(chapter):
    text = (HERE.parent / "docs/tutorial" / chapter).read_text()
    return re.findall(r"```cmake\n(.*?)```", text, re.S)


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_the_lines_of_cmake_in_the_tutorial_are_a_project(tmp_path):
    first, = blocks("README.md")
    service, = blocks("5-sign-in.md")
    tests, = blocks("7-tests.md")
    begin = first[:first.index("add_executable")]
    (tmp_path / "tiderace").symlink_to(HERE.parent)
    for name in ("main.cc", "todo.cc", "todo_test.cc"):
        (tmp_path / name).write_text("")
    for number, lines in enumerate((first, begin + service + tests)):
        (tmp_path / "CMakeLists.txt").write_text(lines)
        build = tmp_path / f"build{number}"
        run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, "-DCMAKE_BUILD_TYPE=Release")
        targets = run("ninja", "-C", build, "-t", "targets", "all")
        assert "\ntodo: " in targets
        assert ("\ntodo_test: " in targets) == (number == 1)
