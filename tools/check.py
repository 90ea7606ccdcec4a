#!/usr/bin/env python3
"""Format, clang-tidy and the house rules. `./dev check [--all | file…]` calls it.

The format is checked on every file. clang-tidy is slow, so it looks at the C++ sources that differ
from main (and, before the first difference, from the last commit); --all makes it look at all.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATABASE = ROOT / "build/check"


def configure():
    """A clang build that is never built: its flags are known to clang-tidy, which sees each file
    alone, so that it has to include what it uses."""
    words = ["cmake", "--preset", "asan", "-B", DATABASE]
    words += ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_UNITY_BUILD=OFF"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"check: cmake failed\n{done.stdout}{done.stderr}")


def tool(name):
    for candidate in (f"{name}-19", name):
        if subprocess.run(["which", candidate], capture_output=True, check=False).returncode == 0:
            return candidate
    sys.exit(f"check: {name} is not installed")


def git(*words):
    said = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.split() if said.returncode == 0 else []


def cpp(paths):
    return [
        path for path in paths if path.endswith((".h", ".cc", ".c")) and (ROOT / path).is_file()
    ]


def changed_sources():
    for main in ("origin/main", "main", "HEAD"):
        base = git("merge-base", main, "HEAD")
        changed = git("diff", "--name-only", *base) if base else []
        if changed:
            break
    changed += git("ls-files", "--others", "--exclude-standard")
    # A header is looked at through the source of its name.
    sources = {str(pathlib.PurePath(path).with_suffix(".cc")) for path in cpp(changed)}
    return cpp(sorted(sources))


def main(arguments):
    every = cpp(git("ls-files", "--cached", "--others", "--exclude-standard"))
    failed = []

    print(f"format: {len(every)} files")
    formatted = [tool("clang-format"), "--dry-run", "-Werror", *every]
    if every and subprocess.run(formatted, cwd=ROOT, check=False).returncode != 0:
        failed.append("format")

    configure()
    entries = json.loads((DATABASE / "compile_commands.json").read_text())
    known = {str(pathlib.Path(entry["file"])) for entry in entries}
    wanted = [path for path in arguments if not path.startswith("--")]
    sources = wanted or (every if "--all" in arguments else changed_sources())
    sources = [path for path in sources if str(ROOT / path) in known]
    print(f"clang-tidy: {len(sources)} sources", flush=True)
    linter = [tool("clang-tidy"), "-p", str(DATABASE), "--quiet", "--warnings-as-errors=*"]

    def lint(path):
        return subprocess.run(
            [*linter, path], cwd=ROOT, capture_output=True, text=True, check=False
        )

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, done in zip(sources, pool.map(lint, sources)):
            if done.returncode != 0:
                print(done.stdout, end="", flush=True)
                failed.append(f"clang-tidy {path}")

    print("tidy", flush=True)
    if subprocess.run([sys.executable, ROOT / "tools/tidy.py"], check=False).returncode != 0:
        failed.append("tidy")

    print("\n".join(["not in order:", *failed]) if failed else "in order")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
