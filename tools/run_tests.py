#!/usr/bin/env python3
"""Builds and runs every test, group by group. `./dev test [filter]` calls it after installing.

A group is a preset's unit tests (unit, asan, tsan), the tests of the tools (tools), the suites
that drive the real binary (server, server-asan, server-tsan), the fuzz drivers (fuzz), the program
built for another system (cross-macos, cross-freebsd) or the house rules (tidy, shell). A filter is
a piece of `group/program`: `unit`, `asan/core`, `http_wire`. The last line is `N passed, N failed`,
in single cases; the exit status is 1 if any failed or nothing ran.

Tests wait much and builds do not. So groups are built one after the other, at a low priority, and
two of those that are built are tested at a time, in the same order:

    build  |server |unit |asan     |server-asan |fuzz |tsan      |server-tsan |
    lane 1 |tools      ...|unit ...|asan |server-asan |fuzz ...|tsan
    lane 2         |server                                         |server-tsan

A group is tested once its build has ended, and no test builds anything. A unit group has two
programs running at a time, longest first; a pytest group has three workers. The limits of time are
there for what hangs: they are ten times what an idle machine needs, so that a loaded one meets none
of them.

What failed is named at the end, with the last lines of its log. A case whose assertion failed runs
once more, by itself, when all else is over; if it passes then, it counts as passed and is named as
unsteady, with its log: a test to mend. A crash, a sanitizer's report, a leak, a program past its
time and more than a few such cases are final. `./dev test --once` runs nothing twice.
"""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"
CORES = str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else "2"
FUZZ_SECONDS = 2
SANITIZER_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0",
}


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds


@dataclasses.dataclass
class Finished:
    status: int  # negative: the signal that ended it
    log: pathlib.Path
    seconds: float
    late: bool = False

    def why(self):
        if self.late:
            return "killed: it ran past its time"
        return f"signal {-self.status}" if self.status < 0 else f"status {self.status}"


class Stopped(Exception):
    """The run is being ended: nothing more is started."""


running = set()  # children of ours; those that still run at the end are ended
stopping = threading.Event()
starting = threading.Lock()  # so that no child is started after stop() has looked for them


def run(name, command, seconds_max, environment=None, cwd=ROOT):
    """Runs to the end or to seconds_max, with no stdin; all output goes to a log file."""
    log = LOGS / (name.replace("/", "-") + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log.open("wb") as out:
        with starting:
            if stopping.is_set():
                raise Stopped(name)
            child = subprocess.Popen(
                [str(word) for word in command],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )
            running.add(child)
        late = False
        try:
            child.wait(seconds_max)
        except subprocess.TimeoutExpired:
            end_groups([child])
            late = True
        except KeyboardInterrupt:
            end_groups([child])
            raise
        finally:
            running.discard(child)
    if stopping.is_set():
        raise Stopped(name)  # it was ended by us, so that its result means nothing
    return Finished(child.returncode, log, time.monotonic() - began, late)


def end_groups(children, seconds_to_tidy_up=30):
    """Interrupts them, so that pytest ends the servers it started; then kills what is left."""
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT)
    until = time.monotonic() + seconds_to_tidy_up
    for child in children:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(max(0, until - time.monotonic()))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def stop():
    """Ends every child, builds included, and lets no thread start another one."""
    with starting:
        stopping.set()
        children = list(running)
    end_groups(children)


SAID_LINES = 12  # of a failure's log at the end, where a log of a whole run is cut short in between
AGAIN_MOST = 5  # of 33,000 cases; more than that is no accident
# And what pytest-timeout says: what hangs is final, too.
NO_ASSERTION = re.compile(r"Sanitizer: |Sanitizer:DEADLYSIGNAL|: runtime error: |Timeout \(>")


@dataclasses.dataclass
class Failures:
    """The cases of one program that failed."""

    program: str  # asan/net
    cases: list
    again: object = None  # again(cases) gives a Finished; None: the failure is final
    said: list = dataclasses.field(default_factory=list)  # the last lines of its log

    @property
    def group(self):
        return self.program.partition("/")[0]


failures = []  # of this run, from several threads


def is_an_assertion(done):
    """Whether a program with failed cases ran to its end, and neither hung nor broke a rule."""
    log = done.log.read_text(errors="replace")
    return done.status == 1 and not done.late and not NO_ASSERTION.search(log)


