"""Each house rule holds in a small true house, and catches its violation in a false one."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tidy  # noqa: E402

HOUSE = {
    "ARCHITECTURE.md": "# A\n\n| x | `server/main.cc` |\n",
    "server/main.cc": '#include "tiderace/http/app.h"\nint main() { return 0; }\n',
    "server/main_test.cc": "",
    "tiderace/base/bytes.h": "// Bytes.\n#pragma once\n",
    "tiderace/base/bytes_test.cc": '#include "tiderace/base/bytes.h"\n',
    "tiderace/http/app.h": '// App.\n#pragma once\n#include "tiderace/net/connection.h"\n',
    "tiderace/http/app_test.cc": '#include "tiderace/testing/pipe.h"\n',
    "tiderace/net/connection.h": '// C.\n#pragma once\n#include "tiderace/base/bytes.h"\n',
    "tiderace/net/connection_test.cc": "",
    "tiderace/testing/pipe.h": "// Pipe.\n#pragma once\n",
    "tiderace/testing/pipe_test.cc": "",
    "tools/tidy_ratchet.txt": "# sizes\n",
    "tools/tidy_untested.txt": "# reasons\n",
}
# A room that installs a header, which is internal.
NET = {
    "tiderace/net/CMakeLists.txt": "tiderace_room(NAME net\n  INSTALLED\n    a.h\n)\n",
    "tiderace/net/a.h": "// Internal. A.\n",
}


def lines(count):
    return "int x;\n" * count


def function(count, head="void long_one()"):
    return head + " {\n" + "    step();\n" * (count - 2) + "}\n"


FALSE_HOUSES = [
    # rule, what is wrong, the files that make it so, a piece of the complaint
    (
        tidy.arrows,
        "base uses net",
        {"tiderace/base/bytes.h": '#include "tiderace/net/connection.h"\n'},
        "base may not",
    ),
    (
        tidy.arrows,
        "net uses http",
        {"tiderace/net/a.cc": '#include "tiderace/http/app.h"\n'},
        "net may not include http",
    ),
    (
        tidy.arrows,
        "wire uses core",
        {"tiderace/http/wire/a.cc": '#include "tiderace/core/clock.h"\n'},
        "http/wire may not",
    ),
    (
        tidy.arrows,
        "http uses tls",
        {"tiderace/http/a.cc": '#include "tiderace/tls/context.h"\n'},
        "http may not include tls",
    ),
    (
        tidy.arrows,
        "a version of HTTP uses another's codec",
        {"tiderace/http/wire/h2/a.cc": '#include "tiderace/http/wire/chunked.h"\n'},
        "http/wire/h2 may not include http/wire (tiderace/http/wire/chunked.h)",
    ),
    (
        tidy.arrows,
        "an arrow to a header that is not included",
        {"tiderace/http/wire/h2/a.cc": '#include "tiderace/http/wire/host.h"\n'},
        "http/wire/h2 does not use http/wire/scan.h",
    ),
    (
        tidy.arrows,
        "net names a backend",
        {"tiderace/net/a.cc": '#include "tiderace/core/backend/epoll.h"\n'},
        "core/backend",
    ),
    (
        tidy.arrows,
        "product uses testing",
        {"server/main.cc": '#include "tiderace/testing/pipe.h"\n'},
        "server may not",
    ),
    (
        tidy.arrows,
        "an example uses the program",
        {"examples/echo/main.cc": '#include "server/command_line/command_line.h"\n'},
        "examples may not",
    ),
    (tidy.arrows, "a bare include", {"server/main.cc": '#include "cli.h"\n'}, "full path"),
    (tidy.arrows, "a room nobody planned", {"tiderace/garage/a.cc": ""}, "garage has no arrows"),
    (
        tidy.inner_folders,
        "another room looks into one",
        {"tiderace/http/a.cc": '#include "tiderace/net/ring/a.h"\n'},
        "tiderace/net/ring/a.h is private to net",
    ),
    (
        tidy.inner_folders,
        "a program looks into one",
        {"server/main.cc": '#include "tiderace/net/ring/a.h"\n'},
        "tiderace/net/ring/a.h is private to net",
    ),
    (
        tidy.inner_folders,
        "one is shown to users",
        {"tiderace/core/CMakeLists.txt": "room(\n  INSTALLED\n    backend/a.h\n)\n"},
        "lists tiderace/core/backend/a.h",
    ),
    (
        tidy.seams,
        "epoll above the loop",
        {"tiderace/net/a.cc": "#include <sys/epoll.h>\n"},
        "below the loop",
    ),
    (
        tidy.seams,
        "a socket in a protocol",
        {"tiderace/http/a.cc": "#include <sys/socket.h>\n"},
        "never sockets",
    ),
    (
        tidy.seams,
        "a thread in a codec",
        {"tiderace/http/wire/a.cc": "#include <thread>\n"},
        "a codec has no",
    ),
    (
        tidy.seams,
        "a capability leaks",
        {"tiderace/net/a.cc": "if (loop.supports_multishot()) {}\n"},
        "leaks",
    ),
    (
        tidy.seams,
        "a user's program that compiles simdjson",
        {"tiderace/json/a.h": "#include <simdjson.h>\n"},
        "would compile it, too",
    ),
    (
        tidy.small_examples,
        "a chat that is not small",
        {"examples/chat/main.cc": lines(50), "examples/chat/rooms.cc": lines(31)},
        "81 lines of C++",
    ),
    (tidy.small_examples, "a long todo", {"examples/todo/todo.cc": lines(151)}, "151 lines of C++"),
    (
        tidy.face_size,
        "a face of many headers",
        {f"tiderace/face{i}.h": "// F.\n" for i in range(16)},
        "16 headers of 16 lines",
    ),
    (tidy.face_size, "a long face", {"tiderace/face.h": lines(2_501)}, "headers of 2501 lines"),
    (tidy.sizes, "a long header", {"tiderace/net/a.h": lines(201)}, "201 lines, limit 200"),
    (tidy.sizes, "a long source", {"tiderace/net/a.cc": lines(601)}, "601 lines, limit 600"),
    (tidy.sizes, "a long function", {"tiderace/net/a.cc": function(71)}, "long_one has 71 lines"),
    (
        tidy.sizes,
        "a long member after initializers",
        {"tiderace/net/a.cc": "namespace t {\n" + function(80, "A::A() : a_{1}, b_{f(2)}") + "}\n"},
        "80 lines",
    ),
    (
        tidy.folder_sizes,
        "a crowded folder",
        {f"tiderace/net/a{i}.h": "// A.\n" for i in range(30)},
        "tiderace/net: 31 units, limit 30",
    ),
    (
        tidy.folder_sizes,
        "a folder crowded by sources that continue nothing",
        {f"load/a{i}.cc": "" for i in range(31)},
        "load: 31 units",
    ),
    (
        tidy.sizes,
        "a long inline member",
        {"tiderace/net/a.h": "class A final {\n" + function(75, "int deep() const") + "};\n"},
        "deep has 75 lines",
    ),
    (
        tidy.sizes,
        "a ratchet entry that grew",
        {"tiderace/net/a.cc": lines(650), "tools/tidy_ratchet.txt": "tiderace/net/a.cc: 640\n"},
        "grew from 640 to 650",
    ),
    (
        tidy.sizes,
        "a ratchet entry no longer needed",
        {"tiderace/net/a.cc": lines(10), "tools/tidy_ratchet.txt": "tiderace/net/a.cc: 640\n"},
        "remove the entry",
    ),
    (tidy.line_length, "a long line", {"server/main.cc": "// " + "x" * 98 + "\n"}, "101 columns"),
    (tidy.line_length, "a long line of shell", {"dev": "#" * 101}, "101 columns"),
    (tidy.units_tested, "a unit without a test", {"tiderace/net/a.cc": ""}, "no a_test.cc"),
    (
        tidy.units_tested,
        "an excuse without a reason",
        {"tiderace/net/a.cc": "", "tools/tidy_untested.txt": "tiderace/net/a:\n"},
        "needs a reason",
    ),
    (
        tidy.units_tested,
        "an excuse no longer needed",
        {"tools/tidy_untested.txt": "tiderace/net/connection: shy\n"},
        "remove the entry",
    ),
    (tidy.map_is_true, "no map", {"ARCHITECTURE.md": None}, "missing"),
    (
        tidy.map_is_true,
        "a table row that lies",
        {"ARCHITECTURE.md": "| x | `tiderace/net/gone.h` |\n"},
        "tiderace/net/gone.h",
    ),
    (
        tidy.map_shows_rooms,
        "a room that the drawing lacks",
        {
            "tiderace/http/h9/CMakeLists.txt": "tiderace_room(NAME http_h9)\n",
            "ARCHITECTURE.md": "## The house\n  h99 wire/h9\n## Where is …?\n| h9 | here |\n",
        },
        "the drawing lacks the room http/h9",
    ),
    (tidy.names, "a folder of leftovers", {"tiderace/base/util/a.h": ""}, "`util`"),
    (tidy.names, "a file called helper", {"server/test_helper.cc": ""}, "`test_helper.cc`"),
    (
        tidy.names,
        "a type called manager",
        {"server/main.cc": "class ConnectionManager {};\n"},
        "ConnectionManager",
    ),
    (
        tidy.retired_names,
        "a name that was changed",
        {"server/main.cc": "class FileRoom {};\n"},
        "FileRoom is now FileBudget",
    ),
    (
        tidy.exceptions_once,
        "an excuse that is there twice",
        {"tools/tidy_untested.txt": "# reasons\ntiderace/net/a: plain\ntiderace/net/a: data\n"},
        "tools/tidy_untested.txt:3: `tiderace/net/a` is here twice",
    ),
    (tidy.leftovers, "something to do", {"server/main.cc": "// TODO: later\n"}, "left over"),
    (tidy.leftovers, "code switched off", {"server/main.cc": "#if 0\n#endif\n"}, "left over"),
    (
        tidy.headers,
        "a header without a word",
        {"tiderace/net/connection.h": "#pragma once\n"},
        "begins with a comment",
    ),
    (
        tidy.headers,
        "a header without a guard",
        {"tiderace/net/connection.h": "// C.\n"},
        "pragma once",
    ),
    (
        tidy.headers,
        "a namespace opened for all",
        {"tiderace/net/connection.h": "// C.\n#pragma once\nusing namespace std::literals;\n"},
        "using namespace",
    ),
    (
        tidy.headers,
        "a namespace opened in a source",
        {"server/main.cc": "using namespace std;\n"},
        "using namespace std",
    ),
    (
        tidy.standard_headers,
        "a name without its header",
        {"tiderace/net/a.cc": "#include <string>\nint x = std::min(1, 2);\n"},
        "a.cc:2: std::min without <algorithm>",
    ),
    (tidy.machine_paths, "somebody's home", {"site/index.html": "see /home/ann/x\n"}, "/home/ann/"),
    (
        tidy.installed_headers,
        "an installed header that includes one that is not",
        {
            "tiderace/net/CMakeLists.txt": "tiderace_room(NAME net\n  INSTALLED\n    a.h\n)\n",
            "tiderace/net/a.h": '// A.\n#include "tiderace/net/b.h"\n',
            "tiderace/net/b.h": "// B.\n",
        },
        "tiderace/net/b.h is not installed",
    ),
    (
        tidy.installed_headers,
        "an installed header that an older C++ reads without a sentence",
        {
            "tiderace/net/CMakeLists.txt": "tiderace_room(NAME net\n  INSTALLED\n    a.h\n)\n",
            "tiderace/net/a.h": "// A.\n#include <string>\n",
            "tiderace/base/language.h": "// L.\n",
        },
        "a.h: an older C++ finds no sentence here: include tiderace/base/language.h",
    ),
    (
        tidy.installed_headers,
        "an umbrella header that no room installs",
        {"tiderace/face.h": "// F.\n"},
        "tiderace/face.h: is public: list it as INSTALLED",
    ),
    (
        tidy.installed_headers,
        "a header that an umbrella header names and no room installs",
        {**NET, "tiderace/face.h": "// F, and net/b.h.\n", "tiderace/net/b.h": "// B.\n"},
        "tiderace/net/b.h: is public: list it as INSTALLED",
    ),
    (
        tidy.installed_headers,
        "a listed header that is not there",
        {"tiderace/net/CMakeLists.txt": "tiderace_room(NAME net\n  INSTALLED\n    gone.h\n)\n"},
        "lists tiderace/net/gone.h",
    ),
    (
        tidy.public_headers,
        "an installed header that nothing names and that does not say so",
        {**NET, "tiderace/net/a.h": "// A.\n"},
        "tiderace/net/a.h:1: is not public, but does not begin with",
    ),
    (
        tidy.public_headers,
        "an included header that calls itself internal",
        {**NET, "tiderace/face.h": '// F.\n#include "tiderace/net/a.h"\n'},
        "tiderace/net/a.h:1: is public, but begins with",
    ),
    (
        tidy.public_headers,
        "a named header that calls itself internal",
        {**NET, "tiderace/face.h": "// F, and net/a.h.\n"},
        "tiderace/net/a.h:1: is public, but begins with",
    ),
    (
        tidy.public_headers,
        "an umbrella header that calls itself internal",
        {"tiderace/face.h": "// Internal. F.\n"},
        "tiderace/face.h:1: is public, but begins with",
    ),
    (
        tidy.public_headers,
        "an umbrella header that names what is not there",
        {"tiderace/face.h": "// F.\n// See a.h.\n"},
        "tiderace/face.h:2: names a.h, which is no header of ours",
    ),
    (
        tidy.public_headers,
        "an example that includes an internal header",
        {**NET, "examples/a/main.cc": '#include "tiderace/net/a.h"\n'},
        "examples/a/main.cc:1: tiderace/net/a.h is not public",
    ),
    (
        tidy.public_headers,
        "a document that includes an internal header",
        {**NET, "docs/a.md": "# A\n\n```cpp\n#include <tiderace/net/a.h>\n```\n"},
        "docs/a.md:4: tiderace/net/a.h is not public",
    ),
    (
        tidy.public_headers,
        "a README that includes an internal header",
        {**NET, "README.md": "```cpp\n#include <tiderace/net/a.h>\n```\n"},
        "README.md:2: tiderace/net/a.h is not public",
    ),
    (
        tidy.public_headers,
        "the outside test includes a header of the program",
        {"tests/outside/main.cc": '#include "server/options.h"\n', "server/options.h": "// O.\n"},
        "server/options.h is not public",
    ),
    (
        tidy.public_headers,
        "the outside test includes an internal header in angle brackets",
        {**NET, "tests/outside/main.cc": "#include <tiderace/net/a.h>\n"},
        "tiderace/net/a.h is not public",
    ),
]


def build(folder, changes=None):
    for name, text in {**HOUSE, **(changes or {})}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return tidy.Tree(folder)


@pytest.mark.parametrize("rule", tidy.RULES, ids=lambda rule: rule.__name__)
def test_a_true_house_holds(rule, tmp_path):
    assert list(rule(build(tmp_path))) == []


@pytest.mark.parametrize(
    "rule, changes, piece",
    [(rule, changes, piece) for rule, _, changes, piece in FALSE_HOUSES],
    ids=[f"{rule.__name__}: {what}" for rule, what, _, _ in FALSE_HOUSES],
)
def test_a_false_house_is_caught(rule, changes, piece, tmp_path):
    complaints = [str(complaint) for complaint in rule(build(tmp_path, changes))]
    assert any(piece in complaint for complaint in complaints), complaints


def test_every_rule_is_shown_to_catch_something():
    assert {rule for rule, *_ in FALSE_HOUSES} == set(tidy.RULES)


ALLOWED = [
    (
        tidy.map_shows_rooms,
        {
            "tiderace/http/h9/CMakeLists.txt": "tiderace_room(NAME http_h9)\n",
            "ARCHITECTURE.md": "## The house\n  http <- h9\n## Where is …?\n",
        },
    ),
    (tidy.retired_names, {"server/main.cc": "// Door and Errands, in a comment.\n"}),
    (tidy.exceptions_once, {"tools/tidy_ratchet.txt": "# a comment\n\n# a comment\n\n"}),
    (tidy.arrows, {"tiderace/base/a.cc": "#include <net/if.h>\n"}),
    (tidy.arrows, {"tiderace/net/a_test.cc": '#include "tiderace/testing/pipe.h"\n'}),
    (
        tidy.arrows,
        {
            "tiderace/http/wire/websocket/a.cc": "".join(
                f'#include "tiderace/{name}"\n'
                for name in tidy.ARROWS["http/wire/websocket"] - {"base"}
            )
        },
    ),
    (tidy.arrows, {"tiderace/http/handler/a.cc": '#include "tiderace/http/app.h"\n'}),
    (tidy.inner_folders, {"tiderace/net/a.cc": '#include "tiderace/net/ring/a.h"\n'}),
    (tidy.inner_folders, {"tiderace/http/a.cc": '#include "tiderace/http/wire/a.h"\n'}),
    (
        tidy.folder_sizes,
        {f"tiderace/net/a{i}{end}": "" for i in range(29) for end in (".h", ".cc", "_test.cc")}
        | {f"tiderace/net/a1_{system}.cc": "" for system in ("linux", "absent", "bsd_test")}
        | {"tiderace/net/table.cc": "// tidy: table\n", "tiderace/net/ring/a.h": "// A.\n"},
    ),
    (tidy.sizes, {"tiderace/net/a.cc": function(70)}),
    (tidy.sizes, {"tiderace/net/a.h": "// tidy: table, made by tools/x.py\n" + lines(900)}),
    (
        tidy.sizes,
        {"tiderace/net/a.cc": lines(620), "tools/tidy_ratchet.txt": "tiderace/net/a.cc: 640\n"},
    ),
    (
        tidy.sizes,
        {
            "tiderace/net/a.cc": "auto s = \"void f() {\";\nchar c = '{';\nint n = 1'000;\n"
            + lines(80)
        },
    ),
    (tidy.line_length, {"server/main.cc": "// https://www.rfc-editor.org/" + "x" * 90 + "\n"}),
    (tidy.headers, {"server/main.cc": "using namespace std::chrono_literals;\n"}),
    (
        tidy.public_headers,
        {**NET, "examples/a/b.h": "", "examples/a/main.cc": '#include "examples/a/b.h"\n'},
    ),
    (
        tidy.public_headers,
        {**NET, "docs/a.md": "`#include <tiderace/net/a.h>` is not for users.\n"},
    ),
    (tidy.public_headers, {**NET, "tests/a_test.cc": '#include "tiderace/net/a.h"\n'}),
    (
        tidy.public_headers,
        {
            "tiderace/face.h": "// F.\n//     #include <gtest/gtest.h>\n// See net/a.h, net/b.h.\n"
            '#include "tiderace/net/c.h"\n',
            "examples/a/main.cc": "".join(f"#include <tiderace/net/{x}.h>\n" for x in "abc"),
            **{f"tiderace/net/{x}.h": "// A.\n" for x in "abc"},
        },
    ),
    (tidy.leftovers, {"server/main.cc": "// todos are fine in a to-do server\n"}),
    (tidy.standard_headers, {"tiderace/net/a.cc": "// as std::vector does\n"}),
    (
        tidy.standard_headers,
        {"tiderace/net/a_test.cc": "#include <gtest/gtest.h>\nstd::string x;\n"},
    ),
    (
        tidy.standard_headers,
        {
            "tiderace/net/connection.h": "// C.\n#pragma once\n#include <vector>\n",
            "tiderace/net/a.cc": '#include "tiderace/net/connection.h"\nstd::vector<int> x;\n',
        },
    ),
]


@pytest.mark.parametrize("rule, changes", ALLOWED, ids=lambda value: getattr(value, "__name__", ""))
def test_what_is_allowed_is_not_caught(rule, changes, tmp_path):
    assert [str(complaint) for complaint in rule(build(tmp_path, changes))] == []


def test_the_ratchet_lowers_and_drops_but_never_adds(tmp_path):
    build(
        tmp_path,
        {
            "tiderace/net/a.cc": lines(610),
            "tiderace/net/b.cc": lines(5),
            "tiderace/net/c.cc": lines(900),
            "tools/tidy_ratchet.txt": "# sizes\ntiderace/net/a.cc: 640\ntiderace/net/b.cc: 700\n",
        },
    )
    assert tidy.main(["--ratchet", str(tmp_path)]) == 0
    assert (tmp_path / "tools/tidy_ratchet.txt").read_text() == "# sizes\ntiderace/net/a.cc: 610\n"


def test_the_exit_status_says_whether_the_house_is_in_order(tmp_path, capsys):
    build(tmp_path)
    assert tidy.main(["--count", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith(f"{len(tidy.RULES)} rules hold, 0 broken\n")
    build(tmp_path, {"server/main.cc": "// FIXME\n"})
    assert tidy.main(["--count", str(tmp_path)]) == 1
