"""CPU time and memory of a server and all its children, from /proc."""

import os
import pathlib


def family(pid):
    """The process and everything below it."""
    pids = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            for child in (task / "children").read_text().split():
                pids += family(int(child))
        except OSError:
            pass  # ended while we looked
    return pids


def cpu_microseconds(pid):
    """User and system time of every thread, to the nanosecond the scheduler counts in."""
    nanoseconds = 0
    for member in family(pid):
        for task in pathlib.Path(f"/proc/{member}/task").iterdir():
            try:
                nanoseconds += int((task / "schedstat").read_text().split()[0])
            except OSError:
                pass
    return nanoseconds / 1000


def cpu_microseconds_with_ended(pid):
    """The same with the children that have ended, for servers with a process per connection."""
    after_name = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ended = int(after_name[13]) + int(after_name[14])  # cutime, cstime
    return cpu_microseconds(pid) + ended * 1e6 / os.sysconf("SC_CLK_TCK")


def pss_bytes(pid):
    """Proportional set size: what the family holds, shared pages counted once among their users."""
    return sum_of_rollups(pid, "Pss")


def written_bytes(pid):
    """The part of it that is not pages of files: program code comes into use at any time, and
    belongs to no connection."""
    return sum_of_rollups(pid, "Pss") - sum_of_rollups(pid, "Pss_File")


def sum_of_rollups(pid, name):
    kib = 0
    for member in family(pid):
        for line in pathlib.Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{name}:"):
                kib += int(line.split()[1])
    return kib * 1024


def open_descriptors(pid):
    return sum(len(os.listdir(f"/proc/{member}/fd")) for member in family(pid))


def cores():
    return sorted(os.sched_getaffinity(0))
