#!/usr/bin/env python3
"""Format, clang-tidy and the house rules. `./dev check [--all | file…]` calls it.

The format is checked on every file. clang-tidy is slow, so it looks at the C++ sources that differ
from main (and, before the first difference, from the last commit), or at those that are named.

--all makes it look at every source, eight of a room at a time, as most of its time goes into the
headers that they share. Then each that is no test is compiled by itself, so that a build without
unity compiles (tidy.py asks all of them for the standard library's headers).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALONE = ROOT / "build/check"
TOGETHER = ROOT / "build/check-all"


def run(words, folder=ROOT):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def configure(folder, unity):
    """A clang configuration that is never built: clang-tidy reads its compile commands."""
    words = ["cmake", "--preset", "asan", "-B", folder, f"-DCMAKE_UNITY_BUILD={unity}"]
    words += ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DTIDERACE_FUZZ=ON", "-DTIDERACE_BENCH=ON"]
    done = run(words)
    if done.returncode != 0:
        sys.exit(f"check: cmake failed\n{done.stdout}{done.stderr}")
    return json.loads((folder / "compile_commands.json").read_text())


def tool(name):
    for candidate in (f"{name}-19", name):
        if shutil.which(candidate):
            return candidate
    sys.exit(f"check: {name} is not installed")


def git(*words):
    said = run(["git", *words])
    return said.stdout.split() if said.returncode == 0 else []


def cpp(paths):
    return [
        path for path in paths if path.endswith((".h", ".cc", ".c")) and (ROOT / path).is_file()
    ]


def changed():
    for main in ("origin/main", "main", "HEAD"):
        base = git("merge-base", main, "HEAD")
        paths = git("diff", "--name-only", *base) if base else []
        if paths:
            break
    return paths + git("ls-files", "--others", "--exclude-standard")


def sources_of(paths):
    """A header is checked through the source of the same name."""
    sources = (pathlib.PurePath(path) for path in paths)
    return cpp(sorted({str(s.with_suffix(".cc") if s.suffix == ".h" else s) for s in sources}))


def at_once(ask, things):
    """The complaints of `ask` for each; shows a counter on a terminal."""
    complaints = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for count, said in enumerate(pool.map(ask, things), 1):
            if said:
                print(said, flush=True)
                complaints.append(said)
            if sys.stdout.isatty():
                print(f"{count} of {len(things)}", end="\r", flush=True)
    return complaints


def lint(folder, paths):
    print(f"clang-tidy: {len(paths)} compilations", flush=True)
    words = [tool("clang-tidy"), "-p", folder, "--quiet", "--warnings-as-errors=*"]
    if folder == TOGETHER:
        words.append("--checks=-bugprone-suspicious-include")  # of the eight files

    def ask(path):
        done = run([*words, path])
        return done.stdout + done.stderr if done.returncode != 0 else ""

    return at_once(ask, paths)


def compile_alone(entries):
    entries = [entry for entry in entries if not entry["file"].endswith("_test.cc")]
    print(f"each by itself: {len(entries)} files", flush=True)

    def ask(entry):
        words = shlex.split(entry["command"])
        output = words.index("-o")
        words[output : output + 2] = ["-fsyntax-only", "-Werror"]
        return run(words, entry["directory"]).stderr

    return at_once(ask, entries)


def files_in(complaints):
    """The files that the errors stand in, each once."""
    found = re.findall(r"^(/[^:\n]+):\d+:\d+: (?:\w+ )?error:", "\n".join(complaints), re.M)
    return sorted({os.path.relpath(path, ROOT) for path in found}) or ["see above"]


def arguments():
    parser = argparse.ArgumentParser(prog="./dev check", description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="lint every file, not the changed ones")
    parser.add_argument("files", nargs="*", help="lint these instead of the changed ones")
    chosen = parser.parse_args()
    absent = [path for path in chosen.files if not (ROOT / path).is_file()]
    if absent:
        parser.error(f"no file {absent[0]} in {ROOT}")
    return chosen


def main():
    chosen = arguments()
    every = cpp(git("ls-files", "--cached", "--others", "--exclude-standard"))
    failed = []

    print(f"format: {len(every)} files", flush=True)
    formatted = [tool("clang-format"), "--dry-run", "-Werror", *every]
    if every and subprocess.run(formatted, cwd=ROOT, check=False).returncode != 0:
        failed.append("format")

    alone = configure(ALONE, "OFF")
    if chosen.all:
        paths = sorted({entry["file"] for entry in configure(TOGETHER, "ON")})
        complaints = lint(TOGETHER, paths) + compile_alone(alone)
    else:
        known = {entry["file"] for entry in alone}
        sources = sources_of(chosen.files or changed())
        complaints = lint(ALONE, [path for path in sources if str(ROOT / path) in known])
    if complaints:
        failed += files_in(complaints)

    print("tidy", flush=True)
    if subprocess.run([sys.executable, ROOT / "tools/tidy.py"], check=False).returncode != 0:
        failed.append("tidy")

    print("\n".join(["not in order:", *failed]) if failed else "in order")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
