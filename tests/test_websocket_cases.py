"""The Autobahn suite's cases against the echo program (examples/echo), one table, every case."""

import pytest

import websocket_cases
from websocket_cases import CASES, NORMAL, OFFERS, SIZES, large_ones
from websocket_wire import BINARY, WebSocket, chopped_message


def play(socket, case):
    for pieces, expected in case.stages or []:
        socket.send(*pieces)
        for one in expected:
            assert socket.read() == one
    socket.send(*case.pieces)
    for one in case.expected:
        assert socket.read() == one
    if case.close == NORMAL:
        socket.close()
    elif case.close is not None:
        kind, code, _ = socket.read()
        assert (kind, code) == ("close", case.close)
        assert socket.wait_end()
    else:
        assert socket.wait_end()


@pytest.mark.sanitizers
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(echo, case):
    with WebSocket(echo.websocket) as socket:
        play(socket, case)
    echo.check_health()


@pytest.mark.parametrize("case", list(large_ones()), ids=str)
def test_large_case(echo, case):
    with WebSocket(echo.websocket) as socket:
        play(socket, case)


@pytest.fixture(scope="module")
def data():
    return {kind: websocket_cases.test_data(kind) for kind in range(1, 6)}


@pytest.mark.parametrize("windows", ["on", "windows"])
@pytest.mark.parametrize("group", OFFERS)
def test_compression(echo_with, data, group, windows):
    """All sizes and fragment sizes of one offer; group 12 over five kinds of data."""
    echo = echo_with("--compression", windows)
    offer = "Sec-WebSocket-Extensions: " + ", ".join(OFFERS[group])
    for kind in range(1, 6) if group == "12" else (1,):
        for size, fragment in SIZES:
            with WebSocket(echo.websocket, fields=[offer]) as socket:
                assert socket.deflate, "compression was not agreed on"
                for count in range(4):
                    message = data[kind][count * size:][:size]
                    socket.send(*chopped_message(BINARY, socket.deflate.deflate(message), fragment))
                    assert socket.read() == ("binary", message), (kind, size, fragment, count)
                socket.close()


def test_the_table_is_complete():
    """As many cases as the suite has, group by group."""
    counts = {}
    for case in [*CASES, *large_ones()]:
        group = case.number.split(".")[0]
        counts[group] = counts.get(group, 0) + 1
    assert counts == {"1": 16, "2": 11, "3": 7, "4": 10, "5": 20, "6": 145, "7": 37, "9": 54,
                      "10": 1}
    assert len({case.number for case in [*CASES, *large_ones()]}) == 301
