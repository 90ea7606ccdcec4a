"""Certificates that change while the server runs: new ones serve new connections, a broken one is
told and changes nothing, and no connection is dropped for it."""

import shutil
import signal
import threading
import time

import pytest

from certificates import Authority
from raw_client import NoAnswer
from server import wait_until
from tls_client import TlsConnection, client_context

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not here")


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "tide")


def shown(server, authority):
    with TlsConnection(server.address, client_context(authority.file)) as connection:
        assert connection.get("/a.txt").body == b"hello\n"
        return connection.certificate


class Load:
    """Clients that ask without end, some on one connection, some on a new one each time."""

    def __init__(self, server, authority, count=4):
        self.server, self.context = server, client_context(authority.file)
        self.failures, self.answers, self.running = [], 0, True
        self.threads = [threading.Thread(target=self.ask, args=(i % 2 == 0,))
                        for i in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        for thread in self.threads:
            thread.join(30)

    def ask(self, keeps):
        try:
            while self.running:
                with TlsConnection(self.server.address, self.context) as connection:
                    for _ in range(1_000_000 if keeps else 1):
                        assert connection.get("/a.txt").body == b"hello\n"
                        self.answers += 1
                        time.sleep(0.005)  # the processors are not what is tested
                        if not self.running:
                            break
        except Exception as failure:  # told by the test, not lost in a thread
            self.failures.append(failure)


@pytest.mark.sanitizers
def test_new_files_are_seen_under_load_and_nobody_is_dropped(serve, site, authority):
    pair = authority.issue("site")
    server = serve(site, "--tls", pair.flag, threads=2)
    with TlsConnection(server.address, client_context(authority.file)) as old, \
            Load(server, authority) as load:
        first = old.certificate
        assert old.get("/a.txt").body == b"hello\n"
        assert first == pair.fingerprint()
        for _ in range(3):
            authority.issue("site")
            wait_until(lambda: shown(server, authority) == pair.fingerprint(),
                       what="the new certificate")
        assert pair.fingerprint() != first
        assert old.get("/a.txt").body == b"hello\n"
        wait_until(lambda: load.answers > 100 or load.failures, what="some load")
    assert load.failures == []


@pytest.mark.sanitizers
def test_a_signal_looks_at_the_files_at_once(serve, site, authority):
    pair = authority.issue("site")
    server = serve(site, "--tls", pair.flag, threads=2)
    authority.issue("site")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: shown(server, authority) == pair.fingerprint(), what="the new certificate")


def test_a_broken_authority_of_clients_lets_nobody_in_and_a_mended_one_is_taken(serve, site,
                                                                               authority, tmp_path):
    pair = authority.issue("site")
    member = authority.issue("member", ("ada",), usage="clientAuth")
    members = tmp_path / "members.pem"
    members.write_bytes(authority.file.read_bytes())
    server = serve(site, "--tls", pair.flag, "--tls-client-auth", "required", "--tls-client-ca",
                   members)

    def let_in(shown):
        context = client_context(authority.file, pair=shown)
        try:
            with TlsConnection(server.address, context) as connection:
                return connection.get("/a.txt").body == b"hello\n"
        except (OSError, NoAnswer):
            return False

    assert let_in(member) and not let_in(None)
    members.write_text("nothing of use")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: "members.pem" in server.stderr, what="a word about the broken file")
    assert let_in(member) and not let_in(None)
    members.write_bytes(Authority(tmp_path, "others").file.read_bytes())
    server.signal(signal.SIGUSR1)
    wait_until(lambda: not let_in(member), what="the new authority")
    assert not let_in(None)


@pytest.mark.parametrize("breaks", ["certificate", "key", "absent"])
def test_a_broken_new_file_is_told_and_the_old_one_stays(serve, site, authority, breaks):
    pair = authority.issue("site")
    server = serve(site, "--tls", pair.flag)
    before = shown(server, authority)
    file = pair.key if breaks == "key" else pair.certificate
    whole = file.read_bytes()
    if breaks == "absent":
        file.unlink()
    else:
        file.write_bytes(whole[:100])
    server.signal(signal.SIGUSR1)
    wait_until(lambda: file.name in server.stderr, what="a word about the broken file")
    assert shown(server, authority) == before
    assert server.stderr.count(file.name) == 1
    file.write_bytes(whole)
    fresh = authority.issue("site")
    server.signal(signal.SIGUSR1)
    wait_until(lambda: shown(server, authority) == fresh.fingerprint(), what="the mended files")