def run_again(results):
    """Runs failed cases by themselves, and moves those that pass. Returns their names."""
    steady = [it for it in failures if not it.again]
    unsteady = []
    for it in failures:
        if not it.again:
            continue
        done = it.again(it.cases)
        if done.status != 0:
            steady.append(it)
            continue
        unsteady.append(it)
        results[it.group].failed -= len(it.cases)
        results[it.group].passed += len(it.cases)
    failures[:] = steady
    return unsteady


printing = threading.RLock()  # what one program reports stays together


def report(name, tally, note=""):
    parts = [f"{tally.passed} passed"]
    if tally.failed:
        parts.append(f"{tally.failed} FAILED")
    if tally.skipped:
        parts.append(f"{tally.skipped} skipped")
    line = f"  {name:<28} {', '.join(parts):<32} {tally.seconds:6.1f} s  {note}".rstrip()
    with printing:
        print(line, flush=True)


def without_passed_cases(lines):
    """A GoogleTest log without the cases that passed in silence; one that never ended stays."""
    kept = []
    for line in lines:
        if line.startswith(("[       OK ]", "[  SKIPPED ]")):
            if kept and kept[-1].startswith("[ RUN      ]"):
                kept.pop()
            continue
        if not line.startswith("[-----"):
            kept.append(line)
    return kept


def of_failed_cases(lines):
    """The lines of the failed cases in a GoogleTest log."""
    kept, case = [], []
    for line in lines:
        if line.startswith("[ RUN      ]"):
            case = [line]
        elif case:
            case.append(line)
            if line.startswith("[  FAILED  ]"):
                kept += case
            if line.startswith(("[  FAILED  ]", "[       OK ]", "[  SKIPPED ]")):
                case = []
    return kept


def of_failed_steps(lines):
    """The lines of the failed steps in a log of ninja: which target, and what the compiler said."""
    kept, inside = [], False
    for line in lines:
        if line.startswith("FAILED: "):
            inside = True
            kept.append(line)
        elif re.match(r"\[\d+/\d+\] |ninja: ", line):
            inside = False
        elif inside and not kept[-1].startswith("FAILED: "):
            kept.append(line)
        elif inside:
            kept.append("")  # in place of the command, which is a screen long
    return [line for line in kept if line]


def show_lines(title, lines):
    print(f"    --- {title}")
    for line in lines:
        print(f"    | {line}")
    sys.stdout.flush()


def show_tail(log, lines=40, keep=without_passed_cases):
    whole = keep(log.read_text(errors="replace").splitlines())
    show_lines(f"the end of {log.relative_to(ROOT)}", whole[-lines:])
    # A sanitizer's report ends with a page of shadow bytes.
    begin = next((i for i, line in enumerate(whole) if NO_ASSERTION.search(line)), len(whole))
    return whole[begin : begin + SAID_LINES] or whole[-SAID_LINES:]


def show_log(log):
    """Of a build that failed the first errors, because others follow from them; or a log's end."""
    failed = of_failed_steps(log.read_text(errors="replace").splitlines())
    if not failed:
        return show_tail(log)
    show_lines(f"what failed first, from {log.relative_to(ROOT)}", failed[:40])
    return failed[:SAID_LINES]


def failure(name, finished, note):
    with printing:
        report(name, Tally(failed=1, seconds=finished.seconds), note)
        failures.append(Failures(name, [note], said=show_log(finished.log)))
    return Tally(failed=1, seconds=finished.seconds)


def two_at_a_time(test, names):
    """test(name) gives a Tally; together they are returned."""
    total = Tally()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for tally in pool.map(test, names):
            total.add(tally)
    return total


def skip(name, note):
    """Something is absent here: printed, and never counted as passed."""
    report(name, Tally(skipped=1), note)
    return Tally(skipped=1)


# ---- building -----------------------------------------------------------------------------------


def configure(preset):
    """Makes the build files, or brings them up to date. Returns what failed, if it did."""
    if preset.startswith("cross-"):
        broken = virtual_environment("venv-cross", "tests/cross_requirements.txt")
        if broken:
            return broken
    if (BUILD / preset / "build.ninja").exists():
        done = run(f"configure-{preset}", ["ninja", "-C", BUILD / preset, "build.ninja"], 1200)
    else:
        done = run(f"configure-{preset}", ["cmake", "--preset", preset], 1200)
    return done if done.status != 0 else None


