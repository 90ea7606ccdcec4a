"""Which code is mutated and which is left alone; that the copy compiles and holds each fault; the
whole way of a small room from its sources to its survivors."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import children  # noqa: E402
import mutants  # noqa: E402
import mutate  # noqa: E402


def found(body):
    """The mutants of a function with this body, as (kind, before, after)."""
    source = mutants.Source("void f() {\n" + body + "\n}\n")
    return {(m.kind, m.before, m.after) for m in mutants.mutants_of(source)}


def kinds(body):
    return {kind for kind, _, _ in found(body)}


def test_an_endless_loop_stays_one():
    assert not any("true" in before for _, before, _ in found("while (true) {\n    f(4);\n}"))
    assert found("const bool b = true;") == {("boolean", "true", "false")}


@pytest.mark.parametrize(
    "body, expected",
    [
        ("if (a < b) g();", ("boundary", "a < b", "a <= b")),
        ("while (a >= b) g();", ("boundary", "a >= b", "a > b")),
        ("if (a) g();", ("negated", "a", "!(a)")),
        ("return a == b;", ("equality", "return a == b;", "return a != b;")),
        ("x = a && b;", ("logic", "x = a && b;", "x = a || b;")),
        ("const int n = a + b;", ("arithmetic", "a + b", "a - b")),
        ("n_ += a;", ("arithmetic", "n_ += a;", "n_ -= a;")),
        ("a_->b.c[d] = e;", ("removed", "a_->b.c[d] = e;", "(nothing)")),
        ("*to = e;", ("removed", "*to = e;", "(nothing)")),
        ("++n_;", ("removed", "++n_;", "(nothing)")),
        ("this->g(a);", ("removed", "this->g(a);", "(nothing)")),
        ("return 0xff;", ("constant", "return 0xff;", "return 256;")),
        ("g(1'000U);", ("constant", "g(1'000U);", "g(1001U);")),
        ("g(true);", ("boolean", "g(true);", "g(false);")),
        ("for (int i = 0; i < n; ++i) g();", ("boundary", "i < n", "i <= n")),
        ("if (const auto x = g(); x > 3) g();", ("boundary", "x > 3", "x >= 3")),
        ("each([&](int i) { n_ = i; });", ("removed", "n_ = i;", "(nothing)")),
        ("switch (a) { case 1: b_ = c; }", ("removed", "b_ = c;", "(nothing)")),
    ],
)
def test_each_kind_is_found(body, expected):
    assert expected in found(body)


@pytest.mark.parametrize(
    "body",
    [
        "constexpr int n = 3 + 4;",
        "static constexpr int n = 3 + 4;",
        "static_assert(sizeof(a) == 3);",
        "if constexpr (sizeof(a) == 3) {}",
        "std::array<int, 3> a;",
        "switch (a) { case 3: break; }",
        "TR_CHECK(a == 3);",
        "loop().assert_on_loop();",
        "a_.reserve(n);",
        "const Foo& foo = *bar;",
        "Foo foo;",
        "Foo* foo(bar);",
        "#define A (b < 3)",
        "// if (a < b) return 3;",
        "delete a;",
        "enum class Kind { a = 3 };",
    ],
)
def test_what_is_left_alone(body):
    assert found(body) == set()


@pytest.mark.parametrize(
    "text",
    [
        "constexpr int f(int a) { return a + 3; }",
        "template <int N = 3> struct A {};",
        "enum A { a = 3, b = 4 };",
        "constexpr int table[] = {1, 2, 3};",
        "namespace { constexpr bool is(char c) { return c == 3; } }",
        "struct A { int a = 3; };",
        "void f(int a = 3);",
    ],
)
def test_what_stands_outside_of_bodies_is_left_alone(text):
    assert mutants.mutants_of(mutants.Source(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "namespace a::b { namespace { int f() { return 3; } } }",
        "struct A { int f() const noexcept { return 3; } };",
        "A::A(int a) : a_(a), b_{a} { g(3); }",
        "template <typename T> auto A<T>::f() -> int { return 3; }",
        "struct A final : B { A() : b(4) {} void f() override { g(3); } };",
        "constexpr int n = 4; int f() { return 3; }",
    ],
)
def test_bodies_are_found_wherever_they_stand(text):
    source = mutants.Source(text)
    assert "constant" in {m.kind for m in mutants.mutants_of(source)}
    assert all("3" in m.before for m in mutants.mutants_of(source))


def test_text_that_is_put_together_and_logging_are_left_alone():
    assert kinds('x = a + "b";') == {"removed"}
    assert "removed" not in kinds("log_.info(a, b);")


def test_an_equality_that_is_the_whole_condition_is_only_negated():
    assert kinds("if (a == b) {}") == {"negated"}


PROGRAM = """\
struct Pair { int a, b; };
static int grow(int n) {
    auto more = [&](int by) {
        n += by;  // a comment with "quotes"
    };
    more(2);
    if (n >
        10) {
        return n;
    }
    return n + 1;
}
static Pair both(bool first) { return {first ? 1 : 2, 3}; }
int main(int count, char**) {
    const Pair pair = both(count == 1 && grow(0) != 3);
    return grow(count + 8) * 10 + pair.a;
}
"""


def compiled(folder, text):
    (folder / "a.cc").write_text(mutate.CHOSEN_H + text)
    (folder / "chosen.h").write_text(mutate.CHOSEN_H)
    (folder / "chosen.cc").write_text(mutate.CHOSEN_CC)
    words = ["g++", "-std=c++20", "-w", "-o", "a", "a.cc", "chosen.cc"]
    subprocess.run(words, cwd=folder, check=True)
    return lambda number: subprocess.run(
        [folder / "a"], env={"TIDERACE_MUTANT": str(number)}, timeout=60
    ).returncode


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
def test_the_copy_holds_every_mutant_and_does_without_one_what_the_source_does(tmp_path):
    source = mutants.Source(PROGRAM)
    every = mutants.mutants_of(source)
    for number, mutant in enumerate(every):
        mutant.number = number + 1
    text = mutants.instrumented(source, every)
    assert text.count("\n") == PROGRAM.count("\n"), "the compiler's lines would be others"
    run = compiled(tmp_path, text)
    assert run(0) == 112
    outcomes = {mutant.kind: set() for mutant in every}
    for mutant in every:
        outcomes[mutant.kind].add(run(mutant.number))
    assert outcomes["removed"] == {101}  # without either of the two, n stays 9
    assert outcomes["negated"] == {121}
    assert outcomes["boundary"] == {112}  # 11 is above 10 and not 10
    assert [kind for kind, outcome in outcomes.items() if outcome == {112}] == ["boundary"]


def test_a_seed_gives_the_same_sample_and_another_seed_another():
    source = mutants.Source("void f() {\n" + "if (a < 3 && b) c_ = true;\n" * 50 + "}\n")

    def lines(seed):
        planted = [mutate.Planted("a.cc", m) for m in mutants.mutants_of(source)]
        sample = mutate.chosen_sample(planted, 12, seed)
        assert len({one.mutant.line for one in sample}) == 12
        assert {one.mutant.kind for one in sample} == {m.kind for m in mutants.mutants_of(source)}
        return [(one.mutant.line, one.mutant.kind) for one in sample]

    assert lines(1) == lines(1) != lines(2)


def test_an_unknown_room_is_named():
    rooms = {"core": [], "http_h1": []}
    with pytest.raises(mutate.Failed, match="no room kitchen; there are core, http_h1"):
        mutate.chosen_rooms(["core", "kitchen"], rooms)
    assert mutate.chosen_rooms([], rooms) == ["core", "http_h1"]


def test_the_score():
    assert mutate.score("wire", 20, 2, 1) == (
        "wire: 18 of 20 mutants killed: 90 % (1 more did not compile here)"
    )


# A room with the shape of ours: a library of two sources and the program that tests it.
CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(small CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_UNITY_BUILD ON)
add_library(tiderace_small a.cc b.cc c.cc)
target_include_directories(tiderace_small PUBLIC .)
set_source_files_properties(c.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_executable(small_test main.cc)
target_link_libraries(small_test tiderace_small)
add_executable(large_test large.cc)
target_link_libraries(large_test tiderace_small)
"""
ROOM = {
    "small.h": "int at_most_ten(int n);\nint used(int n);\nint untested(int n);\nvoid quit();\n",
    "a.cc": '#include "small.h"\nint at_most_ten(int n) {\n    if (n > 10) n = 10;\n'
    "#if defined(ANOTHER_SYSTEM)\n    n = 7;\n#endif\n"
    "    return n;\n}\n",
    "b.cc": '#include "small.h"\nint used(int n) { return n + n; }\n'
    "const int* none() {\n    const int* none = 0;\n    return none;\n}\n"
    "struct Odd { Odd(Odd&&) = delete; Odd(int) {} explicit operator bool() { return true; } };\n"
    "int odd() {\n    while (!Odd(1)) {\n    }\n    return 5;\n}\n",
    "c.cc": '#include "small.h"\n#include <signal.h>\nint untested(int n) { return n - 3; }\n'
    "void quit() { kill(1234567, 15); }\n",
    "main.cc": '#include "small.h"\nint main() {\n'
    "    return at_most_ten(10) == 10 && at_most_ten(12) == 10 && used(2) == 4 ? 0 : 1;\n}\n",
    "large.cc": '#include "small.h"\nint main() { return untested(5) == 2 ? 0 : 1; }\n',
}


