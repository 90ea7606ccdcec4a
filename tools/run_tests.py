#!/usr/bin/env python3
"""Builds and runs the tests. `./dev test [SET] [NAME…]` calls it after installing.

    ./dev test             quick: the house rules, the tools, each room's unit tests, and the suites
                           that drive the real programs; one build (dev)
    ./dev test ci          the same, then the rooms and a part of the suites under sanitizers
    ./dev test all         everything: also what is slow, the fuzzers and the cross-builds
    ./dev test NAME…       a part of a set: a room (net), a suite (test_https), group/name
                           (asan/core), or any piece of such a name
    --once                 a failed case is final

A job is one program: a room's tests, one file of a suite. A job starts when what it needs is
built, the one that took longest the last time first, a few at a time: tests wait more than they
compute. The builds go on beside them, one after the other, at a low priority. No test builds
anything, except those that test building (slow). The limits of time are there for what hangs: they
are many times what an idle machine needs.

A case that fails is shown at once, with the command that runs it alone. A case whose assertion
failed runs once more when all else is over; if it passes then, it counts as passed and is named as
unsteady: a test to mend. A crash, a sanitizer's report, a leak, a program past its time and more
than a few such cases are final.

The last line is `N passed, N failed`, in single cases; the exit status is 1 if any failed or
nothing ran. build/test-logs has each job's whole output, and costs.json what it took.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import suite_needs  # noqa: E402
from children import BUILD, LOGS, ROOT, Finished, Stopped, log_of, run, stop, stopping  # noqa: E402

COSTS = LOGS / "costs.json"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
LANES = CORES * 2 + 1  # tests wait; more than five starved the servers of others
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
    cpu: float = 0.0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.cpu += other.cpu


# ---- what is printed ----------------------------------------------------------------------------

printing = threading.RLock()  # what one job reports stays together
NO_ASSERTION = re.compile(r"Sanitizer: |Sanitizer:DEADLYSIGNAL|: runtime error: |Timeout \(>")
SAID_LINES = 12  # of a failure's log at the end


def say(text=""):
    with printing:
        clear = "\r\033[K" if sys.stdout.isatty() else ""
        print(clear + text, flush=True)


def report(name, tally, note=""):
    parts = [f"{tally.passed} passed"]
    if tally.failed:
        parts.append(f"{tally.failed} FAILED")
    if tally.skipped:
        parts.append(f"{tally.skipped} skipped")
    say(f"  {name:<36} {', '.join(parts):<32} {tally.seconds:6.1f} s  {note}".rstrip())


def of_failed_steps(lines):
    """The lines of the failed steps in a log of ninja: which target, and what the compiler said."""
    kept, inside, command = [], False, False
    for line in lines:
        if line.startswith("FAILED: "):
            inside = command = True
            kept.append(line.rstrip())
        elif re.match(r"\[\d+/\d+\] |ninja: ", line):
            inside = False
        elif command:  # a screen long
            command = False
        elif inside:
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


def last_words(log):
    """A log's lines on a failure: failed build steps or cases, a sanitizer's report, the end."""
    lines = log.read_text(errors="replace").splitlines()
    found = of_failed_steps(lines) or of_failed_cases(lines)
    if found:
        return found[:40]
    # A sanitizer's report ends with a page of shadow bytes, and pytest's with a list of cases.
    for mark in (NO_ASSERTION, re.compile(r"^=+ (FAILURES|ERRORS) =+$")):
        begin = next((i for i, line in enumerate(lines) if mark.search(line)), None)
        if begin is not None:
            return lines[begin : begin + 60]
    return lines[-40:]


@dataclasses.dataclass
class Failures:
    """The cases of one job that failed."""

    job: str  # asan/net
    cases: list
    again: object = None  # again(cases) gives a Finished; None: the failure is final
    said: list = dataclasses.field(default_factory=list)  # the last lines of its log
    group: str = ""


failures = []  # of this run, from several threads


def failure(name, finished, note):
    """One failure that has no case: a build, a crash."""
    tally = Tally(failed=1, seconds=finished.seconds, cpu=finished.cpu)
    said = last_words(finished.log)
    with printing:
        report(name, tally, note)
        for line in said:
            say(f"    | {line}")
    failures.append(Failures(name, [note], said=said[:SAID_LINES], group=name.partition("/")[0]))
    return tally


def skip(name, note):
    """Something is absent here: printed, and never counted as passed."""
    report(name, Tally(skipped=1), note)
    return Tally(skipped=1)


class Progress:
    """A line that says how far the run is, and each failed case as soon as its log names it."""

    CASE = re.compile(
        r"^\[ +(?:(OK|SKIPPED)|FAILED +) \] (\S+?)(?:,| \(\d+ ms\)$)|"
        r"^(\S+\.py::.*) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)\b"
    )

    def __init__(self, jobs, builds, costs):
        self.jobs, self.builds, self.costs = jobs, builds, costs
        self.began = time.monotonic()
        self.active, self.done, self.cases = {}, [], 0
        self._offsets, self._lock = {}, threading.Lock()

    def start(self, job):
        with self._lock:
            self.active[job.name] = job
            self._offsets[job.name] = 0

    def end(self, job):
        self.read(job)
        with self._lock:
            del self.active[job.name]
            self.done.append(job.name)

    def read(self, job):
        """The cases that ended since the last call."""
        with self._lock:
            log = log_of(job.name)
            if job.name not in self._offsets or not log.exists():
                return
            with log.open("rb") as file:
                file.seek(self._offsets[job.name])
                text, newline, _ = file.read().rpartition(b"\n")
            self._offsets[job.name] += len(text) + len(newline)
        for line in text.decode(errors="replace").splitlines():
            found = self.CASE.match(line)
            if not found:
                continue
            self.cases += 1
            if "FAILED" in line or found[4] == "ERROR":
                case = found[2] or found[3]
                say(f"  FAILED {job.name}: {case}\n         alone: {job.command_for(job, case)}")

    def line(self):
        for job in list(self.active.values()):
            self.read(job)
        seconds = time.monotonic() - self.began
        with self._lock:
            parts = [
                f"{seconds:.0f} s",
                f"{len(self.done)} of {len(self.jobs)} jobs",
                f"{self.cases} cases",
            ]
            building = self.builds.text()
            if building:
                parts.append(f"building {building}")
            if self.active:
                names = list(self.active)
                parts.append("running " + ", ".join(names[:3]) + (" …" if names[3:] else ""))
        left = self.costs.get("", {}).get("seconds")
        if left and left > seconds:
            parts.append(f"about {left - seconds:.0f} s left")
        return " · ".join(parts)

    def show(self, ended):
        """Until `ended`; in a thread of its own."""
        while not ended.wait(1 if sys.stdout.isatty() else 20):
            line = self.line()
            with printing:
                if sys.stdout.isatty():
                    width = shutil.get_terminal_size().columns - 1
                    print("\r\033[K" + line[:width], end="", flush=True)
                else:
                    print("  … " + line, flush=True)


# ---- jobs ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Job:
    name: str  # group/program
    test: object  # test(job) gives a Tally
    preset: str = ""
    targets: tuple = ()  # of the preset, which are built before it
    command_for: object = None  # command_for(job, case): the command that runs one case alone
    fixtures: tuple = ()  # functions that make what it needs beside the build; None, or what failed

    @property
    def group(self):
        return self.name.partition("/")[0]


def is_an_assertion(done):
    """Whether a program with failed cases ran to its end, and neither hung nor broke a rule."""
    log = done.log.read_text(errors="replace")
    return done.status == 1 and not done.late and not NO_ASSERTION.search(log)


def finish(job, done, tally, failed, again):
    """Reports a program's cases, and keeps the failed ones."""
    tally.seconds, tally.cpu = done.seconds, done.cpu
    if done.status != 0 and tally.failed == 0:
        tally.failed = 1  # all cases passed, then a sanitizer or an exit handler objected
        failed = [f"after the last case ({done.why()})"]
    with printing:
        report(job.name, tally)
        if tally.failed:
            said = last_words(done.log)
            for line in said:
                say(f"    | {line}")
            plain = is_an_assertion(done) and None not in failed
            cases = [case or "?" for case in failed]
            entry = Failures(job.name, cases, again if plain else None, said[:SAID_LINES])
            entry.group = job.group
            failures.append(entry)
    return tally


