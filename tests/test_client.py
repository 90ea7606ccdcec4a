"""The library's HTTP client (examples/fetch) against real servers: ours, nginx, and bad ones."""

import contextlib
import email
import email.policy
import os
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from certificates import Authority
from load_servers import needs_nginx, nginx
from server import wait_until

DEADLINE = 60


@pytest.fixture
def fetch(binary):
    program = binary.parent / "examples" / "fetch" / "fetch"
    if not program.exists():
        pytest.fail(f"{program} is not built")

    def ask(*words, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        return subprocess.run([program, *map(str, words)], capture_output=True, timeout=DEADLINE,
                              env={**clean, **variables}, check=False)
    return ask


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("client-authority"), "client")


@contextlib.contextmanager
def listener(serve_one):
    """Calls serve_one(socket) for each connection, on a thread, until the test is over."""
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    seen.append(connection)
                    threading.Thread(target=work, args=(connection,)).start()

        def work(connection):
            with connection, contextlib.suppress(OSError):
                serve_one(connection)
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(DEADLINE)
            for connection in seen:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def read_head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise OSError("ended")
        data += piece
    return data


def pass_on(source, target):
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def test_it_asks_our_server_in_clear_and_over_tls(fetch, serve, tmp_path, authority):
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("one\n" * 5000)
    (root / "big.bin").write_bytes(os.urandom(3_000_000))
    pair = authority.issue("site", ("localhost", "127.0.0.1"))
    plain = serve(root)
    host, port = plain.address[:2]
    got = fetch(f"http://{host}:{port}/a.txt", f"http://{host}:{port}/big.bin")
    assert got.returncode == 0, got.stderr
    assert got.stdout == (root / "a.txt").read_bytes() + (root / "big.bin").read_bytes()
    assert got.stderr.endswith(b"1 connections\n")
    secure = serve(root, "--tls", pair.flag)
    port = secure.address[1]
    got = fetch("--ca", authority.file, f"https://localhost:{port}/big.bin",
                f"https://localhost:{port}/a.txt")
    assert got.returncode == 0, got.stderr
    assert got.stdout == (root / "big.bin").read_bytes() + (root / "a.txt").read_bytes()
    assert got.stderr.endswith(b"1 connections\n")
    assert b"HTTP/2.0 200" in got.stderr
    assert fetch(f"http://{host}:{plain.address[1]}/none").returncode == 1
    got = fetch("--http", "2", "--times", 100, f"http://{host}:{plain.address[1]}/big.bin")
    assert got.stderr.count(b"HTTP/2.0 200, 3000000 bytes") == 100, got.stderr
    assert got.stderr.endswith(b"1 connections\n")


def test_a_certificate_has_to_be_trusted_and_for_the_name(fetch, serve, tmp_path, authority):
    (tmp_path / "a.txt").write_text("secret")
    pair = authority.issue("other", ("other.example",))
    port = serve(tmp_path, "--tls", pair.flag).address[1]
    for words, why in (
        (["--ca", authority.file], b"hostname mismatch"),
        ([], b"unable to get local issuer certificate"),
    ):
        got = fetch(*words, f"https://localhost:{port}/a.txt")
        assert got.returncode == 1 and got.stdout == b""
        assert b"the TLS handshake failed: " + why in got.stderr


@needs_nginx
def test_it_reads_what_nginx_sends(fetch, tmp_path):
    text = b"line of text\n" * 20000
    (tmp_path / "a.txt").write_bytes(text)
    http = "gzip on; gzip_types text/plain; gzip_min_length 1; types { text/plain txt; }"
    place = ("location /moved { return 302 /a.txt; } location /post { return 201 made; }"
             " location /loop { return 301 /loop; }")
    with nginx(tmp_path, http, place) as url:
        got = fetch(url + "a.txt", url + "moved")
        assert got.returncode == 0, got.stderr
        assert got.stdout == text * 2
        assert got.stderr.count(b"/a.txt: HTTP/1.1 200, 260000 bytes") == 2
        assert got.stderr.endswith(b"1 connections\n")
        assert fetch("--post", "x", url + "post").stdout == b"made"
        assert b"too many redirects" in fetch(url + "loop").stderr
        got = fetch(url + "none")
        assert got.returncode == 1 and b"404" in got.stderr


