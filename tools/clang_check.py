"""Compiles texts with clang, for tests of what must not compile. It makes nothing but a header."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG = shutil.which("clang++-19") or shutil.which("clang++")


def compiler(folder, head, *flags):
    """compile(text) compiles a text behind `head`, which is read once and kept in `folder`."""
    if CLANG is None:
        pytest.skip("clang is not installed")

    def clang(*words, text):
        command = [CLANG, "-std=c++23", *flags, f"-I{ROOT}", *words, "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    header = folder / "head.pch"
    made = clang("-x", "c++-header", "-o", header, text=head)
    assert made.returncode == 0, made.stderr
    return lambda text: clang("-x", "c++", "-fsyntax-only", "-include-pch", header, text=text)


def errors_of(done):
    """The compiler's lines that begin an error."""
    return [line for line in done.stderr.splitlines() if "error:" in line]
