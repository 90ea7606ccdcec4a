"""The benchmark must detect that it did not measure what it requested."""

import email.message
import gzip
import pathlib
import socket
import sys
import threading
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import client  # noqa: E402
import data_loads  # noqa: E402
import data_servers  # noqa: E402
import data_workloads  # noqa: E402
import lib_loads  # noqa: E402
import lib_servers  # noqa: E402
import lib_workloads  # noqa: E402
import load  # noqa: E402
import other_loads  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import servers  # noqa: E402
import tidepool_loads  # noqa: E402
import workloads  # noqa: E402
from workloads import Above, AtLeast, Limit, Target, Workload  # noqa: E402

PLAIN = Workload("plain", "64 connections", connections=64)
ABSENT = Workload("absent", "404", status=404)
GOOD = {
    "connect": 0,
    "read": 0,
    "write": 0,
    "timeout": 0,
    "status": 0,
    "requests": 100,
    "bytes": 5000,
}


@pytest.mark.parametrize(
    "workload, change, piece",
    [
        (PLAIN, {"read": 3}, "3 read errors"),
        (PLAIN, {"timeout": 1}, "1 timeout errors"),
        (PLAIN, {"status": 100}, "100 answers above 399, expected 0"),
        (ABSENT, {"status": 99}, "99 answers above 399, expected 100"),
        (PLAIN, {"requests": 0, "bytes": 0}, "nothing was answered"),
        (PLAIN, {"bytes": 4999}, "4999 bytes for 100 answers of 50"),
        (PLAIN, {"bytes": 5000 + 64 * 50 + 1}, "bytes for 100 answers"),
    ],
)
def test_a_worthless_round_says_why(workload, change, piece):
    assert any(piece in fault for fault in load.faults(workload, {**GOOD, **change}, 50))


@pytest.mark.parametrize(
    "workload, change", [(PLAIN, {}), (PLAIN, {"bytes": 5000 + 64 * 50}), (ABSENT, {"status": 100})]
)
def test_a_good_round_has_no_fault(workload, change):
    assert list(load.faults(workload, {**GOOD, **change}, 50)) == []


def one_round(cost, faults=()):
    return load.Round(cost, 1000.0, 5, faults, 10.0, 99.0)


def test_figures_are_medians_and_faults_are_kept():
    found = load.summarize([one_round(9.0), one_round(5.0, ("lost one",)), one_round(6.0)])
    assert (found["cpu"], found["cpu_least"], found["cpu_most"]) == (6.0, 5.0, 9.0)
    assert (found["answers"], found["faults"]) == (15, ["lost one"])


