#!/usr/bin/env python3
"""Puts small faults into a room's sources and counts how many its unit tests notice.

`./dev mutate [room…] [--sample N] [--seed N] [--file TEXT] [--jobs N]` calls it. Rooms have the
names that they have in `./dev test`; without one, it takes each that has sources and unit tests.
mutants.py finds the places and writes copies of the sources. All faults of a sample are compiled
once, by the commands of build/dev; the variable TIDERACE_MUTANT chooses one, and the room's whole
test program runs once with each. A mutant is killed when the program fails, crashes or runs past
its time. One that survives it also meets the programs of the rooms in ALSO. Survivors are printed
with their place: either a test is missing, or the mutant changes nothing that can be observed.

Sources that send signals are left alone: a fault there could end other programs.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import children  # noqa: E402
import mutants  # noqa: E402
from children import ROOT  # noqa: E402
from run_tests import temporary_folder  # noqa: E402

BUILD = children.BUILD / "dev"
COPIES = children.BUILD / "mutate"
# Rooms whose classes do most of their work behind the protocols: the rooms whose test programs run
# after the room's own. No other test programs are run for a room.
ALSO = {"http": ["http_h1", "http_h2"], "http_handler": ["http_files"]}
SENDS_SIGNALS = re.compile(r"\bkill(pg)?\(")
# A mutant may allocate without end: 16 GiB of address space, and no core file.
LIMITED = ["sh", "-c", 'ulimit -c 0 -v 16777216; exec "$@"', "sh"]
COMPILE_ROUNDS_MAX = 12
CHOSEN_H = 'extern "C" const int tiderace_mutant;\n'
CHOSEN_CC = """#include "chosen.h"
#include <cstdlib>
static int chosen() {
    const char* number = std::getenv("TIDERACE_MUTANT");
    return number != nullptr ? std::atoi(number) : 0;
}
extern "C" const int tiderace_mutant = chosen();
"""


class Failed(Exception):
    """The room cannot be tested; its text says why."""


@dataclasses.dataclass
class Planted:
    """A mutant in the source at `path`, which is relative to the root."""

    path: str
    mutant: mutants.Mutant

    def __str__(self):
        it = self.mutant
        return f"{self.path}:{it.line}: {it.kind}: {it.before}  ->  {it.after}"


# ---- choosing -----------------------------------------------------------------------------------


def chosen_sample(planted, count, seed):
    """`count` of them, spread over the kinds, and over the lines while there are enough; the same
    ones for the same seed."""
    rng = random.Random(seed)
    by_kind = collections.defaultdict(list)
    for one in planted:
        by_kind[one.mutant.kind].append(one)
    piles = [by_kind[kind] for kind in sorted(by_kind)]
    for pile in piles:
        rng.shuffle(pile)
    rows = itertools.zip_longest(*piles)
    by_turns = [one for row in rows for one in row if one is not None]
    first, more, lines = [], [], set()
    for one in by_turns:
        place = one.path, one.mutant.line
        (more if place in lines else first).append(one)
        lines.add(place)
    return sorted((first + more)[:count], key=lambda one: (one.path, one.mutant.line))


# ---- building -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Unit:
    """One compilation of the room: its command, its output and its sources."""

    words: list
    output: str
    sources: list


def rooms_of(database):
    """From compile_commands.json: how each room with a test program is compiled, by its name."""
    units, tested = collections.defaultdict(list), set()
    for entry in database:
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        name = re.search(r"(?:^|/)(tiderace_)?([\w-]+?)(_test)?\.dir/", output)
        if name[3]:
            tested.add(name[2])
        if not name[1] or name[3] or "cmake_pch" in entry["file"]:
            continue
        file = pathlib.Path(entry["file"])
        sources = [file]
        if "Unity" in file.parts:
            sources = [pathlib.Path(p) for p in re.findall(r'#include "(.*)"', file.read_text())]
        units[name[2]].append(Unit(words, output, sources))
    return {name: units[name] for name in sorted(units) if name in tested}


def link_words(name):
    """The command that links the room's test program, without its shell."""
    words = ["ninja", "-C", str(BUILD), "-t", "commands", "-s", f"{name}_test"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    command = [line for line in said.splitlines() if line.startswith(": &&")][-1]
    return shlex.split(command.removeprefix(": &&").rsplit("&&", 1)[0])


class Room:
    def __init__(self, name, units, jobs):
        self.name, self.units, self.jobs = name, units, jobs
        self.folder = COPIES / name
        self.tested = [name, *ALSO.get(name, [])]  # each has its test program
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "chosen.h").write_text(CHOSEN_H)
        (self.folder / "chosen.cc").write_text(CHOSEN_CC)
        self.seconds_max = {}  # of each test program
        self.sources = {}  # path from the root -> mutants.Source

    def planted(self, file=""):
        """Every mutant of the room whose path holds `file`."""
        found = []
        for unit in self.units:
            for source in unit.sources:
                text = source.read_text()
                path = str(source.relative_to(ROOT))
                if SENDS_SIGNALS.search(text) or file not in path:
                    continue
                self.sources[path] = mutants.Source(text)
                found += [Planted(path, m) for m in mutants.mutants_of(self.sources[path])]
        return found

    def build(self, sample):
        """Builds the test program with the sample in it. Returns the rejected mutants."""
        left_out = []
        for number, one in enumerate(sample):
            one.mutant.number = number + 1
        for _ in range(COMPILE_ROUNDS_MAX):
            left = [one for one in sample if one not in left_out]
            faulty = self._compile(left)
            if not faulty:
                left_out += self._of_other_systems(left)
                self._link({one.path for one in left})
                return left_out
            left_out += faulty
        raise Failed(f"{self.name}: what is left of the sample does not compile")

    def _copy_of(self, path):
        return self.folder / "src" / path

    def _compile(self, sample):
        """Compiles the units that hold mutants. Returns the mutants that the compiler rejects."""
        by_path = collections.defaultdict(list)
        for one in sample:
            by_path[one.path].append(one.mutant)
        shutil.rmtree(self.folder / "src", ignore_errors=True)  # a source may have none left
        for path, here in by_path.items():
            copy = self._copy_of(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(mutants.instrumented(self.sources[path], here))
        touched = [u for u in self.units if self._touches(u, by_path)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            complaints = "".join(pool.map(self._compile_unit, touched))
        if not complaints:
            return []
        return self._blamed(sample, complaints)

    def _of_other_systems(self, sample):
        """Mutants that the preprocessor leaves out here: no run could notice them."""
        touched = [u for u in self.units if self._touches(u, {one.path for one in sample})]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            numbers = set().union(*pool.map(self._numbers_compiled, touched))
        return [one for one in sample if one.mutant.number not in numbers]

    def _numbers_compiled(self, unit):
        words = [*self._words_of(unit), "-E"]
        words[words.index("-o") + 1] = "-"
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=True)
        return {int(number) for number in re.findall(r"tiderace_mutant == (\d+)", done.stdout)}

    @staticmethod
    def _touches(unit, paths):
        return any(str(source.relative_to(ROOT)) in paths for source in unit.sources)

    def _object_of(self, unit):
        return self.folder / (re.sub(r"[^\w.]", "-", unit.output) + ".o")

    def _compile_unit(self, unit):
        """Returns what the compiler reports; nothing when it made the object."""
        lines = []
        for source in unit.sources:
            copy = self._copy_of(source.relative_to(ROOT))
            lines.append(f'#include "{copy if copy.exists() else source}"')
        file = self._object_of(unit).with_suffix(".cc")
        text = "\n".join(lines) + "\n"
        inputs = [text, *(p.read_text() for p in map(pathlib.Path, re.findall('"(.*)"', text)))]
        stamp = self._object_of(unit).with_suffix(".stamp")
        if stamp.exists() and stamp.read_text() == "".join(inputs):
            return ""
        file.write_text(text)
        words = self._words_of(unit)
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            stamp.write_text("".join(inputs))
            return ""
        return done.stderr or f"status {done.returncode}\n"

    def _words_of(self, unit):
        file = self._object_of(unit).with_suffix(".cc")
        words = list(unit.words)
        words[words.index("-o") + 1] = str(self._object_of(unit))
        words[words.index("-c") + 1] = str(file)
        if "-MF" in words:
            words[words.index("-MF") + 1] = str(file) + ".d"
        return [*words, "-w", "-include", str(self.folder / "chosen.h")]

    def _blamed(self, sample, complaints):
        prefix = re.escape(str(self.folder / "src")) + "/"
        for pattern in (rf"{prefix}(\S+?):(\d+):\d+: error", rf"{prefix}(\S+?):(\d+)"):
            places = {(path, int(line)) for path, line in re.findall(pattern, complaints)}
            blamed = [one for one in sample if self._lies_at(one, places)]
            if blamed:
                return blamed
        raise Failed(f"{self.name} does not compile:\n{complaints[-3000:]}")

    def _lies_at(self, one, places):
        source, region = self.sources[one.path], one.mutant.region
        lines = range(source.line(region.first), source.line(region.last - 1) + 1)
        return any(path == one.path and line in lines for path, line in places)

    def _link(self, paths):
        unit = self.units[0]
        chosen = self.folder / "chosen.o"
        compiler = [w for w in unit.words[:2] if "ccache" not in w][0]
        words = [compiler, "-fPIC", "-c", self.folder / "chosen.cc", "-o", chosen]
        subprocess.run(words, check=True)
        objects = [
            str(self._object_of(u)) if self._touches(u, paths) else str(BUILD / u.output)
            for u in self.units
        ]
        for tested in self.tested:
            self._link_program(tested, [*objects, str(chosen)])

    def _program(self, tested):
        return self.folder / f"{tested}_test"

    def _link_program(self, tested, objects):
        words = link_words(tested)
        words[words.index("-o") + 1] = str(self._program(tested))
        archive = f"libtiderace_{self.name}.a"
        first = next(i for i, word in enumerate(words) if word.endswith(archive))
        rest = [word for word in words[first:] if not word.endswith(archive)]
        words = [*words[:first], *objects, *rest]
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{tested}_test does not link:\n{done.stderr[-3000:]}")

    # ---- running --------------------------------------------------------------------------------

    def measure_times(self):
        """Runs each program without a mutant, to know how long one with a mutant may take."""
        for tested in self.tested:
            done = self._run_program(tested, 0, 1800)
            if done.status != 0:
                why = f"the tests fail without a mutant ({done.why()})"
                raise Failed(f"{tested}: {why}; see {done.log}")
            self.seconds_max[tested] = 20 + 4 * done.seconds

    def run(self, number):
        """Runs the tests with that mutant until one notices. None, or how it was noticed."""
        for tested in self.tested:
            done = self._run_program(tested, number, self.seconds_max[tested])
            if done.status != 0:
                return f"{tested}: {done.why()}"
        return None

    def _run_program(self, tested, number, seconds_max):
        words = [*LIMITED, self._program(tested), "--gtest_brief=1", "--gtest_fail_fast"]
        with temporary_folder() as folder:
            os.chmod(folder, 0o755)  # tests become another user, which has to get in
            environment = {"TIDERACE_MUTANT": str(number), "TMPDIR": folder}
            name = f"mutate/{tested}-{number}"
            return children.run(name, words, seconds_max, environment, cwd=BUILD)


def measure(name, units, arguments):
    """Prints the survivors of one room and returns its score as a line."""
    room = Room(name, units, arguments.jobs)
    every = room.planted(arguments.file)
    sample = chosen_sample(every, arguments.sample, arguments.seed)
    if not sample:
        raise Failed(f"{name}: no source matches {arguments.file}")
    print(f"{name}: {len(sample)} of {len(every)} mutants, seed {arguments.seed}", flush=True)
    left_out = room.build(sample)
    sample = [one for one in sample if one not in left_out]

    room.measure_times()
    survivors = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        try:
            runs = pool.map(lambda one: (one, room.run(one.mutant.number)), sample)
            for one, noticed in runs:
                if arguments.verbose and noticed:
                    print(f"  killed ({noticed}): {one}", flush=True)
                if not noticed:
                    survivors.append(one)
                    print(f"  SURVIVED: {one}", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return score(name, len(sample), len(survivors), len(left_out))


def score(name, ran, survived, left_out):
    killed = ran - survived
    note = f" ({left_out} more did not compile here)" if left_out else ""
    percent = f"{100 * killed / ran:.0f} %" if ran else "none ran"
    return f"{name}: {killed} of {ran} mutants killed: {percent}{note}"


def parsed(words):
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.splitlines()[0])
    parser.add_argument("room", nargs="*", help="as in ./dev test; without: each")
    parser.add_argument("--sample", type=int, default=30, metavar="N", help="mutants a room (30)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="chooses the sample (1)")
    parser.add_argument("--file", default="", metavar="TEXT", help="only sources whose path has it")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="run at a time (2)")
    parser.add_argument("--verbose", action="store_true", help="print those that were killed too")
    arguments = parser.parse_args(words)
    if arguments.sample < 1 or arguments.jobs < 1:
        parser.error("--sample and --jobs are at least 1")
    return arguments


def ninja(*words):
    done = children.run("mutate/build", ["ninja", "-C", BUILD, *words], 7200)
    if done.status != 0:
        raise Failed(f"{BUILD} does not build; see {done.log}")


def configured():
    """Every room, by its name."""
    if not (BUILD / "build.ninja").exists():
        done = children.run("mutate/configure", ["cmake", "--preset", "dev"], 1200)
        if done.status != 0:
            raise Failed(f"cmake failed; see {done.log}")
    ninja("build.ninja")
    return rooms_of(json.loads((BUILD / "compile_commands.json").read_text()))


def chosen_rooms(names, rooms):
    for name in names:
        if name not in rooms:
            raise Failed(f"no room {name}; there are {', '.join(rooms)}")
    return names or list(rooms)


def main(words):
    arguments = parsed(words)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    scores, status = [], 0
    try:
        rooms = configured()
        names = chosen_rooms(arguments.room, rooms)
        tests = [f"{it}_test" for name in names for it in (name, *ALSO.get(name, []))]
        ninja("-j", arguments.jobs, *tests)
        for name in names:
            try:
                scores.append(measure(name, rooms[name], arguments))
            except Failed as failed:
                print(failed, file=sys.stderr)
                status = 1
    except Failed as failed:
        sys.exit(str(failed))
    finally:
        children.stop()
    print("\n" + "\n".join(scores), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
