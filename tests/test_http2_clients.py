"""The same thousand files for every client of HTTP/2 that people use: curl, nghttp2's, Go's and
Chromium. What they fetch has the bytes of the files, by their digests."""

import hashlib
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from certificates import Authority

TESTS = Path(__file__).resolve().parent
TOOLS = TESTS.parent / "build/tools"

FILES = 1000


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    root = tmp_path_factory.mktemp("thousand")
    (root / "page.html").write_text("<!doctype html><title>a page</title>")
    digests = {}
    for number in range(FILES):
        body = random.Random(number).randbytes(number * 37 % 50_000 + number % 7)
        (root / f"{number}.bin").write_bytes(body)
        digests[f"{number}.bin"] = hashlib.sha256(body).hexdigest()
    return root, digests


def compare(folder, digests):
    got = {}
    for name in digests:
        path = folder / name
        got[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "absent"
    wrong = [name for name in digests if got[name] != digests[name]]
    assert not wrong, wrong[:10]


def curl(tmp_path, url, names, *more):
    config = tmp_path / "config"
    config.write_text("".join(f'url = "{url}/{n}"\noutput = "{tmp_path}/{n}"\n' for n in names))
    subprocess.run(["curl", "--no-progress-meter", "--fail", "--noproxy", "*", *more,
                    "--config", config],
                   check=True, timeout=200, stdin=subprocess.DEVNULL)


def test_curl_fetches_a_thousand_files(serve, thousand, tmp_path):
    root, digests = thousand
    server = serve(root, "--tls-self-signed", cwd=tmp_path, env={"HOME": str(tmp_path)})
    host, port = server.address
    curl(tmp_path, f"https://{host}:{port}", digests, "--insecure", "--http2", "--parallel",
         "--parallel-max", "40")
    compare(tmp_path, digests)


def test_curl_with_prior_knowledge(serve, thousand, tmp_path):
    root, digests = thousand
    host, port = serve(root).address
    # A connection for each: with prior knowledge curl 7.88 cannot use one twice, with any server.
    some = {name: digests[name] for name in list(digests)[::50]}
    for name in some:
        curl(tmp_path, f"http://{host}:{port}", [name], "--http2-prior-knowledge")
    compare(tmp_path, some)


def test_nghttp_fetches_a_thousand_files(serve, thousand):
    root, digests = thousand
    host, port = serve(root).address
    urls = [f"http://{host}:{port}/{name}" for name in digests]
    said = subprocess.run(["nghttp", "--no-dep", *urls], check=True, timeout=200,
                          capture_output=True, stdin=subprocess.DEVNULL).stdout
    # They come one behind the other, in the order in which they were sent; each is known by its
    # first bytes.
    missing = {body[:16]: body for body in ((root / name).read_bytes() for name in digests) if body}
    assert len(missing) == FILES - 1  # one of them is empty
    at = 0
    while at < len(said):
        body = missing.pop(said[at:at + 16], None)
        assert body is not None and said.startswith(body, at), f"at byte {at} of {len(said)}"
        at += len(body)
    assert not missing


@pytest.fixture(scope="module")
def secure(binary, thousand, tmp_path_factory):
    """The files over HTTPS, and the authority to believe."""
    from server import Server
    authority = Authority(tmp_path_factory.mktemp("authority"), "authority")
    pair = authority.issue("site", hosts=("localhost", "127.0.0.1"))
    server = Server(binary, thousand[0], "--tls", pair.flag,
                    folder=tmp_path_factory.mktemp("secure"))
    try:
        server.wait_ready()
        yield "https://127.0.0.1:{1}".format(*server.address), authority
        server.stop()
    finally:
        server.kill()


@pytest.fixture(scope="session")
def go_client():
    if shutil.which("go") is None:
        pytest.skip("no Go here")
    program = TOOLS / "go_client"
    if not program.exists():
        pytest.fail(f"{program} is not built; ./dev test all builds it")
    return program


@pytest.mark.slow
def test_go_fetches_a_thousand_files(go_client, secure, thousand):
    url, authority = secure
    digests = thousand[1]
    done = subprocess.run([go_client, authority.file, "40"], timeout=200, capture_output=True,
                          check=True, text=True, input="".join(f"{url}/{n}\n" for n in digests))
    assert done.stdout.splitlines() == [f"HTTP/2.0 200 {digest} {url}/{name}"
                                        for name, digest in digests.items()]


# All at once: the browser has as many of them under way as the server lets it.
FETCH = """async names => {
  performance.setResourceTimingBufferSize(2 * names.length);
  const hex = bytes => Array.from(new Uint8Array(bytes), b => b.toString(16).padStart(2, '0'));
  const found = await Promise.all(names.map(async name => {
    const answer = await fetch('/' + name, { cache: 'no-store' });
    const digest = await crypto.subtle.digest('SHA-256', await answer.arrayBuffer());
    return [name, answer.status, hex(digest).join('')];
  }));
  const used = performance.getEntriesByType('resource').map(entry => entry.nextHopProtocol);
  return [found, used];
}"""


@pytest.mark.slow
def test_chromium_fetches_a_thousand_files(chromium, secure, thousand):
    digests = thousand[1]
    context = chromium.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.goto(secure[0] + "/page.html")
    found, protocols = page.evaluate(FETCH, list(digests))
    context.close()
    assert found == [[name, 200, digest] for name, digest in digests.items()]
    assert set(protocols) == {"h2"} and len(protocols) >= FILES
