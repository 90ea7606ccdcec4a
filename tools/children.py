"""Child processes of the test run: each has a log, a limit of time, and ends with the run."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"


@dataclasses.dataclass
class Finished:
    status: int  # negative: the signal that ended it
    log: pathlib.Path
    seconds: float
    cpu: float = 0.0
    late: bool = False

    def why(self):
        if self.late:
            return "killed: it ran past its time"
        return f"signal {-self.status}" if self.status < 0 else f"status {self.status}"


class Stopped(Exception):
    """The run is being ended: nothing more is started."""


running = set()  # children of ours; the ones that still run at the end are ended
stopping = threading.Event()
starting = threading.Lock()  # so that no child is started after stop() has looked for them


def run(name, command, seconds_max, environment=None, cwd=ROOT):
    """Runs to the end or to seconds_max, with no stdin; all output goes to a log file."""
    log = log_of(name)
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
        late = threading.Event()
        timer = threading.Timer(seconds_max, lambda: (late.set(), end_group(child)))
        timer.daemon = True
        timer.start()
        try:
            usage = wait(child)
        finally:
            timer.cancel()
            running.discard(child)
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)  # what it left behind
    if stopping.is_set():
        raise Stopped(name)  # it was ended by us, so that its result means nothing
    cpu = usage.ru_utime + usage.ru_stime
    return Finished(child.returncode, log, time.monotonic() - began, cpu, late.is_set())


def wait(child):
    """Its CPU time, with its own children. Popen's wait() does not report that."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def end_group(child, seconds_to_tidy_up=30):
    """Interrupts it, so that pytest ends the servers it started; then kills what is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGINT)
    until = time.monotonic() + seconds_to_tidy_up
    while child.returncode is None and time.monotonic() < until:
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def stop():
    """Ends every child, builds included, and lets no thread start another one."""
    with starting:
        stopping.set()
        children = list(running)
    enders = [threading.Thread(target=end_group, args=(child,)) for child in children]
    for ender in enders:
        ender.start()
    for ender in enders:
        ender.join()


def log_of(name):
    return LOGS / (name.replace("/", "-") + ".log")