# Enough for tests to run as if no build did, and no less: on a machine with other work a build has
# to come to its end. Each session that run() starts is an autogroup, and there Linux has the
# priority of the group as well.
LOW_PRIORITY = ["sh", "-c", 'echo 10 2>/dev/null >/proc/self/autogroup; exec nice -n 10 "$@"', "sh"]


def build(preset, targets, jobs):
    words = ["ninja", "-C", BUILD / preset, "-k", "0", "-j", jobs, *targets]
    return run(f"build-{preset}", [*LOW_PRIORITY, *words], 7200)


class Builds:
    """Builds what the groups need, in their order, in a thread of its own. Those that link for long
    on one core have a second thread, which builds with that one beside the others."""

    def __init__(self, groups, wanted):
        self._results = {}
        self._told = threading.Condition()
        for links_long, jobs in ((False, CORES), (True, "1")):
            row = {n: g for n, g in groups.items() if g.preset and g.links_long == links_long}
            words = (row, wanted, jobs)
            threading.Thread(target=self._go, args=words, name="build", daemon=True).start()

    def _go(self, groups, wanted, jobs):
        for name, group in groups.items():
            try:
                done = self._one(group, wanted, jobs)
            except Exception as fault:  # raised where the group waits
                done = fault
            with self._told:
                self._results[name] = done
                self._told.notify_all()

    @staticmethod
    def _one(group, wanted, jobs):
        broken = configure(group.preset)
        if broken:
            return broken
        names = group.targets(wanted)
        return build(group.preset, names, jobs) if names else None

    def of(self, group):
        """Waits for the build. Its Finished (that of cmake if it failed), or None: no target."""
        with self._told:
            self._told.wait_for(lambda: group in self._results)
            done = self._results[group]
        if isinstance(done, Exception):
            raise done
        if done:
            with printing:
                print(f"  {group + ': build':<61} {done.seconds:6.1f} s", flush=True)
        return done


def is_current(preset, target):
    said = subprocess.run(
        ["ninja", "-C", str(BUILD / preset), "-n", target],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    ).stdout
    return "no work to do" in said


# ---- unit tests ---------------------------------------------------------------------------------


def unit_tests(preset):
    """Every test that CMake knows, as {room: command}; no command while it is not built."""
    words = ["ctest", "--test-dir", str(BUILD / preset), "--show-only=json-v1"]
    said = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
    return {test["name"]: test.get("command") for test in json.loads(said)["tests"]}


def count_googletest(path):
    """The numbers, and the names of those that failed."""
    tally, failed = Tally(), []
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                tally.failed += 1
                failed.append(f"{suite.get('name')}.{case['name']}")
            elif case.get("result") == "COMPLETED":
                tally.passed += 1
            else:
                tally.skipped += 1
    return tally, failed


MEMORY = pathlib.Path("/dev/shm")
MEMORY_BYTES_MIN = 2 << 30


def temporary_folder(memory=MEMORY):
    """A folder for the files of one program, in memory where there is room: some tests make tens of
    thousands, which takes a busy disk a minute. The suites of tests/ use the disk all the same."""
    if memory.is_dir() and os.access(memory, os.W_OK):
        if shutil.disk_usage(memory).free >= MEMORY_BYTES_MIN:
            return tempfile.TemporaryDirectory(prefix="tiderace-", dir=memory)
    return tempfile.TemporaryDirectory(prefix="tiderace-")


def run_program(name, command):
    """Runs a unit test program with a temporary folder of its own."""
    with temporary_folder() as folder:
        os.chmod(folder, 0o755)  # tests become another user, which has to get in
        return run(name, command, 2400, {**SANITIZER_ENVIRONMENT, "TMPDIR": folder})


