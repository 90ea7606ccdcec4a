"""HTTPS as a client meets it: the real program, asked by Python's ssl, curl and openssl."""

import contextlib
import json
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from certificates import Authority
from h2_client import INTERNAL_ERROR, Client
from raw_client import NoAnswer, get_once, request
from server import run, wait_until
from site_folder import HUGE
from tls_client import TlsConnection, client_context, plain_socket

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not here")

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "tide")


@pytest.fixture(scope="session")
def pair(authority):
    return authority.issue("site", ("localhost", "127.0.0.1", "::1"))


@pytest.fixture
def secure(serve, site, pair):
    """A server with one certificate, and whatever flags a test adds."""
    def start(*flags, root=site, **more):
        return serve(root, "--tls", pair.flag, *flags, **more)
    return start


@pytest.fixture
def connect(authority):
    def open_to(server, name="localhost", session=None, **more):
        address = server if isinstance(server, (str, tuple)) else server.address
        return TlsConnection(address, client_context(authority.file, **more), name, session)
    return open_to


def s_client(server, *words, stdin=b"", deadline=100):
    host, port = server.address
    done = subprocess.run(["openssl", "s_client", "-connect", f"{host}:{port}", *map(str, words)],
                          input=stdin, capture_output=True, timeout=deadline)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def first_flight():
    """The first bytes of a TLS client, as often as they are wanted."""
    arrived, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(arrived, sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def peak_bytes_of_addresses(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmPeak:\s+(\d+) kB", text, re.M)[1]) << 10


def libraries_of(server):
    return Path(f"/proc/{server.pid}/maps").read_text()


def test_openssl_is_in_memory_only_where_https_is_served(serve, secure, site):
    """A server in clear text is a program without it, which turns into the one with it."""
    assert "libcrypto" not in libraries_of(serve(site))
    assert "libcrypto" in libraries_of(secure())


def test_the_program_alone_says_that_it_has_no_tls(binary, site, tmp_path):
    alone = tmp_path / "tiderace"
    shutil.copy(binary, alone)
    refused = run(alone, "serve", site, "--tls-self-signed")
    assert refused.returncode == 2
    assert "--tls-self-signed: this program was built without TLS" in refused.stderr
    assert "tls         none" in run(alone, "version", "-v").stdout


def curl(server, *words, target="/a.txt"):
    host, port = server.address
    url = f"https://localhost:{port}{target}"
    return subprocess.run(["curl", "-sS", "--max-time", "100", "--noproxy", "*", "--resolve",
                           f"localhost:{port}:{host}", *map(str, words), url],
                          capture_output=True, timeout=100)


# The same site, encrypted.


@pytest.mark.sanitizers
@pytest.mark.parametrize("version", [TLS12, TLS13], ids=["1.2", "1.3"])
def test_both_versions_on_every_engine(secure, connect, engine, version):
    server = secure(engine=engine)
    with connect(server, version=version) as connection:
        assert connection.version == version.name.replace("_", ".")
        for _ in range(3):
            assert connection.get("/a.txt").body == b"hello\n"
        assert connection.get("/big.bin").body == server_file(server, "big.bin")
        assert connection.get("/absent").status == 404


def server_file(server, name):
    words = server.command
    return (os.path.join(words[words.index("serve") + 1], name) and
            open(os.path.join(words[words.index("serve") + 1], name), "rb").read())


@pytest.mark.sanitizers
@pytest.mark.parametrize("mode", ["reuseport", "queue", "shared"])
def test_every_way_of_accepting(secure, connect, mode):
    server = secure("--accept", mode, threads=3)
    connections = [connect(server) for _ in range(12)]
    for connection in connections:
        assert connection.get("/a.txt").body == b"hello\n"
        connection.close()


def test_a_unix_socket(secure, connect, tmp_path):
    path = str(tmp_path / "tls.sock")
    secure(listen=f"unix:{path}")
    with connect(path) as connection:
        assert connection.get("/big.bin").status == 200
        assert connection.get("/a.txt").body == b"hello\n"


@pytest.mark.sanitizers
def test_the_banner_says_https(secure):
    server = secure()
    assert re.search(rf"^open +https://localhost:{server.address[1]}/$", server.output, re.M)
    assert re.search(r"^tls +\S+site\.pem$", server.output, re.M)


@pytest.mark.parametrize("words", [["--tlsv1.2", "--tls-max", "1.2"], ["--tlsv1.3"]])
def test_curl_trusts_it(secure, authority, words):
    done = curl(secure(), "--cacert", authority.file, "--http1.1", *words)
    assert (done.returncode, done.stdout) == (0, b"hello\n"), done.stderr


def test_http2_is_chosen_where_the_client_speaks_it(secure, authority):
    server = secure("--about")
    if b"HTTP2" not in subprocess.run(["curl", "--version"], capture_output=True).stdout:
        pytest.skip("this curl speaks no HTTP/2")
    words = ["--cacert", authority.file, "-w", "%{http_version}", "-o", os.devnull]
    assert curl(server, *words).stdout == b"2"
    assert curl(server, "--http1.1", *words).stdout == b"1.1"
    told = curl(server, "--cacert", authority.file, target="/.well-known/tiderace.json").stdout
    assert json.loads(told)["tls"] == "TLSv1.3"
    assert s_client(server, "-alpn", "h2,http/1.1")[1].count("ALPN protocol: h2") == 1


def test_what_was_agreed_on_is_spoken_and_nothing_else(secure, authority):
    server = secure()
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    for offered, says, answered in [("http/1.1", preface, b"HTTP/1.1 505 "),
                                    ("h2", request("/a.txt"), bytes([0, 0, 30, 4])),
                                    # HTTP/2 over TLS is agreed on, or is not (RFC 9113 3.2).
                                    (None, preface, b"HTTP/1.1 505 "),
                                    (None, request("/a.txt"), b"HTTP/1.1 200 ")]:
        context = client_context(authority.file, alpn=[offered] if offered else ())
        with TlsConnection(server.address, context) as connection:
            connection.send(says)
            connection.receive_some(time.monotonic() + 100)
            assert connection.buffer.startswith(answered), offered


def test_curl_does_not_trust_it_without_its_authority(secure):
    assert curl(secure()).returncode == 60


def test_a_huge_file_to_a_slow_reader(secure, connect, huge_site):
    server = secure(root=huge_site)
    with connect(server) as connection:
        connection.send(request("/huge.bin"))
        assert connection.read_head().get("content-length") == str(HUGE)
        connection.skip(HUGE, time.monotonic() + 100)
        assert connection.get("/a.txt").status == 200


def test_pipelined_requests(secure, connect):
    with connect(secure()) as connection:
        connection.send(request("/a.txt") * 50)
        for _ in range(50):
            assert connection.read_answer().body == b"hello\n"


def test_hsts_is_sent_when_it_is_asked_for(secure, connect):
    with connect(secure("--hsts=1d")) as connection:
        assert connection.get("/a.txt").get("strict-transport-security") == "max-age=86400"
        assert connection.get("/absent").get("strict-transport-security") == "max-age=86400"
    with connect(secure()) as connection:
        assert connection.get("/a.txt").get("strict-transport-security") is None


def test_the_page_can_ask_how_it_came(secure, connect):
    server = secure("--about")
    for version, name in [(TLS12, "TLSv1.2"), (TLS13, "TLSv1.3")]:
        with connect(server, version=version) as connection:
            told = json.loads(connection.get("/.well-known/tiderace.json").text)
            assert told["tls"] == name and told["cipher"].startswith("TLS_")


# How a connection ends.


@pytest.mark.parametrize("version", [TLS12, TLS13], ids=["1.2", "1.3"])
def test_the_end_is_said_with_close_notify(secure, connect, version):
    with connect(secure(), version=version) as connection:
        assert connection.get("/a.txt", "Connection: close").body == b"hello\n"
        assert connection.wait_end()  # SSLEOFError without close_notify


def test_a_client_that_says_the_end_is_answered_by_the_end(secure, connect):
    with connect(secure()) as connection:
        assert connection.get("/a.txt").status == 200
        connection.socket.settimeout(60)
        connection.socket.unwrap()  # raises unless the server's close_notify comes


def test_an_idle_connection_ends_with_close_notify(secure, connect):
    with connect(secure("--idle-timeout", "200ms")) as connection:
        assert connection.get("/a.txt").status == 200
        assert connection.wait_end()


def test_a_file_that_shrinks_is_cut_not_ended(secure, connect, huge_site, tmp_path):
    """The promise of Content-Length cannot be kept: the client must see a cut, not an end."""
    root = tmp_path / "shrinking"
    root.mkdir()
    with open(root / "f.bin", "wb") as file:
        file.truncate(64 << 20)
    with connect(secure(root=root)) as connection:
        connection.send(request("/f.bin"))
        assert connection.read_head().status == 200
        os.truncate(root / "f.bin", 1 << 20)
        with pytest.raises((ssl.SSLEOFError, ConnectionResetError, NoAnswer)) as seen:
            connection.skip(64 << 20, time.monotonic() + 100)
        assert not isinstance(seen.value, NoAnswer) or connection.was_reset, "a clean end"


@pytest.mark.sanitizers
def test_of_several_streams_one_file_that_shrinks_ends_its_own(secure, connect, tmp_path):
    """HTTP/2: RST_STREAM for the one whose length cannot be kept; the others arrive whole."""
    window, sizes = 65_536, {"shrinks": 64 << 20, "stays": 4 << 20}
    for name, size in sizes.items():
        with open(tmp_path / name, "wb") as file:
            file.truncate(size)
    (tmp_path / "a.txt").write_text("hello\n")
    server = secure(root=tmp_path)
    with connect(server, alpn=("h2",)) as tls, \
            Client(server.address, {4: window}, sock=tls.socket) as client:
        streams = {name: client.get(f"/{name}") for name in sizes}
        for stream in streams.values():
            client.wait(lambda s=stream: len(client.streams[s].body) == window)
        os.truncate(tmp_path / "shrinks", 2 * window)
        for name, stream in streams.items():
            client.send(client.window_update_bytes(stream, sizes[name]))
        assert client.answer(streams["shrinks"]).reset == INTERNAL_ERROR
        stays = client.answer(streams["stays"])
        assert stays.ended and stays.reset is None and bytes(stays.body) == bytes(sizes["stays"])
        assert bytes(client.answer(client.get("/a.txt")).body) == b"hello\n"
        assert client.goaway is None


# Bytes that are not TLS, or not all of it.


@pytest.mark.sanitizers
def test_plain_http_on_the_port_is_told_so(secure, connect):
    server = secure()
    answer = get_once(server.address, "/a.txt")
    assert answer.status == 400 and b"https" in answer.body.lower()
    assert answer.says_close
    with connect(server) as connection:
        assert connection.get("/a.txt").status == 200


def test_plain_http_may_come_in_pieces(secure):
    server = secure()
    with plain_socket(server.address) as peer:
        heard = b""
        try:
            for byte in request("/a.txt"):
                peer.sendall(bytes([byte]))
            while piece := peer.recv(4096):
                heard += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert heard.startswith(b"HTTP/1.1 400 ") and b"https://" in heard


@pytest.mark.parametrize("garbage", [
    b"\x00" * 64, b"SSH-2.0-OpenSSH_9.0\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 70_000,
    b"\x16\x03\x01\x00\x05hello", b"\x80\x2e\x01\x00\x02", b"\x15\x03\x01\x00\x02\x02\x00",
    bytes(range(256))])
def test_garbage_is_dropped_and_others_are_served(secure, connect, garbage):
    server = secure("--header-timeout", "3s")
    with plain_socket(server.address) as peer:
        try:
            peer.sendall(garbage)
            while peer.recv(65536):
                pass
        except OSError:
            pass
    with connect(server) as connection:
        assert connection.get("/a.txt").status == 200


def client_hello(address):
    """The bytes with which Python's ssl opens a connection."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.sanitizers
def test_two_hundred_hanging_handshakes_delay_no_other_client(secure, connect):
    server = secure("--header-timeout", "100s")
    hello = client_hello(server.address)
    hanging = []
    try:
        for i in range(200):
            peer = plain_socket(server.address)
            peer.sendall(hello[:1 + i % len(hello)] if i % 4 else b"")
            hanging.append(peer)
        for _ in range(20):
            with connect(server) as connection:
                assert connection.get("/a.txt").body == b"hello\n"
    finally:
        for peer in hanging:
            peer.close()
    wait_until(lambda: server.descriptors() < 100, what="the hanging ones forgotten")


def test_a_handshake_has_a_deadline(secure):
    server = secure("--header-timeout", "300ms")
    with plain_socket(server.address) as silent, plain_socket(server.address) as half:
        half.sendall(client_hello(server.address)[:60])
        for peer in (silent, half):
            try:
                while peer.recv(4096):
                    pass
            except ConnectionResetError:
                pass


def test_a_handshake_cut_at_every_byte(secure, connect):
    server = secure()
    hello = client_hello(server.address)
    before = server.descriptors()
    for end in range(0, len(hello), 7):
        with plain_socket(server.address) as peer:
            peer.sendall(hello[:end])
    with connect(server) as connection:
        assert connection.get("/a.txt").status == 200
    wait_until(lambda: server.descriptors() <= before, what="nothing left of the cut ones")


@pytest.mark.parametrize("words", [["-tls1_2"]])
def test_renegotiation_is_refused(secure, words):
    server = secure()
    _, said = s_client(server, *words, stdin=b"R\n")
    assert "Secure Renegotiation" in said
    assert "no renegotiation" in said.lower() or "RENEGOTIATING" in said
    assert not re.search(r"RENEGOTIATING\s+depth", said)


# Which TLS is spoken: our own table of what a scanner would look at.


OFFERS = [  # (words of s_client, accepted)
    (["-tls1"], False), (["-tls1_1"], False), (["-tls1_2"], True), (["-tls1_3"], True),
    (["-tls1_2", "-cipher", "ECDHE+AESGCM"], True),
    (["-tls1_2", "-cipher", "ECDHE+CHACHA20"], True),
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], False),  # CBC
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"], False),
    (["-tls1_2", "-cipher", "AES128-GCM-SHA256"], False),  # RSA key exchange
    (["-tls1_2", "-cipher", "AES128-SHA"], False), (["-tls1_2", "-cipher", "ADH:AECDH"], False),
    (["-tls1_2", "-cipher", "NULL"], False), (["-tls1_2", "-cipher", "3DES"], False),
    (["-tls1_2", "-cipher", "RC4"], False), (["-tls1_2", "-cipher", "PSK"], False),
    (["-tls1_2", "-cipher", "CAMELLIA"], False), (["-tls1_2", "-cipher", "ARIA"], False),
    (["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"], True),
    (["-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"], True),
    (["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"], True),
    (["-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_8_SHA256"], False),
    (["-tls1_3", "-groups", "X25519"], True), (["-tls1_3", "-groups", "P-256"], True),
    (["-tls1_3", "-groups", "P-384"], True), (["-tls1_2", "-groups", "P-256"], True),
    (["-tls1_3", "-groups", "ffdhe2048"], False),
]


@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_what_is_offered_is_taken_or_refused(serve, site, authority, kind):
    pair = authority.issue(f"offers-{kind}", kind=kind)
    server = serve(site, "--tls", pair.flag)
    wrong = []
    for words, accepted in OFFERS:
        if kind == "rsa":
            words = [word.replace("-ECDSA-", "-RSA-") for word in words]
        # SECLEVEL=0, so that it is the server that refuses and not the client that never asks.
        if "-cipher" in words:
            words = [*words[:-1], words[-1] + ":@SECLEVEL=0"]
        elif words[0] in ("-tls1", "-tls1_1"):
            words = [*words, "-cipher", "ALL:@SECLEVEL=0"]
        status, said = s_client(server, *words)
        done = re.search(r"Cipher is (?!\(NONE\))\S", said)
        if bool(done) != accepted:
            wrong.append((words, said[-400:]))
    assert not wrong, wrong


def test_no_compression_and_secure_renegotiation(secure):
    _, said = s_client(secure(), "-tls1_2")
    assert "Compression: NONE" in said
    assert "Secure Renegotiation IS supported" in said
    assert "Extended master secret: yes" in said


def test_the_server_chooses_the_protocol(secure):
    server = secure()
    _, said = s_client(server, "-alpn", "http/1.1")
    assert "ALPN protocol: http/1.1" in said
    _, said = s_client(server)
    assert "No ALPN negotiated" in said
    _, said = s_client(server, "-alpn", "imap,pop3")
    assert "no application protocol" in said.lower()


def test_early_data_is_off(secure, tmp_path):
    server = secure()
    ticket = tmp_path / "ticket"
    s_client(server, "-sess_out", ticket, "-ign_eof",
             stdin=b"GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert "Max Early Data: 0" in subprocess.run(
        ["openssl", "sess_id", "-in", str(ticket), "-noout", "-text"], capture_output=True,
        text=True).stdout


# Resumption.


@pytest.mark.parametrize("version", [TLS12, TLS13], ids=["1.2", "1.3"])
def test_a_session_is_resumed_on_every_loop(secure, authority, version):
    server = secure(threads=3)
    context = client_context(authority.file, version=version)
    with TlsConnection(server.address, context) as first:
        assert not first.socket.session_reused
        assert first.get("/a.txt").status == 200
        session = first.socket.session
    assert session.has_ticket
    for _ in range(12):
        with TlsConnection(server.address, context, session=session) as again:
            assert again.get("/a.txt").body == b"hello\n"
            assert again.socket.session_reused
            session = again.socket.session or session


def test_a_session_is_not_resumed_without_the_certificate_it_began_with(serve, site, authority,
                                                                        tmp_path):
    """Client certificates are part of what a ticket stands for."""
    pair = authority.issue("ticketed")
    server = serve(site, "--tls", pair.flag)
    context = client_context(authority.file)
    with TlsConnection(server.address, context) as first:
        first.get("/a.txt")
        session = first.socket.session
    strict = serve(site, "--tls", pair.flag, "--tls-client-auth", "required", "--tls-client-ca",
                   authority.file)
    with pytest.raises((ssl.SSLError, OSError, NoAnswer)):
        with TlsConnection(strict.address, context, session=session) as again:
            again.get("/a.txt")


# Keys.


@pytest.mark.parametrize("letter", ["k", "K"])
def test_keys_are_updated_when_openssl_asks(secure, letter):
    """s_client takes a letter that comes alone for a command: K asks for our key to change too."""
    host, port = secure().address
    client = subprocess.Popen(["openssl", "s_client", "-tls1_3", "-connect", f"{host}:{port}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    try:
        said = b""
        for words, sign in [(b"", b"Verify return code"), (letter.encode() + b"\n", b"KEYUPDATE"),
                            (request("/a.txt", "Connection: close"), b"hello\n")]:
            client.stdin.write(words)
            client.stdin.flush()
            while sign not in said:
                piece = os.read(client.stdout.fileno(), 4096)
                assert piece, said
                said += piece
        assert b"HTTP/1.1 200 OK" in said
    finally:
        client.kill()
        client.wait(10)


# Names.


@pytest.mark.sanitizers
def test_the_name_chooses_the_certificate(serve, site, authority, connect):
    one = authority.issue("one", ("one.test", "*.many.test"))
    two = authority.issue("two", ("two.test",))
    server = serve(site, "--tls", one.flag, "--tls", two.flag)
    for name, expected in [("one.test", one), ("two.test", two), ("a.many.test", one)]:
        with connect(server, name) as connection:
            assert connection.certificate == expected.fingerprint(), name
            assert connection.get("/a.txt").status == 200
    for name, context in [("unknown.test", client_context()), (None, client_context())]:
        with TlsConnection(server.address, context, name) as connection:
            assert connection.certificate == one.fingerprint(), name


def test_ecdsa_and_rsa_side_by_side(serve, site, authority):
    ec, rsa = authority.issue("both-ec"), authority.issue("both-rsa", kind="rsa")
    server = serve(site, "--tls", rsa.flag, "--tls", ec.flag)
    for ciphers, expected in [("ECDHE-ECDSA-AES128-GCM-SHA256", ec),
                              ("ECDHE-RSA-AES128-GCM-SHA256", rsa)]:
        context = client_context(authority.file, TLS12, ciphers=ciphers)
        with TlsConnection(server.address, context) as connection:
            assert connection.certificate == expected.fingerprint(), ciphers
            assert connection.get("/a.txt").status == 200


def test_one_file_may_hold_both(serve, site, authority, connect, tmp_path):
    pair = authority.issue("joined")
    joined = tmp_path / "joined.pem"
    joined.write_bytes(pair.certificate.read_bytes() + pair.key.read_bytes())
    with connect(serve(site, "--tls", joined)) as connection:
        assert connection.get("/a.txt").status == 200


# Client certificates.


@pytest.fixture(scope="session")
def members(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("members"), "members")


@pytest.mark.parametrize("version", [TLS12, TLS13], ids=["1.2", "1.3"])
@pytest.mark.parametrize("mode, shown, let_in", [
    ("required", "member", True), ("required", None, False), ("required", "stranger", False),
    ("required", "expired", False), ("optional", "member", True), ("optional", None, True),
    ("optional", "stranger", False)])
def test_client_certificates(serve, site, pair, authority, members, version, mode, shown, let_in):
    server = serve(site, "--tls", pair.flag, "--tls-client-auth", mode, "--tls-client-ca",
                   members.file)
    own = {None: lambda: None,
           "member": lambda: members.issue("member", ("ada",), usage="clientAuth"),
           "expired": lambda: members.issue("expired", ("bob",), days=-1, usage="clientAuth"),
           "stranger": lambda: authority.issue("stranger", ("eve",), usage="clientAuth")}[shown]()
    context = client_context(authority.file, version, pair=own)
    if let_in:
        with TlsConnection(server.address, context) as connection:
            assert connection.get("/a.txt").body == b"hello\n"
    else:
        with pytest.raises((ssl.SSLError, OSError, NoAnswer)):
            with TlsConnection(server.address, context) as connection:
                connection.get("/a.txt")


# Files that cannot be used: which, where, what was expected. Never a start without what guards.


@pytest.mark.sanitizers
@pytest.mark.parametrize("make, says", [
    (lambda d, p: ("--tls", f"{d}/absent.pem,{p.key}"), ["absent.pem", "no such file"]),
    (lambda d, p: ("--tls", f"{p.certificate},{d}/absent.key"), ["absent.key", "no such file"]),
    (lambda d, p: ("--tls", f"{p.key},{p.certificate}"), ["site-key.pem", "swapped"]),
    (lambda d, p: ("--tls", f"{d}/empty.pem,{p.key}"), ["empty.pem", "empty"]),
    (lambda d, p: ("--tls", f"{d}/text.pem,{p.key}"), ["text.pem", "CERTIFICATE"]),
    (lambda d, p: ("--tls", f"{d}/cut.pem,{p.key}"), ["cut.pem line 1", "no END line"]),
    (lambda d, p: ("--tls", f"{d}/bad.pem,{p.key}"), ["bad.pem", "line"]),
    (lambda d, p: ("--tls", f"{d}/der.pem,{p.key}"), ["der.pem", "DER"]),
    (lambda d, p: ("--tls", f"{p.certificate},{d}/other.key"),
     ["other.key", "does not belong"]),
    (lambda d, p: ("--tls", f"{p.certificate},{d}/locked.key"),
     ["locked.key", "without a password"]),
    (lambda d, p: ("--tls", f"{d},{p.key}"), ["expected a file"]),
    (lambda d, p: ("--tls", p.certificate), ["site.pem", "no key in it", "CERT,KEY"]),
    (lambda d, p: ("--tls", p.flag, "--tls-client-auth", "required", "--tls-client-ca",
                   f"{d}/absent.ca"), ["absent.ca", "no such file"]),
    (lambda d, p: ("--tls", p.flag, "--tls-client-auth", "optional", "--tls-client-ca",
                   f"{d}/empty.pem"), ["empty.pem", "CA certificates"]),
    (lambda d, p: ("--tls", p.flag, "--tls-client-auth", "required", "--tls-client-ca",
                   f"{d}/second-cut.pem"), ["second-cut.pem", "CA certificates"]),
    (lambda d, p: ("--tls", p.flag, "--tls-client-auth", "required", "--tls-client-ca",
                   p.key), ["site-key.pem", "CA certificates"]),
])
def test_a_file_that_cannot_be_used_stops_the_start(binary, site, authority, pair, tmp_path, make,
                                                    says):
    text = pair.certificate.read_text()
    (tmp_path / "empty.pem").write_text("")
    (tmp_path / "text.pem").write_text("hello\n")
    (tmp_path / "cut.pem").write_text(text[:len(text) // 2])
    (tmp_path / "second-cut.pem").write_text(text + text[:len(text) // 2])
    (tmp_path / "bad.pem").write_text(text.replace(text[100:120], "!" * 20))
    (tmp_path / "der.pem").write_bytes(ssl.PEM_cert_to_DER_cert(text))
    (tmp_path / "other.key").write_bytes(authority.issue("unrelated").key.read_bytes())
    subprocess.run(["openssl", "pkey", "-in", pair.key, "-aes256", "-passout", "pass:x", "-out",
                    tmp_path / "locked.key"], check=True, capture_output=True)
    done = run(binary, "serve", site, "--listen", "127.0.0.1:0", *make(tmp_path, pair))
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("tiderace: ") and done.stderr.count("\n") == 1, done.stderr
    for piece in says:
        assert piece in done.stderr


# The plain port.


@pytest.mark.sanitizers
@pytest.mark.parametrize("mode", ["reuseport", "queue", "shared"])
def test_the_plain_port_leads_to_https(secure, connect, mode, tmp_path):
    plain = str(tmp_path / "plain.sock")
    server = secure("--https-redirect", f"unix:{plain}", "--accept", mode, threads=2)
    port = server.address[1]
    answer = get_once(plain, "/a.txt?x=1", host="localhost:80")
    assert (answer.status, answer.get("location")) == (308, f"https://localhost:{port}/a.txt?x=1")
    with connect(server) as connection:
        assert connection.get("/a.txt?x=1").body == b"hello\n"
    server.stop()
    assert not os.path.exists(plain)


def test_a_forwarded_port_is_where_the_plain_port_leads(secure, tmp_path):
    plain = str(tmp_path / "plain.sock")
    secure("--https-redirect", f"unix:{plain}", "--https-port", "443")
    assert get_once(plain, "/a", host="tide:80").get("location") == "https://tide/a"


def test_a_redirect_is_followed_by_curl(secure, authority):
    server = secure("--https-redirect", "127.0.0.1:0")  # as --listen says, and another port
    plain = re.search(r"^redirect +(http://localhost:\d+/) leads to https", server.output, re.M)[1]
    done = subprocess.run(["curl", "-sSL", "--noproxy", "*", "--cacert", authority.file,
                           f"{plain}a.txt"], capture_output=True, timeout=100)
    assert done.stdout == b"hello\n", done.stderr


@pytest.mark.parametrize("host, target, status", [
    ("evil.test/", "/", 400), ("user@evil.test", "/", 400), ("", "/", 400), (None, "/", 400),
    ("localhost", "//evil.test/", 308), ("localhost", "/\\evil.test", None)])
def test_the_plain_port_is_no_open_redirect(secure, tmp_path, host, target, status):
    plain = str(tmp_path / "plain.sock")
    server = secure("--https-redirect", f"unix:{plain}")
    answer = get_once(plain, target, host=host)
    assert status is None or answer.status == status
    if answer.status == 308:
        start = f"https://localhost:{server.address[1]}/"
        assert answer.get("location").startswith(start)


def test_challenges_of_a_certificate_authority_reach_the_folder(serve, pair, tmp_path):
    root = tmp_path / "root"
    (root / ".well-known/acme-challenge").mkdir(parents=True)
    (root / ".well-known/acme-challenge/token").write_text("proof")
    (root / "secret.txt").write_text("secret")
    plain = str(tmp_path / "plain.sock")
    (root / "index.html").write_text("secret front page")
    (root / ".well-known/acme-challenge/link").symlink_to("../../secret.txt")
    (root / ".well-known/acme-challenge/deep").mkdir()
    serve(root, "--tls", pair.flag, "--https-redirect", f"unix:{plain}", "--basic-auth", "ada:x",
          "--spa", "--listing", "--clean-urls")
    assert get_once(plain, "/.well-known/acme-challenge/token").body == b"proof"
    for target in ("absent", "", "deep", "deep/", "link", "token/", "a/b.html"):
        answer = get_once(plain, "/.well-known/acme-challenge/" + target)
        assert answer.status == 404, target
        # The error page names the path of the request; beyond that it shows nothing of the folder.
        shown = answer.body.replace(target.encode(), b"")
        assert b"secret" not in shown and b"token" not in shown and b"proof" not in shown
    answer = get_once(plain, "/.well-known/acme-challenge/../../secret.txt")
    assert answer.status == 308 and b"secret" not in answer.body


# A certificate of our own making.


@pytest.mark.sanitizers
def test_a_development_certificate_is_made_once_and_can_be_trusted(binary, serve, site, tmp_path):
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    server = serve(site, "--tls-self-signed", env=environment)
    authority = tmp_path / "tiderace/authority.pem"
    assert authority.stat().st_mode & 0o777 == 0o600
    assert authority.parent.stat().st_mode & 0o777 == 0o700
    with TlsConnection(server.address, client_context(authority)) as connection:
        assert connection.get("/a.txt").body == b"hello\n"
        seen = connection.certificate
    said = re.sub(r"\s", "", server.output.split("SHA-256")[1])
    assert said.startswith(seen)
    with TlsConnection(server.address, client_context(authority), "127.0.0.1") as connection:
        assert connection.certificate == seen
    again = serve(site, "--tls-self-signed", env=environment)
    with TlsConnection(again.address, client_context(authority)) as connection:
        assert connection.certificate == seen
    trust = run(binary, "trust", env=environment)
    assert trust.returncode == 0 and str(authority) in trust.stdout
    assert trust.stdout.count("\n") < 40


def test_a_folder_for_it_that_cannot_be_made(binary, site, tmp_path):
    (tmp_path / "file").write_text("")
    done = run(binary, "serve", site, "--tls-self-signed", "--listen", "127.0.0.1:0",
               env={"XDG_DATA_HOME": str(tmp_path / "file")})
    assert done.returncode == 1 and "XDG_DATA_HOME" in done.stderr


def test_a_storm_of_handshakes_in_little_memory_ends_connections_and_nothing_else(
        secure, connect):
    """Handshakes that never go on, more than there is memory for."""
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not here")
    if os.environ.get("TIDERACE_SANITIZED"):
        pytest.skip("a sanitizer's own memory is beyond any limit")
    flags = "--max-connections", "20000"
    limit = peak_bytes_of_addresses(secure(*flags, threads=1).pid) + (24 << 20)
    server = secure(*flags, threads=1, prefix=["prlimit", f"--as={limit}"])
    pid = server.pid
    hello = first_flight()
    storm = []
    try:
        for _ in range(4_000):
            one = socket.create_connection(server.address, timeout=10)
            storm.append(one)
            one.sendall(hello)
        wait_until(lambda: peak_bytes_of_addresses(pid) > limit - (2 << 20), what="no memory left")
        # Some of the next clients find memory, and some do not; none of them ends the server.
        for _ in range(20):
            try:
                connect(server).close()
            except OSError:
                pass
        assert server.pid == pid
    finally:
        for one in storm:
            one.close()

    def answers():
        try:
            with connect(server) as connection:
                return connection.get("/a.txt").body == b"hello\n"
        except (OSError, NoAnswer):
            return False
    wait_until(answers, what="an answer after the storm")
    assert server.pid == pid


def moments_without_memory(log):
    """When it reported lack of memory, in seconds of the day."""
    return [int(hour) * 3600 + int(minute) * 60 + float(second) for hour, minute, second in
            re.findall(r"^\S+[T ](\d\d):(\d\d):(\d\d(?:\.\d+)?)\S* .*(?:bad_alloc|out of memory)",
                       log, re.M)]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 4])
def test_a_storm_of_tls_clients_in_256_mib_of_addresses(secure, connect, site, threads):
    """Handshakes that never go on take all memory; then other clients ask for files."""
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not here")
    if os.environ.get("TIDERACE_SANITIZED"):
        pytest.skip("a sanitizer's own memory is beyond any limit")
    most, limit = 15_000, 256 << 20
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] != resource.RLIM_INFINITY and before[1] < most + 1_000:
        pytest.skip(f"{before[1]} descriptors are too few for a storm")
    targets = ["/big.bin", "/middle.bin", "/k.bin", "/a.txt", "/dir/", "/app.js", "/nothing"]

    def is_answered(connection, target):
        """Whole, or 503, or the connection ends. False: it ended, or 503."""
        try:
            answer = connection.get(target)
        except (OSError, NoAnswer) as failure:
            assert "nothing for" not in str(failure), f"{target}: no answer, and no end"
            return False
        assert answer.status in (200, 404, 503)
        if answer.status == 200:
            name = f"{target}index.html" if target.endswith("/") else target
            assert answer.body == (site / name[1:]).read_bytes()
        return answer.status != 503

    storm, early = [], []
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 1_000, before[1]))
    try:
        server = secure("--max-connections", str(most), "--header-timeout", "1h", "--idle-timeout",
                        "1h", threads=threads, prefix=["prlimit", f"--as={limit}"])
        pid = server.pid
        early += [connect(server) for _ in targets]
        hello = first_flight()
        while peak_bytes_of_addresses(pid) < limit - (1 << 20) and len(storm) < most - 100:
            storm.append(socket.create_connection(server.address, timeout=60))
            storm[-1].sendall(hello)
        wait_until(lambda: peak_bytes_of_addresses(pid) > limit - (2 << 20), what="no memory left")
        for connection, target in zip(early, targets):
            is_answered(connection, target)

        def is_reported():
            """One more that stays, and others; the last megabyte may last for a while."""
            with contextlib.suppress(OSError):
                storm.append(socket.create_connection(server.address, timeout=60))
                storm[-1].sendall(hello)
            for target in 3 * targets:
                with contextlib.suppress(OSError), connect(server) as late:
                    is_answered(late, target)
            return moments_without_memory(server.stderr)
        wait_until(is_reported, what="the log reports that there is no memory")
        assert server.pid == pid
        moments = moments_without_memory(server.stderr)
        assert all(b - a >= 0.999 or b < a for a, b in zip(moments, moments[1:])), server.stderr
    finally:
        for one in storm + early:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    def all_are_answered():
        try:
            with connect(server) as connection:
                return all([is_answered(connection, target) for target in targets])
        except OSError:
            return False
    wait_until(all_are_answered, what="every answer after the storm")
    assert server.pid == pid
