"""The words of the field lead to their places in one step, however they are spelled."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import where  # noqa: E402

KNOWN = where.places()

# A word, and the places that it leads to: each is among the first LOOKED_AT that are printed, and
# the first printed is one of them.
LOOKED_AT = 5
LEADS = {
    "ETag": ["http/wire/entity_tag.h", "http/filter/made_tag.h"],
    "MIME": ["http/wire/mime.h"],
    "413": ["http/wire/refusal.h", "http/app/body/whole_body.h"],
    "100-continue": ["http/wire/framing.h", "http/h1/exchange.h"],
    "keep-alive": ["http/h1/connection.h", "http/h1/exchange.h"],
    "SETTINGS": ["http/wire/h2/settings.h", "http/h2/connection.h"],
    "SO_REUSEPORT": ["net/listener.h"],
    "back-pressure": ["net/connection.h", "net/connection_limits.h", "core/send_queue.h"],
    "304": ["http/wire/conditional.h", "http/files/file_answer.h"],
    "If-None-Match": ["http/wire/conditional.h", "http/wire/entity_tag.h"],
    "404": ["http/filter/error_pages.h", "http/app/pages/error_page.h"],
    "408": ["http/wire/refusal.h", "http/h1/connection.h"],
    "414": ["http/wire/refusal.h"],
    "416": ["http/wire/range.h", "http/files/file_answer.h"],
    "429": ["http/app/limits/rate_limit.h"],
    "431": ["http/wire/refusal.h", "http/wire/request_head.h"],
    "503": ["base/transient_error.h", "http/places.h"],
    "Range": ["http/wire/range.h", "http/files/range_body.h"],
    "gzip": ["http/coding/content_encoder.h", "http/filter/compress.h"],
    "brotli": ["http/coding/content_encoder.h", "http/filter/compress.h"],
    "zstd": ["http/coding/content_encoder.h"],
    "SNI": ["tls/certificate_set.h", "tls/server_context.h"],
    "ALPN": ["tls/server_context.h", "http/client/client_connection.h"],
    "mTLS": ["tls/server_options.h"],
    "session tickets": ["tls/ticket_keys.h"],
    "HPACK": ["http/wire/h2/hpack_decoder.h", "http/wire/h2/hpack_encoder.h"],
    "flow control": ["http/wire/h2/window.h", "http/h2/sender.h"],
    "GOAWAY": ["http/h2/connection.h", "http/wire/h2/frame_writer.h"],
    "rapid reset": ["http/wire/h2/budget.h"],
    "WebSocket ping": ["http/websocket/connection.h"],
    "ping": ["http/websocket/connection.h", "http/wire/websocket/frame.h"],
    "permessage-deflate": ["http/wire/websocket/deflate.h"],
    "CORS": ["http/filter/cors.h"],
    "CSRF": ["http/app/csrf.h", "http/filter/cross_origin.h"],
    "XSS": ["text/escape.h", "http/wire/text/html_escape.h"],
    "cookie": ["http/wire/cookie.h", "http/app/cookies.h"],
    "session": ["http/app/session.h"],
    "chunked": ["http/wire/chunked.h"],
    "trailers": ["http/wire/chunked.h"],
    "sendfile": ["core/kernel.h", "core/send_queue.h", "http/files/disk_reads.h"],
    "TCP_NODELAY": ["net/listener.h", "net/tcp_transport.h"],
    "epoll": ["core/backend/epoll.h"],
    "io_uring": ["core/backend/io_uring.h"],
    "kqueue": ["core/backend/kqueue.h"],
    "timer wheel": ["core/timer_wheel.h"],
    "drain": ["net/tcp_server.h", "net/serving.h"],
    "SIGTERM": ["core/signals.h", "net/serving.h"],
    "X-Forwarded-For": ["http/filter/trusted_proxies.h"],
    "rate limit": ["http/app/limits/rate_limit.h"],
    "JWT": ["jwt/verifier.h", "jwt/bearer_auth.h"],
    "signed URL": ["http/app/signed/signed_urls.h"],
    "argon2": ["password/hasher.h"],
    "access log": ["http/access_log.h"],
    "rotation": ["log/file_sink.h"],
    "slowloris": ["net/progress_rate.h", "net/connection_limits.h"],
    "request smuggling": ["http/wire/framing.h"],
    "path traversal": ["http/wire/canonical_path.h", "core/beneath_walk.h"],
    "symlinks": ["http/files/file_loader.h", "core/beneath_walk.h"],
    "FastCGI": ["http/cgi/fastcgi.h"],
    "CGI": ["http/cgi/cgi.h"],
    "multipart": ["http/wire/multipart.h", "http/app/multipart.h"],
    "percent-encoding": ["http/wire/percent.h"],
    "Date": ["http/wire/http_date.h"],
    "HSTS": ["http/app/ready_middleware.h", "server/command_line/tls_flags.h"],
    "OpenAPI": ["http/app/openapi/openapi.h"],
    "SSE": ["http/app/stream.h"],
    "migrations": ["db/migrations.h"],
    "prepared statements": ["db/statement.h", "db/execution.h"],
    "connection pool": ["db/pool.h", "http/client/client_pool.h"],
    "deadlock": ["db/error.h", "db/transaction.h"],
    "DNS": ["core/resolver.h", "task/lookup.h"],
    "Happy Eyeballs": ["tcp/race.h", "tcp/dial.h"],
    "coroutine": ["task/task.h", "task/runner.h"],
    "cancellation": ["task/detached.h", "task/scope.h", "task/task.h"],
    "watchdog": ["serve/watchdog.h"],
    "EMFILE": ["net/acceptor.h", "core/process_limits.h"],
    "inotify": ["core/change_notices.h"],
    "index.html": ["http/files/path_resolver.h"],
    "directory listing": ["http/listing/listing.h"],
}


@pytest.mark.parametrize("word", LEADS)
def test_a_word_leads_to_its_places(word):
    right = [path if path.startswith("server/") else f"tiderace/{path}" for path in LEADS[word]]
    first = [place.path for place in where.search(KNOWN, word)][:LOOKED_AT]
    assert first and first[0] in right, first
    assert set(right) <= set(first), first


@pytest.mark.parametrize(
    "word", ["etag", "keepalive", "Keep Alive", "so_reuseport", "backpressure", "PERCENT_ENCODING"]
)
def test_case_hyphens_and_spaces_make_no_difference(word):
    assert where.search(KNOWN, word)


def test_a_header_is_found_by_its_name_and_by_a_part_of_it():
    assert where.search(KNOWN, "TimerWheel")[0].path == "tiderace/core/timer_wheel.h"
    assert where.search(KNOWN, "timer_wheel")[0].path == "tiderace/core/timer_wheel.h"
    assert "tiderace/core/timer_wheel.h" in [p.path for p in where.search(KNOWN, "imerwhee")]


def test_the_better_match_comes_first():
    def header(path, *lines):
        return where.place_of_header(path, "".join(f"// {line}\n" for line in lines) + "int x;\n")

    part = header("part.h", "Part: of updates.")
    head = header("head.h", "Head: something.", "", "A later line has the date.")
    purpose = header("purpose.h", "Purpose: the date of something.")
    late = header("late.h", "Late: something.", "", "Keywords: time,", "Keywords: clock, date")
    early = header("early.h", "Early: something.", "Keywords: Date, clock")
    known = [part, head, purpose, late, early, header("other.h", "Other: something.")]
    assert where.search(known, "date") == [early, late, purpose, head, part]


def test_keywords_are_no_part_of_the_purpose():
    place = where.place_of_header("a.h", "// Acceptor: takes connections.\n// Keywords: x\n")
    assert (place.name, place.purpose, place.keywords) == ("Acceptor", "takes connections.", ("x",))


def test_internal_is_no_part_of_the_name():
    place = where.place_of_header("a.h", "// Internal. Acceptor: takes\n// connections.\n")
    assert (place.name, place.purpose) == ("Acceptor", "takes connections.")
    unnamed = where.place_of_header("a.h", "// Internal. Names of things.\n")
    assert (unnamed.name, unnamed.purpose) == ("", "Names of things.")
    assert not [known for known in KNOWN if "Internal." in known.name + known.purpose]


def run(*words):
    return subprocess.run(
        [where.ROOT / "dev", "where", *words], capture_output=True, text=True, check=False
    )


def test_a_word_that_nothing_knows_gets_a_sentence_and_a_status():
    ended = run("flux capacitor")
    assert ended.returncode == 1
    assert not ended.stdout
    assert "no header names 'flux capacitor'" in ended.stderr


def test_without_a_word_the_whole_map_is_printed():
    ended = run()
    assert ended.returncode == 0
    paths = [line.split()[0] for line in ended.stdout.splitlines()]
    assert {"tiderace/net/acceptor.h", "server/worker.h", "docs/cgi.md"} <= set(paths)
    assert not [path for path in paths if path.endswith("_fixture.h")]


def test_several_words_are_one_and_the_output_has_the_path_and_what_it_is():
    ended = run("rate", "limit")
    assert ended.stdout.split()[:3] == [
        "tiderace/http/app/limits/rate_limit.h",
        "rate_limit():",
        "at",
    ]