def run_unit(name, command):
    result = LOGS / (name.replace("/", "-") + ".json")
    result.unlink(missing_ok=True)
    # The log's end names the one that hangs.
    done = run_program(name, [*command, f"--gtest_output=json:{result}"])
    if not result.exists():  # it crashed, or never was a GoogleTest program
        log = done.log.read_text(errors="replace")
        if done.status == 0 and "[==========]" not in log:
            tally = Tally(passed=1, seconds=done.seconds)
            report(name, tally)
            return tally
        return failure(name, done, f"crashed ({done.why()})")
    try:
        tally, failed = count_googletest(result)
    except ValueError:  # GoogleTest forgets a comma where an assertion fails outside of a case
        return failure(name, done, f"outside of a case, or cut off ({done.why()})")
    tally.seconds = done.seconds
    if done.status != 0 and tally.failed == 0:
        tally.failed = 1  # all cases passed, then a sanitizer or an exit handler objected
        failed = [f"after the last case ({done.why()})"]
    plain = is_an_assertion(done)
    with printing:
        report(name, tally)
        keep = of_failed_cases if plain else without_passed_cases
        said = show_tail(done.log, keep=keep) if tally.failed else []
    if tally.failed:

        def again(cases):
            chosen = f"--gtest_filter={':'.join(cases)}"
            return run_program(f"{name}-again", [*command, chosen])

        failures.append(Failures(name, failed, again if plain else None, said))
    return tally


@dataclasses.dataclass
class Group:
    """How a group is built, and tested when that is done: test(wanted, built) gives a Tally."""

    test: object
    preset: str = ""
    targets: object = None  # targets(wanted), after cmake ran: what ninja is to make
    links_long: bool = False
    prepare: object = None  # prepare(), while it is built: a Tally of what could not be prepared


# Those that take longest, most of it waiting for a server to start or to be away. They come first:
# the last one of a group often runs alone.
LONG_PROGRAMS = ("db", "example_tidepool", "seeds", "db_redis")


def longest_first(rooms):
    return sorted(rooms, key=lambda room: room not in LONG_PROGRAMS)


def unit_group(group, preset, without=(), only=None):
    """`without`: rooms that are left out; `only`: of a room, the cases of a GoogleTest filter."""

    def rooms(wanted):
        known = sorted(unit_tests(preset).keys() - without)
        return [room for room in known if wanted(f"{group}/{room}")]

    def test(wanted, built):
        total = Tally()
        if built.status != 0:
            total.add(failure(f"{group}: build", built, "does not build"))
        commands = unit_tests(preset)
        for room in (only or {}).keys() & commands.keys():
            commands[room] = commands[room] and [*commands[room], f"--gtest_filter={only[room]}"]
        built_rooms = [
            room
            for room in rooms(wanted)
            if commands[room] and (built.status == 0 or is_current(preset, f"{room}_test"))
        ]
        total.add(
            two_at_a_time(
                lambda room: run_unit(f"{group}/{room}", commands[room]), longest_first(built_rooms)
            )
        )
        return total

    return Group(test, preset, lambda wanted: [f"{room}_test" for room in rooms(wanted)])


# ---- pytest -------------------------------------------------------------------------------------


making_environments = threading.Lock()  # two groups may need the same one at the same time


def virtual_environment(name="venv", requirements="tests/requirements.txt"):
    """The pinned packages of `requirements`; made once, remade when the file changes."""
    with making_environments:
        return make_environment(BUILD / name, name, requirements)


def make_environment(home, name, requirements):
    pinned = (ROOT / requirements).read_text()
    stamp = home / "requirements.txt"
    if stamp.exists() and stamp.read_text() == pinned:
        return None
    done = run(name, [sys.executable, "-m", "venv", "--clear", home], 600)
    if done.status == 0:
        done = run(
            name,
            [
                home / "bin/python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
                ROOT / requirements,
            ],
            1200,
        )
    if done.status != 0:
        return done
    stamp.write_text(pinned)
    return None


def count_pytest(path):
    """The numbers, and the node ids of those that failed; None where pytest gives no file."""
    tally, failed = Tally(), []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed += 1
            file, kind = case.get("file"), (case.get("classname") or "").split(".")
            inner = kind[len(pathlib.PurePath(file).with_suffix("").parts) :] if file else []
            failed.append("::".join([file, *inner, case.get("name")]) if file else None)
        elif case.find("skipped") is not None:
            tally.skipped += 1
        else:
            tally.passed += 1
    return tally, failed


def from_root(case, folders):
    """A node id as ROOT sees it; pytest names a file from the folder of its settings."""
    file = case.partition("::")[0]
    for folder in (".", *folders):
        if (ROOT / folder / file).exists():
            return str(pathlib.PurePath(folder) / file) + case.removeprefix(file)
    return case


