"""The library as `cmake --install` leaves it; test_consumers.py has programs that use it."""

import re
import shutil
from pathlib import Path

import pytest

from commands import finished, ran

HERE = Path(__file__).resolve().parent
SAMPLE = HERE / "installed"
# The targets that the guides name.
NAMES = (
    "app",
    "base",
    "client",
    "core",
    "db",
    "db_redis",
    "http_stores",
    "http_stores_redis",
    "json",
    "jwt",
    "log",
    "net",
    "password",
    "resp",
    "serve_tcp",
    "task",
    "tcp",
    "testing",
    "text",
)

pytestmark = [
    pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja"),
    pytest.mark.slow,
]  # each builds a project


@pytest.fixture(scope="module", name="tree")
def fixture_tree(binary, tmp_path_factory):
    """An installed tree, moved away from where it was installed."""
    if not (binary.parent / "rooms/testing/libtiderace_testing_client.a").exists():
        pytest.fail("tiderace_library is not built; ./dev test all builds it")
    folder = tmp_path_factory.mktemp("installed")
    ran("cmake", "--install", binary.parent, "--prefix", folder / "first", "--component", "library")
    return (folder / "first").rename(folder / "moved")


def test_no_file_names_the_folders_of_the_build(tree, binary):
    for path in filter(Path.is_file, tree.rglob("*")):
        if path.suffix == ".a" and binary.parent.name != "release":
            continue  # its debug information does
        content = path.read_bytes()
        for folder in (HERE.parent, tree.parent):
            assert str(folder).encode() not in content, path


def test_the_licence_comes_along(tree):
    kept = (tree / "share/doc/tiderace/LICENSE").read_text()
    assert kept == (HERE.parent / "LICENSE").read_text()


def test_archives_hold_nothing_of_one_compiler(tree):
    archives = [path.read_bytes() for path in tree.rglob("*.a")]
    assert archives
    assert not any(b".gnu.lto" in content for content in archives)


def test_a_header_includes_what_is_installed(tree):
    included = set()
    for path in (tree / "include").rglob("*.h"):
        found = re.findall(r'^ *# *include ["<](tiderace/[^">]+)', path.read_text(), re.M)
        included.update(found)
        for name in found:
            assert (tree / "include" / name).exists(), (path, name)
    assert "tiderace/http/app/app.h" in included
    faces = {path.name for path in (HERE.parent / "tiderace").glob("*.h")}
    assert faces == {path.name for path in (tree / "include/tiderace").glob("*.h")}


def test_the_lines_of_the_guide_find_it(tree, tmp_path):
    guide = (HERE.parent / "docs/start.md").read_text()
    (lines,) = (it for it in re.findall(r"```cmake\n(.*?)```", guide, re.S) if "find_package" in it)
    (tmp_path / "CMakeLists.txt").write_text(lines)
    (tmp_path / "main.cc").write_text("")
    ran("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tree}")


CLIENT = re.compile(r" U (sqlite3_|PQ|mysql_|.*tiderace2db(6sqlite|8postgres|7mariadb))")


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm")
def test_a_database_is_needed_by_the_one_source_that_opens_it(tree):
    # So that leaving one out (TIDERACE_SQLITE=OFF and its like) leaves nothing undefined.
    found = set()
    for line in ran("nm", "-A", tree / "lib/libtiderace_db.a").splitlines():
        if CLIENT.search(line):
            found.add(line.split(":")[1])
    # The units that open one, and the unit of all that have a client; not the room's own unit.
    assert found == {"built.cc.o", "unity_drivers_cxx.cxx.o"}


def configure(tree, build, *more, **environment):
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    return finished(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        SAMPLE,
        "-B",
        build,
        f"-DCMAKE_PREFIX_PATH={tree}",
        *launcher,
        *more,
        **environment,
    )


def test_what_any_object_of_any_archive_refers_to_is_found(tree, tmp_path):
    done = configure(tree, tmp_path, f"-DTARGETS={';'.join(NAMES)}")
    assert done.returncode == 0, done.stderr
    ran("cmake", "--build", tmp_path)
    ran(tmp_path / "everything")


def test_only_what_the_components_link_has_to_be_there(tree, tmp_path):
    # pkg-config finds nothing here: no liburing, no libpq, no zlib.
    nothing = {"PKG_CONFIG_LIBDIR": str(tmp_path), "PKG_CONFIG_PATH": ""}
    done = configure(tree, tmp_path, "-DCOMPONENTS=json;text", **nothing)
    assert done.returncode == 0, done.stderr
    for components, lacking in (("app", ""), ("json;db", ""), ("", "")):
        done = configure(tree, tmp_path, f"-DCOMPONENTS={components}", **nothing)
        assert done.returncode != 0
        message = " ".join(done.stderr.split())
        assert f"was built with {lacking}" in message
        assert "pkg-config does not find" in message


def test_a_component_that_is_not_there_is_named(tree, tmp_path):
    done = configure(tree, tmp_path, "-DCOMPONENTS=json;flotsam")
    assert done.returncode != 0
    assert "this Tiderace has no component flotsam" in " ".join(done.stderr.split())


def test_a_version_to_come_is_another_one(tree, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(a LANGUAGES NONE)\n"
        "find_package(tiderace 0.2 CONFIG REQUIRED)\n"
    )
    done = finished("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={tree}")
    assert done.returncode != 0
    assert "tiderace-config.cmake, version: 0.1.0" in " ".join(done.stderr.split())


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_pkg_config_finds_each_module_that_one_names(tree):
    where = {"PKG_CONFIG_PATH": str(tree / "lib/pkgconfig")}
    for path in tree.rglob("*.pc"):
        ran("pkg-config", "--libs", path.stem, **where)
