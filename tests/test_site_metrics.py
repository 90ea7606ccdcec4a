"""[metrics] of a file: the page of the real program, and its numbers."""

import http.client
import json
import shutil
import socket
import ssl
import subprocess

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as open_parser

from certificates import Authority
from h2_client import Client, Stream
from server import wait_until
from test_admin import Admin
from test_sites import HERE, SERVER, basic, make, needs_openssl, sites  # noqa: F401
from tls_client import TlsConnection, client_context

METRICS = '[metrics]\nlisten = "127.0.0.1:0"\n'
TWO = """
[[site]]
hosts = ["one.example", "also.one.example"]
root = "one"
route = [
    { path = "/old", redirect = "/new" },
    { path = "/slow", rate = { limit = "1/min", burst = 3 }, respond = "slow" },
    { path = "/in", auth = { users = "staff" }, respond = "in" },
]
[[site]]
default = true
respond = "other"
[users.staff]
ann = "only an example"
"""


class Counting(Admin):
    @property
    def page(self):
        """Where the page is."""
        host, port = self.status()["metrics"].rsplit(":", 1)
        return host, int(port)

    def status(self):
        return json.loads(self.use("status", "--json", self.file).stdout)

    def look(self, method="GET", path="/metrics", place=None, **fields):
        client = http.client.HTTPConnection(*(place or self.page), timeout=60)
        client.request(method, path, headers=fields)
        answer = client.getresponse()
        content = answer.read().decode()
        client.close()
        return answer, content

    def samples(self):
        """{(name, its labels): value}, read by Python's own parser."""
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in parser.text_string_to_metric_families(self.look()[1])
            for sample in family.samples
        }

    def value(self, name, **labels):
        return self.samples().get((name, frozenset(labels.items())))

    def requests(self):
        """{(site, route, method, code, protocol): number}"""
        names = ("site", "route", "method", "code", "protocol")
        return {
            tuple(dict(labels)[name] for name in names): int(value)
            for (name, labels), value in self.samples().items()
            if name == "tiderace_http_requests_total"
        }


@pytest.fixture
def start(binary, sites, make, tmp_path):  # noqa: F811
    """start(text) starts the server of a file, whose admin socket is admin.sock beside it."""
    make("one/index.html", "one")

    def begin(text=TWO, metrics=METRICS, **more):
        head = SERVER + HERE + '[admin]\nsocket = "admin.sock"\n' + metrics
        server = sites(text, head=head, **more)
        return Counting(binary, server, tmp_path, head)

    return begin


def load(binary, server, host, path, *flags):
    address = ":".join(map(str, server.address))
    words = ["load", f"http://{address}{path}", "-H", f"Host: {host}", "--json", *flags]
    done = subprocess.run(
        [binary, *words], capture_output=True, text=True, timeout=300, check=False
    )
    report = json.loads(done.stdout)
    assert report["answers"] == int(flags[flags.index("-n") + 1]), report


def test_counters_equal_the_load_exactly(binary, start):
    it = start()
    one = "one.example"
    load(binary, it.server, one, "/", "-c", "10", "-n", "2000")
    load(binary, it.server, "also.one.example", "/", "-c", "10", "-n", "500")
    load(binary, it.server, one, "/", "-c", "10", "-n", "1000", "--http", "2")
    load(binary, it.server, one, "/absent", "-c", "4", "-n", "300", "--expect-status", "404")
    load(binary, it.server, one, "/old", "-c", "4", "-n", "200", "--expect-status", "308")
    load(binary, it.server, one, "/in", "-c", "4", "-n", "100", "--expect-status", "401")
    load(binary, it.server, "b.example", "/x", "-c", "4", "-n", "150")
    for _ in range(5):
        it.server.of(one, "/slow")
    expected = {
        (one, "", "GET", "200", "1.1"): 2500,
        (one, "", "GET", "200", "2"): 1000,
        (one, "", "GET", "404", "1.1"): 300,
        (one, "/old", "GET", "308", "1.1"): 200,
        (one, "/in", "GET", "401", "1.1"): 100,
        (one, "/slow", "GET", "200", "1.1"): 3,
        (one, "/slow", "GET", "429", "1.1"): 2,
        ("default", "", "GET", "200", "1.1"): 150,
    }
    # The last answers may be with the client before the server has counted them.
    wait_until(lambda: it.requests() == expected, what=f"{expected}, and not {it.requests()}")
    counted = it.samples()
    labels = frozenset({"site": one, "route": ""}.items())
    for name in ("duration_seconds", "body_size_bytes"):
        assert counted[(f"tiderace_http_request_{name}_count", labels)] == 3800
    for site in ("", one, "default"):
        assert it.value("tiderace_http_requests_in_flight", site=site) == 0
    status = it.status()["requests"]
    assert status == {"in_flight": 0, "answered": {"": 0, one: 4105, "default": 150}}
    assert "requests      4255, 0 in flight\n" in it.use("status", it.file).stdout


