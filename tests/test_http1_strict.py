"""The strict table (strict_cases.py) against the program: whole, and cut between every byte."""

import random
import select
import time

import pytest

from engines import threads_at_once
from raw_client import Connection, NoAnswer
from server import Server
from strict_cases import CASES

SPLITS_MAX = 300  # a longer request is cut at so many places only


def statuses(wanted):
    return {wanted} if isinstance(wanted, int) else wanted


def check(connection, case, want, then, allow_always=True):
    """Reads the wanted answers, then looks at what became of the connection."""
    for index, wanted in enumerate(want):
        method = case.methods[index] if case.methods else "GET"
        version = case.version if index == 0 else "1.1"
        allowed = statuses(wanted)
        try:
            answer = connection.read_answer(method, "1.0" if version == "1.0" else "1.1")
        except NoAnswer:
            if None in allowed and connection.ended and not connection.buffer:
                return
            raise
        assert answer.status in allowed, f"{answer.status}, wanted {allowed}: {answer.body[:200]!r}"
        if answer.status == 405 and (allow_always or case.section == "9110 15.5.6"):
            assert answer.get("allow"), "405 without Allow"
        if answer.status == 200 and method == "GET":
            assert b"not asked for" not in answer.body
    if then == "any":
        then = "closed" if connection.ended or answer.says_close else "open"
    if then == "closed":
        assert connection.wait_end(), "still open"
        return
    assert not answer.says_close, "says close, where it was to stay open"
    follow = connection.get("/next.txt")
    assert (follow.status, follow.body) == (200, b"next\n"), "the next request went astray"


def send_whole(connection, case):
    connection.send(case.data)
    if case.fin:
        connection.finish_sending()


def pieces(case):
    data = case.data
    cuts = range(1, len(data))
    if len(data) > SPLITS_MAX:
        edges = [i for i in range(1, len(data)) if data[i - 1:i + 1] == b"\r\n"][:60]
        chosen = random.Random(case.name).sample(cuts, 60)
        cuts = sorted({*chosen, *edges, 1, len(data) - 1})
    ends = [0, *cuts, len(data)]
    return [data[a:b] for a, b in zip(ends, ends[1:])]


def hung_up(connection):
    """Takes what has come so far; true when the server has ended the connection or said so."""
    while not connection.ended and select.select([connection.socket], [], [], 0)[0]:
        connection.receive_some(time.monotonic() + 60)
    return connection.ended or b"connection: close" in connection.buffer.lower()


def send_all_cut(server, connections):
    """A piece of every case, then the next piece of every case, and so on. Between two rounds an
    answer on a further connection of the same loop tells that the loop has turned: the server did
    read the pieces one by one."""
    left = {case.name: (case, pieces(case)) for case in CASES}
    with server.connect() as probe:
        while left:
            for case, rest in list(left.values()):
                connection = connections[case.name]
                piece = rest.pop(0) if rest else b""
                if piece and not hung_up(connection) and connection.send(piece) and rest:
                    continue
                if case.fin:
                    connection.finish_sending()
                del left[case.name]
            probe.get("/next.txt")


@pytest.mark.sanitizers
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_request_sent_whole_is_answered_as_the_rfc_says(server, engine, case, score):
    table = score.setdefault(f"{engine}, whole", {})
    table[case.name] = False
    with Connection(server.address) as connection:
        send_whole(connection, case)
        check(connection, case, case.want, case.then)
    table[case.name] = True


def test_the_preface_of_http2_is_no_request_where_http2_is_off(binary, site, tmp_path):
    server = Server(binary, site, "--http2", "off", folder=tmp_path)
    try:
        server.wait_ready()
        with server.connect() as connection:
            connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            assert connection.read_answer().status in {400, 505}
    finally:
        server.kill()


def differences(server, table):
    """Sends the request of every case in pieces; says what was answered otherwise than wanted."""
    connections = {}
    found = []
    try:
        connections.update((case.name, server.connect()) for case in CASES)
        send_all_cut(server, connections)
        server.check_health()
        for case in CASES:
            table[case.name] = False
            try:
                check(connections[case.name], case, case.want, case.then)
                table[case.name] = True
            except (AssertionError, OSError) as fault:
                found.append(f"{case.name}: {fault!r}")
    finally:
        for connection in connections.values():
            connection.close()
    return found


def test_every_request_cut_between_bytes_is_answered_the_same(binary, site, engine, tmp_path,
                                                              score):
    patient = [word for name in ("header", "body", "idle", "write")
               for word in (f"--{name}-timeout", "200s")]
    server = Server(binary, site, *patient, "--min-receive-rate", "off", engine=engine,
                    threads=threads_at_once(engine, len(CASES) + 1), folder=tmp_path)
    try:
        server.wait_ready()
        found = differences(server, score.setdefault(f"{engine}, cut", {}))
        server.stop()
    finally:
        server.kill()
    assert not found, "\n".join(found)