def run_pytest(name, folders, environment=None):
    broken = virtual_environment()
    if broken:
        return failure(name, broken, "no Python environment")
    result = LOGS / (name + ".xml")
    result.unlink(missing_ok=True)
    pytest = [BUILD / "venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    pytest += ["--timeout=400", "-o", "junit_family=xunit1"]  # that one has the file of a case
    done = run(
        name,
        # Three at a time: tests wait more than they compute.
        [*pytest, "--numprocesses=3", "--dist=worksteal", f"--junitxml={result}", *folders],
        5400,
        environment,
    )
    if done.status == 5:  # pytest found no test
        return skip(name, "no tests yet")
    if not result.exists():
        return failure(name, done, f"crashed ({done.why()})")
    tally, failed = count_pytest(result)
    tally.seconds = done.seconds
    if done.status != 0 and tally.failed == 0:
        tally.failed = 1
        failed = [f"beside the cases ({done.why()})"]
    with printing:
        report(name, tally)
        said = show_tail(done.log, 80) if tally.failed else []
    if tally.failed:

        def again(cases):
            chosen = [from_root(case, folders) for case in cases]
            return run(f"{name}-again", [*pytest, *chosen], 2400, environment)

        plain = is_an_assertion(done) and None not in failed
        cases = [it or "?" for it in failed]
        failures.append(Failures(name, cases, again if plain else None, said))
    return tally


def tools_group(*_):
    return run_pytest("tools", ["tools", "bench"])


# What the suites of tests/ run; run_tests_test.py holds this list to what CMake builds.
PROGRAMS = [
    "tiderace",
    "tiderace-lab",
    "tiderace-db",
    "example_chat",
    "example_echo",
    "example_echo_levels",
    "example_fetch",
    "example_files",
    "example_hello",
    "example_kv",
    "example_proxy",
    "example_tidepool",
    "example_todo",
    "sample_app",
    "sample_app_members",
    "sample_blocked",
    "sample_life",
    "sample_routes",
    "sample_tcp_callbacks",
    "sample_tcp_members",
    "sample_tcp_task",
    "sample_websocket_talk",
    "tutorial_forms",
    "tutorial_hello",
    "tutorial_lists",
    "tutorial_pages",
    "websocket_client",
    "websocket_rooms",
]
# Those that the tests marked `quick` run. A sanitizer's build has no others, so that a test which
# needs another one fails there.
QUICK_PROGRAMS = [
    "tiderace",
    "tiderace-lab",
    "tiderace-db",
    "example_echo",
    "sample_websocket_talk",
    "websocket_client",
    "websocket_rooms",
]
# For suites that are left out under a sanitizer: programs of other makes around which the lab is
# built, our codecs beside other parsers, and the library that is installed.
RELEASE_PROGRAMS = ["lab_opponents", "tiderace_library", "wire_differential_programs"]


TOOLS = BUILD / "tools"
H2SPEC_VERSION = "v2.2.1+incompatible"


# What tests/test_packaging.py checks packaging/ with: name, package, version.
PACKAGING_TOOLS = (
    ("helm", "helm.sh/helm/v3/cmd/helm", "v3.19.5"),
    ("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "v0.7.0"),
    ("compose-spec", "github.com/compose-spec/compose-go/v2/cmd", "v2.9.1"),
)
KUBERNETES_VERSION = "v1.34.2"  # whose OpenAPI documents are the schemas
GO_OLDEST_FOR_PACKAGING = (1, 24)


def go_version():
    said = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=False)
    numbers = re.match(r"go(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


def build_packaging_tools():
    """From the Go module proxy, once. Without such a Go their tests are skipped, as reported."""
    if not shutil.which("go") or go_version() < GO_OLDEST_FOR_PACKAGING:
        return None
    TOOLS.mkdir(parents=True, exist_ok=True)
    for name, package, version in PACKAGING_TOOLS:
        program = TOOLS / f"{name}-{version}"
        if program.exists():
            continue
        bin_folder = TOOLS / f"bin-{name}"
        words = ["go", "install", f"{package}@{version}"]
        where = {"GOBIN": str(bin_folder), "GOFLAGS": "-modcacherw"}
        done = run(f"build-{name}", words, 2400, where, cwd=TOOLS)
        if done.status != 0:
            return done
        (bin_folder / package.rsplit("/", 1)[1]).rename(program)
    schemas = TOOLS / f"kubernetes-{KUBERNETES_VERSION}"
    if not schemas.exists():
        words = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES_VERSION}"]
        done = run("download-kubernetes", words, 1200, {"GOFLAGS": "-modcacherw"}, cwd=TOOLS)
        if done.status != 0:
            return done
        log = done.log.read_text()
        module = json.loads(log[log.index("{") : log.rindex("}") + 1])
        shutil.copytree(pathlib.Path(module["Dir"]) / "api/openapi-spec/v3", schemas)
    return None


NODE_OLDEST_FOR_LIGHTHOUSE = (18, 16)


def node_version():
    if not shutil.which("node") or not shutil.which("npm"):
        return (0, 0)
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False)
    numbers = re.match(r"v(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0)


def install_lighthouse():
    """The npm package at the versions of its lock file, with no scripts of packages, into
    build/tools/lighthouse. Without Node.js its test is skipped, as reported."""
    home, source = TOOLS / "lighthouse", ROOT / "tests/lighthouse"
    stamp = home / "installed-lock.json"
    lock = (source / "package-lock.json").read_text()
    if node_version() < NODE_OLDEST_FOR_LIGHTHOUSE:
        return None
    if not stamp.exists() or stamp.read_text() != lock:
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, home / name)
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = run("install-lighthouse", words, 1200, cwd=home)
        if done.status != 0:
            return done
        stamp.write_text(lock)
    return None


