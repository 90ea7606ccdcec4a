"""packaging/conan makes a package of the library, and a program finds it there."""

import shutil
from pathlib import Path

import pytest

from commands import finished, ran

HERE = Path(__file__).resolve().parent
CONAN = HERE.parent / "build/venv-conan/bin/conan"  # tools/suite_needs.py makes it

pytestmark = pytest.mark.slow  # it compiles the library


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not shutil.which("apt-get"), reason="the packages are looked up with apt")
def test_a_package_is_made_and_a_program_runs_with_it(tmp_path):
    environment = {"CONAN_HOME": str(tmp_path)}
    if shutil.which("ccache"):
        environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_NOHASHDIR": "1",
                        "CCACHE_BASEDIR": str(tmp_path)}
    ran(CONAN, "profile", "detect", **environment)
    # The repository stays as it is: the program is built in a folder of this test.
    done = finished(CONAN, "create", HERE.parent / "packaging/conan", "-s", "build_type=Debug",
                    "-s", "compiler.cppstd=gnu23", "-c", "tools.build:cxxflags=['-g0']",
                    "-c", "tools.cmake.cmaketoolchain:user_presets=",
                    "-c", f"tools.cmake.cmake_layout:test_folder={tmp_path / 'consumer'}",
                    deadline=1500.0, **environment)
    assert done.returncode == 0, done.stderr
    assert "hello from Tiderace 0." in done.stderr  # where Conan prints all that it runs
    (package,) = tmp_path.rglob("p/lib/libtiderace_base.a")
    kept = {path.relative_to(package.parent.parent).as_posix()
            for path in package.parent.parent.rglob("*")}
    assert {"include/tiderace/app.h", "lib/cmake/tiderace/tiderace-config.cmake",
            "share/doc/tiderace/LICENSE"} <= kept
