"""`tiderace db`: the migrations of a database, by the real program, on SQLite. What PostgreSQL and
MariaDB do is tested in server/db_commands_test.cc, whose fixture starts their servers."""

import sqlite3

import pytest

from server import run

pytestmark = pytest.mark.sanitizers


@pytest.fixture
def migrations(tmp_path):
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_members.sql").write_text("create table member (id integer, name text);\n")
    (folder / "0002_first.sql").write_text("insert into member values (1, 'Ada');\n")
    return folder


def test_migrations_are_done_once_and_listed(binary, migrations, tmp_path):
    url = f"sqlite:{tmp_path}/app.db"
    done = run(binary, "db", "status", url, migrations)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0001_members  pending\n0002_first    pending\n"
    assert not (tmp_path / "app.db").exists()
    done = run(binary, "db", "migrate", url, migrations)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"done  0001_members\ndone  0002_first\n{url}: 2 migrations done, 0 before\n"
    )
    done = run(binary, "db", "migrate", url, migrations)
    assert "nothing to do" in done.stdout and done.returncode == 0
    with sqlite3.connect(tmp_path / "app.db") as database:
        assert database.execute("select name from member").fetchall() == [("Ada",)]


def test_what_goes_wrong_is_said_in_one_line_with_status_1(binary, migrations, tmp_path):
    url = f"sqlite:{tmp_path}/app.db"
    (migrations / "0003_bad.sql").write_text("select 1;\nselect n from nowhere;\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, says in [
        (["migrate", url, migrations], "migration 0003_bad.sql: line 2: no such table: nowhere"),
        (["migrate", url, empty], "is called NUMBER_NAME.sql"),
        (["migrate", url, tmp_path / "none"], "cannot read"),
        (["migrate", "sqlite:/nowhere/app.db", migrations], "/nowhere/app.db"),
        (["status", "postgres://x:secret@127.0.0.1:9/y", migrations], "127.0.0.1:9"),
    ]:
        done = run(binary, "db", *words)
        assert done.returncode == 1 and done.stdout == "", done
        assert done.stderr.startswith("tiderace db: ") and done.stderr.count("\n") == 1
        assert says in done.stderr and "secret" not in done.stderr


@pytest.mark.parametrize("words, says", [
    (["migrate"], "a database and a folder"), (["migrate", "x:y", "z"], "sqlite:"),
    (["stats", "sqlite:x", "y"], "status"), (["migrate", "--now", "sqlite:x", "y"], "--now"),
])
def test_wrong_words_have_status_2(binary, words, says):
    done = run(binary, "db", *words)
    assert done.returncode == 2 and done.stdout == "" and says in done.stderr


def test_the_url_may_come_from_the_environment(binary, migrations, tmp_path):
    environment = {"DATABASE_URL": f"sqlite:{tmp_path}/app.db"}
    done = run(binary, "db", "migrate", "-", migrations, env=environment)
    assert done.returncode == 0 and (tmp_path / "app.db").exists()


def test_a_program_without_it_says_what_is_missing(binary, tmp_path):
    alone = tmp_path / "tiderace"
    alone.write_bytes(binary.read_bytes())
    alone.chmod(0o755)
    done = run(alone, "db", "status", "sqlite:x", "y")
    assert done.returncode == 1 and "tiderace-db" in done.stderr