# ---- unit tests ---------------------------------------------------------------------------------

MEMORY = pathlib.Path("/dev/shm")
MEMORY_BYTES_MIN = 2 << 30


def temporary_folder(memory=MEMORY):
    """A folder for the files of one program, in memory where there is room: some tests make tens of
    thousands, which takes a busy disk a minute. The suites of tests/ use the disk all the same."""
    if memory.is_dir() and os.access(memory, os.W_OK):
        if shutil.disk_usage(memory).free >= MEMORY_BYTES_MIN:
            return tempfile.TemporaryDirectory(prefix="tiderace-", dir=memory)
    return tempfile.TemporaryDirectory(prefix="tiderace-")


def run_program(name, command, environment=None):
    """Runs a unit test program with a temporary folder of its own."""
    with temporary_folder() as folder:
        os.chmod(folder, 0o755)  # tests become another user, which has to get in
        more = {**SANITIZER_ENVIRONMENT, **(environment or {}), "TMPDIR": folder}
        return run(name, command, 2400, more)


def count_googletest(path):
    """The numbers, and the names of the failed cases."""
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


def run_unit(job, only, environment=None):
    result = log_of(job.name).with_suffix(".json")
    result.unlink(missing_ok=True)
    program = program_of(job)
    words = [
        program,
        f"--gtest_output=json:{result}",
        *([f"--gtest_filter={only}"] if only else []),
    ]
    done = run_program(job.name, words, environment)
    if not result.exists():
        # It crashed (its log's end names the case), or never was a GoogleTest program.
        if done.status == 0 and "[==========]" not in done.log.read_text(errors="replace"):
            return finish(job, done, Tally(passed=1), [], None)
        return failure(job.name, done, f"crashed ({done.why()})")
    try:
        tally, failed = count_googletest(result)
    except ValueError:  # GoogleTest forgets a comma where an assertion fails outside of a case
        return failure(job.name, done, f"outside of a case, or cut off ({done.why()})")

    def again(cases):
        return run_program(f"{job.name}-again", [program, f"--gtest_filter={':'.join(cases)}"])

    return finish(job, done, tally, failed, again)


