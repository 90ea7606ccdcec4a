"""Files and folders that the system has not cached: the pool waits for the disk, not the loop."""

import json
import os
import time

import pytest

from raw_client import request
from site_folder import pattern


def make_cold(path):
    """Evicts it from the page cache. False: this file system keeps it, or cannot report."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT)
            return False
        except BlockingIOError:
            # Asking made the system read ahead: out with that too.
            os.pread(fd, 1, 0)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            return True
    except OSError:
        return False
    finally:
        os.close(fd)


def pool_threads(server):
    tasks = f"/proc/{server.pid}/task"
    names = [open(f"{tasks}/{task}/comm").read().strip() for task in os.listdir(tasks)]
    return sum(name.startswith("tr-worker") for name in names)


@pytest.mark.sanitizers
@pytest.mark.parametrize("size", [20_000, 300_000, 9_000_000])
def test_a_cold_file_is_read_by_the_pool_and_arrives_whole(serve, folder, engine, size):
    content = pattern(size, 7)
    (folder / "hot.txt").write_bytes(b"hot")
    server = serve(folder, engine=engine)
    assert server.get("/hot.txt").text == "hot"
    assert pool_threads(server) == 0, "nothing had to be waited for"
    # The system may read a file again at any moment (its own read-ahead, other programs), so one
    # cold file proves nothing about the pool; that none of many reached it does.
    for number in range(20):
        name = f"cold-{number}.bin"
        (folder / name).write_bytes(content)
        if not make_cold(folder / name):
            pytest.skip("this file system keeps the file in memory, or cannot report it")
        with server.connect(receive_bytes=1 << 20) as connection:
            connection.send(request(f"/{name}") + request("/hot.txt"))
            answer = connection.read_answer()
            assert answer.body == content and answer.get("content-length") == str(size)
            assert connection.read_answer().text == "hot"
            assert connection.get(f"/{name}").body == content
        if size <= 32 << 10:  # so little is read ahead when the server asks whether it is cached
            return
        if pool_threads(server):
            return
    pytest.fail("20 cold files were sent, and no thread of the pool was started")


def test_ranges_of_a_cold_file(serve, folder):
    content = pattern(5_000_000, 8)
    (folder / "cold.bin").write_bytes(content)
    make_cold(folder / "cold.bin")
    server = serve(folder)
    answer = server.get("/cold.bin", "Range: bytes=4999990-")
    assert answer.status == 206 and answer.body == content[-10:]
    answer = server.get("/cold.bin", "Range: bytes=0-9,4000000-4000009")
    assert content[:10] in answer.body and content[4_000_000:4_000_010] in answer.body


def test_peers_that_hang_up_on_cold_files_leave_nothing_open(serve, folder):
    for i in range(20):
        (folder / f"cold-{i}.bin").write_bytes(pattern(2_000_000, i))
        make_cold(folder / f"cold-{i}.bin")
    server = serve(folder, "--listing", threads=2)
    for i in range(20):
        connection = server.connect()
        connection.send(request(f"/cold-{i}.bin") + request("/"))
        connection.reset()
    for i in range(20):
        assert server.get(f"/cold-{i}.bin").body == pattern(2_000_000, i)


# A folder of very many. A million takes a minute and 100 MB of inodes: on request.

ENTRIES = int(os.environ.get("TIDERACE_LISTING_ENTRIES") or 30_000)


@pytest.mark.timeout(900)
def test_a_folder_of_very_many_is_streamed_in_constant_memory(serve, folder, sanitized):
    (folder / "many").mkdir()
    (folder / "few").mkdir()
    (folder / "few" / "one").touch()
    many = os.open(folder / "many", os.O_RDONLY)
    os.close(os.open("first", os.O_CREAT | os.O_WRONLY, dir_fd=many))
    for i in range(ENTRIES - 1):
        if i % 60_000 == 0:  # a file has at most 65,000 names on some file systems
            source = f"source-{i}"
            os.close(os.open(source, os.O_CREAT | os.O_WRONLY, dir_fd=many))
            continue
        os.link(source, f"{i:07}", src_dir_fd=many, dst_dir_fd=many)
    os.close(many)
    server = serve(folder, "--listing")
    assert json.loads(server.get("/few/", "Accept: application/json").body)["complete"]
    before = server.pss_bytes()
    with server.connect(receive_bytes=1 << 18, deadline=600) as connection:
        connection.send(request("/many/", "Accept: application/json"))
        began = time.monotonic()
        entries = json.loads(connection.read_answer().body)["entries"]
        most = server.pss_bytes()
        print(f"{len(entries)} entries in {time.monotonic() - began:.1f} s, "
              f"{most - before} bytes of memory more")
    assert len({entry["name"] for entry in entries}) == ENTRIES
    if not sanitized:
        assert most - before < 2 << 20
