"""Files that `tiderace run FILE` never sends, whatever folder they lie in."""

from test_sites import HASH_OF_B, SERVER, HERE, basic, make, sites  # noqa: F401

PRIVATE = """
[users]
staff = "staff"
link = "link"
[users.team]
ann = "${file:team.key}"
[[site]]
hosts = ["a.example"]
root = "."
clean_urls = true
route = [
  { path = "/closed", auth = { users = "staff" } },
  { path = "/team", auth = { users = "team" } },
  { path = "/by-link", auth = { users = "link" } },
  { path = "/again", root = "sites", strip = "/again" },
]
"""


def test_the_configuration_and_its_passwords_are_sent_to_nobody(
    sites, make, tmp_path
):  # noqa: F811
    """Many start with a file beside their pages."""
    make("staff", f"b:{HASH_OF_B}\n")
    make("elsewhere/users", f"b:{HASH_OF_B}\n")
    (tmp_path / "link").symlink_to("elsewhere/users")
    make("team.key", "key\n")
    make("sites/b.toml", '[[site]]\nhosts = ["b.example"]\nroot = ".."\n')
    make("sites/other.toml", "other")
    make("page.toml", "page")
    server = sites(PRIVATE, head='include = ["sites/b.toml"]\n' + SERVER + HERE)
    names = ["tiderace.toml", "staff", "link", "elsewhere/users", "team.key", "sites/b.toml"]
    for name in ["/" + name for name in names] + ["/%74iderace.toml", "/again/b.toml"]:
        for host in ("a.example", "b.example"):
            assert server.of(host, name).status == 404, (host, name)
    # Files beside them are sent.
    assert server.of("a.example", "/page.toml").text == "page"
    assert server.of("a.example", "/again/other.toml").text == "other"
    assert server.of("a.example", "/closed", basic("b:b")).status == 404
    assert server.of("a.example", "/closed").status == 401


def test_no_folder_of_a_route_sends_the_scripts_of_the_site(sites, make):  # noqa: F811
    for folder in ("", "www/", "www/wp/"):
        make(folder + "x.php", "<?php source")
        make(folder + "x.txt", "text")
    server = sites("""
[[site]]
root = "www"
route = [
  { path = "/wp/*.php", fastcgi = "127.0.0.1:9" },
  { path = "/inside", root = "www/wp", strip = "/inside" },
  { path = "/around", root = ".", strip = "/around" },
]
""")
    for path in ("/inside/x.php", "/around/www/wp/x.php"):
        assert server.of("a", path).status == 404, path
    # What no pattern matches is a file.
    for path in ("/inside/x.txt", "/around/x.php", "/around/www/x.php", "/x.php"):
        assert server.of("a", path).status == 200, path


def test_what_a_star_stands_for_leads_to_no_other_folder(sites, make):  # noqa: F811
    make("www/open/a/f", "open")
    make("www/closed/f", "closed")
    server = sites("""
[[site]]
root = "www"
hidden = true
route = [
  { path = "/closed", deny = true },
  { path = "/see/*.x", rewrite = "/open/{1}/closed/f" },
  { path = "/try/*.x", try = ["/open/{1}/closed/f", "/open/{1}/f"] },
]
""")
    for path in ("/see/...x", "/see/%2e..x", "/try/...x", "/see/..x"):
        assert server.of("a", path).status == 404, path
    assert server.of("a", "/try/a.x").text == "open"


def test_the_passwords_of_flags_are_sent_to_nobody(serve, make, tmp_path):  # noqa: F811
    users = make("users", f"b:{HASH_OF_B}\n")
    make("page", "page")
    server = serve(tmp_path, "--path-auth", f"/closed={users}")
    assert server.get("/users").status == 404
    assert server.get("/page").text == "page"
