"""Changes under a running server: the releases of a site behind a link, and a certificate.
Each has clients that check every answer meanwhile; soak.py runs them."""

import itertools
import os
import shutil
import signal
import threading

from raw_client import Connection
from server import wait_until
from tls_client import TlsConnection, client_context

# While a release is removed, a request that began before may find nothing; so that is long after.
RELEASES_KEPT = 50


class Releases:
    """Each release is a folder of its own, in which each file consists of the release's number."""

    TARGETS = ("/release.txt", "/large.bin")

    def __init__(self, folder):
        self.folder = folder
        self.link = folder / "current"
        self.begun = self.done = 0  # numbers of releases: of the newest one, and of the served one
        self.answers = 0
        self.counting = threading.Lock()
        self.deploy()

    @staticmethod
    def content(target, number):
        """Two releases that follow each other also differ in length."""
        lines = 1 + number % 200 if target == "/release.txt" else 60_000 + number % 200
        return b"%08d\n" % number * lines

    def deploy(self):
        self.begun += 1
        release = self.folder / f"release-{self.begun}"
        release.mkdir()
        for target in self.TARGETS:
            (release / target[1:]).write_bytes(self.content(target, self.begun))
        fresh = self.folder / "next"
        fresh.symlink_to(release.name)
        os.rename(fresh, self.link)
        self.done = self.begun
        shutil.rmtree(self.folder / f"release-{self.done - RELEASES_KEPT}", ignore_errors=True)

    def read(self, connection, target=TARGETS[0]):
        """The answer is one release: whole, and none that was replaced before its request."""
        least = self.done
        answer = connection.get(target)
        most = self.begun
        assert answer.status == 200, f"{target}: {answer.status}"
        number = int(answer.body[:8])
        assert answer.body == self.content(target, number), f"{target}: mixed"
        assert least <= number <= most, f"{target}: release {number}, not {least} to {most}"
        with self.counting:
            self.answers += 1


class Deploying:
    """Releases follow each other, and clients read them."""

    def __init__(self, releases, address):
        self.releases, self.address = releases, address
        self.kinds = [self.deploying, self.reading, self.reading]

    def __str__(self):
        return f"{self.releases.done} deployments, {self.releases.answers} answers of one each"

    def deploying(self, rng):
        self.releases.deploy()
        with Connection(self.address) as connection:
            self.releases.read(connection, rng.choice(Releases.TARGETS))

    def reading(self, rng):
        with Connection(self.address) as connection:
            for _ in range(rng.randrange(1, 40)):
                self.releases.read(connection, rng.choice(Releases.TARGETS))


class Renewing:
    """A server's certificate is replaced again and again; every handshake meanwhile succeeds, and
    shows one of the two."""

    def __init__(self, authority, releases):
        self.releases = releases
        self.pairs = [authority.issue("one"), authority.issue("two")]
        self.fingerprints = [pair.fingerprint() for pair in self.pairs]
        self.place = authority.issue("served")
        self.context = client_context(authority.file)
        self.turns = itertools.cycle((0, 1))
        self.renewals = self.handshakes = 0
        self.counting = threading.Lock()
        self.kinds = [self.renewing, self.shaking_hands, self.shaking_hands]
        self.put_next()

    def put_next(self):
        """The key first, as careful deployments do. Returns the number of the pair."""
        number = next(self.turns)
        for source, target in ((self.pairs[number].key, self.place.key),
                               (self.pairs[number].certificate, self.place.certificate)):
            fresh = target.with_suffix(".fresh")
            shutil.copyfile(source, fresh)
            os.rename(fresh, target)
        return number

    def __str__(self):
        return f"{self.renewals} certificates, {self.handshakes} handshakes"

    def serve_with(self, server):
        self.server = server
        return self

    def connect(self, session=None):
        connection = TlsConnection(self.server.address, self.context, session=session)
        assert connection.certificate in self.fingerprints, "neither of the two certificates"
        with self.counting:
            self.handshakes += 1
        return connection

    def is_shown(self, number):
        with self.connect() as connection:
            self.releases.read(connection)
            return connection.certificate == self.fingerprints[number]

    def renewing(self, rng):
        number = self.put_next()
        self.server.signal(signal.SIGUSR1)
        wait_until(lambda: self.is_shown(number), what="the new certificate")
        self.renewals += 1

    def shaking_hands(self, rng):
        session = None
        for _ in range(rng.randrange(1, 6)):
            with self.connect(session) as connection:
                for _ in range(rng.randrange(1, 4)):
                    self.releases.read(connection)
                session = connection.socket.session  # the next one may resume it
