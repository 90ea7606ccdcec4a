"""The first minute with the program: what it does by itself, what it refuses, and what it says."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from load_servers import scripted
from raw_client import get_once
from server import run, wait_until


@pytest.fixture
def plain_folder(tmp_path):
    """A folder without an index file."""
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "report.txt").write_text("hello\n")
    return root


# Listings.


def test_a_folder_without_an_index_file_is_listed_on_loopback(serve, plain_folder):
    server = serve(plain_folder)
    answer = server.get("/")
    assert answer.status == 200 and b"report.txt" in answer.body
    assert re.search("^listing +on: no index file here, and only this machine can connect$",
                     server.output, re.M)


@pytest.mark.parametrize("flags, more", [
    (["--no-listing"], {}), ([], {"listen": "0.0.0.0:0"}), (["--index", "report.txt"], {}),
    (["--spa=report.txt"], {}), ([], {"listen": ["127.0.0.1:0", "0.0.0.0:0"], "listeners": 2}),
], ids=["forbidden", "all addresses", "an index file", "single page", "one of two addresses"])
def test_otherwise_no_folder_is_listed_by_itself(serve, plain_folder, flags, more):
    server = serve(plain_folder, *flags, **more)
    assert "\nlisting" not in server.output
    assert b"inner" not in server.get("/").body
    assert get_once(server.address, "/inner/").status != 200 or "--spa=report.txt" in flags


def test_behind_a_unix_socket_no_folder_is_listed_by_itself(serve, plain_folder, tmp_path):
    server = serve(plain_folder, listen=f"unix:{tmp_path}/socket")
    assert "\nlisting" not in server.output
    assert b"report.txt" not in server.get("/").body


# Misuse.


@pytest.mark.parametrize("words, says", [
    (["serve", "--listen", "127.0.0.1:99999"], "a port is a number from 0 to 65535"),
    (["serve", "--listen", ":65536"], "a port is a number from 0 to 65535"),
    (["serve", "--listing", "--no-listing"], "choose one"),
    (["serve", "--log-keep", "3", "--access-log", "x"], "--log-keep needs --log-rotate"),
    (["serve", "--max-connections", "0"], "from 1"),
    (["serve", "--cache-control", "x"], "a VALUE for every path"),
])
def test_misuse_is_one_sentence_and_status_2(binary, words, says):
    done = run(binary, *words)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert says in done.stderr


def test_a_folder_in_the_place_of_the_command_is_understood(binary, tmp_path):
    (tmp_path / "loads").mkdir()  # nearly the name of a command
    done = run(binary, "loads", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("did you mean tiderace serve loads?")


def test_a_single_page_that_is_absent_stops_the_start(binary, plain_folder):
    done = run(binary, "serve", plain_folder, "--listen", "127.0.0.1:0", "--spa=app.html")
    assert done.returncode == 1
    assert done.stderr.startswith(f"tiderace: serve --spa {plain_folder}/app.html")


def test_a_folder_that_may_not_be_read_stops_the_start(binary, plain_folder):
    nobody = 65534
    plain_folder.chmod(0o700)
    # pytest's own folders are its user's alone, and with several workers one more level of them.
    for parent in plain_folder.parents:
        if parent.stat().st_uid == os.geteuid() and "pytest" in str(parent):
            parent.chmod(0o755)

    def become_nobody():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(nobody)
            os.setuid(nobody)
    if os.geteuid() != 0:
        plain_folder.chmod(0)
    try:
        done = subprocess.run([binary, "serve", plain_folder, "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=100, check=False,
                              preexec_fn=become_nobody)
    except PermissionError:
        pytest.skip("another user may not run the program here")
    finally:
        plain_folder.chmod(0o700)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr or "permission denied" in done.stderr
    assert "may not read the folder" in done.stderr


@pytest.mark.parametrize("value, expected", [
    ("no-cache", b"no-cache"), ("public, max-age=60", b"public, max-age=60"),
    ("max-age=3600", b"max-age=3600"), ("*.txt=max-age=7", b"max-age=7"),
])
def test_a_cache_rule_needs_no_pattern(serve, plain_folder, value, expected):
    (plain_folder / "inner" / "deep.txt").write_text("deep\n")
    server = serve(plain_folder, "--cache-control", value)
    assert server.get("/report.txt").get("Cache-Control") == expected.decode()
    assert server.get("/inner/deep.txt").get("Cache-Control") == expected.decode()


# The log.


def test_so_many_rotated_files_are_kept_as_asked(serve, plain_folder, tmp_path):
    log = tmp_path / "access.log"
    server = serve(plain_folder, "--access-log", log, "--log-rotate", "1KiB", "--log-keep", "2",
                   "--log-flush", "1ms")

    def rotated():
        server.get("/report.txt", "X-Pad: " + "x" * 100)
        try:
            return (tmp_path / "access.log.2").exists() and log.stat().st_size < 200
        except FileNotFoundError:  # between two names of a rotation
            return False
    for _ in range(3):
        wait_until(rotated, what="a rotation")
        server.get("/report.txt")
    wait_until(lambda: sorted(p.name for p in tmp_path.glob("access.log*")) == [
        "access.log", "access.log.1", "access.log.2"], what="the last rotation's end")


def test_sighup_reopens_the_log_and_the_server_goes_on(serve, plain_folder, tmp_path):
    log = tmp_path / "access.log"
    server = serve(plain_folder, "--access-log", log, "--log-flush", "1ms")
    server.get("/report.txt")
    wait_until(lambda: log.stat().st_size > 0, what="a line")
    log.rename(tmp_path / "moved.log")
    server.signal(signal.SIGHUP)
    wait_until(log.exists, what="a new log file")
    assert server.get("/report.txt").status == 200
    wait_until(lambda: log.stat().st_size > 0, what="a line in the new file")


def test_the_end_is_logged_in_its_order(serve, plain_folder):
    """A writer that has just written waits, and then takes the rings of all threads at once."""
    server = serve(plain_folder, "--log-flush", "1h")
    server.signal(signal.SIGHUP)
    wait_until(lambda: "reopened" in server.stderr, what="a line of the log")
    server.stop()
    assert 0 < server.stderr.find("stopping") < server.stderr.find(" stopped ")


def test_paths_have_logs_of_their_own(serve, plain_folder, tmp_path):
    logs = [tmp_path / f"{name}.log" for name in ("all", "docs", "deep")]
    server = serve(plain_folder, "--access-log", logs[0], "--log-flush", "1ms",
                   "--path-log", f"/docs={logs[1]}", "--path-log", f"/docs/deep/={logs[2]}",
                   "--path-log", f"/other={logs[1]}", "--path-log", "/healthz=off")
    asked = ["/healthz", "/report.txt", "/docs/a", "/docs/deep/b", "/docs/%64eep", "/other",
             "/docsy"]
    for path in asked:
        server.get(path)
    due = [["/report.txt", "/docsy"], ["/docs/a", "/other"], ["/docs/deep/b", "/docs/%64eep"]]
    for log, paths in zip(logs, due, strict=True):
        wait_until(lambda log=log, paths=paths: len(log.read_text().splitlines()) == len(paths),
                   what=f"the lines of {log.name}")
        assert [line.split('"')[1].split()[1] for line in log.read_text().splitlines()] == paths
    for log in logs:  # each is followed when it is moved
        log.rename(log.with_suffix(".old"))
    server.signal(signal.SIGHUP)
    wait_until(lambda: all(log.exists() for log in logs), what="new log files")


def test_help_and_manual_list_the_signals(binary):
    help_text, manual = run(binary, "help", "serve").stdout, run(binary, "man").stdout
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"):
        assert name in help_text and name in manual


def test_durations_in_the_log_are_measured_within_a_turn(serve, plain_folder, tmp_path):
    log = tmp_path / "access.log"
    server = serve(plain_folder, "--access-log", log, "--log-format", "json", "--log-flush", "1ms")
    for _ in range(20):
        server.get("/report.txt")
    wait_until(lambda: log.read_text().count("\n") == 20, what="its lines")
    durations = [json.loads(line)["duration_us"] for line in log.read_text().splitlines()]
    assert all(duration > 0 for duration in durations), durations


# Error pages.


def test_an_error_page_names_the_path_and_leads_to_the_front_page(serve, plain_folder):
    server = serve(plain_folder, "--no-listing")
    page = server.get("/lost%20%26%20found.txt")
    assert page.status == 404 and b"<code>/lost &amp; found.txt</code>" in page.body
    assert b'href="/"' in page.body
    front = server.get("/")
    assert front.status == 404 and b"href" not in front.body


# Load.


def load(binary, *words):
    return subprocess.run([binary, "load", *map(str, words)], capture_output=True, text=True,
                          timeout=100, check=False)


def test_load_on_a_closed_port_stops_at_once_with_the_cause(binary):
    with socket.socket() as bound:  # the port stays ours, so that nothing else listens there
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        done = load(binary, f"http://127.0.0.1:{port}/", "-d", "1h")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"tiderace: nothing listens on 127.0.0.1:{port} (connection refused): "
                           "start the server, or correct the URL\n")


def test_load_names_the_flags_for_a_certificate_that_is_not_trusted(binary, serve, plain_folder):
    host, port = serve(plain_folder, "--tls-self-signed",
                       env={"XDG_DATA_HOME": str(plain_folder.parent)}).address
    done = load(binary, f"https://{host}:{port}/report.txt", "-d", "1h")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "is not trusted: --ca FILE" in done.stderr and "--insecure" in done.stderr


def test_load_names_the_scheme_where_the_port_is_plain(binary, serve, plain_folder):
    host, port = serve(plain_folder).address
    done = load(binary, f"https://{host}:{port}/report.txt", "-d", "1h")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"tiderace: {host}:{port} does not speak TLS: use http:// in the URL\n"


def test_load_sends_the_contents_of_a_file(binary, tmp_path):
    body = tmp_path / "order.json"
    body.write_bytes(b'{"order": 7}' * 1000)
    seen = []

    def talk(connection):
        data = b""
        while len(data) < 12_000 or not data.endswith(b"}"):
            data += connection.recv(65536)
        seen.append(data)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    with scripted(talk) as url:
        done = load(binary, url, "-c", 1, "-n", 1, "--body", body)
    assert done.returncode == 0, done.stdout + done.stderr
    assert seen[0].startswith(b"POST / ") and seen[0].endswith(b"\r\n\r\n" + body.read_bytes())
    assert "1 right" in done.stdout


@pytest.mark.parametrize("words, says", [
    (["--body", "absent.json"], "absent.json"), (["--body", "nothing.txt"], "empty"),
    (["--body", "x", "--body-size", "1KiB"], "choose one"),
])
def test_a_body_that_cannot_be_sent_is_one_sentence(binary, tmp_path, words, says):
    (tmp_path / "nothing.txt").touch()
    words = [tmp_path / word if word.endswith((".json", ".txt")) else word for word in words]
    done = load(binary, "http://127.0.0.1:1/", *words)
    assert done.returncode in (1, 2) and done.stderr.count("\n") == 1 and says in done.stderr


def test_load_groups_the_digits_of_its_figures(binary, serve, plain_folder):
    host, port = serve(plain_folder).address
    done = load(binary, f"http://{host}:{port}/report.txt", "-c", 4, "-n", 2000)
    assert "  answers      2,000 right in " in done.stdout


# From the sources.


REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_dev_serve_help_builds_nothing(tmp_path, flag):
    shutil.copy(REPOSITORY / "dev", tmp_path / "dev")
    source = tmp_path / "server/command_line"
    source.mkdir(parents=True)
    shutil.copy(REPOSITORY / "server/command_line/help_text_test.cc", source)

    def ask():
        return subprocess.run([tmp_path / "dev", "serve", flag], capture_output=True, text=True,
                              timeout=100, check=True)
    before = ask().stdout
    assert before.startswith("Usage: tiderace serve [DIR] [flags]\n") and "--listing" in before
    assert "golden" not in before
    program = tmp_path / "build" / "dev" / "tiderace"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho program $*\n")
    program.chmod(0o755)
    assert ask().stdout == "program serve --help\n"
    assert not (tmp_path / "build" / "release").exists()


@pytest.mark.parametrize("command", ["test", "build", "fuzz", "check"])
def test_dev_commands_explain_themselves_without_building(tmp_path, command):
    shutil.copy(REPOSITORY / "dev", tmp_path / "dev")
    done = subprocess.run([tmp_path / "dev", command, "--help"], capture_output=True, text=True,
                          timeout=100, check=True)
    assert done.stdout.startswith("usage: ./dev COMMAND\n")
    assert not (tmp_path / "build").exists()


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake is not here")
@pytest.mark.parametrize("given, chosen", [([], "RelWithDebInfo"),
                                           (["-DCMAKE_BUILD_TYPE=Debug"], "Debug")])
def test_a_project_without_a_build_type_is_warned_and_optimised(tmp_path, given, chosen):
    source = tmp_path / "source"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(outside LANGUAGES CXX)\n"
        f"include({REPOSITORY}/cmake/Toolchain.cmake)\n")
    done = subprocess.run(["cmake", "-S", source, "-B", tmp_path / "build", *given],
                          capture_output=True, text=True, timeout=100, check=True)
    cache = (tmp_path / "build" / "CMakeCache.txt").read_text()
    assert f"CMAKE_BUILD_TYPE:STRING={chosen}\n" in cache
    assert ("RelWithDebInfo is used" in done.stderr.replace("\n ", "")) == (not given)