# Its connections end after 30 requests, while many more are under way: those are sent again.
@needs_nginx
def test_it_speaks_http2_with_nginx(fetch, tmp_path, authority):
    (tmp_path / "a.txt").write_bytes(b"line of text\n" * 20000)
    pair = authority.issue("nginx", ("localhost",))
    http = (f"ssl_certificate {pair.certificate}; ssl_certificate_key {pair.key};"
            " keepalive_requests 30; http2_max_concurrent_streams 16;")
    place = "location /post { return 201 made; }"
    with nginx(tmp_path, http, place, listen="ssl http2") as url:
        url = url.replace("http://127.0.0.1", "https://localhost")
        got = fetch("--ca", authority.file, "--times", 1, url + "a.txt", url + "post")
        assert got.stderr.count(b"HTTP/2.0 20") == 2, got.stderr
        assert got.stderr.endswith(b"1 connections\n")
        got = fetch("--ca", authority.file, "--times", 200, url + "a.txt")
        assert got.returncode == 0, got.stderr
        assert got.stderr.count(b"HTTP/2.0 200, 260000 bytes") == 200
        got = fetch("--ca", authority.file, "--http", "1.1", url + "a.txt")
        assert b"HTTP/1.1 200, 260000 bytes" in got.stderr


@pytest.mark.skipif(not shutil.which("nghttpd"), reason="nghttpd is not installed")
def test_it_speaks_http2_with_nghttpd(fetch, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"line of text\n" * 20000)
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port = chosen.getsockname()[1]
    with subprocess.Popen(["nghttpd", "--no-tls", "-d", tmp_path, str(port)]) as server:
        try:
            url = f"http://127.0.0.1:{port}/a.txt"
            wait_until(lambda: fetch("--http", "2", url).returncode == 0, what="nghttpd listening")
            got = fetch("--http", "2", "--times", 200, url)
            assert got.stderr.count(b"HTTP/2.0 200, 260000 bytes") == 200, got.stderr
        finally:
            server.terminate()


def test_names_are_looked_up_and_faults_are_named(fetch, serve, tmp_path):
    (tmp_path / "a.txt").write_text("found")
    port = serve(tmp_path).address[1]
    assert fetch(f"http://localhost:{port}/a.txt").stdout == b"found"
    got = fetch("http://name.invalid/")
    assert got.returncode == 1 and b"name.invalid" in got.stderr
    got = fetch("nonsense")
    assert got.returncode == 1 and b"is no http(s) URL" in got.stderr
    assert fetch().returncode == 2


def test_https_goes_through_a_proxy(fetch, serve, tmp_path, authority):
    (tmp_path / "a.txt").write_text("through")
    pair = authority.issue("proxied", ("localhost",))
    port = serve(tmp_path, "--tls", pair.flag).address[1]
    asked = []

    def proxy(connection):
        head = read_head(connection)
        asked.append(head)
        if b"Proxy-Authorization: Basic bWU6cHc=" not in head:
            connection.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            connection.sendall(b"HTTP/1.1 200 Established\r\n\r\n")
            back = threading.Thread(target=pass_on, args=(server, connection))
            back.start()
            pass_on(connection, server)
            back.join(DEADLINE)
    url = f"https://localhost:{port}/a.txt"
    with listener(proxy) as there:
        got = fetch("--ca", authority.file, url, HTTPS_PROXY=f"http://me:pw@127.0.0.1:{there}")
        assert got.stdout == b"through", got.stderr
        assert asked[0].startswith(b"CONNECT localhost:%d HTTP/1.1\r\n" % port)
        got = fetch("--ca", authority.file, url, https_proxy=f"127.0.0.1:{there}")
        assert got.returncode == 1 and b"the proxy answered 407" in got.stderr
        got = fetch("--ca", authority.file, url, https_proxy=f"127.0.0.1:{there}",
                    NO_PROXY="localhost")
        assert got.stdout == b"through" and len(asked) == 2