def fetch_redis_tests():
    """The tests of redis-py, which only its source distribution has, into build/tools."""
    pinned = (ROOT / "tests/requirements.txt").read_text()
    version = re.search(r"^redis==(\S+)$", pinned, re.M)[1]
    home = TOOLS / f"redis-py-{version}"
    if home.exists():
        return None
    broken = virtual_environment()
    if broken:
        return broken
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


def build_go_programs():
    """The programs in Go that suites drive, into build/tools. Returns what failed, if it did."""
    if not shutil.which("go"):
        return None  # their tests report it and are skipped
    TOOLS.mkdir(parents=True, exist_ok=True)
    words = ["go", "build", "-buildvcs=false", "-o", TOOLS / "go_client", "main.go"]
    done = run("build-go_client", words, 1200, cwd=ROOT / "tests/go_client")
    h2spec = TOOLS / f"h2spec-{H2SPEC_VERSION}"
    if done.status == 0 and not h2spec.exists():
        words = ["go", "install", f"github.com/summerwind/h2spec/cmd/h2spec@{H2SPEC_VERSION}"]
        where = {"GOBIN": str(TOOLS), "GOPATH": str(TOOLS / "go"), "GOFLAGS": "-modcacherw"}
        done = run("build-h2spec", words, 1200, where, cwd=TOOLS)
        if done.status == 0:
            (TOOLS / "h2spec").rename(h2spec)
    return done if done.status != 0 else None


MAKE_TOOLS = (
    build_go_programs,
    build_packaging_tools,
    install_lighthouse,
    fetch_redis_tests,
)


def server_group(group, preset, without=()):
    """The suites of tests/. They build nothing: the programs they drive are built here, before they
    start (but for test_installed.py and test_outside.py, which test builds)."""

    def test(_, built):
        if built.status != 0:
            return failure(group, built, "the server does not build")
        return run_pytest(
            group,
            ["tests", *(f"--ignore=tests/{file}" for file in without)],
            {
                **SANITIZER_ENVIRONMENT,
                "TIDERACE_BINARY": str(BUILD / preset / "tiderace"),
                "TIDERACE_SANITIZED": "" if preset == "release" else preset,
            },
        )

    def make_tools():
        total = Tally()
        for make in MAKE_TOOLS:
            broken = make()
            if broken:
                total.add(failure(f"{group}: tools", broken, "a tool of the suites is not made"))
        return total

    if preset == "release":
        programs = [*PROGRAMS, *RELEASE_PROGRAMS]
        return Group(test, preset, lambda _: programs, prepare=make_tools)
    return Group(test, preset, lambda _: QUICK_PROGRAMS)