def serve_once(answer):
    """A server for one connection that sends these bytes for any request, and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        with listener, listener.accept()[0] as peer:
            peer.recv(65536)
            peer.sendall(answer)

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


def test_a_whole_answer_is_read():
    port = serve_once(b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nETag: "x"\r\n\r\nabc')
    answer = client.ask(port, "/")
    assert (answer.status, answer.body_bytes, answer.fields["etag"]) == (200, 3, '"x"')


def test_a_compressed_answer_in_chunks_is_counted_as_it_came_and_as_it_is():
    coded = gzip.compress(b"tide" * 100)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = [coded[:7], coded[7:], b""]
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    answer = client.ask(serve_once(head + body), "/")
    assert (answer.body_bytes, answer.bytes) == (400, len(head + body))
    assert answer.checksum == zlib.crc32(b"tide" * 100)


def test_servers_must_send_the_same_and_encrypt_it_alike():
    one = client.Answer(200, {}, 9, 5, 77, ("TLSv1.3", "A"))
    other = client.Answer(200, {}, 9, 5, 77, ("TLSv1.3", "B"))
    load.check_alike(PLAIN, [one, one])
    with pytest.raises(client.WrongAnswer, match="encrypt alike"):
        load.check_alike(PLAIN, [one, other])
    with pytest.raises(client.WrongAnswer, match="same bytes"):
        load.check_alike(PLAIN, [one, client.Answer(200, {}, 9, 5, 78, ("TLSv1.3", "A"))])


FULL = Workload("full", "", kind="handshakes")
RESUMED = Workload("resumed", "", kind="handshakes", resumed=True)


@pytest.mark.parametrize(
    "workload, count, piece",
    [
        (FULL, (9, 0, 0), None),
        (FULL, (9, 0, 1), "1 connections without"),
        (FULL, (9, 1, 0), "1 of 9 handshakes resumed, expected 0"),
        (FULL, (0, 0, 0), "no handshake"),
        (RESUMED, (9, 9, 0), None),
        (RESUMED, (9, 8, 0), "8 of 9 handshakes resumed, expected 9"),
    ],
)
def test_a_handshake_round_says_why_it_is_worthless(workload, count, piece):
    found = list(
        other_loads.handshake_faults(
            workload, dict(zip(("handshakes", "resumed", "faults"), count))
        )
    )
    assert not found if piece is None else any(piece in fault for fault in found)


H2LOAD = """
Application protocol: h2
finished in 812.50ms, 12307.69 req/s, 12.62MB/s
requests: 100 total, 100 started, 100 done, 100 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 100 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 102.15KB (104600) total, 1.37KB (1400) headers (space savings 95%), 5.00KB (5000) data
"""


def test_what_h2load_says_is_read():
    count = other_loads.h2load_counts(H2LOAD)
    assert (count["seconds"], count["data"], count["protocol"]) == (0.8125, 5000, "h2")
    assert list(other_loads.h2_faults(count, 100, 50)) == []


@pytest.mark.parametrize(
    "change, piece",
    [
        (("100 succeeded", "99 succeeded"), "99 of 100 answers succeeded"),
        (("100 2xx", "98 2xx"), "98 of 100 answers with 2xx"),
        (("(5000) data", "(4999) data"), "4999 bytes for 100 answers of 50"),
        (("protocol: h2", "protocol: http/1.1"), "http/1.1 was spoken"),
    ],
)
def test_a_worthless_h2_round_says_why(change, piece):
    count = other_loads.h2load_counts(H2LOAD.replace(*change))
    assert any(piece in fault for fault in other_loads.h2_faults(count, 100, 50))


def test_what_h2load_does_not_say_is_a_wrong_answer():
    with pytest.raises(client.WrongAnswer):
        other_loads.h2load_counts("could not connect")


def test_a_group_stands_for_its_workloads():
    assert [w.name for w in run.chosen(["ws", "1k"])] == ["1k", "ws-echo"]
    assert run.chosen([]) == workloads.WORKLOADS
    assert not run.GROUPS & set(run.BY_NAME)


def test_the_same_words_every_time_and_gzip_makes_a_third_of_them():
    text = run.words(57_244)
    assert text == run.words(57_244) and len(text) == 57_244
    assert 0.25 < len(zlib.compress(text)) / len(text) < 0.4


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("template", [servers.NGINX, servers.LIGHTTPD, servers.H2O])
def test_every_configuration_can_be_filled(template, secure, tmp_path):
    plan = servers.Plan(tmp_path, tmp_path, 8443, 10, secure, not secure)
    text = servers.filled(template, plan)
    assert "8443" in text and str(tmp_path) in text
    if template != servers.LIGHTTPD:
        assert ("certificate.pem" in text) == secure


@pytest.mark.parametrize(
    "answer, piece",
    [
        (b"", "closed within the head"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "no Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "4 of 9 bytes are missing"),
    ],
)
def test_a_broken_answer_is_refused(answer, piece):
    with pytest.raises(client.WrongAnswer, match=piece):
        client.ask(serve_once(answer), "/")


def test_a_target_compares_with_the_best_of_its_rivals():
    judged = Workload("w", "", targets=(Target("tiderace", 1.1, ("a", "b")),))
    results = {"tiderace": {"cpu": 10.0}, "a": {"cpu": 20.0}, "b": {"cpu": 8.0}}
    assert list(report.verdicts(judged, results)) == [
        ("tiderace: cpu 1.250 × a or b, at most 1.1", False)
    ]


def test_a_limit_is_absolute():
    judged = Workload("w", "", targets=(Limit("tiderace", "milliseconds", 10, "ms"),))
    met = [met for _, met in report.verdicts(judged, {"tiderace": {"milliseconds": 9.9}})]
    assert met == [True]


def test_what_was_not_measured_is_not_judged():
    judged = Workload("w", "", targets=(Target("tiderace", 1.1, ("a",)),))
    assert list(report.verdicts(judged, {"a": {"cpu": 1.0}, "tiderace": {"absent": "x"}})) == []


def test_a_failed_row_is_shown_as_failed():
    row = {**load.summarize([one_round(5.0, ("7 read errors",))])}
    assert "**failed**: 7 read errors" in report.load_table({"nginx": row})


def test_every_target_names_servers_of_its_workload():
    for workload in run.WORKLOADS:
        for target in workload.targets:
            of = getattr(target, "of", ())
            named = {target.server, *([of] if isinstance(of, str) else of)}
            assert named <= set(workload.servers), workload.name


def test_the_readme_table_replaces_only_its_own_place(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.README_BEGIN}\nold\n{report.README_END}\nafter\n")
    cost = load.summarize([one_round(5.0)])
    every = {"1k": {"tiderace": cost, "nginx": cost, "lighttpd": cost, "floor, memory": cost}}
    every["1g"] = every["1k"]  # not for README
    facts = {"cpu": "a CPU", "cores": 2, "kernel": "6.1", "date": "2026-11-21"}
    report.put_into_readme(readme, every, facts, "bench/results/x.md")
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| 1,024 B, keep-alive, 64 connections | 5.0 | 5.0 | 5.0 |  | 5.0 |" in text
    assert "1 GiB" not in text


def test_what_readme_tells_is_measured():
    assert set(report.IN_README) <= {workload.name for workload in workloads.WORKLOADS}


def test_the_library_is_measured_where_it_is_named():
    assert run.chosen(["lib"]) == lib_workloads.LIB_WORKLOADS
    assert {workload.group for workload in lib_workloads.LIB_WORKLOADS} == {"lib"}
    assert [w.name for w in run.chosen(["lib-echo"])] == ["lib-echo"]


def test_each_server_of_the_library_can_be_started_or_is_reported(tmp_path):
    others = {lib_workloads.FLOOR, lib_servers.FLOOR_ECHO, *lib_loads.NEEDED}
    for workload in lib_workloads.LIB_WORKLOADS:
        for name in set(workload.servers) - others:
            plan = servers.Plan(tmp_path, tmp_path, 8443, 10, build=tmp_path)
            words = [str(word) for word in lib_servers.words(name, plan)]
            assert any("8443" in word for word in words), name
            assert servers.available(name + servers.BEFORE, tmp_path) == (
                "not installed or not built"
            )


def test_what_may_cost_so_much_more_is_judged():
    judged = Workload("w", "", targets=(Above("waits", 1.5, "plain"),))
    results = {"plain": {"cpu": 5.0}, "waits": {"cpu": 6.75}}
    assert list(report.verdicts(judged, results)) == [
        ("waits: +1.75 µs to plain, at most 1.5", False)
    ]
    assert not list(report.verdicts(judged, {"plain": {"cpu": 5.0}, "waits": {"absent": "x"}}))


def test_a_body_makes_a_post_of_a_request():
    request = client.request_bytes(80, "/user.json", body=workloads.USER)
    assert request.startswith(b"POST /user.json HTTP/1.1\r\n") and request.endswith(workloads.USER)
    assert f"Content-Length: {len(workloads.USER)}\r\n".encode() in request


class Stream:
    """A peer that sends these pieces, and then nothing."""

    def __init__(self, *pieces):
        self.pieces = [*pieces, b""]

    def recv(self, _):
        return self.pieces.pop(0)


def test_the_first_event_of_a_stream_is_read_however_it_is_cut():
    head = b"HTTP/1.1 200 OK\r\n\r\nb\r\n"
    lib_loads.read_first_event(Stream(head + b"data: one\n\n\r\n"))
    lib_loads.read_first_event(Stream(head, b"data: on", b"e\n\n"))
    with pytest.raises(client.WrongAnswer, match="the stream ended"):
        lib_loads.read_first_event(Stream(head, b"data: on"))
    with pytest.raises(client.WrongAnswer, match="no stream"):
        lib_loads.read_first_event(Stream(b"HTTP/1.1 500 x\r\n\r\ndata: one\n\n"))


def test_figures_have_their_units():
    assert "| page | 7.25 µs | 9.00 |" in report.figures_table(
        {"page": {"microseconds": 7.25, "most": 9.0}}
    )
    assert "| hello | 1,234,567 B |  |" in report.figures_table({"hello": {"bytes": 1_234_567}})
    assert "| hello | not built |  |" in report.figures_table({"hello": {"absent": "not built"}})


def test_a_figure_may_have_a_least():
    judged = Workload(
        "w",
        "",
        targets=(
            AtLeast("ours", "requests_per_second", 40_000, "a second"),
            AtLeast("ours", "requests_per_second", 0.9, of="theirs"),
        ),
    )
    results = {"ours": {"requests_per_second": 45_000}, "theirs": {"requests_per_second": 60_000}}
    assert list(report.verdicts(judged, results)) == [
        ("ours: 45,000 a second, at least 40,000", True),
        ("ours: requests per second 0.750 × theirs, at least 0.9", False),
    ]
    assert not list(report.verdicts(judged, {"ours": {"absent": "x"}}))


def test_a_client_of_a_database_is_counted_and_its_wrong_answers_are_faults():
    count = data_loads.counted(data_workloads.LIBPQ, '{"answers": 8, "wrong": 0, "seconds": 2}', 2)
    assert count == (8, 4.0, ())
    said = '{"answers": 8, "wrong": 1, "seconds": 2}'
    wrong = data_loads.counted(data_workloads.POSTGRES, said, 2)
    assert wrong[2] == ("1 wrong answers",)
    none = data_loads.counted(data_workloads.SQLITE, '{"answers": 0, "wrong": 0, "seconds": 2}', 2)
    assert none[2] == ("no answer",)
    said = '"test","rps","avg_latency_ms"\n"GET","250000.00","1.2"\n'
    assert data_loads.counted(data_workloads.REDIS_BENCHMARK, said, 2)[1] == 250_000
    with pytest.raises(client.WrongAnswer):
        data_loads.counted(data_workloads.REDIS_BENCHMARK, "ERROR: Connection refused", 2)
    said = "GET: 300000 requests per second, 2 wrong, 50 tasks, pipelines of 16"
    assert data_loads.counted(data_workloads.REDIS, said, 2)[1:] == (300_000, ("2 wrong",))


def test_every_database_has_the_same_rows():
    rows = list(data_servers.members())
    assert len(rows) == data_servers.MEMBERS and rows[3] == (4, "member 4", None)
    text = data_servers.table_and_rows()
    assert "(1, 'member 1', 'what member 1 says of the tide')" in text and "null)" in text
    sources = pathlib.Path(__file__).parent / "data"
    for source in ("floor.h", "select.cc"):
        assert "10000" in (sources / source).read_text().replace("'", "")
    assert [w.name for w in run.chosen(["data"])] == [w.name for w in data_workloads.DATA_WORKLOADS]


def page_found(**change):
    round_ = {
        "cpu": 10.0,
        "database": 0,
        "requests_per_second": 9_000.0,
        "p99_milliseconds": 12.0,
        "slowest_milliseconds": 30.0,
        "megabytes": 40.0,
        "page_bytes": 3_687,
        "answers": 5,
        "faults": [],
    }
    return {**round_, **change}


def test_the_worst_of_a_page_is_kept_and_the_rest_are_medians():
    rounds = [page_found(), page_found(cpu=20.0, slowest_milliseconds=101.0), page_found(cpu=30.0)]
    rounds[0]["faults"] = ["late"]
    found = tidepool_loads.summary(rounds)
    assert (found["cpu"], found["cpu_most"], found["slowest_milliseconds"]) == (20.0, 30.0, 101.0)
    assert found["answers"] == 15 and found["faults"] == ["late"]
    assert "**failed**: late" in report.pages_table({"Tidepool": found})


def test_a_page_of_tidepool_is_judged_by_what_was_asked_of_it():
    page = run.BY_NAME["data-page"]
    name = data_workloads.NODE_SQLITE
    met = dict(report.verdicts(page, {name: tidepool_loads.summary([page_found(cpu=8.0)])}))
    assert len(met) == 4 and all(met.values())
    slow = page_found(cpu=8.4, p99_milliseconds=21, slowest_milliseconds=101, megabytes=65)
    missed = dict(report.verdicts(page, {name: tidepool_loads.summary([slow])}))
    assert len(missed) == 4 and not any(missed.values())
    feed = run.BY_NAME["data-feed"]
    late = {data_workloads.FEED_SQLITE: {"p99": 2_001, "p50": 1}}
    assert [met for _, met in report.verdicts(feed, late)] == [False]


def test_a_session_is_the_last_value_of_each_cookie():
    class Answer:
        headers = email.message.Message()

    Answer.headers["Set-Cookie"] = "sid=new; Path=/; HttpOnly"
    assert tidepool_loads.cookies_of(Answer, {"sid": "old", "a": "b"}) == {"sid": "new", "a": "b"}
    Answer.headers = email.message.Message()
    assert tidepool_loads.cookies_of(Answer, {"a": "b"}) == {"a": "b"}
