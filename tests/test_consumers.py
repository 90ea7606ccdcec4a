"""A user's program in eight builds: tests/consumer, with each compiler, each level of
optimisation, the sanitizers, and every way to get the library."""

import functools
import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

import commands

HERE = Path(__file__).resolve().parent
SAMPLE = HERE / "consumer"
TIDERACE = HERE.parent
DEADLINE = 900.0
PRINTED = "49 900000 1000000\n"
GCC, CLANG = "g++", "clang++-19"
ADDRESS = "-fsanitize=address,undefined -fno-sanitize-recover=all"
WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Werror"

# Both need the library with the sanitizer as well, or its threads look unordered.
FROM_SOURCE = [
    (GCC, "add_subdirectory", "-O0"),
    (CLANG, "FetchContent", "-O1 -fsanitize=thread"),
]
INSTALLED = [
    (GCC, "find_package", ""),
    (GCC, "find_package", ADDRESS),
    (CLANG, "find_package", "-O2"),
    (GCC, "pkg-config", ""),
    (GCC, "pkg-config", "-O2"),
    (CLANG, "pkg-config", "-O0 " + ADDRESS),
]

pytestmark = [
    pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja"),
    pytest.mark.slow,
]  # each builds a project


ran = functools.partial(commands.ran, deadline=DEADLINE)


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"no {program}")


@pytest.fixture(scope="module", name="tree")
def fixture_tree(binary, tmp_path_factory):
    """The result of `cmake --install` of the build of the tests."""
    if not (binary.parent / "rooms/testing/libtiderace_testing_client.a").exists():
        pytest.fail("tiderace_library is not built; ./dev test all builds it")
    tree = tmp_path_factory.mktemp("consumers") / "tiderace"
    ran("cmake", "--install", binary.parent, "--prefix", tree, "--component", "library")
    return tree


def built_by_cmake(folder, compiler, how, flags, *more):
    """No build type: the flags are all that there is."""
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    ran(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        SAMPLE,
        "-B",
        folder,
        f"-DCMAKE_CXX_COMPILER={compiler}",
        f"-DHOW={how}",
        f"-DCMAKE_CXX_FLAGS={flags}",
        *launcher,
        *more,
    )
    ran("cmake", "--build", folder, "--target", "consumer")
    return folder / "consumer"


def built_by_pkg_config(folder, compiler, flags, tree):
    libraries = ran(
        "pkg-config",
        "--cflags",
        "--libs",
        "tiderace-app",
        "tiderace-testing",
        PKG_CONFIG_PATH=str(tree / "lib/pkgconfig"),
    )
    program = folder / "consumer"
    ran(
        compiler,
        "-std=c++23",
        *flags.split(),
        *WARNINGS.split(),
        "-o",
        program,
        SAMPLE / "main.cc",
        *shlex.split(libraries),
    )
    return program


@pytest.mark.parametrize(("compiler", "how", "flags"), INSTALLED)
def test_an_installed_library_serves_a_program_of(tree, tmp_path, compiler, how, flags):
    needs(compiler)
    if how == "find_package":
        program = built_by_cmake(tmp_path, compiler, how, flags, f"-DCMAKE_PREFIX_PATH={tree}")
    else:
        needs("pkg-config")
        program = built_by_pkg_config(tmp_path, compiler, flags, tree)
    assert ran(program) == PRINTED


def archive_in(folder):
    """The sources as a forge packs them: in a folder of their own."""
    archive = folder / "tiderace-main.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("CMakeLists.txt", "cmake", "docs", "tiderace"):
            tar.add(TIDERACE / name, f"tiderace-main/{name}")
    return archive


@pytest.mark.timeout(DEADLINE)
@pytest.mark.parametrize(("compiler", "how", "flags"), FROM_SOURCE)
def test_a_project_that_compiles_the_library_has_a_program_of(tmp_path, compiler, how, flags):
    needs(compiler)
    source = TIDERACE if how == "add_subdirectory" else archive_in(tmp_path)
    program = built_by_cmake(
        tmp_path / "build",
        compiler,
        how,
        flags,
        f"-DTIDERACE={source}",
        "-DCMAKE_BUILD_TYPE=None",
        "-DTIDERACE_PRECOMPILED_HEADERS=OFF",
    )
    assert ran(program) == PRINTED


# clang reads the standard headers first, which takes too long for each of ours.
@pytest.mark.parametrize(("compiler", "pattern"), [(GCC, "**/*.h"), (CLANG, "*.h")])
def test_below_cxx23_each_header_says_so_in_one_sentence(tree, compiler, pattern):
    needs(compiler)
    include = tree / "include"
    headers = sorted((include / "tiderace").glob(pattern))
    assert headers
    for header in headers:
        done = subprocess.run(
            [
                compiler,
                "-std=c++20",
                "-fsyntax-only",
                "-I",
                include,
                "-x",
                "c++",
                "-include",
                header,
                "/dev/null",
            ],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        errors = re.findall(r"^.*error: (.*)$", done.stderr, re.M)
        # The second one is how the first one stays the last.
        assert len(errors) == 2, (header, errors)
        assert "Tiderace needs C++23: compile with -std=c++23" in errors[0], header
        assert "needs C++23" in errors[1], header