# ---- the rest -----------------------------------------------------------------------------------


FUZZ_PRESET = "asan"  # whose rooms are built by then; `./dev fuzz` has one of its own


def fuzz_drivers(wanted):
    names = sorted(path.stem for path in (ROOT / "fuzz").glob("*_fuzz.cc"))
    return [name for name in names if wanted(f"fuzz/{name}")]


def fuzz_group(wanted, built):
    total = Tally()
    if built.status != 0:
        total.add(failure("fuzz: build", built, "does not build"))
    drivers = [
        driver
        for driver in fuzz_drivers(wanted)
        if built.status == 0 or is_current(FUZZ_PRESET, driver)
    ]
    total.add(two_at_a_time(run_fuzz, drivers))
    return total


def run_fuzz(driver):
    """Two cases: every input of the committed corpus, then a few seconds of new ones."""
    name, binary = f"fuzz/{driver}", BUILD / FUZZ_PRESET / "fuzz" / driver
    corpus = ROOT / "fuzz/corpus" / driver.removesuffix("_fuzz")
    found = BUILD / "fuzz/corpus" / driver
    crashes = LOGS / f"{driver}-"
    found.mkdir(parents=True, exist_ok=True)
    replay = sorted(corpus.iterdir()) if corpus.is_dir() else []
    total = Tally()
    if replay:
        done = run(f"{name}-replay", [binary, *replay], 1200, SANITIZER_ENVIRONMENT)
        if done.status != 0:
            return failure(name, done, "an input of the corpus fails")
        total.add(Tally(passed=1, seconds=done.seconds))
    done = run(
        name,
        [
            binary,
            f"-max_total_time={FUZZ_SECONDS}",
            f"-artifact_prefix={crashes}",
            "-print_final_stats=0",
            found,
            *([corpus] if replay else []),
        ],
        600,
        SANITIZER_ENVIRONMENT,
    )
    if done.status != 0:
        return failure(name, done, "a new input fails")
    total.add(Tally(passed=1, seconds=done.seconds))
    report(name, total, f"{len(replay)} inputs replayed")
    return total


def cross_group(name, is_for_that_system):
    """The program for a foreign system, compiled and linked, but not run."""

    def test(_, built):
        if built.status != 0:
            return failure(name, built, "does not build")
        if not is_for_that_system((BUILD / name / "tiderace").read_bytes()):
            return failure(name, built, "is a program for another system")
        report(name, Tally(passed=1))
        return Tally(passed=1)

    # A link builds libc++ first.
    return Group(test, name, lambda _: ["tiderace"], links_long=True)


def is_macos_arm64(program):
    """A Mach-O executable for arm64."""
    return program[:8] == b"\xcf\xfa\xed\xfe\x0c\0\0\1" and program[12] == 2


def is_freebsd_amd64(program):
    """A 64-bit ELF executable for x86-64 with FreeBSD's loader and its note."""
    return (
        program[:6] == b"\x7fELF\2\1"
        and program[16] in (2, 3)
        and program[18:20] == b"\x3e\0"
        and b"/libexec/ld-elf.so.1\0" in program[:4096]
        and b"FreeBSD\0" in program
    )


def tidy_group(*_):
    done = run("tidy", [sys.executable, ROOT / "tools/tidy.py", "--count"], 600)
    rules = done.log.read_text().splitlines()[-1:] or ["0 rules hold, 1 broken"]
    words = rules[0].split()
    try:
        tally = Tally(passed=int(words[0]), failed=int(words[3]), seconds=done.seconds)
    except (IndexError, ValueError):
        return failure("tidy", done, "tidy.py itself failed")
    with printing:
        report("tidy", tally)
        if done.status != 0:
            show_tail(done.log)
    if done.status != 0:
        tally.failed = max(tally.failed, 1)
        failures.append(Failures("tidy", ["see its log above"]))
    return tally


def shell_group(*_):
    if not shutil.which("shellcheck"):
        return skip("shell", "shellcheck is not installed")
    total = Tally()
    for script in ("dev", ".ci/run"):
        done = run(f"shell-{script}", ["shellcheck", ROOT / script], 300)
        if done.status != 0:
            total.add(failure(f"shell/{script}", done, "shellcheck objects"))
        else:
            total.add(Tally(passed=1, seconds=done.seconds))
    report("shell", total)
    return total


