"""Abuse of HTTP/2 against the real program: what it costs in processor time and memory.

Each attack goes on until the server has had enough, or for as many bytes as are written here. Then:
processor time against bytes sent, memory against before, and an honest client beside it is served.
"""

import collections
import contextlib
import os
import re
import time
from pathlib import Path

import pytest

from h2_client import DEADLINE, ENHANCE_YOUR_CALM, Client, raw_frame

ROUNDS = 400
CPU_SECONDS_MAX = 1.5  # of an attack of megabytes; a purse is spent in milliseconds
MEMORY_BYTES_MAX = 12 << 20
TICKS = os.sysconf("SC_CLK_TCK")


def rapid_reset(client):
    data = b""
    for _ in range(50):
        stream, request = client.request_bytes("/big.bin")
        data += request + client.reset_bytes(stream)
    return data


def made_you_reset(client):
    data = b""
    for _ in range(50):
        stream, request = client.request_bytes("/big.bin")
        data += request + client.window_update_bytes(stream, 0)
    return data


def continuation_flood(client):
    start = b"" if client.streams.get(-1) else raw_frame(1, 0, 1, b"")
    client.streams[-1] = True
    return start + raw_frame(9, 0, 1, b"") * 200


def ping_flood(client):
    return client.ping_bytes() * 200


def settings_flood(_):
    return raw_frame(4, 0, 0, b"") * 200


def ack_flood(_):
    return raw_frame(4, 1, 0, b"") * 100 + raw_frame(6, 1, 0, b"nobody's") * 100


def priority_flood(_):
    return raw_frame(2, 0, 1, b"\0\0\0\0\1") * 200


def priority_update_flood(_):
    return raw_frame(0x10, 0, 0, b"\0\0\0\1u=1") * 200


def empty_data_flood(client):
    if client.next_stream == 1:
        return client.request_bytes("/a.txt", "POST", end_stream=False)[1]
    return raw_frame(0, 0, 1, b"") * 200


def one_byte_windows(client):
    if client.next_stream == 1:
        client.send(raw_frame(4, 0, 0, b"\0\4\0\0\0\0"))
        return client.request_bytes("/big.bin")[1]
    return client.window_update_bytes(1, 1) * 200


def unknown_frames(_):
    return raw_frame(0x77, 0, 0, b"") * 200


def table_thrash(client):
    data = b""
    for number in range(20):
        fields = [(f"x-{client.next_stream}-{number}-{i}", "v") for i in range(60)]
        data += client.request_bytes("/absent%00", more=fields)[1]
    return data


def header_bomb(client):
    """One large entry of the table, named again and again by a byte each."""
    data = b""
    for _ in range(10):
        fields = client.request_fields("/a.txt", more=[("x-bomb", "b" * 3_000)])
        block = client.encoder.encode(fields)  # the last that went into the table, once
        data += raw_frame(1, 0x5, client.next_stream, block + b"\xbe" * 1_000)
        client.next_stream += 2
    return data


def cookie_crumbs(client):
    data = b""
    for _ in range(10):
        block = client.encoder.encode(client.request_fields("/a.txt"))
        block += b"\x0f\x11\x01a" * 3_000  # cookie: a
        data += raw_frame(1, 0x5, client.next_stream, block)
        client.next_stream += 2
    return data


ATTACKS = [
    rapid_reset,
    made_you_reset,
    continuation_flood,
    ping_flood,
    settings_flood,
    ack_flood,
    priority_flood,
    priority_update_flood,
    empty_data_flood,
    one_byte_windows,
    unknown_frames,
    table_thrash,
    header_bomb,
    cookie_crumbs,
]


@pytest.mark.sanitizers
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.__name__)
def test_is_told_to_calm_down_and_costs_little(head_server, sanitized, attack):
    server = head_server
    with Client(server.address) as honest:
        honest.answer(honest.get("/a.txt"))
        memory, ticks = server.pss_bytes(), server.cpu_ticks()
        with Client(server.address) as client:
            for _ in range(ROUNDS):
                if not client.send(attack(client)) or client.goaway is not None:
                    break
            assert client.wait_goaway() in (ENHANCE_YOUR_CALM, 1), attack.__name__
            assert client.goaway == ENHANCE_YOUR_CALM
        if not sanitized:
            seconds = (server.cpu_ticks() - ticks) / TICKS
            assert seconds < CPU_SECONDS_MAX, (seconds, client.bytes_sent)
            assert server.pss_bytes() - memory < MEMORY_BYTES_MAX
        assert bytes(honest.answer(honest.get("/a.txt")).body) == b"hello\n"


def status_of_listing(client):
    """Asked for again while the places for listings are taken, which a busy machine frees late."""
    status = 503
    until = time.monotonic() + DEADLINE
    while status == 503 and time.monotonic() < until:
        stream = client.get("/many/?sort=size")
        client.wait(lambda: client.streams[stream].status)
        status = client.streams[stream].status
    return status


def test_abandoned_listings_delay_no_other_request(serve, folder, sanitized):
    """Each costs the client a few bytes, and the server a stat of 5,000 files."""
    (folder / "many").mkdir()
    for number in range(5_000):
        (folder / "many" / f"{number}").touch()
    (folder / "a.txt").write_bytes(b"hello\n")
    server = serve(folder, "--listing")
    ticks = server.cpu_ticks()
    with Client(server.address) as honest:
        clients = [Client(server.address) for _ in range(4)]
        for client in clients:
            data = b""
            for _ in range(100):
                stream, request = client.request_bytes("/many/?sort=size")
                data += request + client.reset_bytes(stream)
            client.send(data)
        for _ in range(10):
            assert bytes(honest.answer(honest.get("/a.txt")).body) == b"hello\n"
        assert status_of_listing(clients[0]) == 200
        for client in clients:
            client.socket.close()
    if not sanitized:
        assert (server.cpu_ticks() - ticks) / TICKS < CPU_SECONDS_MAX