def unit_tests(preset):
    """Every test that CMake knows, as {room: its command}; it knows that only of what is built."""
    words = ["ctest", "--test-dir", str(BUILD / preset), "--show-only=json-v1"]
    said = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
    return {test["name"]: test.get("command") for test in json.loads(said)["tests"]}


def program_of(job):
    return unit_tests(job.preset)[job.name.partition("/")[2]][0]


# The quick set leaves out what takes long: these cases, and most of the ten thousand schedules of a
# simulated network that seeds_test replays.
QUICK_ONLY = {"http": "-Sizes.EveryFormOf256MiBComesWhole"}
QUICK_SEEDS = {"TIDERACE_SEEDS": "100"}


def unit_jobs(group, preset, without=(), only=None, environment=None):
    """`without`: rooms that are left out; `only`: of a room, the cases of a GoogleTest filter."""

    def command_for(job, case):
        program = os.path.relpath(program_of(job), ROOT)
        return f"{program} --gtest_filter={shlex.quote(case)}"

    for room in sorted(unit_tests(preset).keys() - without):
        chosen = (only or {}).get(room)
        test = lambda job, chosen=chosen: run_unit(job, chosen, environment)  # noqa: E731
        yield Job(f"{group}/{room}", test, preset, (f"{room}_test",), command_for)


