"""The life of a served App (tests/samples/life.cc): where it listens, readiness, its end."""

import http.client
import socket
import ssl
import subprocess

import pytest

from certificates import Authority
from example_program import Example
from server import wait_until
from tls_client import TlsConnection, client_context


@pytest.fixture
def live(binary, tmp_path):
    program = binary.parent / "tests/samples/sample_life"
    if not program.exists():
        pytest.fail(f"{program} is not built")
    running = []

    def start(*words, listeners=1):
        running.append(Example(program, *words, folder=tmp_path))
        return running[0].wait_ready(listeners)

    yield start
    for one in running:
        one.kill()


def status(place, method, path, secure=None):
    client = (http.client.HTTPSConnection(*place, timeout=60, context=secure) if secure
              else http.client.HTTPConnection(*place, timeout=60))
    client.request(method, path)
    answer = client.getresponse()
    answer.read()
    client.close()
    return answer.status


def test_a_handler_drains_and_readiness_says_so_before_the_end(live):
    program = live("127.0.0.1:0")
    place = program.places()[0]
    assert status(place, "GET", "/readyz") == 200
    assert status(place, "POST", "/end") == 204
    # New connections are accepted for the time of the notice.
    assert status(place, "GET", "/readyz") == 503
    assert status(place, "GET", "/healthz") == 200
    assert status(place, "POST", "/end") == 204  # again: it is not cut off
    assert program.process.wait(60) == 0
    assert program.stderr.count("the background task is over\n") == 1


def test_it_listens_in_the_clear_with_tls_and_on_a_path(live, tmp_path):
    authority = Authority(tmp_path, "harbour")
    pair = authority.issue("site")
    path = tmp_path / "life.sock"
    program = live("http://127.0.0.1:0", "127.0.0.1:0", f"unix:{path}", pair.certificate, pair.key,
                   listeners=2)
    assert f"listening on unix:{path}\n" in program.stdout
    plain, secured = program.places()
    assert f"listening on http://127.0.0.1:{plain[1]}/\n" in program.stdout
    assert f"listening on https://127.0.0.1:{secured[1]}/\n" in program.stdout
    assert status(plain, "GET", "/healthz") == 200
    trust = ssl.create_default_context(cafile=authority.file)
    assert status(("localhost", secured[1]), "GET", "/healthz", trust) == 200
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


def test_new_certificates_serve_new_connections_and_open_ones_go_on(live, tmp_path):
    authority = Authority(tmp_path, "harbour")
    pair = authority.issue("site")
    place, = live("127.0.0.1:0", pair.certificate, pair.key).places()
    context = client_context(authority.file)

    def shown():
        with TlsConnection(place, context) as connection:
            assert connection.get("/healthz").status == 200
            return connection.certificate

    with TlsConnection(place, context) as old:
        first = pair.fingerprint()
        assert old.certificate == first
        authority.issue("site")
        assert pair.fingerprint() != first
        # Each of the two loops reads them.
        wait_until(lambda: {shown() for _ in range(16)} == {pair.fingerprint()},
                   what="the new certificate on every loop")
        assert old.get("/healthz").status == 200


def test_a_session_is_resumed_on_every_loop(live, tmp_path):
    authority = Authority(tmp_path, "harbour")
    pair = authority.issue("site")
    program = live("127.0.0.1:0", pair.certificate, pair.key)
    place, = program.places()
    context = client_context(authority.file)
    with TlsConnection(place, context) as first:
        assert first.get("/healthz").status == 200
        assert not first.socket.session_reused
        session = first.socket.session
    # The kernel spreads these over the program's two loops.
    for _ in range(32):
        with TlsConnection(place, context, session=session) as again:
            assert again.get("/healthz").status == 200
            assert again.socket.session_reused


def test_a_development_certificate_is_made_and_shared_with_the_server(
        binary, live, serve, site, tmp_path, monkeypatch):
    environment = {"XDG_DATA_HOME": str(tmp_path / "data")}
    monkeypatch.setenv("XDG_DATA_HOME", environment["XDG_DATA_HOME"])
    program = live("127.0.0.1:0", "development")
    authority = tmp_path / "data/tiderace/authority.pem"
    assert f"with a development certificate, signed by {authority}\n" in program.stdout
    trust = ssl.create_default_context(cafile=authority)
    port = program.places()[0][1]
    for name in ("localhost", "127.0.0.1"):
        assert status((name, port), "GET", "/healthz", trust) == 200
    # The server's certificate has the same authority, and the App can show it as well.
    server = serve(site, "--tls-self-signed", env=environment)
    assert status(("localhost", server.address[1]), "GET", "/a.txt", trust) == 200
    again = live("127.0.0.1:0", "development")
    made = authority.parent / "localhost.pem"
    before = made.read_bytes()
    assert status(("localhost", again.places()[0][1]), "GET", "/healthz", trust) == 200
    assert made.read_bytes() == before, "one certificate serves both"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    done = subprocess.run([binary.parent / "tests/samples/sample_life", "127.0.0.1:0",
                           "development"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "XDG_DATA_HOME" in done.stderr


def test_tls_without_a_certificate_is_one_sentence(binary):
    done = subprocess.run([binary.parent / "tests/samples/sample_life", "https://127.0.0.1:0"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "https://127.0.0.1:0" in done.stderr
