"""The strict table (strict_cases.py) against the program: whole, and cut between every byte."""

import random

import pytest

from raw_client import Connection, NoAnswer
from strict_cases import CASES

SPLITS_MAX = 400  # a longer request is cut at so many places only


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


def send_split(connection, case, probe):
    """Each piece alone. An answer on another connection of the same loop tells that the loop has
    turned, so that the server did read the pieces one by one."""
    for piece in pieces(case):
        if connection.readable():
            break  # it has answered, or hung up
        if not connection.send(piece):
            break
        probe.get("/next.txt")
    if case.fin:
        connection.finish_sending()


@pytest.mark.quick
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_request_sent_whole_is_answered_as_the_rfc_says(server, engine, case, score):
    table = score.setdefault(f"{engine}, whole", {})
    table[case.name] = False
    with Connection(server.address) as connection:
        send_whole(connection, case)
        check(connection, case, case.want, case.then)
    table[case.name] = True


@pytest.fixture(scope="session")
def probe(shared_server):
    with Connection(shared_server.address) as connection:
        yield connection


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_request_cut_between_bytes_is_answered_the_same(server, engine, case, probe, score):
    table = score.setdefault(f"{engine}, cut", {})
    table[case.name] = False
    with Connection(server.address) as connection:
        send_split(connection, case, probe)
        check(connection, case, case.want, case.then)
    table[case.name] = True
