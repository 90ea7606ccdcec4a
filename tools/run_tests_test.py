"""The test run counts what happened: a crash is a failure, a skip is not a pass."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import children  # noqa: E402
import run_tests  # noqa: E402
import suite_needs  # noqa: E402

ROOT = run_tests.ROOT
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
def folders_of_this_test(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "LOGS", tmp_path)
    monkeypatch.setattr(run_tests, "BUILD", tmp_path)
    monkeypatch.setattr(run_tests, "COSTS", tmp_path / "costs.json")
    monkeypatch.setattr(run_tests, "configure", lambda preset: None)
    run_tests.stopping.clear()
    run_tests.failures.clear()


def program(folder, body):
    """A stand-in for a GoogleTest program; $json is the path for its result."""
    path = folder / "stand_in"
    path.write_text("#!/bin/bash\njson=${1#--gtest_output=json:}\n" + body)
    path.chmod(0o755)
    return str(path)


def unit_job(path, monkeypatch):
    monkeypatch.setattr(run_tests, "program_of", lambda job: path)
    command = lambda job, case: f"alone {case}"  # noqa: E731
    return run_tests.Job("unit/a", lambda job: run_tests.run_unit(job, None), command_for=command)


def outcome(path, monkeypatch):
    tally = run_tests.run_unit(unit_job(path, monkeypatch), None)
    return tally.passed, tally.failed, tally.skipped


def run_jobs(jobs, monkeypatch, *words):
    monkeypatch.setattr(run_tests, "jobs_of", lambda chosen: iter(jobs))
    return run_tests.main(list(words))


def passing(name, ran=None, **more):
    def test(job):
        if ran is not None:
            ran.append(name)
        return run_tests.Tally(passed=1)

    return run_tests.Job(name, test, **more)


# ---- one program --------------------------------------------------------------------------------


def test_single_cases_are_counted(tmp_path, monkeypatch):
    body = f"cat >$json <<'END'\n{json.dumps(CASES)}\nEND\nexit 1\n"
    assert outcome(program(tmp_path, body), monkeypatch) == (2, 1, 2)


def test_a_program_has_a_folder_of_its_own_which_goes_with_it(tmp_path, monkeypatch):
    body = "touch $TMPDIR/file; echo $TMPDIR >where; echo '{\"testsuites\": []}' >$json"
    outcome(program(tmp_path, f"cd {tmp_path}; {body}"), monkeypatch)
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


@pytest.mark.parametrize(
    "body, status",
    [
        ("kill -SEGV $$", "crashed (signal 11)"),
        ("echo '[==========] Running 3 tests'; exit 0", "crashed (status 0)"),
        # GoogleTest 1.12 writes such a one when an assertion of an Environment fails.
        ("""echo '{"testsuites": [{} {}]}' >$json; exit 1""", "outside of a case"),
        # As LeakSanitizer ends a program whose cases have all passed.
        ("""echo '{"testsuites": []}' >$json; exit 23""", "after the last case (status 23)"),
    ],
    ids=["crash", "early exit", "unreadable", "leak"],
)
def test_an_end_that_no_case_explains_is_a_failure(body, status, tmp_path, monkeypatch):
    assert outcome(program(tmp_path, body), monkeypatch) == (0, 1, 0)
    assert status in run_tests.failures[0].cases[0]


def test_a_program_that_hangs_is_killed_with_its_children(tmp_path):
    done = run_tests.run("hang", [program(tmp_path, "sleep 600 & wait")], seconds_max=0.2)
    assert done.status != 0
    assert "past its time" in done.why()


def test_the_processor_time_of_a_program_and_its_children_is_counted(tmp_path):
    body = "timeout 0.3 bash -c 'while :; do :; done'; exit 0"
    done = run_tests.run("busy", [program(tmp_path, body)], 600)
    assert done.status == 0 and done.cpu > 0.05


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


def test_failed_cases_and_counts_are_read_while_a_program_runs(tmp_path, capsys):
    suite = run_tests.Job("suites/x", None, command_for=lambda _, case: f"pytest {case}")
    room = run_tests.Job("unit/x", None, command_for=lambda _, case: f"x_test {case}")
    progress = run_tests.Progress([suite, room], run_tests.Builds([]), {})
    progress.start(suite)
    progress.start(room)
    (tmp_path / "suites-x.log").write_text(
        "tests/test_x.py::test_a[1] PASSED [ 50%]\ntests/test_x.py::test_b FAILED [100%]\n"
    )
    log = tmp_path / "unit-x.log"
    log.write_text(
        "[       OK ] A.B (0 ms)\n[  FAILED  ] A/C.D/0, where GetParam() = 1 (2 ms)\n[ SKI"
    )
    assert "4 cases" in progress.line()
    said = capsys.readouterr().out
    assert "alone: pytest tests/test_x.py::test_b\n" in said and "alone: x_test A/C.D/0\n" in said
    log.write_text(log.read_text() + "PPED ]\n[       OK ] A.E (0 ms)\n[  FAILED  ] A/C.D/0\n")
    assert "5 cases" in progress.line(), "nothing is read twice; the list at the end is no case"


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


def test_a_case_that_fails_once_is_run_by_itself_and_named(tmp_path, monkeypatch, capsys):
    assert run_jobs([unit_job(fails_at_first(tmp_path), monkeypatch)], monkeypatch) == 0
    said = capsys.readouterr().out
    assert said.endswith("\n2 passed, 0 failed\n")
    assert "mend these tests):\n  unit/a Kept.One\n  unit/a Kept.Two\n" in said
    assert (tmp_path / "runs").read_text().splitlines()[1] == "--gtest_filter=Kept.One:Kept.Two"


def test_a_case_that_fails_twice_has_failed(tmp_path, monkeypatch, capsys):
    assert run_jobs([unit_job(fails_at_first(tmp_path, times=2), monkeypatch)], monkeypatch) == 1
    said = capsys.readouterr().out
    assert said.endswith("\n0 passed, 2 failed\n")
    assert "\nfailed:\n  unit/a Kept.One\n  unit/a Kept.Two\n" in said and "unsteady" not in said


@pytest.mark.parametrize(
    "body, first",
    [
        ("echo '==1==ERROR: AddressSanitizer: heap-use-after-free'; seq 99; exit 1", "after-free"),
        ("seq 99; kill -ABRT $$", "| 60"),
    ],
    ids=["a report", "a crash"],
)
def test_what_a_log_says_of_a_failure_is_shown_at_the_end(
    body, first, tmp_path, monkeypatch, capsys
):
    assert run_jobs([unit_job(program(tmp_path, body), monkeypatch)], monkeypatch) == 1
    failed = capsys.readouterr().out.split("\nfailed:\n")[1].splitlines()
    assert failed[0].startswith("  unit/a crashed (") and failed[1].endswith(first)


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
    assert run_jobs([unit_job(fails_at_first(tmp_path, **what), monkeypatch)], monkeypatch) == 1
    assert len((tmp_path / "runs").read_text().splitlines()) == 1


def test_once_runs_nothing_twice(tmp_path, monkeypatch):
    assert run_jobs([unit_job(fails_at_first(tmp_path), monkeypatch)], monkeypatch, "--once") == 1
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
    assert (tally.passed, tally.failed, tally.skipped) == (1, 2, 1)
    assert failed == ["test_it.py::TestIn::test_of[a b]", "test_it.py::test_bad"]


def test_a_node_id_is_found_from_the_root(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").touch()
    (tmp_path / "test_b.py").touch()
    ids = ["test_a.py::test_x[a/b]", "test_b.py::test_y"]
    assert [run_tests.from_root(each, "tests") for each in ids] == [f"tests/{ids[0]}", ids[1]]


# ---- sets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tally, status",
    [
        (run_tests.Tally(passed=3), 0),
        (run_tests.Tally(passed=3, failed=1), 1),
        (run_tests.Tally(skipped=3), 1),
        (run_tests.Tally(), 1),
    ],
    ids=["all passed", "one failed", "all skipped", "nothing ran"],
)
def test_the_last_line_and_the_status(tally, status, capsys, monkeypatch):
    assert run_jobs([run_tests.Job("unit/a", lambda job: tally)], monkeypatch) == status
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{tally.passed} passed, {tally.failed} failed"


@pytest.mark.parametrize(
    "word, names",
    [
        ("net", "unit/net"),
        ("unit/net", "unit/net"),
        ("suites", "suites/test_net suites/test_tcp"),
        ("test_n", "suites/test_net"),
        ("ne", "suites/test_net unit/net"),
        ("nothing", ""),
    ],
)
def test_a_name_picks_what_it_is_exactly_or_what_has_it(word, names):
    every = [
        passing(name) for name in ("suites/test_net", "suites/test_tcp", "unit/net", "unit/tls")
    ]
    assert " ".join(job.name for job in run_tests.matching(every, [word])) == names


def test_what_took_longest_comes_first(monkeypatch, tmp_path):
    monkeypatch.setattr(run_tests, "LANES", 1)
    costs = {"unit/b": {"seconds": 9}, "unit/c": {"seconds": 1}}
    (tmp_path / "costs.json").write_text(json.dumps(costs))
    ran = []
    assert run_jobs([passing(f"unit/{it}", ran) for it in "abc"], monkeypatch) == 0
    assert ran == ["unit/b", "unit/c", "unit/a"]


def test_cases_that_are_left_out_exist():
    sources = [
        path for folder in ("tiderace", "tests") for path in (ROOT / folder).rglob("*_test.cc")
    ]
    text = "".join(path.read_text() for path in sources)
    for case in run_tests.QUICK_ONLY.values():
        suite, _, name = case.removeprefix("-").partition(".")
        assert re.search(rf"\({suite}, {name}\)", text), case


def test_every_program_that_a_suite_runs_is_built_before_it():
    """A sample that PROGRAMS lacks is there on a developer's machine and nowhere else."""
    built = set()
    for folder in ("examples", "tests/samples"):
        for listing in (ROOT / folder).rglob("CMakeLists.txt"):
            names = re.findall(r"^ *add_executable\((\w+)", listing.read_text(), re.MULTILINE)
            built.update(name for name in names if not name.endswith("_test"))
    assert "sample_app" in built and "example_hello" in built
    assert built - set(run_tests.PROGRAMS) == set()
    assert set(run_tests.SANITIZER_PROGRAMS) < set(run_tests.PROGRAMS)


