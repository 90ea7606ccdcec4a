"""Client certificates of the TCP face and of an App (tests/samples/*_members.cc)."""

import re
import subprocess

import pytest

from certificates import Authority, Pair, openssl
from example_program import Example

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"), "harbour")


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("members"), "members")


@pytest.fixture(scope="module")
def shown(authority, members):
    """The certificates of clients, by name."""
    return {"nothing": None,
            "member": members.issue("member", ("ada",), usage="clientAuth"),
            "expired": members.issue("expired", ("bob",), days=-1, usage="clientAuth"),
            "stranger": authority.issue("stranger", ("eve",), usage="clientAuth"),
            "server": members.issue("server", ("ivy",), usage="serverAuth")}


@pytest.fixture(params=["tcp", "app"])
def program(request, binary):
    return binary.parent / f"tests/samples/sample_{request.param}_members"


@pytest.fixture
def server(program, authority, members, tmp_path):
    """Starts the sample, which requires certificates or only requests them."""
    if not program.exists():
        pytest.fail(f"{program} is not built")
    pair = authority.issue("site")
    running = []

    def start(mode):
        running.append(Example(program, "127.0.0.1:0", pair.certificate, pair.key, members.file,
                               mode, folder=tmp_path).wait_ready())
        return running[-1].places()[0]
    yield start
    try:
        for one in running:
            one.stop()
    finally:
        for one in running:
            one.kill()


def curl(address, authority, pair):
    """(exit status, body)"""
    host, port = address
    own = ["--cert", pair.certificate, "--key", pair.key] if pair else []
    done = subprocess.run(["curl", "-s", "--cacert", authority.file, "--connect-to",
                           f"localhost:{port}:{host}:{port}", *own, f"https://localhost:{port}/"],
                          capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    return done.returncode, done.stdout


def s_client(address, authority, version, pair=None):
    """The output of openssl, including the server's answer."""
    host, port = address
    own = ["-cert", pair.certificate, "-key", pair.key] if pair else []
    request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    done = subprocess.run(["openssl", "s_client", "-connect", f"{host}:{port}", "-CAfile",
                           authority.file, "-ign_eof", version, *own], input=request,
                          capture_output=True, timeout=SECONDS_MAX, check=False)
    return (done.stdout + done.stderr).decode(errors="replace")


@pytest.mark.parametrize("mode, name, says", [
    ("required", "member", "verified CN=ada\n"), ("required", "nothing", None),
    ("required", "stranger", None), ("required", "expired", None), ("required", "server", None),
    ("optional", "member", "verified CN=ada\n"), ("optional", "nothing", "nobody \n"),
    ("optional", "stranger", None), ("optional", "expired", None)])
def test_a_stream_knows_whose_certificate_was_verified(server, authority, shown, mode, name, says):
    address = server(mode)
    status, body = curl(address, authority, shown[name])
    assert (status == 0, body) == (says is not None, says or "")
    for version in ("-tls1_2", "-tls1_3"):
        said = s_client(address, authority, version, shown[name])
        assert ("HTTP/1.1 200 OK" in said) == (says is not None), said
        if says is not None:
            assert says in said, said
            assert re.search("client certificate CA names\nCN ?= ?members\n", said), said


def test_a_certificate_without_a_subject_is_verified_all_the_same(server, authority, members,
                                                                  tmp_path):
    key, request, extensions, made = (tmp_path / name for name in
                                      ("key.pem", "a.csr", "a.ext", "cert.pem"))
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    openssl("req", "-new", "-key", key, "-subj", "/", "-out", request)
    extensions.write_text("subjectAltName=critical,email:ada@harbour.example\n"
                          "extendedKeyUsage=clientAuth\n")
    openssl("x509", "-req", "-in", request, "-CA", members.file, "-CAkey", members.pair.key,
            "-days", 20, "-set_serial", 77, "-extfile", extensions, "-out", made)
    assert curl(server("required"), authority, Pair(made, key)) == (0, "verified \n")


def test_authorities_of_clients_need_a_certificate_of_the_server(binary, members, tmp_path):
    program = binary.parent / "tests/samples/sample_app_members"
    done = subprocess.run([program, "127.0.0.1:0", "", "", members.file, "plain"],
                          capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"app: verify clients by {members.file}: invalid argument; "
        "set ServeOptions::tls.certificates\n"
    )
