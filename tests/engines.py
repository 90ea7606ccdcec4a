"""The engines that the suites run on: which program has each, with how many threads, and what an
engine cannot do by its nature."""

import re
import subprocess
from dataclasses import dataclass

# Ways to ask the kernel; every suite with an `engine` runs on these, the quick set on two.
MAIN = ("epoll", "io_uring", "poll", "select")
QUICK = MAIN[:2]


@dataclass(frozen=True)
class LabEngine:
    threads: int
    one_each: bool = False  # a thread for each open connection


# Ways to build a server, of the program tiderace-lab; for the behaviour suites.
LAB = {
    "epoll-lt": LabEngine(threads=1),
    "epoll-et": LabEngine(threads=1),
    "epoll-oneshot": LabEngine(threads=1),
    "queue": LabEngine(threads=2),
    "threads": LabEngine(threads=420, one_each=True),
    "pool": LabEngine(threads=32, one_each=True),
    "blocking-epoll": LabEngine(threads=64, one_each=True),
    "prefork": LabEngine(threads=2),
    "libevent": LabEngine(threads=1),
    "asio-per-thread": LabEngine(threads=1),
    "asio-shared": LabEngine(threads=2),
}

# Tests that are left out, with the reason that the run prints. (engine, test): why.
MANY = "hundreds of kept connections at once are what it cannot do: one a thread, the others wait"
LEFT_OUT = {
    ("pool", "test_several_hundred_connections_are_served_at_once"): MANY,
    ("blocking-epoll", "test_several_hundred_connections_are_served_at_once"): MANY,
}


def program_for(binary, engine):
    """The program that has the engine: tiderace, or tiderace-lab beside it."""
    return binary.with_name("tiderace-lab") if engine in LAB else binary


def threads_for(engine, threads):
    """One loop is what most tests ask for; an engine that blocks needs a thread a connection."""
    return max(threads, LAB[engine].threads) if engine in LAB and threads else threads


def threads_at_once(engine, connections):
    """Threads for so many connections that are open at once; one where they share a loop."""
    return connections if engine in LAB and LAB[engine].one_each else 1


def why_absent(binary):
    """{engine: reason} for engines that the lab's program does not have here."""
    program = binary.with_name("tiderace-lab")
    if not program.exists():
        return {name: f"{program.name} is not built" for name in LAB}
    said = subprocess.run([program, "engines"], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout
    entries = re.findall(r"^(\S+) +((?:.|\n {5,})+)", said, re.M)
    return {name: re.sub(r"\s+", " ", text).split("Not here: ")[1].rstrip(".")
            for name, text in entries if "Not here: " in text}