# ---- pytest -------------------------------------------------------------------------------------

PYTEST = [BUILD / "venv/bin/python", "-m", "pytest"]


def count_pytest(path):
    """The numbers, and the node ids of the failed cases; None where pytest gives no file."""
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


def from_root(case, folder):
    """A node id as ROOT sees it; pytest names a file from the folder of its settings."""
    name = case.partition("::")[0]
    for place in (".", folder):
        if (ROOT / place / name).exists():
            return str(pathlib.PurePath(place) / name) + case.removeprefix(name)
    return case


def run_pytest(job, file, environment):
    result = log_of(job.name).with_suffix(".xml")
    result.unlink(missing_ok=True)
    words = [*PYTEST, "-v", "-p", "no:cacheprovider", "--timeout=400", "-o", "junit_family=xunit1"]
    done = run(job.name, [*words, f"--junitxml={result}", file], 2400, environment)
    if done.status == 5:  # nothing of this file is in the set
        return Tally(seconds=done.seconds, cpu=done.cpu)
    if not result.exists():
        return failure(job.name, done, f"crashed ({done.why()})")
    tally, failed = count_pytest(result)
    folder = pathlib.PurePath(file).parent

    def again(cases):
        chosen = [from_root(case, folder) for case in cases]
        return run(f"{job.name}-again", [*words, *chosen], 2400, environment)

    return finish(job, done, tally, failed, again)


# What the suites of tests/ run; run_tests_test.py holds this list to what CMake builds.
PROGRAMS = [
    "tiderace",
    "tiderace-load",
    "tiderace-lab",
    "tiderace-db",
    "tiderace-tools",
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
    "sample_metrics",
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
    "lab_opponents",
    "wire_differential_programs",
]
# The programs that the tests marked `sanitizers` run. A sanitizer's build has no others, so a
# test which needs another one fails there.
SANITIZER_PROGRAMS = [
    "tiderace",
    "tiderace-load",
    "tiderace-lab",
    "tiderace-db",
    "example_echo",
    "sample_websocket_talk",
    "websocket_client",
    "websocket_rooms",
]
# What is installed of the library: for slow suites that name it.
INSTALLED = "tiderace_library"