def test_what_is_refused_is_counted_by_its_reason(start):
    it = start()
    one = "one.example"
    for credentials in ("ann:only an example", "ann:wrong", "ann:wrong again", "eve:wrong"):
        it.server.of(one, "/in", basic(credentials))
    it.server.of(one, "/in", "Authorization: Basic !")
    # A request without credentials is no failure: the answer requests them.
    it.server.of(one, "/in")
    with Client(it.server.address) as client:
        client.streams[1] = Stream()
        wrong = ("authorization", basic("ann:wrong").split(": ")[1])
        fields = [pair for pair in client.request_fields("/in") if pair[0] != ":authority"]
        client.send(client.header_bytes(1, [*fields, (":authority", one), wrong]))
        assert client.answer(1).status == 401
    for _ in range(5):
        it.server.of(one, "/slow")
    for target, fields in (("/%2f", ()), ("/%2F", ()), ("/", ("Bad Name: 1",)), ("/../x", ())):
        assert it.server.of(one, target, *fields).status == 400
    wait_until(lambda: sum(it.requests().values()) == 16, what="all of them")
    assert it.value("tiderace_auth_failures_total", site=one, route="/in") == 5
    assert it.value("tiderace_rate_limited_total", site=one, route="/slow") == 2
    reasons = {
        dict(labels)["reason"]: value
        for (name, labels), value in it.samples().items()
        if name == "tiderace_http_request_refusals_total"
    }
    assert reasons == {"path_encoded_slash": 2, "space_before_colon": 1, "path_above_root": 1}


def test_connections_of_the_sites_alone_are_counted(start):
    it = start()
    before = it.value("tiderace_connections_accepted_total")
    it.look()
    assert it.value("tiderace_connections_accepted_total") == before
    with it.server.connect():
        wait_until(lambda: it.value("tiderace_connections_open") == 1, what="the client")
        assert it.value("tiderace_connections_accepted_total") == before + 1
    wait_until(lambda: it.value("tiderace_connections_open") == 0, what="nobody")
    build = [dict(labels) for name, labels in it.samples() if name == "tiderace_build_info"]
    assert set(build[0]) == {"version", "engine", "tls"}
    assert it.value("tiderace_log_lines_dropped_total") == 0
    assert it.value("tiderace_log_write_errors_total") == 0


def test_a_reload_keeps_what_it_did_not_change(start):
    it = start()
    one = "one.example"
    for path in ("/", "/", "/old"):
        it.server.of(one, path)
    assert it.value("tiderace_config_last_reload_successful") == 1
    started = it.value("tiderace_config_last_reload_success_timestamp_seconds")
    assert it.value("process_start_time_seconds") - 2 <= started
    page = it.page
    it.write(TWO.replace('"/old"', '"/older"'))
    assert it.use("reload", it.file).returncode == 0
    assert it.page == page
    it.server.of(one, "/")
    it.server.of(one, "/older")
    it.write(TWO.replace("root", "rot"))
    assert it.use("reload", it.file).returncode == 1
    expected = {(one, "", "GET", "200", "1.1"): 3, (one, "/older", "GET", "308", "1.1"): 1}
    wait_until(lambda: it.requests() == expected, what=f"{expected}, and not {it.requests()}")
    counted = it.samples()

    def config(name, **labels):
        return counted[(f"tiderace_config_{name}", frozenset(labels.items()))]

    assert config("last_reload_successful") == 0
    assert config("reloads_total", result="done") == 1
    assert config("reloads_total", result="refused") == 1
    assert config("generations_alive") == 1
    assert config("last_reload_success_timestamp_seconds") >= started


