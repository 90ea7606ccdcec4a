"""Other programs, run to their end: cmake, ninja, a compiler, what these built."""

import os
import subprocess

DEADLINE = 280.0  # seconds; for what hangs


def finished(*words, deadline=DEADLINE, **environment):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=deadline,
                          env={**os.environ, **environment}, check=False)


def ran(*words, deadline=DEADLINE, **environment):
    """Its output, if it succeeded."""
    done = finished(*words, deadline=deadline, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
