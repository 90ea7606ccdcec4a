"""App::metrics() on a real program (tests/samples/metrics.cc): the page, and its numbers."""

import http.client
import json
import shutil
import socket
import subprocess

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as open_parser

from server import wait_until

OPEN = {"Accept": "application/openmetrics-text; version=1.0.0"}


@pytest.fixture
def shop(sample):
    return sample("metrics")


def ask(shop, method, path, fields=None):
    client = http.client.HTTPConnection(*shop.places()[0], timeout=60)
    client.request(method, path, headers=fields or {})
    answer = client.getresponse()
    content = answer.read().decode()
    client.close()
    return answer, content


def samples(shop):
    """{(name, its labels): value}, read by Python's own parser."""
    families = parser.text_string_to_metric_families(ask(shop, "GET", "/metrics")[1])
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def requests(shop):
    """{(route, method, code, protocol): number}, without the page's own."""
    return {
        tuple(dict(labels)[name] for name in ("route", "method", "code", "protocol")): int(value)
        for (name, labels), value in samples(shop).items()
        if name == "tiderace_http_requests_total" and dict(labels)["route"] != "/metrics"
    }


def load(binary, shop, path, *flags):
    host, port = shop.places()[0]
    done = subprocess.run(
        [binary, "load", f"http://{host}:{port}{path}", "--json", *flags],
        capture_output=True,
        text=True,
        timeout=300,
    )
    report = json.loads(done.stdout)
    assert report["answers"] == int(flags[flags.index("-n") + 1]), report


def test_counters_equal_the_load_exactly(binary, shop):
    load(binary, shop, "/users/7", "-c", "10", "-n", "3000")
    load(binary, shop, "/users/7", "-c", "10", "-n", "2000", "--http", "2")
    load(binary, shop, "/users/0", "-c", "4", "-n", "300", "--expect-status", "404")
    load(binary, shop, "/users/x", "-c", "4", "-n", "200", "--expect-status", "400")
    load(binary, shop, "/throws", "-c", "4", "-n", "100", "--expect-status", "500")
    load(binary, shop, "/late", "-c", "10", "-n", "200")
    load(binary, shop, "/absent", "-c", "4", "-n", "150", "--expect-status", "404")
    load(binary, shop, "/late", "-c", "4", "-n", "50", "--expect-status", "405", "--method", "POST")
    for _ in range(7):
        ask(shop, "HEAD", "/users/7")
    expected = {
        ("/users/{id}", "GET", "200", "1.1"): 3000,
        ("/users/{id}", "GET", "200", "2"): 2000,
        ("/users/{id}", "GET", "404", "1.1"): 300,
        ("/users/{id}", "GET", "400", "1.1"): 200,
        ("/users/{id}", "HEAD", "200", "1.1"): 7,
        ("/throws", "GET", "500", "1.1"): 100,
        ("/late", "GET", "200", "1.1"): 200,
        ("", "GET", "404", "1.1"): 150,
        ("", "POST", "405", "1.1"): 50,
    }
    # The last answers may be with the client before the server has counted them.
    wait_until(lambda: requests(shop) == expected, what=f"{expected}, and not {requests(shop)}")
    counted = samples(shop)
    labels = frozenset({"site": "", "route": "/users/{id}"}.items())
    for name in ("duration_seconds", "body_size_bytes"):
        assert counted[(f"tiderace_http_request_{name}_count", labels)] == 5507
    assert counted[("tiderace_http_response_body_size_bytes_count", labels)] == 5507
    assert counted[("tiderace_http_requests_in_flight", frozenset({("site", "")}))] == 1


def test_connections_are_counted_while_they_are_open_and_when_they_end(shop):
    def count(name, **labels):
        return samples(shop)[(f"tiderace_connections_{name}", frozenset(labels.items()))]

    before = count("accepted_total")
    finished = count("closed_total", reason="peer_finished")
    clients = [http.client.HTTPConnection(*shop.places()[0], timeout=60) for _ in range(5)]
    for client in clients:
        client.request("GET", "/users/7")
        client.getresponse().read()
    # Each look is a connection of its own.
    assert count("accepted_total") == before + 1 + 5 + 1
    wait_until(lambda: count("open") == 5 + 1, what="five clients and the look")
    for client in clients:
        client.close()
    wait_until(lambda: count("open") == 1, what="the look alone")
    assert count("closed_total", reason="peer_finished") >= finished + 5
    assert count("refused_total", reason="limit") == 0
    (version,) = (dict(labels) for name, labels in samples(shop) if name == "tiderace_build_info")
    assert version["version"].count(".") == 2


def test_a_client_makes_no_series(shop):
    ask(shop, "GET", "/users/1")
    ask(shop, "GET", "/absent")
    ask(shop, "BREW", "/")
    before = set(requests(shop))
    for i in range(500):
        ask(shop, "GET", f"/absent/{i}?{i}", {"X-Request-Id": str(i), "Host": f"h{i}.example"})
        ask(shop, "GET", f"/users/{i + 1}")
        ask(shop, f"BREW{i}", "/")
    assert set(requests(shop)) == before
    assert all(method in ("GET", "other") for _, method, _, _ in before)


def test_a_client_that_reads_no_page_holds_up_nobody(shop):
    with socket.create_connection(shop.places()[0], timeout=60) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        for _ in range(20):
            assert ask(shop, "GET", "/metrics")[0].status == 200


def test_python_reads_both_formats(shop):
    for _ in range(3):
        ask(shop, "POST", "/buy")
    counted = samples(shop)
    assert counted[("shop_sold_total", frozenset({("kind", 'a "book"\n\\')}))] == 3
    assert counted[("shop_price_euros_bucket", frozenset({("le", "2.5")}))] == 3
    answer, content = ask(shop, "GET", "/metrics", OPEN)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    families = {one.name: one for one in open_parser.text_string_to_metric_families(content)}
    assert families["shop_sold"].samples[0].value == 3
    assert families["shop_queue"].samples[0].value == 3
    assert families["process_resident_memory_bytes"].unit == "bytes"


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (prometheus) is not installed")
def test_promtool_finds_no_fault(shop):
    ask(shop, "POST", "/buy")
    ask(shop, "GET", "/absent")
    content = ask(shop, "GET", "/metrics")[1]
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=content, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
