"""The commands around a configuration file: schema, fmt, dump, init, import."""

import json
import re
import shutil
import sys
import subprocess
import tempfile
import tomllib
from pathlib import Path

import jsonschema
import pytest

from certificates import Authority

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tools"))
import docs_keys  # noqa: E402

BLOCKS = re.findall(r"^```toml\n(.*?)^```", (REPOSITORY / "docs/sites.md").read_text(), re.M | re.S)


def use(binary, *words, status=0, **more):
    """The output of a command that ends with `status`."""
    done = subprocess.run(
        [binary, *map(str, words)], capture_output=True, text=True, timeout=60, **more
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


# tiderace schema.


@pytest.fixture(scope="module")
def schema(binary):
    return json.loads(use(binary, "schema").stdout)


@pytest.fixture(scope="module")
def is_valid(schema):
    return jsonschema.Draft202012Validator(schema).is_valid


def keys_of(schema):
    """(table, key, its schema) of all of them; "top" is the file itself."""
    tables = docs_keys.tables_of(schema)
    return [(table, key, text) for table, keys in tables.items() for key, text in keys.items()]


def test_the_schema_is_one_of_the_draft(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert len(keys_of(schema)) > 90


def test_each_block_of_the_documents_is_valid(schema):
    assert len(BLOCKS) >= 3
    for block in BLOCKS:
        jsonschema.validate(tomllib.loads(block), schema)


def test_what_serve_prints_is_valid(binary, schema):
    text = use(
        binary,
        *"serve --print-config --listing --max-body 5MiB --threads 2".split(),
        *"--path-rate /a=60 --path-redirect /b=/c --mime glb=model/x --error-page 404=x".split(),
    ).stdout
    jsonschema.validate(tomllib.loads(text), schema)


WRONG = [
    "[limits]\nheader_timeout = 10\n",
    '[limits]\nheader_timeout = "10"\n',
    '[limits]\nheader_timeout = "10 seconds"\n',
    '[limits]\nbody_max = "1XB"\n',
    '[server]\nthreads = "two"\n',
    "[server]\nthreads = 2.5\n",
    "[server]\nthreads = 5000\n",
    '[log]\nformat = "jsno"\n',
    '[[site]]\nroot = "www"\nindx = ["a"]\n',
    '[site]\nroot = "www"\n',
    '[[site]]\nhosts = "a.example"\n',
    "[[site]]\nroute = [{ method = 5 }]\n",
    '[[site]]\nroute = [{ path = "/a", redirect = "a" }]\n',
    '[[site]]\nroute = [{ path = "/a", hosts = ["a"] }]\n',
    '[[site]]\nrate = { limit = "many" }\n',
    "[[site]]\nstatus = 99\n",
    '[[site]]\nerror_pages = { "404.html" = 404 }\n',
    '[preset.a]\npath = "/a"\n',
    '[upstream.a]\nservers = ["127.0.0.1:1"]\n',
    "[[listen]]\nbacklog = 5\n",
    '[admin]\nmode = "0600"\n',
]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_not(is_valid, text):
    assert not is_valid(tomllib.loads(text))


@pytest.mark.slow  # an npm package, which tools/suite_needs.py installs
def test_ajv_judges_as_this_validator_does(schema):
    installed = REPOSITORY / "build/tools/ajv"
    if not (installed / "installed-lock.json").exists():
        pytest.skip(f"no {installed}: ./dev test all installs it, with Node.js 18.16 or newer")
    asked = {
        "schema": schema,
        "right": [tomllib.loads(block) for block in BLOCKS],
        "wrong": [tomllib.loads(text) for text in WRONG],
    }
    words = ["node", REPOSITORY / "tests/ajv/validate.mjs", installed]
    done = subprocess.run(
        words, input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_variables_may_stand_in_the_place_of_values(is_valid):
    assert is_valid(
        tomllib.loads(
            '[limits]\nheader_timeout = "${T:-10s}"\nbody_max = "${M}"\n[log]\nformat = "${F}"\n'
            '[[site]]\nredirect = "${TO}"\nrate = { limit = "${N}/min" }\n'
        )
    )


@pytest.fixture
def folder():
    """Everything that an example names. `check` would report that the user to serve as cannot
    enter root's own folders."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for inner in ("www", "programs", "sites"):
            (folder / inner).mkdir()
        for page in ("404.html", "index.html"):
            (folder / "www" / page).write_text("none\n")
        yield folder


SITE = '[[site]]\nroot = "www"\n'
PAIR = '[[tls.certificate]]\ncert = "cert.pem"\nkey = "cert-key.pem"\n'
NAMED = '[users.staff]\nann = "only an example"\n[preset.plain]\ncompress = "off"\n'
ROUTE = SITE + '[[site.route]]\npath = "/api"\n{}'
# The rest of a file in which a table has one more key.
AROUND = {
    "top": "{}" + SITE,
    "file_cache": "[server.file_cache]\n{}" + SITE,
    "listen": '[[listen]]\naddress = ":8080"\n{}' + SITE,
    "tls": "[tls]\n{}" + SITE,
    "site": NAMED + SITE + "{}",
    "route": NAMED + ROUTE,
    "response": SITE + "response.{}",
    "rate": SITE + 'rate.limit = "9/s"\nrate.{}',
    "auth": NAMED + SITE + "auth.{}",
    ("top", "site"): "{}",
    ("admin", "mode"): '[admin]\nsocket = "admin.sock"\n{}' + SITE,
    ("listen", "address"): "[[listen]]\n{}" + SITE,
    ("listen", "redirect_to_https"): '[[listen]]\naddress = ":8443"\n[[listen]]\n'
    'address = ":8080"\n{}' + PAIR + SITE,
    ("tls", "certificate"): "[tls]\n{}" + SITE,
    ("tls", "public_port"): "[tls]\nself_signed = true\n{}" + SITE,
    ("tls", "client_auth"): '[tls]\nclient_ca = "ca.pem"\n{}' + PAIR + SITE,
    ("tls", "client_ca"): '[tls]\nclient_auth = "required"\n{}' + PAIR + SITE,
    ("certificate", "cert"): '[[tls.certificate]]\nkey = "cert-key.pem"\n{}' + SITE,
    ("certificate", "key"): '[[tls.certificate]]\ncert = "cert.pem"\n{}' + SITE,
    ("site", "hsts"): PAIR + SITE + "{}",
    ("site", "root"): "[[site]]\n{}",
    ("route", "path"): SITE + "[[site.route]]\ndeny = true\n{}",
    ("route", "metrics"): "[metrics]\n" + SITE + '[[site.route]]\nremote = "::1"\n{}',
    ("rate", "limit"): SITE + "rate.{}",
    ("log", "fields"): '[log]\nformat = "json"\n{}' + SITE,
    ("skip", "status"): "[log]\nskip.{}" + SITE,
    ("skip", "sample"): '[log]\nskip.status = "2xx"\nskip.{}' + SITE,
    ("metrics", "remote"): '[metrics]\nlisten = ":9100"\n{}' + SITE,
}
ANSWERS = ("redirect", "respond", "deny", "status")


def file_with(table, key, value):
    """A whole configuration in which the table has the key."""
    around = AROUND.get((table, key)) or AROUND.get(table) or f"[{table}]\n{{}}" + SITE
    if table == "site" and key in ANSWERS:
        around = "[[site]]\n{}"
    return around.replace("{}", f"{key} = {docs_keys.toml(value)}\n")


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not here")
def test_the_example_of_each_key_is_right(binary, schema, folder):
    Authority(folder, "ca").issue("cert")
    shutil.copy(folder / "cert-key.pem", folder / "key.pem")
    (folder / "certs").mkdir()
    shutil.copy(folder / "cert.pem", folder / "certs/a.pem")
    shutil.copy(folder / "cert-key.pem", folder / "certs/a.key")
    (folder / "sites/a.toml").write_text('[[site]]\nhosts = ["a.example"]\nroot = "../www"\n')
    wrong = []
    for table, key, text in keys_of(schema):
        if table == "preset" or "examples" not in text:
            continue
        whole = file_with(table, key, text["examples"][0])
        jsonschema.validate(tomllib.loads(whole), schema)
        (folder / "tiderace.toml").write_text(whole)
        done = subprocess.run(
            [binary, "check", "tiderace.toml"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if (done.returncode, done.stderr) != (0, ""):
            wrong.append(f"{table} {key}:\n{whole}{done.stdout}{done.stderr}")
    assert not wrong, "\n".join(wrong)


def test_each_key_has_a_page(schema):
    pages = docs_keys.pages(schema)
    for table, key, text in keys_of(schema):
        names = {f"{it}.{key}.md" for it in (table, "site")} | {f"{key}.md"}
        assert table == "preset" or names & pages.keys(), (table, key)
        assert table == "preset" or f"[`{key}`](" in pages["index.md"]
    assert pages["limits.head_max.md"].endswith(
        '| default | `"32KiB"` |\n| in | `[limits]` |\n| flag | `--max-head` |\n'
        "| in nginx | `large_client_header_buffers` |\n| in Caddy | `max_header_size` |\n\n"
        '```toml\n[limits]\nhead_max = "32KiB"\n```\n'
    )
    assert "| in | `[[site]]`, `[[site.route]]`, `[preset.NAME]` |" in pages["site.compress.md"]
    assert '[[site.route]]\npath = "/api"\nfastcgi = ' in pages["route.fastcgi.md"]
    assert "[[site]]\nrate.limit = " in pages["rate.limit.md"]


def test_what_an_example_of_a_page_shows_is_toml(schema):
    for text in docs_keys.pages(schema).values():
        for block in re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S):
            tomllib.loads(block)