def made_room(folder, monkeypatch):
    """ROOM built in `folder`, in place of ours. Returns its units."""
    for name, text in ROOM.items():
        (folder / name).write_text(text)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    build = folder / "build"
    for words in (
        ["cmake", "-G", "Ninja", "-S", folder, "-B", build / "dev"],
        ["ninja", "-C", build / "dev"],
    ):
        subprocess.run(words, check=True, capture_output=True)
    monkeypatch.setattr(mutate, "ROOT", folder)
    monkeypatch.setattr(mutate, "BUILD", build / "dev")
    monkeypatch.setattr(mutate, "COPIES", build / "mutate")
    monkeypatch.setattr(children, "LOGS", build / "logs")
    children.stopping.clear()
    monkeypatch.setattr(mutate, "ALSO", {})
    rooms = mutate.configured()
    assert list(rooms) == ["small"], "large_test has no room"
    return rooms["small"]


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_a_whole_room_from_its_sources_to_its_survivors(tmp_path, monkeypatch, capsys):
    units = made_room(tmp_path, monkeypatch)
    score = mutate.measure("small", units, mutate.parsed(["small", "--sample", "100"]))
    told = capsys.readouterr().out
    assert "a.cc:3: boundary: n > 10  ->  n >= 10" in told, "it changes nothing: nothing notices"
    assert "a.cc:3: negated" not in told and "b.cc:2" not in told
    assert "return 5;  ->  return 6;" in told
    assert "c.cc" not in told, "it sends signals"
    assert score == "small: 4 of 10 mutants killed: 40 % (3 more did not compile here)"


@pytest.mark.skipif(not shutil.which("ninja"), reason="no ninja")
def test_what_survives_a_rooms_own_tests_meets_those_of_the_rooms_named_with_it(
    tmp_path, monkeypatch, capsys
):
    units = made_room(tmp_path, monkeypatch)
    words = mutate.parsed(["small", "--sample", "100", "--verbose", "--file", "c.cc"])
    monkeypatch.setattr(mutate, "SENDS_SIGNALS", re.compile("no such text"))
    without = mutate.measure("small", units, words)
    assert without == "small: 0 of 5 mutants killed: 0 %"
    monkeypatch.setattr(mutate, "ALSO", {"small": ["large"]})
    capsys.readouterr()
    assert mutate.measure("small", units, words) == "small: 2 of 5 mutants killed: 40 %"
    assert "killed (large: status 1): c.cc:3: arithmetic" in capsys.readouterr().out
