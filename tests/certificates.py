"""Certificates for the tests, made by the openssl command: authorities, sites, clients."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


def openssl(*words, stdin=b""):
    done = subprocess.run(["openssl", *map(str, words)], input=stdin, capture_output=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@dataclass(frozen=True)
class Pair:
    certificate: Path
    key: Path

    @property
    def flag(self):
        """The value of --tls."""
        return f"{self.certificate},{self.key}"

    def fingerprint(self):
        return openssl("x509", "-in", self.certificate, "-noout", "-fingerprint",
                       "-sha256").decode().strip().split("=")[1]


def make_key(path, kind):
    if kind == "rsa":
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", path)
    else:
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


class Authority:
    def __init__(self, folder, name):
        self.folder, self.name, self.made = Path(folder), name, 0
        self.pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}-key.pem")
        make_key(self.pair.key, "ec")
        openssl("req", "-x509", "-new", "-key", self.pair.key, "-subj", f"/CN={name}", "-days", 30,
                "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", self.pair.certificate)

    @property
    def file(self):
        return self.pair.certificate

    def issue(self, stem, hosts=("localhost",), kind="ec", days=20, usage="serverAuth"):
        """A certificate for these names (an address is one as well), and its key, in files of the
        stem's name; made again, it replaces them at once, as a careful deployment does."""
        self.made += 1
        pair = Pair(self.folder / f"{stem}.pem", self.folder / f"{stem}-key.pem")
        fresh = Pair(self.folder / f".{stem}.pem", self.folder / f".{stem}-key.pem")
        request, extensions = self.folder / f".{stem}.csr", self.folder / f".{stem}.ext"
        make_key(fresh.key, kind)
        openssl("req", "-new", "-key", fresh.key, "-subj", f"/CN={hosts[0]}", "-out", request)
        names = ",".join(f"IP:{h}" if h[0].isdigit() or ":" in h else f"DNS:{h}" for h in hosts)
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage={usage}\n"
                              "basicConstraints=critical,CA:FALSE\n")
        openssl("x509", "-req", "-in", request, "-CA", self.pair.certificate, "-CAkey",
                self.pair.key, "-days", days, "-set_serial", 1000 + self.made, "-extfile",
                extensions, "-out", fresh.certificate)
        fresh.key.rename(pair.key)
        fresh.certificate.rename(pair.certificate)
        return pair
