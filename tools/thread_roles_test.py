"""Calls on the wrong thread do not compile with clang (tiderace/base/thread_role.h)."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import clang_check  # noqa: E402

HEAD = """#include <thread>
#include "tiderace/core/worker_pool.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/net/tcp_server.h"
using namespace tiderace;
"""
RIGHT = [
    'void f(net::Connection& c) { c.loop().assert_on_loop(); c.write("x"); }',
    'void f(net::Connection& c) TR_ON_LOOP { c.write("x"); }',
    "void f(core::EventLoop& l) { l.post([&l] { l.assert_on_loop(); l.stop(); }); }",
]
WRONG = [
    'void f(net::Connection& c) { c.write("x"); }',
    "void f(core::EventLoop& l, core::Timer& t) { l.arm(t, {}); }",
    "void f(net::Connection& c) TR_ON_LOOP { std::thread t([&c] { c.finish(); }); t.join(); }",
    "void f(core::WorkerPool& p, net::Connection& c) { p.submit([&c] { c.finish(); }); }",
    "void f(net::TcpServer& s) { s.abort_all(); }",
    "void f(core::WorkerPool& p, http::WebSocketConnection& w) { p.submit([&w] { w.ping(); }); }",
]


@pytest.fixture(scope="module", name="compile_text")
def fixture_compile_text(tmp_path_factory):
    return clang_check.compiler(
        tmp_path_factory.mktemp("head"), HEAD, "-Wthread-safety", "-Werror=thread-safety"
    )


@pytest.mark.parametrize("text", RIGHT)
def test_a_call_on_the_loops_thread_compiles(compile_text, text):
    done = compile_text(text)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", WRONG)
def test_a_call_from_elsewhere_does_not(compile_text, text):
    done = compile_text(text)
    assert done.returncode != 0
    assert "thread-safety" in done.stderr and done.stderr.count("error:") == 1, done.stderr