def test_suites_of_the_installed_library_wait_for_it():
    """Nothing else of a build needs all of its libraries."""
    jobs = {job.name: job for job in run_tests.suite_jobs("suites", "dev", slow=True)}
    for name in ("test_consumers", "test_installed", "test_outside"):
        assert run_tests.INSTALLED in jobs[f"suites/{name}"].targets, name
    assert run_tests.INSTALLED not in jobs["suites/test_app"].targets


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


def test_what_a_job_needs_is_made_once_before_it(monkeypatch, tmp_path):
    made = []

    @suite_needs.once
    def need():
        if not made:
            time.sleep(0.05)  # so that the other job comes meanwhile
            made.append("need")

    jobs = [passing(name, made, fixtures=(need,)) for name in ("a/a", "b/b")]
    assert run_jobs(jobs, monkeypatch) == 0
    assert sorted(made[1:]) == ["a/a", "b/b"] and made[0] == "need"
    broken = run_tests.Finished(1, tmp_path / "need.log", 0.1)
    broken.log.write_text("no network")
    assert run_jobs([passing("a/a", made, fixtures=(lambda: broken,))], monkeypatch) == 1


# ---- builds -------------------------------------------------------------------------------------

NINJA = """\
rule link
  command = $command
  description = Linking CXX executable rooms/$out
"""