def test_it_begins_moves_and_ends_with_a_reload(start):
    it = start(metrics="")
    assert (it.status()["requests"], it.status()["metrics"]) == (None, None)
    assert it.get("/metrics").startswith(b"HTTP/1.1 404")
    plain = it.head

    def reload(metrics):
        it.head = plain + metrics
        it.write(TWO)
        done = it.use("reload", it.file)
        assert done.returncode == 0, done.stderr

    reload(METRICS)
    it.server.of("one.example", "/")
    wait_until(lambda: it.value("tiderace_connections_open") == 0, what="nobody")
    assert it.requests() == {("one.example", "", "GET", "200", "1.1"): 1}
    first = it.page
    reload('[metrics]\nlisten = "localhost:0"\n')
    second = it.page
    assert second != first and it.look()[0].status == 200
    with pytest.raises(ConnectionRefusedError):
        it.look(place=first)
    # The admin socket shows them, too.
    reload("[metrics]\n")
    assert b'\ntiderace_http_requests_in_flight{site="default"} 0\n' in it.get("/metrics")
    with pytest.raises(ConnectionRefusedError):
        it.look(place=second)
    reload("")
    assert it.get("/metrics").startswith(b"HTTP/1.1 404")
    reload(METRICS)
    assert it.requests() == {("one.example", "", "GET", "200", "1.1"): 1}, "nothing is lost"


def test_an_address_in_use_changes_nothing(start):
    it = start()
    page = it.page
    it.head = it.head.replace(METRICS, "")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        it.write(f'[metrics]\nlisten = "127.0.0.1:{taken.getsockname()[1]}"\n' + TWO)
        refused = it.use("reload", it.file)
    assert refused.returncode == 1 and "another program listens there" in refused.stderr
    assert it.page == page and it.look()[0].status == 200


def test_the_page_is_all_there_is(start):
    it = start(metrics=METRICS + 'remote = ["127.0.0.0/8", "10.0.0.0/8"]\n')
    assert it.look(path="/")[0].status == 404
    assert it.look(method="POST")[0].status == 405
    answer, content = it.look(method="HEAD")
    assert (answer.status, content) == (200, "")
    assert answer.headers["Cache-Control"] == "no-store"
    # No site has it.
    assert it.server.of("one.example", "/metrics").status == 404


SHOWN = """
[[site.route]]
path = "/metrics"
metrics = true
remote = "127.0.0.1"
[[site.route]]
path = "/numbers"
metrics = true
auth = { users = "staff" }
[[site.route]]
path = "/elsewhere"
metrics = true
remote = "10.0.0.0/8"
"""