GROUPS = {
    "tidy": Group(tidy_group),
    "shell": Group(shell_group),
    "tools": Group(tools_group),
    # First, because it takes as long as all others together.
    "server": server_group("server", "release"),
    "unit": unit_group("unit", "dev"),
    # The documents' programs run once: their blocks are examples, and their rooms are tested here.
    "asan": unit_group("asan", "asan", without={"documents"}),
    "server-asan": server_group("server-asan", "asan", without={"test_opponents.py"}),
    "fuzz": Group(fuzz_group, FUZZ_PRESET, fuzz_drivers),
    # Without those whose tests have one thread only, and without the engines whose threads meet in
    # the same places as epoll's.
    "tsan": unit_group(
        "tsan",
        "tsan",
        without={
            *("http", "http_h1", "http_h2", "http_websocket", "http_coding", "http_wire"),
            *("http_wire_h2", "http_wire_websocket", "lab_report", "seeds", "documents"),
        },
        only={"net": "-*/epoll_*:*/poll:*/select:*/kqueue:*/fake*"},
    ),
    # Without the table of a parser's answers: no thread.
    "server-tsan": server_group(
        "server-tsan", "tsan", without={"test_http1_strict.py", "test_opponents.py"}
    ),
    "cross-macos": cross_group("cross-macos", is_macos_arm64),
    "cross-freebsd": cross_group("cross-freebsd", is_freebsd_amd64),
}
HAVE_PROGRAMS = ("unit", "asan", "tsan", "fuzz")  # a filter may name one program of these


def test_group(name, group, wanted, builds):
    total = group.prepare() if group.prepare else Tally()
    if not group.preset:
        return group.test(wanted, None)
    built = builds.of(name)
    if built is None:  # no program of it is wanted
        return Tally()
    if built.log.stem.startswith("configure-"):
        total.add(failure(name, built, "cmake failed"))
        return total
    total.add(group.test(wanted, built))
    total.seconds += built.seconds
    return total


GROUPS_AT_ONCE = 2


def test_groups(groups, wanted, builds):
    """Their tallies, in the order of `groups`; a group that has nothing to test has none."""
    with concurrent.futures.ThreadPoolExecutor(GROUPS_AT_ONCE) as lanes:
        tested = {
            name: lanes.submit(test_group, name, group, wanted, builds)
            for name, group in groups.items()
        }
        try:
            tallies = {name: lane.result() for name, lane in tested.items()}
        except BaseException:  # Ctrl-C, or a fault of the driver
            lanes.shutdown(wait=False, cancel_futures=True)
            stop()
            raise
    return {name: tally for name, tally in tallies.items() if tally != Tally()}


def show_failures(unsteady):
    for title, them in (
        ("failed:", failures),
        ("unsteady (failed once, passed by themselves; mend these tests):", unsteady),
    ):
        if them:
            print(f"\n{title}")
        for it in them:
            for case in it.cases:
                print(f"  {it.program} {case}")
            for line in it.said:
                print(f"    | {line}")


def main(words):
    filters = [word for word in words if word != "--once"]
    failures.clear()
    stopping.clear()

    def wanted(name):
        return not filters or any(word in name for word in filters)

    groups = {name: it for name, it in GROUPS.items() if wanted(name) or name in HAVE_PROGRAMS}
    builds = Builds(groups, wanted)
    began = time.monotonic()
    try:
        results = test_groups(groups, wanted, builds)
        count = sum(len(it.cases) for it in failures)
        unsteady = run_again(results) if "--once" not in words and count <= AGAIN_MOST else []
    finally:
        stop()

    print(f"\n{'group':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    total = Tally()
    for group, tally in results.items():
        total.add(tally)
        print(
            f"{group:<14}{tally.passed:>8}{tally.failed:>8}{tally.skipped:>9}{tally.seconds:>9.1f}"
        )
    if total.passed + total.failed == 0:
        print(f"no test matches {' '.join(filters)}" if filters else "no test ran")
        print(f"the groups are: {' '.join(GROUPS)}; unit/net, asan/core, … are parts of them")
    print(f"all of it in {time.monotonic() - began:.0f} s: builds and tests overlap")
    show_failures(unsteady)
    print(f"\n{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("stopped; build/test-logs has the logs")