def preset(folder, **commands):
    """A build folder whose targets are made by these commands."""
    (folder / "dev").mkdir()
    steps = [f"build {name}: link\n  command = {it}\n" for name, it in commands.items()]
    (folder / "dev/build.ninja").write_text(NINJA + "".join(steps))


def wait_for(file):
    until = time.monotonic() + 300
    while not file.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_room_is_tested_while_the_next_is_built(monkeypatch, tmp_path):
    wait = f"while ! test -e {tmp_path}/tested; do sleep 0.01; done; touch b_test"
    preset(tmp_path, a_test="touch a_test", b_test=wait)

    def test(job):
        (tmp_path / "tested").touch()
        return run_tests.Tally(passed=1)

    monkeypatch.setattr(run_tests, "CORES", 1)
    jobs = [run_tests.Job(f"unit/{it}", test, "dev", (f"{it}_test",)) for it in "ab"]
    assert run_jobs(jobs, monkeypatch) == 0


def test_of_a_build_that_fails_the_rest_is_tested(monkeypatch, tmp_path, capsys):
    broken = "echo \"a.cc:3:1: error: 'x' was not declared\" && false"
    preset(tmp_path, a_test=broken, b_test="touch b_test")
    ran = []
    jobs = [passing(f"unit/{it}", ran, preset="dev", targets=(f"{it}_test",)) for it in "ab"]
    assert run_jobs(jobs, monkeypatch) == 1
    said = capsys.readouterr().out
    assert ran == ["unit/b"] and said.endswith("\n1 passed, 1 failed\n")
    assert "    | FAILED: a_test\n    | a.cc:3:1: error: 'x' was not declared\n" in said


