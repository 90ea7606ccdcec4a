"""The needs of some tests beside the build: the Python packages of the suites, and for the slow
ones programs of others. Each function makes one thing once, below build/, and returns None, or what
failed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from children import BUILD, ROOT, run

TOOLS = BUILD / "tools"

making = threading.Lock()  # several jobs may need the same one at the same time


def once(make):
    def locked():
        with making:
            return make()

    return locked


def pinned_packages(name, requirements):
    """A virtual environment with the packages of `requirements`; remade when that file changes."""
    home, pinned = BUILD / name, (ROOT / requirements).read_text()
    stamp = home / "requirements.txt"
    if stamp.exists() and stamp.read_text() == pinned:
        return None
    done = run(name, [sys.executable, "-m", "venv", "--clear", home], 600)
    if done.status == 0:
        words = [home / "bin/python", "-m", "pip", "install", "--quiet"]
        words += ["--disable-pip-version-check", "-r", ROOT / requirements]
        done = run(name, words, 1200)
    if done.status != 0:
        return done
    stamp.write_text(pinned)
    return None


@once
def environment():
    return pinned_packages("venv", "tests/requirements.txt")


@once
def cross_environment():
    return pinned_packages("venv-cross", "tests/cross_requirements.txt")


@once
def conan_environment():
    return pinned_packages("venv-conan", "tests/conan_requirements.txt")


@once
def docs_environment():
    return pinned_packages("venv-docs", "docs/requirements.txt")


# ---- programs in Go -----------------------------------------------------------------------------


def go_version():
    if not shutil.which("go"):
        return (0, 0)
    said = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=False)
    numbers = re.match(r"go(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


def go_install(name, package, version):
    """A program from the Go module proxy, as TOOLS/name-version."""
    program = TOOLS / f"{name}-{version}"
    if program.exists():
        return None
    TOOLS.mkdir(parents=True, exist_ok=True)
    folder = TOOLS / f"bin-{name}"
    where = {"GOBIN": str(folder), "GOPATH": str(TOOLS / "go"), "GOFLAGS": "-modcacherw"}
    words = ["go", "install", f"{package}@{version}"]
    done = run(f"build-{name}", words, 2400, where, cwd=TOOLS)
    if done.status != 0:
        return done
    (folder / package.rsplit("/", 1)[1]).rename(program)
    return None


@once
def go_client():
    if go_version() == (0, 0):
        return None  # its tests report it and are skipped
    TOOLS.mkdir(parents=True, exist_ok=True)
    words = ["go", "build", "-buildvcs=false", "-o", TOOLS / "go_client", "main.go"]
    done = run("build-go_client", words, 1200, cwd=ROOT / "tests/go_client")
    return done if done.status != 0 else None


H2SPEC_VERSION = "v2.2.1+incompatible"


@once
def h2spec():
    if go_version() == (0, 0):
        return None
    return go_install("h2spec", "github.com/summerwind/h2spec/cmd/h2spec", H2SPEC_VERSION)


# The programs that tests/test_packaging.py uses: name, package, version.
PACKAGING_TOOLS = (
    ("helm", "helm.sh/helm/v3/cmd/helm", "v3.19.5"),
    ("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "v0.7.0"),
    ("compose-spec", "github.com/compose-spec/compose-go/v2/cmd", "v2.9.1"),
)
KUBERNETES_VERSION = "v1.34.2"  # whose OpenAPI documents are the schemas
GO_OLDEST_FOR_PACKAGING = (1, 24)


@once
def packaging_tools():
    """Without such a Go their tests are skipped, as reported."""
    if go_version() < GO_OLDEST_FOR_PACKAGING:
        return None
    for tool in PACKAGING_TOOLS:
        broken = go_install(*tool)
        if broken:
            return broken
    schemas = TOOLS / f"kubernetes-{KUBERNETES_VERSION}"
    if not schemas.exists():
        words = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES_VERSION}"]
        where = {"GOPATH": str(TOOLS / "go"), "GOFLAGS": "-modcacherw"}
        done = run("download-kubernetes", words, 1200, where, cwd=TOOLS)
        if done.status != 0:
            return done
        log = done.log.read_text()
        module = json.loads(log[log.index("{") : log.rindex("}") + 1])
        shutil.copytree(pathlib.Path(module["Dir"]) / "api/openapi-spec/v3", schemas)
    return None


# ---- packages of other languages ----------------------------------------------------------------

NODE_OLDEST = (18, 16)  # of lighthouse


def node_version():
    if not shutil.which("node") or not shutil.which("npm"):
        return (0, 0)
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    numbers = re.match(r"v(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


def npm_packages(name):
    """Installs the packages of tests/NAME at the versions of its lock file, with no
    scripts of packages. Without Node.js their tests are skipped, as reported."""
    home, source = TOOLS / name, ROOT / "tests" / name
    stamp = home / "installed-lock.json"
    lock = (source / "package-lock.json").read_text()
    if node_version() < NODE_OLDEST:
        return None
    if not stamp.exists() or stamp.read_text() != lock:
        home.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(source / file, home / file)
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = run(f"install-{name}", words, 1200, cwd=home)
        if done.status != 0:
            return done
        stamp.write_text(lock)
    return None


@once
def ajv():
    return npm_packages("ajv")


@once
def lighthouse():
    return npm_packages("lighthouse")


@once
def redis_tests():
    """The tests of redis-py, which only its source distribution has."""
    pinned = (ROOT / "tests/requirements.txt").read_text()
    version = re.search(r"^redis==(\S+)$", pinned, re.M)[1]
    home = TOOLS / f"redis-py-{version}"
    if home.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        words = [BUILD / "venv/bin/python", "-m", "pip", "download", "--quiet", "--no-deps"]
        words += ["--no-binary", "redis", "--dest", folder, f"redis=={version}"]
        done = run("fetch-redis-tests", words, 1200)
        if done.status != 0:
            return done
        shutil.unpack_archive(next(pathlib.Path(folder).glob("redis-*.tar.gz")), folder)
        TOOLS.mkdir(parents=True, exist_ok=True)
        shutil.copytree(pathlib.Path(folder) / f"redis-{version}", home)
    return None


FOR_SLOW_SUITES = {
    "test_config_schema": ajv,
    "test_conan": conan_environment,
    "test_docs_site": docs_environment,
    "test_http2_clients": go_client,
    "test_http2_h2spec": h2spec,
    "test_kv": redis_tests,
    "test_packaging": packaging_tools,
    "test_tidepool_lighthouse": lighthouse,
}