def python_files(*folders):
    """The files of a folder's suites, and of its inner folders'."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("test_*.py"))]


def suite_jobs(group, preset, slow, without=()):
    """The suites of tests/, each file of it a job. `slow`: with the cases that are marked so."""
    sanitized = preset in ("asan", "tsan")
    for path in python_files("tests"):
        text = path.read_text()
        if path.name in without or (sanitized and "mark.sanitizers" not in text):
            continue
        if not slow and re.search(r"^pytestmark = (\[.*\n *)?pytest\.mark\.slow", text, re.M):
            continue
        file = str(path.relative_to(ROOT))
        environment = {
            **SANITIZER_ENVIRONMENT,
            "TIDERACE_BINARY": str(BUILD / preset / "tiderace"),
            "TIDERACE_SANITIZED": preset if sanitized else "",
            "TIDERACE_SLOW": "yes" if slow else "no",
        }
        needs = [suite_needs.environment]
        if slow and path.stem in suite_needs.FOR_SLOW_SUITES:
            needs.append(suite_needs.FOR_SLOW_SUITES[path.stem])
        targets = tuple(SANITIZER_PROGRAMS if sanitized else PROGRAMS)
        if slow and INSTALLED in text:
            targets += (INSTALLED,)
        binary = f"--tiderace=build/{preset}/tiderace"
        yield Job(
            f"{group}/{path.stem}",
            lambda job, file=file, environment=environment: run_pytest(job, file, environment),
            preset,
            targets,
            lambda _, case, folder=path.parent, binary=binary: "build/venv/bin/python -m pytest "
            + f"{binary} {shlex.quote(from_root(case, folder.relative_to(ROOT)))}",
            tuple(needs),
        )


SLOW_TOOLS = {"thread_roles_test", "wrong_handlers_test"}  # they compile


def tool_jobs(slow):
    """The tests of tools/ and bench/."""
    for path in sorted([*(ROOT / "tools").glob("*_test.py"), *(ROOT / "bench").glob("*_test.py")]):
        if path.stem in SLOW_TOOLS and not slow:
            continue
        file = str(path.relative_to(ROOT))
        yield Job(
            f"tools/{path.stem}",
            lambda job, file=file: run_pytest(job, file, {}),
            command_for=lambda _, case: f"build/venv/bin/python -m pytest {shlex.quote(case)}",
            fixtures=(suite_needs.environment,),
        )


# ---- the rest -----------------------------------------------------------------------------------

FUZZ_PRESET = "asan"  # whose rooms are built by then; `./dev fuzz` has one of its own


def fuzz_jobs():
    for path in sorted((ROOT / "fuzz").glob("*_fuzz.cc")):
        yield Job(f"fuzz/{path.stem}", run_fuzz, FUZZ_PRESET, (path.stem,))


def run_fuzz(job):
    """Two cases: every input of the committed corpus, then a few seconds of new ones."""
    driver = job.targets[0]
    binary = BUILD / FUZZ_PRESET / "fuzz" / driver
    corpus = ROOT / "fuzz/corpus" / driver.removesuffix("_fuzz")
    found = BUILD / "fuzz/corpus" / driver
    found.mkdir(parents=True, exist_ok=True)
    replay = sorted(corpus.iterdir()) if corpus.is_dir() else []
    total = Tally()
    if replay:
        done = run(f"{job.name}-replay", [binary, *replay], 1200, SANITIZER_ENVIRONMENT)
        if done.status != 0:
            return failure(job.name, done, "an input of the corpus fails")
        total.add(Tally(passed=1, seconds=done.seconds, cpu=done.cpu))
    words = [f"-max_total_time={FUZZ_SECONDS}", f"-artifact_prefix={LOGS / driver}-"]
    words += ["-print_final_stats=0", found, *([corpus] if replay else [])]
    done = run(job.name, [binary, *words], 600, SANITIZER_ENVIRONMENT)
    if done.status != 0:
        return failure(job.name, done, "a new input fails")
    total.add(Tally(passed=1, seconds=done.seconds, cpu=done.cpu))
    report(job.name, total, f"{len(replay)} inputs replayed")
    return total


def cross_job(name, is_for_that_system):
    """The program for a foreign system, compiled and linked, but not run."""

    def test(job):
        if not is_for_that_system((BUILD / name / "tiderace").read_bytes()):
            return failure(name, Finished(1, log_of(f"build-{name}"), 0), "is for another system")
        report(job.name, Tally(passed=1))
        return Tally(passed=1)

    return Job(f"cross/{name}", test, name, ("tiderace",))


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


def run_tidy(job):
    done = run(job.name, [sys.executable, ROOT / "tools/tidy.py", "--count"], 600)
    last = (done.log.read_text().splitlines() or [""])[-1]
    counts = re.match(r"(\d+) rules hold, (\d+) broken", last)
    if not counts:
        return failure(job.name, done, "tidy.py itself failed")
    tally = Tally(passed=int(counts[1]), failed=int(counts[2]))
    return finish(job, done, tally, ["see its log above"] * bool(tally.failed), None)


def run_shellcheck(job):
    if not shutil.which("shellcheck"):
        return skip(job.name, "shellcheck is not installed")
    done = run(job.name, ["shellcheck", ROOT / "dev", ROOT / ".ci/run"], 300)
    return finish(job, done, Tally(passed=int(done.status == 0)), [], None)


# ---- sets ---------------------------------------------------------------------------------------

# Rooms whose tests have one thread, and the documents' programs, which show rooms tested here.
TSAN_WITHOUT = {
    *("http", "http_h1", "http_h2", "http_websocket", "http_coding", "http_wire"),
    *("http_wire_h2", "http_wire_websocket", "lab_report", "seeds", "documents"),
}
# The other engines' threads meet in the same places as epoll's.
TSAN_ONLY = {"net": "-*/epoll_*:*/poll:*/select:*/kqueue:*/fake*"}
NOT_UNDER_SANITIZERS = {"test_opponents.py"}
NOT_UNDER_TSAN = {*NOT_UNDER_SANITIZERS, "test_http1_strict.py"}  # a parser's table: no thread


def jobs_of(chosen):
    """The jobs of a set, in the order in which their builds run. Configures the presets."""
    slow = chosen == "all"
    yield Job("rules/tidy", run_tidy)
    yield Job("rules/shell", run_shellcheck)
    yield from tool_jobs(slow)
    configure("dev")
    yield from suite_jobs("suites", "dev", slow)
    if slow:
        yield from unit_jobs("unit", "dev")
    else:
        yield from unit_jobs("unit", "dev", only=QUICK_ONLY, environment=QUICK_SEEDS)
    if chosen == "quick":
        return
    configure("asan")
    yield from unit_jobs("asan", "asan", without={"documents"})
    yield from suite_jobs("suites-asan", "asan", False, NOT_UNDER_SANITIZERS)
    configure("tsan")
    yield from unit_jobs("tsan", "tsan", TSAN_WITHOUT, TSAN_ONLY)
    if chosen == "ci":
        return
    yield from fuzz_jobs()
    yield from suite_jobs("suites-tsan", "tsan", False, NOT_UNDER_TSAN)
    yield cross_job("cross-macos", is_macos_arm64)
    yield cross_job("cross-freebsd", is_freebsd_amd64)


def matching(jobs, words):
    """The jobs that are named: exactly (net, unit/net), else by a piece of their name."""
    chosen = set()
    for word in words:
        exact = {
            job.name for job in jobs if word in (job.name, job.group, *job.name.split("/")[1:])
        }
        chosen |= exact or {job.name for job in jobs if word in job.name}
    return [job for job in jobs if job.name in chosen] if words else jobs


class CannotConfigure(Exception):
    def __init__(self, done):
        super().__init__(done.log)
        self.done = done


def configure(preset):
    """Makes the build files, or brings them up to date."""
    if preset.startswith("cross-"):
        broken = suite_needs.cross_environment()
        if broken:
            raise CannotConfigure(broken)
    if (BUILD / preset / "build.ninja").exists():
        done = run(f"configure-{preset}", ["ninja", "-C", BUILD / preset, "build.ninja"], 1200)
    else:
        done = run(f"configure-{preset}", ["cmake", "--preset", preset], 1200)
    if done.status != 0:
        raise CannotConfigure(done)


# ---- builds -------------------------------------------------------------------------------------

# Enough for tests to run as if no build did, and no less: on a machine with other work a build has
# to come to its end. Each session that run() starts is an autogroup, and there Linux has the
# priority of the group as well.
LOW_PRIORITY = ["sh", "-c", 'echo 10 2>/dev/null >/proc/self/autogroup; exec nice -n 10 "$@"', "sh"]


@dataclasses.dataclass
class Step:
    """One call of ninja."""

    preset: str
    name: str
    targets: list
    linked: set = dataclasses.field(default_factory=set)  # programs that are there
    done: object = None  # its Finished, or the exception of its thread
    offset: int = 0  # of what was read of its log
    state: str = ""  # 17/120

    def read(self):
        """What ninja has reported since the last call. Ninja reports a failed step like any
        other, and its failure in the next line."""
        log = log_of(self.name)
        if not self.state or self.done or not log.exists():
            return
        with log.open("rb") as file:
            file.seek(self.offset)
            lines = file.read().split(b"\n")[:-1]
        if time.time() - log.stat().st_mtime > 1:
            lines.append(b"")  # ninja would have reported the failure with the step
        for line, after in zip(lines, lines[1:]):
            self.offset += len(line) + 1
            text = line.decode(errors="replace")
            if step := re.match(r"\[(\d+/\d+)\] ", text):
                self.state = step[1]
            linked = re.match(r"\[\S+\] Linking CXX executable (?:\S*/)?(\S+)$", text)
            if linked and not after.startswith(b"FAILED: "):
                self.linked.add(linked[1])


class Builds:
    """Builds what the jobs need, in their order, in a thread of its own: the programs of a group's
    suites, or the tests of its rooms, in one step. Cross-builds, which link for long on one core,
    have a second thread."""

    def __init__(self, jobs):
        self._lock = threading.Lock()
        self._steps = {}
        for job in jobs:
            if job.preset:
                step = Step(job.preset, f"build-{job.preset}-{job.group}", [])
                step = self._steps.setdefault(step.name, step)
                step.targets += [it for it in job.targets if it not in step.targets]

    def _step(self, job):
        return self._steps.get(f"build-{job.preset}-{job.group}")

    def start(self):
        cross = [step for step in self._steps.values() if step.preset.startswith("cross-")]
        rest = [step for step in self._steps.values() if step not in cross]
        for steps, cores in ((rest, CORES), (cross, 1)):
            threading.Thread(target=self._go, args=(steps, cores), daemon=True).start()

    def _go(self, steps, cores):
        for step in steps:
            try:
                if step.preset.startswith("cross-"):
                    configure(step.preset)
                done = self._one(step, cores)
            except CannotConfigure as fault:
                done = fault.done
            except Stopped:
                return
            except Exception as fault:  # raised where a job waits
                done = fault
            if isinstance(done, Finished) and done.status != 0:
                failure(f"{step.preset}/build", done, "does not build")
            step.done = done

    @staticmethod
    def _one(step, cores):
        ninja = ["ninja", "-C", BUILD / step.preset, *step.targets]
        dry = subprocess.run(
            [str(it) for it in [*ninja, "-n"]],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        ).stdout
        if "no work to do" in dry:
            return Finished(0, log_of(step.name), 0)
        log_of(step.name).unlink(missing_ok=True)
        step.state = "0"
        done = run(step.name, [*LOW_PRIORITY, *ninja, "-k", "0", "-j", cores], 7200)
        say(f"  {step.name:<69} {done.seconds:6.1f} s")
        return done

    def is_ready(self, job):
        """Whether what the job needs is there, or its build has ended."""
        step = self._step(job)
        if step is None:
            return True
        with self._lock:
            step.read()
            if isinstance(step.done, Exception):
                raise step.done
            return step.done is not None or step.linked.issuperset(job.targets)

    def has(self, job):
        """Whether what the job needs is there; asked when it is ready."""
        step = self._step(job)
        if step is None or step.linked.issuperset(job.targets) or step.done.status == 0:
            return True
        words = ["ninja", "-C", str(BUILD / job.preset), "-n", *job.targets]
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return "no work to do" in said

    def text(self):
        """What is being built, and how far."""
        now = [step for step in self._steps.values() if step.state and step.done is None]
        return ", ".join(f"{step.name.removeprefix('build-')} {step.state}" for step in now)


# ---- the run ------------------------------------------------------------------------------------


class Lanes:
    """Runs jobs, a few at a time, each when its programs are built."""

    def __init__(self, jobs, builds, progress, costs):
        self.waiting = sorted(jobs, key=lambda job: -costs.get(job.name, {}).get("seconds", 0))
        self.builds, self.progress = builds, progress
        self.tallies = {}
        self.fault = None
        self._changed = threading.Condition()

    def run(self):
        threads = [threading.Thread(target=self._lane, daemon=True) for _ in range(LANES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive() and not self.fault:  # join() alone would not see Ctrl-C
                thread.join(0.2)
        if self.fault:
            raise self.fault

    def _take(self):
        """The next job that can run; None when there is no more."""
        while True:
            with self._changed:
                if not self.waiting:
                    return None
                for job in self.waiting:
                    if self.builds.is_ready(job):
                        self.waiting.remove(job)
                        return job
                self._changed.wait(0.3)

    def _lane(self):
        try:
            while job := self._take():
                self.tallies[job.name] = self._one(job)
        except Stopped:
            pass
        except BaseException as fault:
            self.fault = fault

    def _one(self, job):
        if not self.builds.has(job):
            return Tally()  # the build's failure is counted
        for make in job.fixtures:
            broken = make()
            if broken:
                return failure(job.name, broken, "what it needs cannot be made")
        self.progress.start(job)
        try:
            return job.test(job)
        finally:
            self.progress.end(job)


AGAIN_MOST = 5  # of twenty thousand cases; more than that is no accident


def run_again(tallies):
    """Runs the cases of each failure by themselves, and returns the failures that pass then."""
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
        tallies[it.job].failed -= len(it.cases)
        tallies[it.job].passed += len(it.cases)
    failures[:] = steady
    return unsteady


def show_failures(unsteady):
    for title, them in (
        ("failed:", failures),
        ("unsteady (failed once, passed by themselves; mend these tests):", unsteady),
    ):
        if them:
            print(f"\n{title}")
        for it in them:
            for case in it.cases:
                print(f"  {it.job} {case}")
            for line in it.said:
                print(f"    | {line}")


def read_costs():
    try:
        return json.loads(COSTS.read_text())
    except (OSError, ValueError):
        return {}


def write_costs(costs, tallies, seconds, whole):
    for name, tally in tallies.items():
        if tally.passed:
            costs[name] = {
                "seconds": round(tally.seconds, 1),
                "cpu": round(tally.cpu, 1),
                "cases": tally.passed,
            }
    if whole:
        costs[""] = {"seconds": round(seconds, 1)}
    COSTS.parent.mkdir(parents=True, exist_ok=True)
    COSTS.write_text(json.dumps(costs, indent=1, sort_keys=True))


def show_groups(tallies, count_of_builds):
    print(f"\n{'group':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}{'CPU s':>9}")
    groups = {}
    for name, tally in tallies.items():
        groups.setdefault(name.partition("/")[0], Tally()).add(tally)
    total = Tally(failed=count_of_builds)
    for group, it in groups.items():
        total.add(it)
        counts = f"{group:<14}{it.passed:>8}{it.failed:>8}{it.skipped:>9}"
        print(f"{counts}{it.seconds:>9.1f}{it.cpu:>9.1f}")
    return total


def main(words):
    parser = argparse.ArgumentParser(
        prog="./dev test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--once", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(words)
    chosen = "quick"
    if given.names and given.names[0] in ("quick", "ci", "all"):
        chosen = given.names.pop(0)
    failures.clear()
    stopping.clear()
    began = time.monotonic()
    tallies, unsteady, ended = {}, [], threading.Event()
    try:
        every = list(jobs_of(chosen))
        jobs = matching(every, given.names)
        costs = read_costs()
        # Only a run of the whole quick set has an estimate.
        builds = Builds(jobs)
        progress = Progress(jobs, builds, costs if jobs == every and chosen == "quick" else {})
        builds.start()
        threading.Thread(target=progress.show, args=(ended,), daemon=True).start()
        lanes = Lanes(jobs, builds, progress, costs)
        tallies = lanes.tallies
        lanes.run()
        count = sum(len(it.cases) for it in failures)
        if not given.once and count <= AGAIN_MOST:
            unsteady = run_again(tallies)
        seconds = time.monotonic() - began
        write_costs(costs, tallies, seconds, jobs == every and chosen == "quick" and not failures)
    except CannotConfigure as fault:
        failure(f"{fault.done.log.stem}/cmake", fault.done, "cmake failed")
    finally:
        ended.set()
        stop()

    builds_failed = sum(it.job.endswith(("/build", "/cmake")) for it in failures)
    total = show_groups(dict(sorted(tallies.items())), builds_failed)
    if total.passed + total.failed == 0:
        print(f"no test matches {' '.join(given.names)}" if given.names else "no test ran")
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