def test_servers_that_end_badly_are_faults(fetch, authority):
    pair = authority.issue("bad", ("localhost",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)

    def cut(connection):
        # The body has no length, and close() is without TLS's own end.
        with context.wrap_socket(connection, server_side=True) as secure:
            read_head(secure)
            secure.sendall(b"HTTP/1.1 200 OK\r\n\r\npart of it")

    def garbage(connection):
        connection.recv(100)
        connection.sendall(b"\x00" * 1000)
    with listener(cut) as port:
        got = fetch("--ca", authority.file, f"https://localhost:{port}/")
        assert got.returncode == 1, got.stdout
        assert b"ended inside the answer" in got.stderr
    with listener(garbage) as port:
        got = fetch(f"https://localhost:{port}/")
        assert got.returncode == 1 and b"TLS handshake failed" in got.stderr
        got = fetch(f"http://localhost:{port}/")
        assert got.returncode == 1 and b"no HTTP/1 answer" in got.stderr


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
def test_it_reads_no_less_than_curl(fetch, serve, tmp_path):
    (tmp_path / "page.html").write_text("<p>page</p>" * 1000)
    port = serve(tmp_path).address[1]
    for path in ("page.html", "none"):
        url = f"http://127.0.0.1:{port}/{path}"
        curl = subprocess.run(["curl", "-s", "--compressed", "-A", "tiderace", url],
                              capture_output=True, timeout=DEADLINE, check=True)
        assert fetch(url).stdout == curl.stdout


def read_request(connection):
    """(head, body) of a request with a Content-Length, or without a body."""
    head, _, body = read_head(connection).partition(b"\r\n\r\n")
    fields = email.message_from_bytes(head.partition(b"\r\n")[2])
    length = int(fields.get("Content-Length", 0))
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            raise OSError("ended")
        body += piece
    return head, body


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


def test_forms_with_files_are_what_another_parser_reads(fetch, tmp_path):
    photo = os.urandom(1_000_000)
    (tmp_path / 'a "b".png').write_bytes(photo)
    got = []

    def serve_one(connection):
        got.append(read_request(connection))
        connection.sendall(OK)
    with listener(serve_one) as port:
        answer = fetch("--form", "title=two\r\nlines", "--form", f'photo=@{tmp_path}/a "b".png',
                       f"http://127.0.0.1:{port}/")
        assert answer.stdout == b"ok", answer.stderr
        missing = fetch("--form", f"photo=@{tmp_path}/none", f"http://127.0.0.1:{port}/")
    assert missing.returncode == 1
    assert b"none: no such file or directory" in missing.stderr
    (head, body), = got
    kind = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Type: "))
    form = email.message_from_bytes(kind + b"\r\n\r\n" + body, policy=email.policy.HTTP)
    title, picture = form.get_payload()
    assert title.get_param("name", header="content-disposition") == "title"
    assert title.get_payload(decode=True) == b"two\r\nlines"
    assert picture.get_param("name", header="content-disposition") == "photo"
    assert picture.get_filename() == "a %22b%22.png"
    assert picture.get_content_type() == "image/png"
    assert picture.get_payload(decode=True) == photo


def test_a_body_is_saved_whole_or_not_at_all(fetch, serve, tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    body = os.urandom(5_000_000)
    (folder / "big.bin").write_bytes(body)
    host, port = serve(folder).address
    saved = tmp_path / "saved" / "big.bin"
    saved.parent.mkdir()
    got = fetch("--save", saved, f"http://{host}:{port}/big.bin")
    assert got.returncode == 0, got.stderr
    assert saved.read_bytes() == body

    def cut_off(connection):
        read_head(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nhalf")
    with listener(cut_off) as there:
        assert fetch("--save", saved, f"http://127.0.0.1:{there}/").returncode == 1
    assert saved.read_bytes() == body
    assert [each.name for each in saved.parent.iterdir()] == ["big.bin"]
    full = fetch("--save", "/dev/full/x", f"http://{host}:{port}/big.bin")
    assert b"not a directory" in full.stderr


def test_a_unix_socket_takes_the_way_and_the_url_gives_the_host(fetch, tmp_path):
    heads = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()

        def work():
            connection, _ = server.accept()
            with connection:
                heads.append(read_head(connection))
                connection.sendall(OK)
        thread = threading.Thread(target=work)
        thread.start()
        got = fetch("--to", f"unix:{tmp_path}/socket", "http://docker/version",
                    http_proxy="http://127.0.0.1:1")
        thread.join(DEADLINE)
    assert got.stdout == b"ok", got.stderr
    assert heads[0].startswith(b"GET /version HTTP/1.1\r\nHost: docker\r\n")


def test_a_server_that_asks_for_patience_is_asked_again(fetch):
    times = []

    def serve_one(connection):
        read_head(connection)
        times.append(1)
        connection.sendall(OK if len(times) == 3 else
                           b"HTTP/1.1 503 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n"
                           b"Connection: close\r\n\r\n")
    with listener(serve_one) as port:
        assert fetch(f"http://127.0.0.1:{port}/").returncode == 1
        assert len(times) == 1
        assert fetch("--retries", 2, f"http://127.0.0.1:{port}/").stdout == b"ok"
    assert len(times) == 3
