"""Readers that stall are reset, over each protocol; slow ones keep their downloads."""

import contextlib
import os
import shutil
import socket
import subprocess

import pytest

from certificates import Authority
from h2_client import HUGE_WINDOW, Client
from kernel_sockets import kernel_sockets, needs_table, wait_until_nothing_is_kept
from raw_client import request
from server import wait_until
from tls_client import client_context

pytestmark = [
    needs_table,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not here")]

READERS = 20
INITIAL_WINDOW_SIZE = 4  # of SETTINGS


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("stalled"), "tide").issue("site", ("localhost",))


class Reader:
    """Asks for /huge.bin, takes the head and the first bytes of its body, and nothing more."""

    def __init__(self, address, protocol, is_secure):
        self.plain = socket.socket()
        self.plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        self.plain.settimeout(60)
        self.plain.connect(address)
        self.spoken = self.plain
        if is_secure:
            context = client_context(alpn=[{"h1": "http/1.1", "h2": "h2"}[protocol]])
            self.spoken = context.wrap_socket(self.plain, server_hostname="localhost")
        if protocol == "h1":
            self.spoken.sendall(request("/huge.bin"))
            assert self.spoken.recv(64).startswith(b"HTTP/1.1 200 ")
        else:
            # No window of HTTP/2's holds anything back: TCP's alone is closed.
            client = Client(address, {INITIAL_WINDOW_SIZE: (1 << 31) - 1}, HUGE_WINDOW, self.spoken)
            stream = client.get("/huge.bin")
            client.wait(lambda: client.streams[stream].body, what="the beginning of a body")
            assert client.streams[stream].status == 200

    def close(self):
        self.spoken.close()

    def ends_by_reset(self):
        """Takes what had arrived, without a look at it."""
        raw = socket.socket(fileno=self.spoken.detach())
        self.spoken = raw
        raw.settimeout(60)
        try:
            while raw.recv(1 << 18):
                pass
        except ConnectionResetError:
            return True
        return False


# HTTP/1 in the clear: test_http1_behaviour.py, on every engine there is.
@pytest.mark.parametrize("protocol, is_secure", [("h1", True), ("h2", False), ("h2", True)])
def test_the_kernel_keeps_nothing_for_them(serve, huge_site, pair, engine, protocol, is_secure):
    flags = ["--tls", pair.flag] if is_secure else []
    # At the default rate, what their sockets hold would buy them ten times the time-out.
    server = serve(huge_site, "--write-timeout", "1s", "--min-send-rate", "64KiB", *flags,
                   engine=engine)
    baseline = server.sockets()
    with contextlib.ExitStack() as stack:
        readers = []
        for _ in range(READERS):
            readers.append(Reader(server.address, protocol, is_secure))
            stack.callback(readers[-1].close)
        unsent = wait_until_nothing_is_kept(server, baseline)
        assert unsent > READERS * 100_000  # there was something to give back
        assert all(reader.ends_by_reset() for reader in readers)


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
def test_a_stream_whose_window_stays_closed_is_reset_and_its_connection_serves_on(
        serve, huge_site, pair, engine, is_secure):
    """Its bytes never reached the kernel, so there is nothing to give back."""
    flags = ["--tls", pair.flag] if is_secure else []
    server = serve(huge_site, "--write-timeout", "1s", *flags, engine=engine)
    plain = socket.create_connection(server.address, 60)
    spoken = client_context(alpn=["h2"]).wrap_socket(
        plain, server_hostname="localhost") if is_secure else plain
    with Client(server.address, sock=spoken) as client:
        stalled = client.get("/huge.bin")
        assert client.answer(stalled).reset is not None
        assert len(client.streams[stalled].body) == 65_535
        assert client.answer(client.get("/a.txt")).body == b"hello\n"
        wait_until(lambda: not any(count for _, count in kernel_sockets(server.address[1])),
                   what="the last answer acknowledged")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_a_slow_download_goes_on_however_coarsely_the_windows_open(serve, huge_site, pair, engine):
    """Our kernel takes megabytes at once, and a window opens by 64 KiB: at 20 kB/s both take longer
    than the time-out."""
    flags = ["--write-timeout", "1s"]
    plain = serve(huge_site, *flags, engine=engine)
    secure = serve(huge_site, "--tls", pair.flag, *flags, engine=engine)
    wanted = [(plain, "http", "--http1.1"), (plain, "http", "--http2-prior-knowledge"),
              (secure, "https", "--http1.1"), (secure, "https", "--http2")]
    downloads = [
        subprocess.Popen(["curl", "-sS", "-k", version, "-o", os.devnull, "--limit-rate", "20000",
                          "--max-time", "6", f"{scheme}://127.0.0.1:{server.address[1]}/huge.bin"],
                         stderr=subprocess.PIPE, text=True)
        for server, scheme, version in wanted]
    for download, (_, *what) in zip(downloads, wanted):
        _, said = download.communicate(timeout=60)
        assert download.returncode == 28, (what, said)  # curl's own time was over
