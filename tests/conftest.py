"""Options and fixtures: which binary, which engine, which folder, and a server for each test."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import engines  # noqa: E402
from example_program import Example  # noqa: E402
from server import Server, end  # noqa: E402
from site_folder import build_huge_site, build_site  # noqa: E402

REPOSITORY = Path(__file__).resolve().parent.parent
# These run on every engine there is.
BEHAVIOUR = ("test_http1_behaviour", "test_http1_strict", "test_engines_agree")

# The same parser whatever the engine.
PARSING = ("test_http1_strict",)


def is_sanitized():
    return bool(os.environ.get("TIDERACE_SANITIZED"))


def is_quick():
    """Whether ./dev test runs without the slow cases; pytest called by hand has them."""
    return os.environ.get("TIDERACE_SLOW") == "no"


def pytest_addoption(parser):
    parser.addoption("--tiderace", metavar="PATH", default=os.environ.get("TIDERACE_BINARY"),
                     help="the program under test (default: build/dev, then build/release)")
    parser.addoption("--engines", metavar="A,B", default=os.environ.get("TIDERACE_ENGINES"),
                     help="engines to run the behaviour on (default: all)")
    parser.addoption("--reloads", type=int, metavar="N", default=200,
                     help="how often test_reload.py reads files under load (long: 10000)")
    parser.addoption("--explained", type=pair, metavar="FILESxREQUESTS", default=(10, 30),
                     help="what test_explain.py compares (long: 40x2000)")


def pair(text):
    return tuple(map(int, text.split("x")))


def find_binary(config):
    given = config.getoption("--tiderace")
    candidates = [Path(given)] if given else [REPOSITORY / "build/dev/tiderace",
                                              REPOSITORY / "build/release/tiderace"]
    return next((p.resolve() for p in candidates if os.access(p, os.X_OK)), None)


def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        given = metafunc.config.getoption("--engines")
        names = engines.QUICK if is_quick() else engines.MAIN
        module = metafunc.module.__name__
        if module.endswith(PARSING) and is_quick():
            names = names[:1]
        elif module.endswith(BEHAVIOUR) and not is_quick():
            if not (is_sanitized() and module.endswith(PARSING)):
                names = engines.MAIN + tuple(engines.LAB)
        if module.endswith("test_lab_engines"):
            names = tuple(engines.LAB)
        names = given.split(",") if given else names
        metafunc.parametrize("engine", names, scope="session", indirect=True)


def leave_out(config, items):
    """Skips what an engine lacks, and engines that are absent, with the reason."""
    chosen = [i for i in items if getattr(i, "callspec", None) and "engine" in i.callspec.params]
    binary = find_binary(config)
    absent = engines.why_absent(binary) if binary and chosen else {}
    for item in chosen:
        name = item.callspec.params["engine"]
        why = absent.get(name) if name in engines.LAB else None
        why = why or engines.LEFT_OUT.get((name, item.originalname))
        if why:
            item.add_marker(pytest.mark.skip(reason=f"{name}: {why}"))


def is_another_screen(item):
    """Each screen and each scheme once is enough for the quick set."""
    given = getattr(item, "callspec", None) and item.callspec.params
    screens = (("light", "desk"), ("dark", "phone"))
    return given and {"scheme", "screen"} <= given.keys() and (
        given["scheme"], given["screen"]) not in screens


def pytest_collection_modifyitems(config, items):
    leave_out(config, items)

    def is_left_out(item):
        if is_quick() and (item.get_closest_marker("slow") or is_another_screen(item)):
            return True
        # A sanitizer makes everything five times slower: the reduced set.
        return is_sanitized() and not item.get_closest_marker("sanitizers")

    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(scope="session")
def binary(pytestconfig):
    path = find_binary(pytestconfig)
    if path is None:
        pytest.exit("no tiderace to test: build it, or name it with --tiderace=PATH", 2)
    return path


@pytest.fixture(scope="session")
def sanitized(binary):
    """"asan", "tsan" or "": with either, figures of memory and time mean nothing."""
    data = binary.read_bytes()
    return next((name for name in ("asan", "tsan") if f"__{name}_init".encode() in data), "")


@pytest.fixture(scope="session")
def engine(request):
    return request.param


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder that most tests serve. Read-only by agreement: to change files, make your own."""
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def huge_site(tmp_path_factory):
    """With huge.bin, larger than the sockets of both ends can swallow."""
    return build_huge_site(tmp_path_factory.mktemp("huge"))


