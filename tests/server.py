"""Starts the real program, says where it listens, watches it, and ends it properly."""

import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import engines
from raw_client import Connection, get_once

START_DEADLINE = 100.0
STOP_DEADLINE = 100.0
URL = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[0-9.]+|localhost):([0-9]+)")
SANITIZER = re.compile(r"ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|runtime error:|"
                       r"SUMMARY: \w*Sanitizer|check failed|TR_CHECK")


SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=99",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99",
    "TSAN_OPTIONS": "halt_on_error=0:exitcode=99",
}


# Started by root, the server would become an unprivileged user, which cannot enter the tests'
# folders.
STAY_ROOT = ["--user", "root"] if os.geteuid() == 0 else []


def end(servers):
    """Stops them all, and leaves none behind where one does not stop as it should."""
    try:
        for server in servers:
            server.stop()
    finally:
        for server in servers:
            server.kill()


class ServerDied(AssertionError):
    pass


def wait_until(condition, deadline=60.0, what="the condition", pause=0.002):
    """Polls, with a bound. What the condition returned last, once it is true."""
    until = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {deadline} s")
        time.sleep(pause)


class Server:
    def __init__(self, binary, root, *flags, folder, engine=None, threads=1, listen="127.0.0.1:0",
                 prefix=(), nofile=None, env=None, cwd=None, stays_root=True):
        self.binary = engines.program_for(Path(binary), engine)
        self.folder = Path(folder)
        threads = engines.threads_for(engine, threads)
        words = [str(self.binary), *self.leading_words(root, listen, threads, engine)]
        if stays_root and "serve" in words:
            words += STAY_ROOT
        self.command = [*map(str, prefix), *words, *map(str, flags)]
        self.stdout_path = self.folder / "stdout"
        self.stderr_path = self.folder / "stderr"
        self.environment = {
            **os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8",
            **{k: v for k, v in SANITIZER_OPTIONS.items() if k not in os.environ}, **(env or {})}

        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if nofile is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))

        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=err, env=self.environment, cwd=cwd,
                                            preexec_fn=limit, start_new_session=True)
        self.stopped = False

    def leading_words(self, root, listen, threads, engine):
        words = ["serve"]
        if root is not None:
            words.append(str(root))
        for address in [listen] if isinstance(listen, str) else (listen or []):
            words += ["--listen", address]
        if threads is not None:
            words += ["--threads", str(threads)]
        if engine is not None:
            words += ["--engine", engine]
        return words

    # Its output.

    @property
    def stdout(self):
        return self.stdout_path.read_text(errors="replace")

    @property
    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    @property
    def output(self):
        return self.stdout + self.stderr

    def wait_ready(self, listeners=1):
        def ready():
            if self.process.poll() is not None:
                raise ServerDied(f"status {self.process.returncode} at start\n{self.output}")
            return "\nengine" in self.output and len(self.places()) >= listeners
        wait_until(ready, START_DEADLINE, "a banner that says where it listens")
        return self

    def places(self):
        """The entries "open" and "socket" of its banner: (host, port) or a path, in that order."""
        places = []
        for line in re.findall(r"^(?:open|socket) +(.+)$", self.output, re.M):
            url = URL.match(line)
            places.append((url[1].strip("[]").replace("localhost", "127.0.0.1"), int(url[2]))
                          if url else line.strip())
        return places

    @property
    def address(self):
        return self.places()[0]

    # Talking to it.

    def connect(self, **more):
        return Connection(self.address, **more)

    def get(self, target="/", *fields, **more):
        return get_once(self.address, target, *fields, **more)

    # Watching it. With a prefix (strace, prlimit) the program may be its child.

    @property
    def pid(self):
        names = self.binary.name[:15], f"{self.binary.name}-tls"[:15]
        candidates = [self.process.pid]
        while candidates:
            pid = candidates.pop()
            try:
                if Path(f"/proc/{pid}/comm").read_text().strip() in names:
                    return pid
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                candidates += map(int, children)
            except OSError:
                continue
        raise ServerDied("no such process any more")

    def pids(self):
        """Its process, and its children (prefork)."""
        pids = [self.pid]
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return pids + [int(child) for child in children]

    def sum_of(self, count):
        """count(folder in /proc) of all its processes; one that ends meanwhile counts for none."""
        total = 0
        for pid in self.pids():
            try:
                total += count(Path(f"/proc/{pid}"))
            except OSError:
                if pid == self.pid:
                    raise
        return total

    def descriptors(self):
        return self.sum_of(lambda process: len(os.listdir(process / "fd")))

    def sockets(self):
        """Descriptors that are sockets: files that it keeps open do not count."""
        def sockets_of(process):
            count = 0
            for link in (process / "fd").iterdir():
                try:
                    count += os.readlink(link).startswith("socket:")
                except FileNotFoundError:
                    pass
            return count
        return self.sum_of(sockets_of)

    def pss_bytes(self):
        """Its own memory. The program's file counts for nothing: what of it is ours changes with
        other servers that come and go beside."""
        return self.sum_of(lambda process: int(re.search(
            r"^Pss_Anon:\s+(\d+) kB", (process / "smaps_rollup").read_text(), re.M)[1]) * 1024)

    def cpu_ticks(self):
        def ticks_of(process):
            words = (process / "stat").read_text().rsplit(")", 1)[1].split()
            return int(words[11]) + int(words[12])
        return self.sum_of(ticks_of)

    def wakeups(self):
        """Voluntary context switches of all its threads."""
        def wakeups_of(process):
            return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(),
                                     re.M)[1]) for status in process.glob("task/*/status"))
        return self.sum_of(wakeups_of)

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def alive(self):
        return self.process.poll() is None

    def check_health(self):
        if self.process.poll() is not None and not self.stopped:
            raise ServerDied(f"status {self.process.returncode}\n{self.output[-6000:]}")
        complaint = SANITIZER.search(self.stderr)
        assert not complaint, self.stderr[max(0, complaint.start() - 500):][:6000]

    # Ending it.

    def signal(self, number):
        os.kill(self.pid, number)

    def wait_exit(self, deadline=STOP_DEADLINE):
        try:
            status = self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"runs after {deadline} s\n{self.output[-3000:]}") from None
        self.stopped = True
        return status

    def stop(self):
        """SIGTERM, status 0, no complaint of a sanitizer. Ends it in any case."""
        if self.stopped:
            return
        try:
            self.check_health()
            self.signal(signal.SIGTERM)
            status = self.wait_exit()
            assert status == 0, f"status {status} after SIGTERM\n{self.output[-6000:]}"
            self.check_health()
        finally:
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(STOP_DEADLINE)
        self.stopped = True


def run(binary, *words, deadline=100.0, env=None, cwd=None, preexec_fn=None):
    """One run of the program that ends by itself."""
    if words and words[0] == "serve" and "--user" not in words:
        words = ["serve", *STAY_ROOT, *words[1:]]
    return subprocess.run([str(binary), *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=deadline,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}, cwd=cwd,
                          preexec_fn=preexec_fn)
