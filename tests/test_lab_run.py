"""tiderace lab run and report: the real program, real servers, short cells; and what goes wrong."""

import contextlib
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from server import wait_until

DEADLINE = 200.0


@pytest.fixture(scope="session")
def lab(binary):
    path = binary.parent / "tiderace-lab"
    if not path.exists():
        pytest.fail(f"{path} is not built")
    return path


class Run:
    """One run with a temporary folder of its own, which shows leftovers."""

    def __init__(self, lab, folder, *words, before=None):
        self.out = folder / "out"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.process = subprocess.Popen(
            [lab, "run", "--out", self.out, *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, preexec_fn=before,
            env={**os.environ, "TMPDIR": str(self.temporary)})

    def end(self, deadline=DEADLINE):
        self.said, self.complained = self.process.communicate(timeout=deadline)
        assert list(self.temporary.iterdir()) == [], "files were left behind"
        return self.process.returncode

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()

    def results(self):
        return json.loads((self.out / "results.json").read_text())

    def servers(self, cpu_ticks=0):
        """The server of the moment, once it has used so much CPU time."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for pid in (task / "children").read_text().split():
                    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    if b"serve" in words and int(fields[11]) + int(fields[12]) >= cpu_ticks:
                        found.append(int(pid))
        return found

    def under_load(self):
        # A start and its one probe take less, also on a busy machine.
        return self.servers(cpu_ticks=20)


@pytest.fixture
def run(lab, tmp_path):
    runs = []

    def start(*words, **more):
        runs.append(Run(lab, tmp_path / str(len(runs)), *words, **more))
        return runs[-1]

    yield start
    for one in runs:
        one.kill()


def cells_of(results, subject):
    return [cell for cell in results["cells"] if cell["subject"] == subject]


def test_a_short_run_measures_and_writes_its_pages(run, lab):
    # A server that a busy machine does not run for all of a cell's time has no figures.
    done = run("--engines", "epoll,poll", "--workloads", "churn,scale", "--quick", "--seconds", "1")
    assert done.end() == 0, done.complained
    results = done.results()
    assert results["format"] == "tiderace-lab-results"
    assert [one["name"] for one in results["subjects"]] == ["epoll", "poll", "floor"]
    for cell in results["cells"]:
        assert cell["state"] == "ok", cell
        assert cell["cpu_us"] > 0 and cell["per_second"] > 0 and cell["memory_bytes"] > 0, cell
        assert cell["latency_us"][0][1] > 0
    assert len(results["cells"]) == 3 * (1 + 2)
    html = (done.out / "index.html").read_text()
    assert "epoll" in html and "<script" not in html
    # It loads nothing: addresses stand in links to sources only.
    assert "://" not in html.replace("http://ADDRESS", "").replace('<a href="https://', "")
    assert "| epoll |" in (done.out / "report.md").read_text()
    for piece in ("servers", "pinned", "time", "churn, 100 connections"):
        assert piece in done.said
    # The pages again, from the file.
    (done.out / "index.html").unlink()
    again = subprocess.run([lab, "report", done.out], capture_output=True, timeout=DEADLINE,
                           check=False)
    assert again.returncode == 0
    assert (done.out / "index.html").read_text() == html


@pytest.mark.parametrize("words, pieces", [
    (["run", "--engines", "epol"], ["epol", "did you mean epoll?"]),
    (["run", "--workloads", "w11"], ["w11", "did you mean w1?"]),
    (["run", "--workloads", "w3"], ["w3", "./dev bench data"]),
    (["run", "--seconds", "soon"], ["soon", "seconds"]),
    (["report"], ["folder"]),
    (["rum"], ["did you mean run?"])])
def test_a_wrong_word_is_named_and_the_nearest_with_it(lab, words, pieces):
    done = subprocess.run([lab, *words], capture_output=True, text=True, timeout=DEADLINE,
                          check=False)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1
    for piece in pieces:
        assert piece in done.stderr


def test_a_report_of_nothing_says_what_writes_it(lab, tmp_path):
    done = subprocess.run([lab, "report", tmp_path], capture_output=True, text=True,
                          timeout=DEADLINE, check=False)
    assert done.returncode == 1
    assert "tiderace lab run" in done.stderr


def test_too_few_descriptors_scale_the_workload_and_are_said(run):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))

    done = run("--engines", "epoll", "--workloads", "w1", "--rounds", "1", "--seconds", "0.1",
               before=limit)
    assert done.end() == 0, done.complained
    results = done.results()
    assert [(cell["connections"], cell["state"]) for cell in results["cells"]] == [(250, "ok")] * 2
    assert any("too low for 10000" in note for note in results["notes"])
    assert "too low for 10000" in (done.out / "index.html").read_text()
    assert cells_of(results, "epoll")[0]["open_max"] == 250


@pytest.mark.parametrize("folder, reason", [("file/out", "not a directory"),
                                            ("/dev/full/out", "not a directory")])
def test_a_folder_that_takes_no_report_is_said_before_the_run(lab, tmp_path, folder, reason):
    (tmp_path / "file").write_text("")
    done = subprocess.run([lab, "run", "--engines", "epoll", "--out", tmp_path / folder],
                          capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 1
    assert reason in done.stderr and done.stderr.count("\n") == 1
    assert "connections  " not in done.stdout


def test_the_results_of_an_earlier_run_are_not_written_over(lab, tmp_path):
    words = [lab, "run", "--engines", "poll", "--workloads", "churn", "--rounds", "1",
             "--seconds", "0.05", "--out", tmp_path / "out"]
    ask = {"capture_output": True, "text": True, "timeout": DEADLINE, "check": False}
    assert subprocess.run(words, **ask).returncode == 0
    before = (tmp_path / "out" / "results.json").read_text()
    again = subprocess.run(words, **ask)
    assert (again.returncode, again.stdout, again.stderr.count("\n")) == (2, "", 1)
    assert "holds results.json already" in again.stderr and "--force" in again.stderr
    assert (tmp_path / "out" / "results.json").read_text() == before
    assert subprocess.run([*words, "--force"], **ask).returncode == 0
    assert (tmp_path / "out" / "results.json").read_text() != before
    # It does not overwrite a page of the user's either.
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    other = subprocess.run([lab, "run", "--out", tmp_path / "site"], **ask)
    assert other.returncode == 2 and "index.html" in other.stderr


@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_hangs_and_the_run_goes_on(run):
    # Long enough for a busy machine to show that the load is there before it ends.
    done = run("--engines", "epoll", "--workloads", "churn", "--rounds", "2", "--seconds", "6")
    (server,) = wait_until(done.under_load, DEADLINE, "a server under load")
    os.kill(server, signal.SIGSTOP)
    assert done.end() == 0, done.complained
    first, second = cells_of(done.results(), "epoll")
    assert first["state"] == "hung", first
    assert second["state"] == "ok", second


def test_who_interrupts_a_server_that_never_starts_waits_for_nobody(lab, tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "lighttpd"
    program.write_text(f"""#!/bin/sh
[ "$1" = -v ] && exit
echo $$ > {tmp_path}/pid
exec sleep 100
""")
    program.chmod(0o755)
    process = subprocess.Popen([lab, "run", "--engines", "lighttpd", "--workloads", "churn",
                                "--out", tmp_path / "out"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    try:
        pid = wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(),
                         DEADLINE, "a server that starts")
        process.send_signal(signal.SIGINT)
        assert "interrupted" in process.communicate(timeout=DEADLINE)[0]
    finally:
        process.kill()
    assert process.returncode == 1
    assert not Path(f"/proc/{int(pid)}").exists()


def test_every_engine_echoes_and_who_speaks_http_only_is_skipped(run, lab):
    listed = subprocess.run([lab, "engines"], capture_output=True, text=True, timeout=DEADLINE,
                            check=True).stdout
    assert "w5-echo" in listed and "see redis-benchmark" in " ".join(listed.split())
    done = run("--workloads", "w5-echo", "--rounds", "1", "--seconds", "0.05")
    assert done.end() == 0, done.complained
    results = done.results()
    kinds = {one["name"]: one["kind"] for one in results["subjects"]}
    for cell in results["cells"]:
        if kinds[cell["subject"]] != "engine":
            assert (cell["state"], cell["reason"]) == ("skipped", "it speaks HTTP only"), cell
        elif cell["subject"] in ("pool", "blocking-epoll"):  # not all at once
            assert cell["state"] == "starved" and cell["answers"] > 0, cell
        else:
            assert cell["state"] == "ok" and cell["answers"] > 0, cell
    assert len(results["cells"]) > 15


def test_a_server_that_dies_is_told_and_the_run_goes_on(run):
    done = run("--engines", "epoll", "--workloads", "churn", "--rounds", "1", "--seconds", "8")
    (server,) = wait_until(done.under_load, DEADLINE, "a server under load")
    os.kill(server, signal.SIGKILL)
    assert done.end() == 0, done.complained
    (epoll,) = cells_of(done.results(), "epoll")
    assert epoll["state"] == "died", epoll
    (floor,) = cells_of(done.results(), "floor")
    assert floor["state"] == "ok", floor
    assert "signal 9" in done.said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_gets_what_there_is_and_nothing_is_left(run, number):
    done = run("--engines", "epoll", "--workloads", "scale", "--rounds", "1", "--seconds", "30")
    servers = wait_until(done.servers, DEADLINE, "a server of the run")
    done.process.send_signal(number)
    assert done.end() == 1
    assert not any(Path(f"/proc/{pid}").exists() for pid in servers)
    assert done.results()["interrupted"] is True
    assert "interrupted" in done.said
    assert (done.out / "index.html").exists()
