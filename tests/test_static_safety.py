"""Files that must never be served: hidden names, paths outside the root, special files."""

import os
import socket
import stat

import pytest

from server import Server


# Files that are not served.

HIDDEN = ["/.hidden", "/.git/config", "/.git/", "/.git", "/dir/.env", "/%2ehidden",
          "/%2Egit/config", "/./.hidden", "/dir/../.hidden", "/...", "/..double"]


@pytest.mark.parametrize("target", HIDDEN)
def test_hidden_names_are_not_found(head_server, target):
    answer = head_server.get(target)
    assert answer.status in (403, 404)
    assert b"SECRET" not in answer.body and b"[core]" not in answer.body
    assert answer.get("location") is None


def test_hidden_names_can_be_served(serve, site):
    server = serve(site, "--hidden")
    assert server.get("/.hidden").body == b"hidden\n"
    assert server.get("/.git/config").body == b"[core]\n"
    assert server.get("/...").body == b"three dots\n"


TRAVERSALS = [
    "/../outside.txt", "/../../outside.txt", "/..%2foutside.txt", "/..%2Foutside.txt",
    "/%2e%2e/outside.txt", "/%2e./outside.txt", "/.%2e/outside.txt", "/%2e%2e%2foutside.txt",
    "/dir/../../outside.txt", "/dir/%2e%2e/%2e%2e/outside.txt", "/dir/..%2f..%2foutside.txt",
    "/..%5coutside.txt", "/..\\outside.txt", "/%5c..%5coutside.txt", "/dir\\..\\..\\outside.txt",
    "/%252e%252e/outside.txt", "/%252e%252e%252foutside.txt", "/..%252foutside.txt",
    "/%c0%ae%c0%ae/outside.txt", "/%c0%ae%c0%ae%c0%afoutside.txt", "/..%c0%afoutside.txt",
    "/..%e0%80%afoutside.txt", "/%e0%80%ae%e0%80%ae/outside.txt", "/%uff0e%uff0e/outside.txt",
    "//../outside.txt", "/./../outside.txt", "/.//../outside.txt", "///../outside.txt",
    "/dir//../..//outside.txt", "/a.txt/../../outside.txt", "/absent/../../outside.txt",
    "/;/../outside.txt", "/..;/outside.txt", "/..;x=1/outside.txt", "/dir/....//outside.txt",
    "/..%00/outside.txt", "/..%0d%0a/outside.txt", "/%00/../outside.txt", "/a.txt%00.html",
    "/..", "/../", "/..%2f", "/.%2e", "/%2e%2e", "/../root/../outside.txt",
    "/" + "../" * 100 + "etc/passwd", "/" + "%2e%2e/" * 100 + "etc/passwd", "//etc/passwd",
    "/%2fetc/passwd", "/%2f%2fetc/passwd", "/file:///etc/passwd", "/proc/self/environ",
    "http://x/../outside.txt", "http://x/%2e%2e/outside.txt", "http://x/..%2foutside.txt",
    "/link-out", "/link-out-dir/outside.txt", "/link-up/outside.txt", "/link-up/root/a.txt",
    "/link-abs", "/link-loop", "/link-dangling", "/link-in-out", "/?/../outside.txt",
]


@pytest.fixture(scope="module")
def guarded(binary, tmp_path_factory):
    above = tmp_path_factory.mktemp("above")
    root = above / "root"
    (root / "dir").mkdir(parents=True)
    (above / "outside.txt").write_text("OUTSIDE")
    (root / "a.txt").write_text("hello\n")
    (root / "dir/b.txt").write_text("b\n")
    (root / "link-in").symlink_to("a.txt")
    (root / "dir/link-in").symlink_to("../a.txt")
    (root / "link-dir").symlink_to("dir")
    (root / "link-out").symlink_to("../outside.txt")
    (root / "link-abs").symlink_to("/etc/passwd")
    (root / "link-out-dir").symlink_to("..")
    (root / "link-up").symlink_to("dir/../..")
    (root / "link-in-out").symlink_to("link-out")
    (root / "link-loop").symlink_to("link-loop")
    (root / "link-dangling").symlink_to("nowhere")
    servers = {}
    try:
        for policy in ("inside", "anywhere", "never"):
            servers[policy] = Server(binary, root, "--symlinks", policy, "--listing",
                                     folder=tmp_path_factory.mktemp("guarded"))
        for server in servers.values():
            server.wait_ready()
        yield servers
        for server in servers.values():
            server.stop()
    finally:
        for server in servers.values():
            server.kill()


@pytest.mark.sanitizers
@pytest.mark.parametrize("target", TRAVERSALS)
def test_nothing_outside_the_root_is_reached(guarded, target):
    for policy in ("inside", "never"):
        with guarded[policy].connect() as connection:
            answer = connection.get(target)
            assert b"OUTSIDE" not in answer.body and b"root:" not in answer.body
            assert answer.status >= 400 or b"outside.txt" not in answer.body
            assert answer.status in (200, 301, 308, 400, 403, 404)


def test_links_are_followed_as_far_as_the_policy_says(guarded):
    def statuses(policy, *targets):
        return [guarded[policy].get(t).status for t in targets]
    assert statuses("inside", "/link-in", "/dir/link-in", "/link-dir/b.txt") == [200] * 3
    assert statuses("anywhere", "/link-in", "/link-out", "/link-out-dir/outside.txt") == [200] * 3
    # The reason for a refused link does not show: it is as absent as a missing name.
    forbidden = ("/link-out", "/link-out-dir/", "/link-out-dir/outside.txt", "/link-up/root/a.txt",
                 "/link-abs", "/link-loop", "/link-dangling", "/link-in-out", "/absent")
    for policy in ("inside", "never"):
        assert statuses(policy, *forbidden) == [404] * len(forbidden), policy
    assert statuses("never", "/link-in", "/dir/link-in", "/link-dir/b.txt") == [404] * 3
    assert statuses("anywhere", "/link-loop", "/link-dangling") == [404] * 2


def test_the_root_itself_may_be_a_link(serve, site, tmp_path):
    (tmp_path / "link").symlink_to(site)
    assert serve(tmp_path / "link").get("/a.txt").body == b"hello\n"


@pytest.mark.sanitizers
def test_a_fifo_a_socket_and_a_device_are_not_opened(serve, folder):
    os.mkfifo(folder / "fifo")
    (folder / "a.txt").write_text("hello\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        made_device = False
        try:
            os.mknod(folder / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            made_device = True
        except OSError:
            pass  # not root: no device to try
        server = serve(folder)
        for name in ["fifo", "socket"] + ["zero"] * made_device:
            for method in ("GET", "HEAD"):
                assert server.get("/" + name, method=method).status in (403, 404), name
        assert server.get("/a.txt").text == "hello\n"
