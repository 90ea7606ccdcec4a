"""Files that change while they are cached or on their way, and very large ones."""

import os
import sys
import time
from pathlib import Path

import pytest

from raw_client import request
from server import wait_until
from site_folder import pattern
from test_static_negotiation import parts_of


# Files that change while they are cached or on their way.


def write_with_set_time(path, content):
    """Writes a file that differs from an older one of its size in its bytes alone."""
    path.write_bytes(content)
    os.utime(path, (1_700_000_000, 1_700_000_000))


def settled(get, wanted, allowed, what):
    """Polls until `wanted` is served; every answer on the way must be one of `allowed`."""
    def look():
        answer = get()
        seen = (answer.status, answer.body) if answer.status == 200 else (answer.status, None)
        assert seen in allowed + [wanted], (seen[0], seen[1] and (len(seen[1]), seen[1][:40]))
        return seen == wanted
    wait_until(look, what=what, pause=0.02)


SIZES = [300, 20_000, 400_000, 6_000_000]  # copied, cached, cached or sent, never cached


@pytest.mark.parametrize("size", SIZES)
def test_a_file_replaced_by_another_is_served_whole_old_or_whole_new(serve, folder, engine, size):
    old, new = pattern(size, 11), pattern(size // 2 + 7, 12)
    (folder / "f.bin").write_bytes(old)
    server = serve(folder, engine=engine)
    with server.connect() as connection:
        first = connection.get("/f.bin")
        assert first.body == old
        (folder / "new").write_bytes(new)
        os.rename(folder / "new", folder / "f.bin")
        etags = {}

        def get():
            answer = connection.get("/f.bin")
            etags.setdefault(answer.body == new, set()).add(answer.get("etag"))
            return answer
        settled(get, (200, new), [(200, old)], "the new file")
        assert not etags.get(False, set()) & etags[True]
        assert first.get("etag") not in etags[True]
        assert connection.get("/f.bin", f"If-None-Match: {first.get('etag')}").status == 200


def skip_without_notices(server):
    """All of the machine's inotify instances may be taken (fs.inotify.max_user_instances, 128 for
    all programs of a user): then the server logs that, and compares files with the disk only."""
    time.sleep(1)  # its log is written in batches
    if "show only when they are compared with the disk" in server.output:
        pytest.skip("the system has no inotify instance left")


@pytest.mark.sanitizers
@pytest.mark.parametrize("threads", [1, 2])
def test_the_next_request_sees_every_change(serve, folder, engine, threads):
    """The files are compared with the disk once an hour: what is seen before was reported."""
    (folder / "dir").mkdir()
    path = folder / "dir/f.txt"
    path.write_text("0")
    server = serve(folder, "--cache-check", "1h", engine=engine, threads=threads)
    with server.connect() as first, server.connect() as second:
        for i in range(1, 120):
            for connection in (first, second):  # known to every loop
                assert connection.get("/dir/f.txt").status in (200, 404)
            content = str(i) * (1 if i % 5 else 70_000)
            if i % 4 == 0:
                path.unlink()
                assert [c.get("/dir/f.txt").status for c in (first, second)] == [404, 404]
            if i % 2:
                path.write_text(content)
            else:
                (folder / "new").write_text(content)
                os.rename(folder / "new", path)
            seen = [c.get("/dir/f.txt").text for c in (first, second)]
            if seen != [content] * 2:
                skip_without_notices(server)
            assert seen == [content] * 2
            assert server.get("/dir/f.txt").text == content


@pytest.mark.skipif(sys.platform != "linux", reason="counts inotify instances")
def test_all_loops_share_one_of_the_systems_instances(serve, folder):
    """A user may have 128 of them, for all programs together."""
    server = serve(folder, threads=8)
    descriptors = Path(f"/proc/{server.pid}/fd")
    kinds = [os.readlink(descriptor) for descriptor in descriptors.iterdir()]
    assert sum("inotify" in kind for kind in kinds) <= 1
    assert sum("eventpoll" in kind for kind in kinds) >= 8, "another engine"


def test_a_file_replaced_by_one_of_the_same_size_and_second_is_noticed(serve, folder):
    old, new = pattern(5000, 21), pattern(5000, 22)
    write_with_set_time(folder / "f.bin", old)
    server = serve(folder)
    etag = server.get("/f.bin").get("etag")
    write_with_set_time(folder / "new", new)
    os.rename(folder / "new", folder / "f.bin")
    settled(lambda: server.get("/f.bin"), (200, new), [(200, old)], "the new file")
    assert server.get("/f.bin").get("etag") != etag


@pytest.mark.parametrize("size", [5000, 200_000], ids=["in memory", "from its descriptor"])
def test_a_file_written_over_and_given_its_old_time_back_has_another_tag(serve, folder, size):
    old, new = pattern(size, 23), pattern(size, 24)
    write_with_set_time(folder / "f.bin", old)
    server = serve(folder)
    etag = server.get("/f.bin").get("etag")
    write_with_set_time(folder / "f.bin", new)
    settled(lambda: server.get("/f.bin"), (200, new), [(200, old)], "the new file")
    assert server.get("/f.bin", f"If-None-Match: {etag}").status == 200
    # Else the end of the new file would go behind the beginning of the old one.
    assert server.get("/f.bin", f"If-Range: {etag}", "Range: bytes=10-").status == 200


@pytest.mark.parametrize("size", SIZES)
def test_a_cached_file_may_grow_shrink_vanish_and_come_back(serve, folder, engine, size):
    path = folder / "f.bin"
    old = pattern(size, 31)
    path.write_bytes(old)
    server = serve(folder, "--cache-check", "200ms", engine=engine)
    with server.connect() as connection:
        def get():
            return connection.get("/f.bin")
        assert get().body == old
        with open(path, "ab") as file:
            file.write(b"z" * 1000)
        grown = old + b"z" * 1000
        settled(get, (200, grown), [(200, old)], "the grown file")
        os.truncate(path, 100)
        settled(get, (200, old[:100]), [(200, grown)], "the shortened file")
        path.unlink()
        settled(get, (404, None), [(200, old[:100])], "its absence")
        path.write_bytes(b"back again")
        settled(get, (200, b"back again"), [(404, None)], "its return")


@pytest.mark.sanitizers
def test_a_file_truncated_while_it_is_sent_ends_the_answer_and_nothing_follows_it(
        serve, folder, engine):
    """The promised length can no longer be kept: the connection must end, short, and a pipelined
    request after it must not be answered as if nothing were."""
    size = 64 << 20
    with open(folder / "f.bin", "wb") as file:
        file.truncate(size)
    (folder / "a.txt").write_text("hello\n")
    server = serve(folder, engine=engine)
    with server.connect(receive_bytes=16384) as connection:
        connection.send(request("/f.bin") + request("/a.txt"))
        head = connection.read_head()
        assert head.get("content-length") == str(size)
        os.truncate(folder / "f.bin", 1000)
        received = len(connection.buffer)
        assert not connection.buffer.strip(b"\0")
        connection.buffer.clear()
        until = time.monotonic() + 100
        while connection.receive_some(until):
            assert not connection.buffer.strip(b"\0"), "another answer inside this one"
            received += len(connection.buffer)
            connection.buffer.clear()
        assert received < size
    assert server.get("/a.txt").text == "hello\n"
    wait_until(lambda: server.get("/f.bin", method="HEAD").get("content-length") == "1000",
               what="the new length")


@pytest.mark.parametrize("change", ["replaced", "deleted", "grown"])
def test_a_file_changed_while_it_is_sent_arrives_as_it_was(serve, folder, engine, change):
    content = pattern(16 << 20, 41)
    path = folder / "f.bin"
    path.write_bytes(content)
    (folder / "a.txt").write_text("hello\n")
    server = serve(folder, engine=engine)
    with server.connect(receive_bytes=16384) as connection:
        connection.send(request("/f.bin") + request("/a.txt"))
        assert connection.read_head().get("content-length") == str(len(content))
        if change == "replaced":
            (folder / "new").write_bytes(b"new" * 100_000)
            os.rename(folder / "new", path)
        elif change == "deleted":
            path.unlink()
        else:
            with open(path, "ab") as file:
                file.write(b"grown" * 100_000)
        assert connection.take(len(content)) == content
        assert connection.read_answer().text == "hello\n"


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_root_may_be_made_anew_or_be_a_link_that_moves(serve, tmp_path, slash):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(name)
    (tmp_path / "current").symlink_to("one")
    plain = serve(f"{tmp_path}/one{slash}")
    linked = serve(f"{tmp_path}/current{slash}")
    assert plain.get("/a.txt").text == linked.get("/a.txt").text == "one"
    (tmp_path / "next").symlink_to("two")
    os.rename(tmp_path / "next", tmp_path / "current")
    settled(lambda: linked.get("/a.txt"), (200, b"two"), [(200, b"one")], "the next release")
    (tmp_path / "one/a.txt").unlink()
    (tmp_path / "one").rmdir()
    settled(lambda: plain.get("/a.txt"), (404, None), [(200, b"one")], "nothing")
    (tmp_path / "one").mkdir()
    (tmp_path / "one/a.txt").write_text("anew")
    settled(lambda: plain.get("/a.txt"), (200, b"anew"), [(404, None)], "the new folder")


def test_a_listed_folder_may_vanish(serve, folder):
    (folder / "sub").mkdir()
    (folder / "sub/x").write_text("x")
    server = serve(folder, "--listing")
    assert server.get("/sub/").status == 200
    (folder / "sub/x").unlink()
    (folder / "sub").rmdir()
    wait_until(lambda: server.get("/sub/").status == 404, what="404 for the folder")


# Very large files.

GIB = 1 << 30


@pytest.fixture(scope="module")
def giant(tmp_path_factory):
    root = tmp_path_factory.mktemp("giant")
    with open(root / "five.bin", "wb") as file:
        file.truncate(5 * GIB)
        file.seek(4 * GIB + 123)
        file.write(b"beyond four gigabytes")
        file.seek(5 * GIB - 3)
        file.write(b"end")
    with open(root / "three.bin", "wb") as file:
        file.truncate(3 * GIB)
    return root


@pytest.mark.sanitizers
def test_ranges_beyond_four_gigabytes(serve, giant, engine):
    server = serve(giant, engine=engine)
    with server.connect() as connection:
        head = connection.get("/five.bin", method="HEAD")
        assert head.get("content-length") == str(5 * GIB)
        first = 4 * GIB + 123
        answer = connection.get("/five.bin", f"Range: bytes={first}-{first + 20}")
        assert answer.body == b"beyond four gigabytes"
        assert answer.get("content-range") == f"bytes {first}-{first + 20}/{5 * GIB}"
        assert connection.get("/five.bin", "Range: bytes=-3").body == b"end"
        parts = parts_of(connection.get("/five.bin", f"Range: bytes=0-1,{first}-{first + 5},-3"))
        assert [body for _, body in parts] == [b"\0\0", b"beyond", b"end"]
        assert connection.get("/five.bin", f"Range: bytes={5 * GIB}-").status == 416
        answer = connection.get("/five.bin", f"Range: bytes={5 * GIB - 5_000_000}-")
        assert len(answer.body) == 5_000_000 and answer.body.endswith(b"end")


@pytest.mark.slow
def test_three_gigabytes_arrive(serve, giant):
    server = serve(giant)
    with server.connect(receive_bytes=1 << 20) as connection:
        connection.send(request("/three.bin"))
        assert connection.read_head().get("content-length") == str(3 * GIB)
        connection.skip(3 * GIB, time.monotonic() + 250)
        connection.send(request("/absent"))
        assert connection.read_answer().status == 404
