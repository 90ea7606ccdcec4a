"""The library in a project of somebody else's: tests/outside, which add_subdirectory()s it."""

import os
import re
import shutil
from pathlib import Path

import pytest

from commands import finished, ran

pytestmark = pytest.mark.slow  # each builds or configures a project

HERE = Path(__file__).resolve().parent
OUTSIDE = HERE / "outside"

LAUNCHER = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_a_project_that_holds_tiderace_builds_what_it_links_and_no_more(tmp_path):
    build = tmp_path / "build"
    # Without precompiled headers, which are more than what is compiled here.
    ran("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", build, f"-DTIDERACE_SOURCE={HERE.parent}",
        "-DTIDERACE_PRECOMPILED_HEADERS=OFF", *LAUNCHER)
    ran("cmake", "--build", build)
    assert ran(build / "outside") == "42 info\n"
    assert list(build.rglob("unity_0_cxx.cxx")), "files are compiled one by one"
    made = {path.name for path in build.rglob("*") if os.access(path, os.X_OK) and path.is_file()
            and "CMakeFiles" not in path.parts}
    assert made == {"outside"}
    assert {path.name for path in build.rglob("*.a")} == {"libtiderace_base.a", "libtiderace_log.a"}
    targets = ran("cmake", "--build", build, "--target", "help")
    for name in ("tiderace_http", "tiderace_tls", "tiderace_net"):
        assert f"{name}:" in targets, name
    for name in ("tiderace:", "tiderace-lab:", "core_test:", "tiderace_share:", "example_echo:"):
        assert f"\n{name}" not in targets, name


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm")
def test_a_program_has_only_the_functions_that_it_calls(tmp_path):
    ran("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", tmp_path, f"-DTIDERACE_SOURCE={HERE.parent}",
        "-DCMAKE_BUILD_TYPE=Release", "-DTIDERACE_PRECOMPILED_HEADERS=OFF", *LAUNCHER)
    ran("cmake", "--build", tmp_path)
    called, not_called = "8tiderace3log9to_string", "8tiderace11parse_bytes"
    (library,) = tmp_path.rglob("libtiderace_base.a")
    assert not_called in ran("nm", library)
    assert called in ran("nm", tmp_path / "outside")
    assert not_called not in ran("nm", tmp_path / "outside")


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_the_libraries_may_be_shared(tmp_path):
    ran("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", tmp_path, f"-DTIDERACE_SOURCE={HERE.parent}",
        "-DBUILD_SHARED_LIBS=ON", "-DTIDERACE_PRECOMPILED_HEADERS=OFF", *LAUNCHER)
    ran("cmake", "--build", tmp_path)
    assert ran(tmp_path / "outside") == "42 info\n"
    assert not list(tmp_path.rglob("*.a"))
    header = (HERE.parent / "tiderace/version.h").read_text()
    version = re.search(r'_TEXT "((\d+\.\d+)\.\d+)"\n', header)
    for name in (version[1], version[2]):
        assert list(tmp_path.rglob(f"libtiderace_base.so.{name}"))
    assert f"libtiderace_log.so.{version[2]}]" in ran("readelf", "-d", tmp_path / "outside")