@contextlib.contextmanager
def asked_for_and_not_read(server, paths):
    """Clients to whom all of `paths` have been answered, on streams whose windows are shut."""
    with contextlib.ExitStack() as stack:
        clients = []
        for at in range(0, len(paths), 100):
            client = stack.enter_context(Client(server.address, {4: 0}))
            client.send(b"".join(client.request_bytes(path)[1] for path in paths[at : at + 100]))
            clients.append(client)
        for client in clients:
            client.wait(lambda c=client: all(s.status for n, s in c.streams.items() if n))
        yield clients


@pytest.mark.sanitizers
def test_windows_that_stay_shut_hold_little_memory(serve, site, sanitized):
    server = serve(site, "--write-timeout", "1s")
    with Client(server.address, {4: 0}) as honest:
        honest.answer(honest.get("/empty.txt"))
    memory = server.pss_bytes()
    with asked_for_and_not_read(server, ["/big.bin"] * 2_000) as clients:
        if not sanitized:
            assert (server.pss_bytes() - memory) / 2000 < 32 << 10  # of each stream
        for client in clients:
            client.wait(lambda c=client: all(s.over for n, s in c.streams.items() if n))


def many_files(folder, count, size):
    """Their paths. They are holes, and cost the disk nothing."""
    for number in range(count):
        with open(folder / f"{number}.bin", "wb") as file:
            file.truncate(size)
    return [f"/{number}.bin" for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("nofile", [64, 256, 1024])
def test_files_that_nobody_reads_leave_descriptors_to_others(serve, folder, nofile, threads):
    paths = many_files(folder, 1_000, 2 << 20)
    (folder / "a.txt").write_bytes(b"hello\n")
    # Dealt out in turn, so that no loop has most of the connections by chance.
    server = serve(folder, "--accept", "queue", nofile=nofile, threads=threads)
    with asked_for_and_not_read(server, paths) as clients:
        statuses = {stream.status for c in clients for n, stream in c.streams.items() if n}
        assert statuses == {200, 503}
        for number in range(30):
            with Client(server.address) as honest:
                assert bytes(honest.answer(honest.get("/a.txt")).body) == b"hello\n", number
            if nofile == 1024:  # there are enough for large ones
                with Client(server.address, {4: 4 << 20}) as honest:
                    assert honest.answer(honest.get(paths[-1 - number])).status == 200
    assert "cannot accept" not in server.stderr
    with Client(server.address, {4: 4 << 20}) as honest:
        for path in reversed(paths[-200:]):
            assert honest.answer(honest.get(path)).status == 200


def wakeups_by_thread(server):
    return {
        status.parent.name: int(
            re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.M)[1]
        )
        for status in Path(f"/proc/{server.pid}").glob("task/*/status")
    }


def thread_of(server, client):
    """The thread that serves this connection: its PINGs wake it, and more often than any other.

    On a busy machine a PING may find it awake, and others wake for reasons of their own, most of
    all while the server starts: so one is told from the others by a lead, not by a count.
    """
    before = wakeups_by_thread(server)
    for _ in range(100):
        for _ in range(10):
            heard = client.pongs
            client.send(client.ping_bytes())
            client.wait(lambda: client.pongs > heard)
        after = wakeups_by_thread(server)
        by_count = sorted((after[thread] - before.get(thread, 0), thread) for thread in after)
        if by_count[-1][0] - by_count[-2][0] >= 8:
            return by_count[-1][1]
    raise AssertionError(f"no thread wakes for the PINGs of one connection: {by_count}")


# The kernel deals connections out by a hash. It may give one loop all that hold files.
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads are told apart by /proc")
@pytest.mark.parametrize("nofile", [64, 256, 1024])
def test_descriptors_are_left_to_others_where_one_loop_has_all_that_hold_them(
    serve, folder, nofile
):
    paths = many_files(folder, 1_000, 2 << 20)
    (folder / "a.txt").write_bytes(b"hello\n")
    server = serve(folder, nofile=nofile, threads=2)
    with contextlib.ExitStack() as stack:
        greedy, chosen = [], None
        while len(greedy) < 10:
            client = Client(server.address, {4: 0})
            thread = thread_of(server, client)
            chosen = chosen or thread
            if thread == chosen:
                greedy.append(stack.enter_context(client))
            else:
                client.socket.close()
        for number, client in enumerate(greedy):
            asked = paths[number * 100 : number * 100 + 100]
            client.send(b"".join(client.request_bytes(path)[1] for path in asked))
        for client in greedy:
            client.wait(lambda c=client: all(s.status for n, s in c.streams.items() if n))
        served = collections.Counter()
        while len(served) < 2 or min(served.values()) < 10:  # newcomers of both loops
            with Client(server.address) as honest:
                thread = thread_of(server, honest)
                assert bytes(honest.answer(honest.get("/a.txt")).body) == b"hello\n", served
                served[thread] += 1
    assert "cannot accept" not in server.stderr


def test_files_that_nobody_reads_take_a_bounded_part_of_memory(serve, folder, sanitized):
    paths = many_files(folder, 6_000, 32 << 10)
    server = serve(folder, "--cache", "1MiB")
    memory = server.pss_bytes()
    with asked_for_and_not_read(server, paths):
        taken = server.pss_bytes() - memory
    print(f"{taken} bytes for {len(paths)} files of 32 KiB")
    if not sanitized:
        assert taken < 160 << 20  # 188 MiB are in the files, 10 KiB are a stream's
