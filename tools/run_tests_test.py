"""The test driver counts what happened: a crash is a failure, a skip is not a pass."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_tests  # noqa: E402

CASES = {
    "testsuites": [
        {
            "testsuite": [
                {"name": "kept", "result": "COMPLETED"},
                {"name": "kept too", "result": "COMPLETED"},
                {"name": "broken", "result": "COMPLETED", "failures": [{"failure": "1 is not 2"}]},
                {"name": "not here", "result": "SKIPPED"},
                {"name": "DISABLED_x", "result": "SUPPRESSED"},
            ]
        }
    ]
}


@pytest.fixture(autouse=True)
def logs_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    run_tests.stopping.clear()


def program(folder, body):
    """A stand-in for a GoogleTest program; $json is the path for its result."""
    path = folder / "stand_in"
    path.write_text("#!/bin/bash\njson=${1#--gtest_output=json:}\n" + body)
    path.chmod(0o755)
    return [str(path)]


def count(tally):
    return tally.passed, tally.failed, tally.skipped


def test_single_cases_are_counted(tmp_path):
    body = f"cat >$json <<'END'\n{json.dumps(CASES)}\nEND\nexit 1\n"
    assert count(run_tests.run_unit("unit/a", program(tmp_path, body))) == (2, 1, 2)


def test_a_program_has_a_folder_of_its_own_which_goes_with_it(tmp_path):
    body = 'touch $TMPDIR/file; echo $TMPDIR >where; echo \'{"testsuites": []}\' >$json'
    run_tests.run_unit("unit/a", program(tmp_path, f"cd {tmp_path}; {body}"))
    where = pathlib.Path((tmp_path / "where").read_text().strip())
    assert where.name.startswith("tiderace-") and not where.exists()


def test_without_room_in_memory_files_are_on_disk(tmp_path, monkeypatch):
    with run_tests.temporary_folder(memory=tmp_path / "absent") as folder:
        assert pathlib.Path(folder).is_dir()
    monkeypatch.setattr(run_tests, "MEMORY_BYTES_MIN", 1 << 60)
    with run_tests.temporary_folder(memory=tmp_path) as folder:
        assert pathlib.Path(folder).parent != tmp_path
    monkeypatch.setattr(run_tests, "MEMORY_BYTES_MIN", 1)
    with run_tests.temporary_folder(memory=tmp_path) as folder:
        assert pathlib.Path(folder).parent == tmp_path


def test_a_crash_is_one_failure(tmp_path):
    assert count(run_tests.run_unit("unit/a", program(tmp_path, "kill -SEGV $$"))) == (0, 1, 0)


def test_a_result_that_cannot_be_read_is_a_failure(tmp_path, capsys):
    """GoogleTest 1.12 writes such a one when an assertion of an Environment fails."""
    body = """echo '{"testsuites": [{} {}]}' >$json; echo 'main.cc:20: Failure'; exit 1"""
    assert count(run_tests.run_unit("unit/a", program(tmp_path, body))) == (0, 1, 0)
    assert "main.cc:20: Failure" in capsys.readouterr().out


def test_an_early_exit_with_status_zero_is_a_failure(tmp_path):
    body = "echo '[==========] Running 3 tests'; exit 0"
    assert count(run_tests.run_unit("unit/a", program(tmp_path, body))) == (0, 1, 0)


def test_a_complaint_after_the_last_case_is_a_failure(tmp_path):
    """As LeakSanitizer makes at exit, when every case has passed."""
    passed = {"testsuites": [{"testsuite": [{"name": "kept", "result": "COMPLETED"}]}]}
    body = f"echo '{json.dumps(passed)}' >$json\nexit 23\n"
    assert count(run_tests.run_unit("unit/a", program(tmp_path, body))) == (1, 1, 0)


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path):
    done = run_tests.run("hang", program(tmp_path, "sleep 600 & wait"), seconds_max=0.2)
    assert done.status != 0
    assert "past its time" in done.why()


def test_the_end_of_a_log_names_the_case_that_hangs_and_leaves_out_what_passed():
    log = """\