def test_what_is_built_already_is_tested_at_once(monkeypatch, tmp_path):
    preset(tmp_path, a_test="touch a_test")
    (tmp_path / "dev/a_test").touch()
    ran = []
    jobs = [passing("unit/a", ran, preset="dev", targets=("a_test",))]
    subprocess.run(["ninja", "-C", tmp_path / "dev"], check=True, stdout=subprocess.DEVNULL)
    assert run_jobs(jobs, monkeypatch) == 0 and ran == ["unit/a"]
    assert not (tmp_path / "build-dev-unit.log").exists()


def test_cmake_that_fails_is_one_failure(monkeypatch, tmp_path, capsys):
    log = tmp_path / "configure-dev.log"
    log.write_text("no compiler")

    def jobs_of(chosen):
        raise run_tests.CannotConfigure(run_tests.Finished(1, log, 1.5))

    monkeypatch.setattr(run_tests, "jobs_of", jobs_of)
    assert run_tests.main([]) == 1
    said = capsys.readouterr().out
    assert said.endswith("0 passed, 1 failed\n") and "    | no compiler\n" in said


def test_a_fault_of_the_run_itself_is_not_silence(monkeypatch):
    def test(job):
        raise OSError("no ninja")

    with pytest.raises(OSError, match="no ninja"):
        run_jobs([run_tests.Job("unit/a", test)], monkeypatch)


def test_a_build_gives_way_to_tests_and_keeps_its_words_and_status(tmp_path):
    words = [*run_tests.LOW_PRIORITY, "sh", "-c", 'nice; echo "$1"; exit 3', "sh", "a b"]
    done = run_tests.run("low", words, 600)
    assert done.status == 3
    assert done.log.read_text().splitlines() == [str(min(os.nice(0) + 10, 19)), "a b"]


def test_an_interrupted_run_ends_its_build(tmp_path, monkeypatch):
    preset(
        tmp_path,
        a_test=f"echo $$$$ >{tmp_path}/new && mv {tmp_path}/new {tmp_path}/pid && exec sleep 600",
    )

    def interrupted(job):
        wait_for(tmp_path / "pid")
        raise KeyboardInterrupt

    jobs = [passing("unit/a", preset="dev", targets=("a_test",)), run_tests.Job("b/b", interrupted)]
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, monkeypatch)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not children.running


def test_a_step_that_failed_is_not_taken_for_a_program(tmp_path):
    step = run_tests.Step("dev", "build-dev-unit", ["a_test", "b_test"], state="0")
    log = tmp_path / "build-dev-unit.log"
    log.write_text("[1/3] Linking CXX executable a_test\n")
    step.read()
    assert not step.linked, "the next line may say that it failed"
    more = "FAILED: a_test\nld: x\n[2/3] Linking CXX executable r/b_test\n"
    log.write_text(log.read_text() + more)
    step.read()
    os.utime(log, (0, 0))  # nothing has come behind it for long
    step.read()
    assert step.linked == {"b_test"} and step.state == "2/3"