@pytest.mark.parametrize("threads", [1, 4])
def test_a_route_shows_it_to_those_that_it_names(sites, binary, tmp_path, threads):  # noqa: F811
    head = SERVER.replace("threads = 1", f"threads = {threads}") + HERE + "[metrics]\n"
    text = '[[site]]\nrespond = "a"\n' + SHOWN + '[users.staff]\nann = "only an example"\n'
    server = sites(text, head=head)

    def count():
        answer = server.get("/metrics")
        assert answer.status == 200 and answer.get("cache-control") == "no-store"
        families = {one.name: one for one in parser.text_string_to_metric_families(answer.text)}
        in_flight = families["tiderace_http_requests_in_flight"].samples
        assert all(one.value >= 1 for one in in_flight if one.labels["site"] == "default"), "itself"
        samples = families["tiderace_http_requests"].samples
        return sum(one.value for one in samples if one.labels["route"] == "/metrics")

    assert count() == 0
    for number in range(20):
        wait_until(lambda: count() >= number, what="the looks before")
    assert server.get("/metrics", method="HEAD").status == 200
    assert server.get("/metrics", method="POST").get("allow") == "GET, HEAD"
    assert server.get("/numbers").status == 401
    assert server.get("/numbers", basic("ann:only an example")).status == 200
    # No route holds for this client, so the site answers.
    assert server.get("/elsewhere").text == "a"
    answer = server.get("/metrics", "Accept: application/openmetrics-text")
    assert list(open_parser.text_string_to_metric_families(answer.text))
    # Its connections are a site's, and so a pipeline of many is answered, and a client that reads
    # no page holds up no other client.
    with server.connect() as slow:
        slow.send(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        for _ in range(20):
            assert server.get("/metrics").status == 200


def test_who_is_not_listed_may_not_read_it(start):
    it = start(metrics='[metrics]\nlisten = "127.0.0.1:0"\nremote = ["10.0.0.0/8"]\n')
    assert it.look()[0].status == 403
    it.head = it.head.replace("10.0.0.0/8", "127.0.0.1")
    it.write(TWO)
    assert it.use("reload", it.file).returncode == 0
    assert it.look()[0].status == 200


def test_a_client_makes_no_series(start):
    it = start()
    for path in ("/", "/absent"):
        it.server.of("one.example", path)
    it.server.of("h.example", "/")
    wait_until(lambda: len(it.requests()) == 3, what="three series")
    lines = len(it.look()[1].splitlines())
    for i in range(100):
        it.server.of("one.example", f"/absent/{i}?{i}", f"X-Request-Id: {i}")
        it.server.of(f"h{i}.example", f"/{i}")
    wait_until(lambda: sum(it.requests().values()) == 203, what="all of them")
    assert len(it.look()[1].splitlines()) == lines


def test_python_and_promtool_read_it(start):
    it = start()
    it.server.of("one.example", "/")
    it.server.of("two.example", "/")
    answer, content = it.look(Accept="application/openmetrics-text; version=1.0.0")
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    families = {one.name: one for one in open_parser.text_string_to_metric_families(content)}
    assert families["tiderace_config_reloads"].type == "counter"
    if shutil.which("promtool"):
        done = subprocess.run(
            ["promtool", "check", "metrics"],
            input=it.look()[1],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_bytes_are_those_that_went_over_the_wire(start, make):  # noqa: F811
    size = 64 << 20
    make("one/large", "").write_bytes(bytes(size))
    it = start()
    one = "one.example"
    for _ in range(3):
        assert it.server.of(one, "/", method="HEAD").status == 200
        assert it.server.of(one, "/").body == b"one"
    it.server.of("two.example", "/", method="POST", body=b"x" * 500)

    def sent():
        return it.value("tiderace_http_response_body_bytes_total", site=one)

    wait_until(lambda: sum(it.requests().values()) == 7, what="all of them")
    assert sent() == 3 * len("one")
    assert it.value("tiderace_http_request_body_bytes_total", site="default") == 500
    labels = {"site": one, "route": ""}
    assert it.value("tiderace_http_response_head_seconds_count", **labels) == 6
    with it.server.connect() as client:
        client.send(b"GET /large HTTP/1.1\r\nHost: one.example\r\n\r\n")
        client.read_head()
        client.skip(1 << 20)
        client.reset()
    wait_until(lambda: sum(it.requests().values()) == 8, what="the broken download")
    assert it.value("tiderace_http_requests_in_flight", site=one) == 0
    assert 1 << 20 < sent() < size
    assert it.value("tiderace_http_response_head_seconds_count", **labels) == 7


def test_files_are_counted_by_whether_the_disk_was_read(start, make):  # noqa: F811
    make("one/page.html", "a page")
    it = start()

    def found():
        counted = it.samples()
        return {
            dict(labels)["result"]: value
            for (name, labels), value in counted.items()
            if name == "tiderace_file_cache_requests_total"
        }

    it.server.of("one.example", "/page.html")
    first = found()
    assert first["miss"] == 1 and first["hit"] == first["revalidated"] == 0
    with it.server.connect() as client:
        for _ in range(200):
            assert client.get("/page.html", host="one.example").status == 200
    then = found()
    # A path is compared with the disk from time to time.
    assert then["miss"] == 1 and then["hit"] > 0
    assert then["hit"] + then["revalidated"] == 200
    # Another site with the same files has a cache of its own, and counts go on.
    it.write(TWO.replace("also.one.example", "also.two.example"))
    assert it.use("reload", it.file).returncode == 0
    assert found() == then


def test_compressed_bytes_are_those_of_the_wire(start):
    long = "wave after wave, " * 1000
    it = start(f'[[site]]\nrespond = "{long}"\n')
    sent = 0
    for _ in range(3):
        answer = it.server.get("/", "Accept-Encoding: gzip")
        assert answer.get("content-encoding") == "gzip"
        sent += len(answer.body)
    it.server.get("/")
    assert it.value("tiderace_compressed_bytes_total", coding="gzip") == sent
    assert it.value("tiderace_compressed_bytes_total", coding="br") == 0


def test_streams_are_open_until_they_end(start):
    it = start()

    def streams():
        return it.value("tiderace_http2_streams_open")

    # No answer may leave: the window of each stream is 0.
    with Client(it.server.address, settings={4: 0}) as client:
        numbers = [client.get("/") for _ in range(3)]
        wait_until(lambda: streams() == 3, what="three streams")
        client.send(client.reset_bytes(numbers[0]))
        client.send(client.window_update_bytes(numbers[1], 1000))
        assert client.answer(numbers[1]).status == 200
        wait_until(lambda: streams() == 1, what="one stream")
    wait_until(lambda: streams() == 0, what="none")


def test_a_bucket_leads_to_a_trace_that_fell_into_it(start):
    it = start()
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    def exemplars():
        content = it.look(Accept="application/openmetrics-text; version=1.0.0")[1]
        families = {one.name: one for one in open_parser.text_string_to_metric_families(content)}
        samples = families["tiderace_http_request_duration_seconds"].samples
        return [(one.labels, one.exemplar) for one in samples if one.exemplar]

    def ask(flags, one=trace):
        it.server.of("one.example", "/old", f"traceparent: 00-{one}-00f067aa0ba902b7-{flags}")

    ask("00")
    ask("01", trace.upper())
    it.server.of("one.example", "/old")
    wait_until(lambda: sum(it.requests().values()) == 3, what="all of them")
    assert not exemplars()
    ask("01")
    ((labels, exemplar),) = wait_until(exemplars, what="the one that is sampled")
    assert (labels["site"], labels["route"]) == ("one.example", "/old")
    assert exemplar.labels == {"trace_id": trace}
    assert 0 <= exemplar.value <= float(labels["le"])
    assert float(exemplar.timestamp) >= it.value("process_start_time_seconds") - 1
    assert trace not in it.look()[1], "the older format has none"


@needs_openssl
def test_handshakes_are_counted_by_how_they_went(start, tmp_path):
    authority = Authority(tmp_path, "ca")
    pair = authority.issue("one", ["localhost"])
    it = start(f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n' + TWO)

    def connect(context, session=None):
        with TlsConnection(it.server.address, context, session=session) as client:
            assert client.get("/").status == 200
            return client.socket.session

    for version, times in ((ssl.TLSVersion.TLSv1_2, 2), (ssl.TLSVersion.TLSv1_3, 3)):
        context = client_context(authority.file, version)
        session = connect(context)
        for _ in range(times):
            connect(context, session)
    # This client trusts another authority, and sends an alert.
    stranger = client_context(Authority(tmp_path, "other").file)
    for _ in range(4):
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(stranger)
    with socket.create_connection(it.server.address, 60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 400")
    for _ in range(2):
        socket.create_connection(it.server.address, 60).close()
    expected = {
        ("1.2", "done", "false"): 1,
        ("1.2", "done", "true"): 2,
        ("1.3", "done", "false"): 1,
        ("1.3", "done", "true"): 3,
        ("", "peer_alert", ""): 4,
        ("", "plain_http", ""): 1,
        ("", "peer_gone", ""): 2,
    }

    def handshakes():
        return {
            tuple(dict(labels).get(name, "") for name in ("version", "result", "resumed")): value
            for (name, labels), value in it.samples().items()
            if name == "tiderace_tls_handshakes_total" and value > 0
        }

    wait_until(lambda: handshakes() == expected, what=f"{expected}, and not {handshakes()}")
    assert it.value("tiderace_tls_handshake_duration_seconds_count") == 7


@needs_openssl
def test_certificates_have_their_end(start, tmp_path):
    pair = Authority(tmp_path, "ca").issue("one", ["one.example"])
    it = start(f'[[tls.certificate]]\ncert = "{pair.certificate}"\nkey = "{pair.key}"\n' + TWO)
    ((name, end),) = (
        (dict(labels)["name"], value)
        for (name, labels), value in it.samples().items()
        if name == "tiderace_tls_certificate_not_after_timestamp_seconds"
    )
    assert name == str(pair.certificate) and end > it.value("process_start_time_seconds")


def test_check_knows_the_number_of_series(binary, start, tmp_path):
    it = start()
    done = it.use("check", it.file)
    # What no route answers, two sites and three routes, each with four histograms.
    assert ", 336 series of metrics\n" in done.stdout
    routes = "".join(f'[[site.route]]\npath = "/r{i}"\nrespond = "r"\n' for i in range(300))
    many = tmp_path / "many.toml"
    many.write_text(METRICS + '[[site]]\nrespond = "a"\n' + routes)
    done = it.use("check", many)
    assert done.returncode == 0
    assert "the page of [metrics] has 16912 series" in done.stderr