@pytest.fixture(scope="session")
def shared_server(binary, engine, site, tmp_path_factory):
    """One server per engine, default settings, one loop, for all tests that do not need another."""
    server = Server(binary, site, folder=tmp_path_factory.mktemp(f"server-{engine}"),
                    engine=engine)
    try:
        server.wait_ready()
        yield server
        server.stop()
    finally:
        server.kill()


@pytest.fixture
def server(shared_server):
    """The shared server, watched over one test."""
    shared_server.check_health()
    yield shared_server
    shared_server.check_health()


@pytest.fixture
def sample(binary, tmp_path):
    """sample("routes") runs a program of tests/samples that this test has for itself."""
    running = []

    def start(name):
        program = binary.parent / f"tests/samples/sample_{name}"
        if not program.exists():
            pytest.fail(f"{program} is not built")
        running.append(Example(program, "127.0.0.1:0", folder=tmp_path))
        return running[-1].wait_ready()

    yield start
    end(running)


@pytest.fixture
def serve(binary, tmp_path_factory):
    """serve(root, flags…) starts a server that this test has for itself."""
    servers = []

    def start(root, *flags, ready=True, listeners=1, **more):
        server = Server(binary, root, *flags, folder=tmp_path_factory.mktemp("server"), **more)
        servers.append(server)
        return server.wait_ready(listeners) if ready else server

    yield start
    end(servers)


@pytest.fixture(scope="session")
def head_server(binary, site, tmp_path_factory):
    """One engine is enough where only the head of an answer is in question, not how it moves."""
    server = Server(binary, site, folder=tmp_path_factory.mktemp("head-server"))
    try:
        server.wait_ready()
        yield server
        server.stop()
    finally:
        server.kill()


@pytest.fixture
def folder(tmp_path):
    """An empty folder to serve, with room beside it."""
    root = tmp_path / "root"
    root.mkdir()
    return root


# The system's Chromium, driven by playwright.

def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def launch_chromium():
    """launch_chromium(flags…): a browser, until the module ends."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here")
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium on this machine")
    # Root may not use Chromium's sandbox, and a container's /dev/shm is small.
    arguments = ["--disable-dev-shm-usage", "--disable-gpu"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with playwright.sync_playwright() as driver:
        yield lambda *flags: driver.chromium.launch(executable_path=path,
                                                    args=[*arguments, *flags])


@pytest.fixture(scope="module")
def chromium(launch_chromium):
    browser = launch_chromium()
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def old_chromium(launch_chromium):
    """One that does not know HTTP/2."""
    browser = launch_chromium("--disable-http2")
    yield browser
    browser.close()


# The score of the strict table, printed at the end of the run.

SCORES = pytest.StashKey()


def pytest_configure(config):
    binary = find_binary(config)
    if binary:  # for what reads it without a fixture
        os.environ["TIDERACE_BINARY"] = str(binary)
    config.stash[SCORES] = {}
    # Under nohup it is ignored, and would be by every server we start.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def score(pytestconfig):
    return pytestconfig.stash[SCORES]


def pytest_terminal_summary(terminalreporter, config):
    scores = config.stash[SCORES]
    for name in sorted(scores):
        right = sum(scores[name].values())
        terminalreporter.write_line(f"strict HTTP/1.1, {name}: {right} of {len(scores[name])}")


@pytest.fixture(scope="module")
def run_example(binary, tmp_path_factory):
    """run_example("echo", flags…): one of examples/ or tests/, the same one for the same words."""
    running = {}

    def start(name, *flags, **more):
        key = (name, flags, tuple(sorted((more.get("env") or {}).items())))
        if key not in running:
            places = [binary.parent / folder / name / name for folder in ("examples", "tests")]
            program = next((place for place in places if place.exists()), places[0])
            if not program.exists():
                pytest.fail(f"{program} is not built")
            running[key] = Example(program, *flags, folder=tmp_path_factory.mktemp(name), **more)
            running[key].wait_ready()
        running[key].check_health()
        return running[key]

    yield start
    try:
        for program in running.values():
            program.stop()
    finally:
        for program in running.values():
            program.kill()


@pytest.fixture
def echo_with(run_example):
    return lambda *flags: run_example("echo", *flags)


@pytest.fixture
def echo(echo_with):
    return echo_with()