[----------] 2 tests from Kept
[ RUN      ] Kept.Quiet
[       OK ] Kept.Quiet (0 ms)
[ RUN      ] Kept.Talks
said
[       OK ] Kept.Talks (0 ms)
[ RUN      ] Kept.Absent
[  SKIPPED ] Kept.Absent (0 ms)
[ RUN      ] Kept.NeverEnds"""
    kept = run_tests.without_passed_cases(log.splitlines())
    assert kept == ["[ RUN      ] Kept.Talks", "said", "[ RUN      ] Kept.NeverEnds"]


def test_the_log_of_a_failed_case_is_shown_however_many_skipped_after_it():
    log = """\
[ RUN      ] Kept.Talks
said
[       OK ] Kept.Talks (0 ms)
[ RUN      ] Kept.Broken
1 is not 2
[  FAILED  ] Kept.Broken (0 ms)
[ RUN      ] Kept.Absent
[  SKIPPED ] Kept.Absent (0 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Kept.Broken"""
    kept = run_tests.of_failed_cases(log.splitlines())
    assert kept == ["[ RUN      ] Kept.Broken", "1 is not 2", "[  FAILED  ] Kept.Broken (0 ms)"]


CASE_NAMES = ("Kept.One", "Kept.Two")


def fails_at_first(folder, times=1, status=1, says="", cases=CASE_NAMES):
    """A program whose cases fail `times` times; the file `runs` has the arguments of each run."""
    suites = [
        {
            "name": case.split(".")[0],
            "testsuite": [
                {"name": case.split(".")[1], "result": "COMPLETED", "failures": [{"failure": "x"}]}
            ],
        }
        for case in cases
    ]
    body = f"""
echo "$@" >>{folder}/runs
[[ $(wc -l <{folder}/runs) -gt {times} ]] && exit 0
[[ $1 == --gtest_filter=* ]] && exit {status}
cat >$json <<'END'
{json.dumps({"testsuites": suites})}
END
echo "{says}"; exit {status}
"""
    return program(folder, body)


def run_group(command, monkeypatch, *words):
    group = run_tests.Group(lambda *_: run_tests.run_unit("unit/a", command))
    monkeypatch.setattr(run_tests, "GROUPS", {"unit": group})
    return run_tests.main(list(words))


def test_a_case_that_fails_once_is_run_by_itself_and_named(tmp_path, monkeypatch, capsys):
    assert run_group(fails_at_first(tmp_path), monkeypatch) == 0
    said = capsys.readouterr().out
    assert said.endswith("\n2 passed, 0 failed\n")
    assert "mend these tests):\n  unit/a Kept.One\n  unit/a Kept.Two\n" in said
    assert (tmp_path / "runs").read_text().splitlines()[1] == "--gtest_filter=Kept.One:Kept.Two"


def test_a_case_that_fails_twice_has_failed(tmp_path, monkeypatch, capsys):
    assert run_group(fails_at_first(tmp_path, times=2), monkeypatch) == 1
    said = capsys.readouterr().out
    assert said.endswith("\n0 passed, 2 failed\n")
    assert "\nfailed:\n  unit/a Kept.One\n  unit/a Kept.Two\n" in said and "unsteady" not in said


def test_of_a_sanitizers_report_the_beginning_is_shown_at_the_end(tmp_path, monkeypatch, capsys):
    report = "echo '==1==ERROR: AddressSanitizer: heap-use-after-free'; seq 30; exit 1"
    assert run_group(program(tmp_path, report), monkeypatch) == 1
    failed = capsys.readouterr().out.split("\nfailed:\n")[1].splitlines()
    assert failed[1].endswith("heap-use-after-free") and failed[2] == "    | 1"


def test_a_crash_is_shown_at_the_end_too(tmp_path, monkeypatch, capsys):
    command = program(tmp_path, 'seq 30; echo "terminate called"; kill -ABRT $$')
    assert run_group(command, monkeypatch) == 1
    failed = capsys.readouterr().out.split("\nfailed:\n")[1].splitlines()
    assert failed[0] == "  unit/a crashed (signal 6)"
    lines = ["    | terminate called", "", "0 passed, 1 failed"]
    assert failed[1] == "    | 20" and failed[-3:] == lines


@pytest.mark.parametrize(
    "what",
    [
        {"status": 134},
        {"says": "==1==ERROR: AddressSanitizer: heap-use-after-free"},
        {"says": "a.cc:1:2: runtime error: signed integer overflow"},
        {"cases": [f"Kept.No{i}" for i in range(run_tests.AGAIN_MOST + 1)]},
    ],
    ids=["abort", "asan", "ubsan", "many"],
)
def test_what_no_accident_explains_is_final(what, tmp_path, monkeypatch):
    assert run_group(fails_at_first(tmp_path, **what), monkeypatch) == 1
    assert len((tmp_path / "runs").read_text().splitlines()) == 1


def test_once_runs_nothing_twice(tmp_path, monkeypatch):
    assert run_group(fails_at_first(tmp_path), monkeypatch, "--once") == 1
    assert len((tmp_path / "runs").read_text().splitlines()) == 1


def test_pytest_cases_are_known_by_their_node_ids(tmp_path):
    suite = tmp_path / "test_it.py"
    suite.write_text(
        "import pytest\n"
        "class TestIn:\n"
        "    @pytest.mark.parametrize('x', ['a b', 'c'])\n"
        "    def test_of(self, x): assert x == 'c'\n"
        "def test_absent(): pytest.skip('not here')\n"
        "def test_bad(): raise OSError\n"
    )
    result = tmp_path / "result.xml"
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path]
    words += ["-o", "junit_family=xunit1", f"--junitxml={result}", "test_it.py"]
    subprocess.run(words, cwd=tmp_path, check=False, stdout=subprocess.DEVNULL)
    tally, failed = run_tests.count_pytest(result)
    assert count(tally) == (1, 2, 1)
    assert failed == ["test_it.py::TestIn::test_of[a b]", "test_it.py::test_bad"]


def test_a_node_id_is_found_from_the_root(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").touch()
    (tmp_path / "test_b.py").touch()
    ids = ["test_a.py::test_x[a/b]", "test_b.py::test_y"]
    assert [run_tests.from_root(each, ["tests"]) for each in ids] == [f"tests/{ids[0]}", ids[1]]


def test_nothing_run_is_not_success(capsys, monkeypatch):
    monkeypatch.setattr(run_tests, "GROUPS", {})
    assert run_tests.main([]) == 1
    assert capsys.readouterr().out.endswith("0 passed, 0 failed\n")


@pytest.mark.parametrize(
    "tally, status",
    [
        (run_tests.Tally(passed=3), 0),
        (run_tests.Tally(passed=3, failed=1), 1),
        (run_tests.Tally(skipped=3), 1),
    ],
    ids=["all passed", "one failed", "all skipped"],
)
def test_the_last_line_and_the_status(tally, status, capsys, monkeypatch):
    monkeypatch.setattr(run_tests, "GROUPS", {"unit": run_tests.Group(lambda *_: tally)})
    assert run_tests.main([]) == status
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{tally.passed} passed, {tally.failed} failed"


def test_a_filter_picks_groups(monkeypatch):
    ran = []
    monkeypatch.setattr(run_tests, "HAVE_PROGRAMS", ())
    groups = {
        name: run_tests.Group(lambda *_, n=name: ran.append(n) or run_tests.Tally(passed=1))
        for name in ("tidy", "server", "server-asan")
    }
    monkeypatch.setattr(run_tests, "GROUPS", groups)
    run_tests.main(["server"])
    assert ran == ["server", "server-asan"]


def test_a_build_that_fails_is_told_to_its_group_and_the_next_is_built(monkeypatch, tmp_path):
    def outcome(status):
        return run_tests.Finished(status, tmp_path / "build.log", 1.5)

    told = {}

    def group(name, preset):
        def test(_, built):
            told[name] = built.status
            return run_tests.Tally(passed=1, failed=built.status)

        return run_tests.Group(test, preset, lambda _: [name])

    monkeypatch.setattr(run_tests, "configure", lambda preset: None)
    monkeypatch.setattr(run_tests, "build", lambda preset, *_: outcome(preset == "bad"))
    monkeypatch.setattr(run_tests, "GROUPS", {"a": group("a", "bad"), "b": group("b", "good")})
    assert run_tests.main([]) == 1
    assert told == {"a": 1, "b": 0}


def test_what_links_long_is_built_beside_the_others(monkeypatch, tmp_path):
    both = threading.Barrier(2, timeout=300)

    def build(preset, *_):
        both.wait()
        return run_tests.Finished(0, tmp_path / "build.log", 1.5)

    def group(preset, links_long):
        test = lambda *_: run_tests.Tally(passed=1)  # noqa: E731
        return run_tests.Group(test, preset, lambda _: ["x"], links_long)

    monkeypatch.setattr(run_tests, "configure", lambda preset: None)
    monkeypatch.setattr(run_tests, "build", build)
    monkeypatch.setattr(run_tests, "GROUPS", {"a": group("a", True), "b": group("b", False)})
    assert run_tests.main([]) == 0


def built(tmp_path, monkeypatch, build=None):
    """Replaces cmake, and ninja by build(preset)."""
    outcome = run_tests.Finished(0, tmp_path / "build.log", 1.5)
    monkeypatch.setattr(run_tests, "configure", lambda preset: None)
    monkeypatch.setattr(run_tests, "build", lambda preset, *_: build and build(preset) or outcome)


def groups_of(monkeypatch, tests):
    """tests: {name: test()}, which gives a Tally; each group is a preset of its own."""
    groups = {
        name: run_tests.Group(lambda *_, test=test: test(), name, lambda _: ["x"])
        for name, test in tests.items()
    }
    monkeypatch.setattr(run_tests, "GROUPS", groups)


def test_two_groups_are_tested_at_a_time_and_listed_in_their_order(tmp_path, monkeypatch, capsys):
    both = threading.Barrier(2, timeout=300)
    last = threading.Event()

    def first():
        both.wait()
        assert last.wait(300), "the second group ends first"
        return run_tests.Tally(passed=1)

    def second():
        both.wait()
        last.set()
        return run_tests.Tally(passed=2)

    built(tmp_path, monkeypatch)
    groups_of(monkeypatch, {"a": first, "b": second, "c": lambda: run_tests.Tally(passed=4)})
    assert run_tests.main([]) == 0
    said = capsys.readouterr().out
    table = re.findall(r"^([abc]) +(\d)", said, re.MULTILINE)
    assert table == [("a", "1"), ("b", "2"), ("c", "4")] and said.endswith("7 passed, 0 failed\n")


def test_a_group_waits_for_its_own_build_while_the_one_before_is_tested(tmp_path, monkeypatch):
    tested, done = threading.Event(), []

    def build(preset):
        if preset == "b":
            assert tested.wait(300), "it is built while a is tested"
            done.append("b is built")

    def test_a():
        tested.set()
        return run_tests.Tally(passed=1)

    def test_b():
        assert done == ["b is built"]
        return run_tests.Tally(passed=1)

    built(tmp_path, monkeypatch, build)
    groups_of(monkeypatch, {"a": test_a, "b": test_b})
    assert run_tests.main([]) == 0


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interrupted_run_ends_its_build_and_starts_no_other(tmp_path, monkeypatch):
    started, pids = threading.Event(), tmp_path / "pids"

    def build(preset):
        if preset == "a":
            return None
        words = ["sh", "-c", f"echo $$ >>{pids}; exec sleep 600"]
        watch = threading.Timer(0, wait_for, (pids, started))
        watch.start()
        return run_tests.run(f"build-{preset}", words, 600)

    def interrupted():
        assert started.wait(300)
        raise KeyboardInterrupt

    built(tmp_path, monkeypatch, build)
    nothing = lambda: run_tests.Tally(passed=1)  # noqa: E731
    groups_of(monkeypatch, {"a": interrupted, "b": nothing, "c": nothing, "d": nothing})
    with pytest.raises(KeyboardInterrupt):
        run_tests.main([])
    for thread in threading.enumerate():
        if thread.name == "build":
            thread.join()
    (pid,) = map(int, pids.read_text().split())
    assert not is_there(pid) and not run_tests.running


def wait_for(file, event):
    while not (file.exists() and file.read_text().endswith("\n")):
        time.sleep(0.01)
    event.set()


def test_of_a_build_that_fails_the_target_and_the_compilers_lines_are_shown(tmp_path, capsys):
    log = tmp_path / "build-dev.log"
    log.write_text(
        "[1/3] Building CXX object a.o\n"
        "FAILED: a.o\n"
        "/usr/bin/c++ -DX -o a.o -c a.cc\n"
        "a.cc:3:1: error: 'x' was not declared\n"
        "    3 | x\n"
        + "".join(f"[2/3] Building CXX object {n}.o\n" for n in range(60))
        + "FAILED: [code=1] b\n"
        ": && c++ -o b b.o\n"
        "mold: error: undefined symbol: y\n"
        "ninja: build stopped: cannot make progress due to previous errors.\n"
    )
    run_tests.failure("unit: build", run_tests.Finished(1, log, 1.5), "does not build")
    said = capsys.readouterr().out.splitlines()
    assert said[1:] == [
        "    --- what failed first, from build-dev.log",
        "    | FAILED: a.o",
        "    | a.cc:3:1: error: 'x' was not declared",
        "    |     3 | x",
        "    | FAILED: [code=1] b",
        "    | mold: error: undefined symbol: y",
    ]


def test_a_build_gives_way_to_tests_and_keeps_its_words_and_status(tmp_path):
    words = [*run_tests.LOW_PRIORITY, "sh", "-c", 'nice; echo "$1"; exit 3', "sh", "a b"]
    done = run_tests.run("low", words, 600)
    assert done.status == 3
    assert done.log.read_text().splitlines() == [str(min(os.nice(0) + 10, 19)), "a b"]


def test_long_programs_come_first_and_are_there():
    rooms = ["base", *sorted(run_tests.LONG_PROGRAMS), "tls"]
    assert run_tests.longest_first(rooms) == [*rooms[1:-1], "base", "tls"]
    repository = pathlib.Path(__file__).resolve().parent.parent
    listings = [
        path.read_text()
        for folder in ("tiderace", "examples", "tests")
        for path in (repository / folder).rglob("CMakeLists.txt")
    ]
    for name in run_tests.LONG_PROGRAMS:
        assert any(re.search(rf"\bNAME {name}\b", listing) for listing in listings), name


def test_cmake_that_fails_is_one_failure(monkeypatch, tmp_path, capsys):
    log = tmp_path / "configure-dev.log"
    log.write_text("no compiler")
    broken = run_tests.Finished(1, log, 1.5)
    monkeypatch.setattr(run_tests, "configure", lambda preset: broken)
    group = run_tests.Group(lambda *_: None, "dev", lambda _: ["x"])
    monkeypatch.setattr(run_tests, "GROUPS", {"unit": group})
    assert run_tests.main([]) == 1
    assert capsys.readouterr().out.endswith("0 passed, 1 failed\n")


def test_a_fault_of_the_driver_while_it_builds_is_not_silence(monkeypatch):
    def fault(preset):
        raise OSError("no ninja")

    monkeypatch.setattr(run_tests, "configure", fault)
    group = run_tests.Group(lambda *_: None, "dev", lambda _: ["x"])
    monkeypatch.setattr(run_tests, "GROUPS", {"unit": group})
    with pytest.raises(OSError, match="no ninja"):
        run_tests.main([])


def test_programs_for_foreign_systems_are_told_apart():
    macos = b"\xcf\xfa\xed\xfe\x0c\0\0\1\0\0\0\0\2\0\0\0"
    elf = b"\x7fELF\2\1\1" + bytes(9) + b"\3\0\x3e\0" + bytes(44)
    freebsd = elf + b"/libexec/ld-elf.so.1\0" + bytes(9) + b"FreeBSD\0"
    linux = elf + b"/lib64/ld-linux-x86-64.so.2\0" + b"GNU\0"
    libraries = macos[:12] + b"\6" + macos[13:], freebsd[:16] + b"\1" + freebsd[17:]
    assert run_tests.is_macos_arm64(macos)
    assert run_tests.is_freebsd_amd64(freebsd)
    for other in (freebsd, linux, *libraries):
        assert not run_tests.is_macos_arm64(other)
    for other in (macos, linux, *libraries):
        assert not run_tests.is_freebsd_amd64(other)


def test_two_run_at_a_time_and_all_are_counted():
    both = threading.Barrier(2, timeout=300)

    def test(name):
        both.wait()
        return run_tests.Tally(passed=len(name), seconds=1.0)

    total = run_tests.two_at_a_time(test, ["a", "bb", "ccc", "dddd"])
    assert total == run_tests.Tally(passed=10, seconds=4.0)


def test_every_program_that_a_suite_runs_is_built_before_it():
    """A sample that PROGRAMS lacks is there on a developer's machine and nowhere else."""
    repository = pathlib.Path(__file__).resolve().parent.parent
    built = set()
    for folder in ("examples", "tests/samples"):
        for listing in (repository / folder).rglob("CMakeLists.txt"):
            names = re.findall(r"^ *add_executable\((\w+)", listing.read_text(), re.MULTILINE)
            built.update(name for name in names if not name.endswith("_test"))
    assert "sample_app" in built and "example_hello" in built
    assert built - set(run_tests.PROGRAMS) == set()


def test_under_a_sanitizer_only_the_programs_of_its_tests_are_built():
    every, quick = set(run_tests.PROGRAMS), set(run_tests.QUICK_PROGRAMS)
    assert quick < every
    for name, programs in (("server", every), ("server-asan", quick), ("server-tsan", quick)):
        assert every & set(run_tests.GROUPS[name].targets(lambda _: True)) == programs, name


def test_what_a_group_needs_is_prepared_while_it_is_built(tmp_path, monkeypatch):
    prepared, order = threading.Event(), []

    def build(preset):
        assert prepared.wait(300)

    def prepare():
        order.append("prepared")
        prepared.set()
        return run_tests.Tally(failed=1)

    def test(*_):
        order.append("tested")
        return run_tests.Tally(passed=1)

    built(tmp_path, monkeypatch, build)
    group = run_tests.Group(test, "a", lambda _: ["x"], prepare=prepare)
    monkeypatch.setattr(run_tests, "GROUPS", {"a": group})
    assert run_tests.main([]) == 1, "what could not be prepared has failed"
    assert order == ["prepared", "tested"]


def test_two_groups_that_need_one_environment_make_it_once(tmp_path, monkeypatch):
    made = []

    def run(name, command, *_):
        (tmp_path / "venv").mkdir(exist_ok=True)
        made.append(command[1])
        time.sleep(0.05)  # so that the other group comes meanwhile
        return run_tests.Finished(0, tmp_path / "venv.log", 0.1)

    (tmp_path / "wanted").write_text("a==1")
    monkeypatch.setattr(run_tests, "run", run)
    monkeypatch.setattr(run_tests, "BUILD", tmp_path)
    make = lambda _: run_tests.virtual_environment("venv", "wanted")  # noqa: E731
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert list(pool.map(make, range(2))) == [None, None]
    assert made == ["-m", "-m"], "once venv, once pip"
