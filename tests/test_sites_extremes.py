"""`tiderace run FILE` with very many and very long things, and with a full disk."""

from raw_client import get_once
from server import run, wait_until
from test_sites import HERE, SERVER, make, sites  # noqa: F401


def test_ten_thousand_hosts_of_a_site(sites, make):  # noqa: F811
    make("www/index.html", "here")
    hosts = ", ".join(f'"h{number}.example.org"' for number in range(10_000))
    server = sites(f'[[site]]\nroot = "www"\nhosts = [{hosts}]\n')
    for host in ("h0.example.org", "H5000.Example.Org.", "h9999.example.org:8080"):
        assert server.of(host).body == b"here", host
    assert server.of("h10000.example.org").status == 421


def test_ten_thousand_sites(sites):  # noqa: F811
    text = "".join(
        f'[[site]]\nhosts = ["h{number}.example.org"]\nrespond = "site {number}"\n'
        for number in range(10_000)
    )
    server = sites(text)
    for number in (0, 5_000, 9_999):
        assert server.of(f"h{number}.example.org").body == f"site {number}".encode()
    assert server.of("example.org").status == 421


def test_a_hundred_addresses(sites, make):  # noqa: F811
    make("www/index.html", "here")
    server = sites('[[site]]\nroot = "www"\n', head=SERVER + HERE * 100, listeners=100)
    ports = {address[1] for address in server.places()}
    assert len(ports) == 100
    assert all(get_once(("127.0.0.1", port), "/").body == b"here" for port in ports)


def test_a_file_of_ten_megabytes(binary, make):  # noqa: F811
    line = "# a comment that is as long as a line of a file usually is\n"
    file = make("tiderace.toml", HERE + line * (10_000_000 // len(line)) + "[[site]]\nrout = 1\n")
    done = run(binary, "check", file)
    assert done.returncode == 1
    number = file.read_text().count("\n")
    assert f"tiderace.toml:{number}:1: error: " in done.stderr
    assert len(done.stderr) < 1_000


def test_files_that_include_each_other(binary, make):  # noqa: F811
    first = make("a.toml", 'include = ["b.toml"]\n[[site]]\nrespond = "a"\n')
    make("b.toml", 'include = ["c.toml"]\n')
    make("c.toml", 'include = ["a.toml"]\n')
    done = run(binary, "check", first)
    assert done.returncode == 1
    assert f"c.toml:1:12: error: {first} includes itself" in done.stderr
    make("c.toml", 'include = ["c.toml"]\n')
    assert "c.toml includes itself" in run(binary, "check", first).stderr


def test_a_log_on_a_full_disk_ends_no_answer(sites, make):  # noqa: F811
    make("www/index.html", "here")
    text = '[log]\naccess = "/dev/full"\n[[site]]\nroot = "www"\n'
    server = sites(text)
    assert all(server.of("x").body == b"here" for _ in range(100))
    wait_until(lambda: "no space left on device" in server.stderr, what="the trouble")
    assert server.of("x").body == b"here"