@pytest.mark.timeout(600)
@pytest.mark.skipif(not (HERE.parent / ".git").exists(), reason="not a checkout")
def test_an_archive_of_the_source_builds_without_git(tmp_path):
    source, nothing = tmp_path / "source", {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    source.mkdir()
    ran("git", "-C", HERE.parent, "archive", "--output", tmp_path / "source.tar", "HEAD")
    shutil.unpack_archive(tmp_path / "source.tar", source)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text("#!/bin/sh\nexit 127\n")  # as if there were none
    (tmp_path / "bin/git").chmod(0o755)
    ran("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", tmp_path / "a", f"-DTIDERACE_SOURCE={source}",
        "-DTIDERACE_PRECOMPILED_HEADERS=OFF", *LAUNCHER, **nothing)
    ran("cmake", "--build", tmp_path / "a", **nothing)
    assert ran(tmp_path / "a/outside") == "42 info\n"
    # All of it, as a plan: every file that the build names is there.
    ran("cmake", "-G", "Ninja", "-S", source, "-B", tmp_path / "b", "-DCMAKE_BUILD_TYPE=Debug",
        **nothing)
    ran("ninja", "-C", tmp_path / "b", "-n", **nothing)
    assert 'COMMIT ""' in (tmp_path / "b/generated/server/commit.h").read_text()


DATABASES = {"SQLITE": "sqlite3", "POSTGRES": "libpq", "MARIADB": "libmariadb"}


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_each_database_can_be_left_out(tmp_path):
    cmake = ("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", tmp_path, *LAUNCHER,
             f"-DTIDERACE_SOURCE={HERE.parent}", "-DTIDERACE_PRECOMPILED_HEADERS=OFF")
    built = "tiderace/rooms/db/CMakeFiles/tiderace_db.dir/built.cc.o"  # all that knows of them
    for left_out, module in DATABASES.items():
        chosen = {name: "OFF" if name == left_out else "AUTO" for name in DATABASES}
        ran(*cmake, *(f"-DTIDERACE_{name}={value}" for name, value in chosen.items()))
        ran("ninja", "-C", tmp_path, built)
        rules = (tmp_path / "build.ninja").read_text()
        assert f"{module}.so" not in rules and f"-DTIDERACE_{left_out}" not in rules
        here = [name for name in DATABASES if f"-DTIDERACE_{name}" in rules]
        assert here == [name for name in DATABASES if name != left_out]


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
@pytest.mark.parametrize(("name", "module"), DATABASES.items())
def test_a_database_that_has_to_be_there_and_is_not_stops_cmake(tmp_path, name, module):
    done = finished("cmake", "-G", "Ninja", "-S", OUTSIDE, "-B", tmp_path, f"-DTIDERACE_{name}=ON",
                    f"-DTIDERACE_SOURCE={HERE.parent}", PKG_CONFIG_LIBDIR=str(tmp_path))
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert re.search(rf"TIDERACE_{name} is ON, and {module}>=[0-9.]+ is not installed", message)


def blocks(document, language="cmake"):
    text = (HERE.parent / document).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_the_lines_of_cmake_in_the_tutorial_are_a_project(tmp_path):
    first, = blocks("docs/tutorial/README.md")
    service, = blocks("docs/tutorial/5-sign-in.md")
    tests, = blocks("docs/tutorial/7-tests.md")
    begin = first[:first.index("add_executable")]
    (tmp_path / "tiderace").symlink_to(HERE.parent)
    for name in ("main.cc", "todo.cc", "todo_test.cc"):
        (tmp_path / name).write_text("")
    for number, lines in enumerate((first, begin + service + tests)):
        (tmp_path / "CMakeLists.txt").write_text(lines)
        build = tmp_path / f"build{number}"
        ran("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, "-DCMAKE_BUILD_TYPE=Release")
        targets = ran("ninja", "-C", build, "-t", "targets", "all")
        assert "\ntodo: " in targets
        assert ("\ntodo_test: " in targets) == (number == 1)


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_the_lines_of_cmake_in_the_guide_are_projects(tmp_path):
    folder, fetched, found = blocks("docs/start.md")
    short, = blocks("README.md")
    assert set(short.replace("  # brings C++23 along", "").splitlines()) < set(folder.splitlines())
    (tmp_path / "tiderace").symlink_to(HERE.parent)
    (tmp_path / "main.cc").write_text("")
    assert "find_package(tiderace 0.1 CONFIG REQUIRED COMPONENTS app)" in found  # test_installed.py
    for number, lines in enumerate((folder, fetched)):
        (tmp_path / "CMakeLists.txt").write_text(lines)
        build = tmp_path / f"build{number}"
        ran("cmake", "-G", "Ninja", "-S", tmp_path, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
            f"-DFETCHCONTENT_SOURCE_DIR_TIDERACE={HERE.parent}")
        targets = ran("ninja", "-C", build, "-t", "targets", "all")
        assert "\nhello: " in targets
        assert "libtiderace_http_app.a: " in targets
        assert "tiderace_library: " not in targets  # a project of others installs nothing of it


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_the_commands_that_install_it_are_those_of_the_guide(tmp_path):
    commands, = blocks("docs/start.md", "sh")
    configure, build, install = (line.split() for line in commands.splitlines())
    assert configure[:5] == ["cmake", "-S", "tiderace", "-B", "build"]
    ran("cmake", "-G", "Ninja", "-S", HERE.parent, "-B", tmp_path / "build", *configure[5:])
    # tools/run_tests.py builds this target, and test_installed.py installs it.
    targets = ran("ninja", "-C", tmp_path / "build", "-t", "targets", "all")
    assert build[:4] == ["cmake", "--build", "build", "--target"]
    assert f"{build[4]}: phony" in targets
    assert "\ntiderace: " not in targets and "_test: " not in targets
    assert install[3:5] == ["--component", "library"]
