"""Routes and handlers that do not fit each other do not compile, and one sentence says why."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import clang_check  # noqa: E402

HEAD = """#include "tiderace/app.h"
#include "tiderace/client.h"
#include "tiderace/tcp.h"
#include "tiderace/websocket.h"
using namespace tiderace;
using namespace tiderace::http;
struct Item { int id; };
struct Larger : Item {};
struct Named { std::string name; };
struct Heir : Item { int more; };
struct Unnamed { int a; static constexpr json::Name json_names[] = {{"b", "c"}}; };
struct Twins { int a, b; static constexpr json::Name json_names[] = {{"a", "b"}}; };
struct Quoted { int a; static constexpr json::Name json_names[] = {{"a", "\\""}}; };
struct Either { std::variant<int, json::Value> either; };
class OneWay {};
template <> struct tiderace::json::Convert<OneWay> { static int write(const OneWay&); };
class Round {};
template <> struct tiderace::json::Convert<Round> {
    static Round write(const Round&);
    static std::optional<Round> read(const Round&);
};
class Views {};
template <> struct tiderace::json::Convert<Views> {
    static std::string_view write(const Views&);
    static std::optional<Views> read(std::string_view);
};
class Opaque { int id = 0; public: Opaque() {} };
template <int n> struct Own {};
namespace tiderace::http {
template <> struct FromRequest<Own<0>> { static Own<0> from(Session, int) { return {}; } };
template <> struct FromRequest<Own<1>> {
    static Task<std::expected<Own<1>, Problem>> from(Own<0>, Json<Item>, const Item&);
};
template <> struct FromRequest<Own<2>> {};
template <> struct FromRequest<Own<3>> { static Own<3> from(auto); };
template <> struct FromRequest<Own<4>> { Own<4> from(); };
template <> struct FromRequest<Own<5>> { static Item from(); };
template <> struct FromRequest<Own<6>> { static Own<6> from(int*); };
template <> struct FromRequest<Own<7>> { static Own<7> from(Own<7>); };
template <> struct FromRequest<Own<8>> { static Own<8> from(Own<6>); };
template <> struct FromRequest<Own<9>> { static Own<9> from(Session&); };
template <> struct FromRequest<Own<11>> {
    static std::expected<Own<11>, std::string_view> from(Session);
};
}
void answer(const Request&) {}
void quietly(const Request&) noexcept {}
"""
NUMBER = "differ in number"
WHOLE_SEGMENT = "a parameter is a whole segment"
SLASH = "a pattern begins with '/'"
NOT_VALID = "the pattern is not valid"
NO_AUTO = "whose parameters have types: no `auto`"
NO_MUTABLE = "no `mutable` lambda"
UNKNOWN = "cannot take a parameter of this type"
ONE_BODY = "one argument of a handler takes the body"
STREAMED = "is a coroutine: return a Task"
OWNED = "may refer to what is gone; return a std::string, or a copy"
NAMELESS = "give the struct a name before the call"
TEMPLATE = "the pattern is a template argument"
NO_JSON = "this type has no JSON form"
BY_VALUE = "take it by value"  # a reference to what is made for the call would dangle
MIDDLEWARE = "a middleware is a function, or one of tiderace/http/app/ready_middleware.h"
PAGE = "an error page is a Response, a Page, a Problem, a text"
PAGE_FUNCTION = "an error page is a function of const ErrorAnswer&, called as const"
STATE = "a state is made by a function of core::EventLoop& that returns a std::unique_ptr"
LASTING = "share() keeps a reference: no temporary"
FROM = "needs one public static function `from`"
FROM_RESULT = "FromRequest<T>::from returns a T, a std::expected<T, E> whose error is the answer"
FROM_UNKNOWN = "FromRequest<T>::from cannot take a parameter of this type"
RIGHT = [
    'app.get<"/{id}">([](Own<0>) { return 1; });',
    'app.post<"/{id}/{name}">([](Own<1>, std::string) { return 1; });',
    'app.get<"/{id}/{name}">([](int, std::string_view) { return 1; });',
    'app.group<"/{shop}">().get<"/{id}">([](std::string, int) { return 1; });',
    'app.get<"/{rest...}">([](std::string_view) { return 1; });',
    'app.get<"/x">([] { return "a literal"; });',
    'app.get<"/x">([]() -> std::optional<const char*> { return "a literal"; });',
    'app.post<"/{id}">([](const Request&, int, Json<Item>, Item&, const Item&) { return 1; });',
    'app.route(wire::Method::get, "/{id}", [](int) { return 1; });',
    "app.use([](const Request&) {});",
    'app.get<"/{id}">([](int) noexcept { return 1; }).use([](const Request&) noexcept {});',
    "app.use(quietly);",
    'app.post<"/">([](Session session) { return session.exists() ? 1 : 0; });',
    'app.post<"/">([](Json<Item> item) { return item->id; });',
    'app.post<"/">([](const Item& item) { return item.id; });',
    'app.post<"/">([](Item& item, const Request&) { return ++item.id; });',
    "app.use(time_limit(std::chrono::seconds(5))).use(answer);",
    'const auto limit = body_limit(5); app.use(limit).group("/a").use(limit);',
    'app.error_page([](const ErrorAnswer&) { return "text"; });',
    "app.error_page([](const ErrorAnswer&) -> std::optional<Response> { return std::nullopt; });",
    "app.error_page([](const auto& error) { return Problem{.status = error.status}; });",
    "app.state<Item>([](core::EventLoop&) { return std::make_unique<Item>(); });",
    "app.state<Item>([](auto&) { return std::make_shared<Larger>(); });",
    "static const Item item{}; app.share(item);",
    'const Named ann{"ann"}; (void)Client().post("/", ann);',
    '(void)ClientRequest("PUT", "/").json(Item{1}).json(std::vector<Named>());',
]
WRONG = [
    ('app.get<"/{id}">([] { return 1; });', NUMBER),
    ('app.get<"/users">([](int) { return 1; });', NUMBER),
    ('app.get<"/{id}">([](Item) { return 1; });', UNKNOWN),
    ('app.get<"/{id}">([](std::vector<int>) { return 1; });', UNKNOWN),
    ('app.get<"/{id}">([](std::optional<int>) { return 1; });', UNKNOWN),
    ('app.get<"/x">([]() -> const std::string& { static std::string s; return s; });', OWNED),
    ('app.get<"/x">([](const Item& item) -> const auto& { return item; });', OWNED),
    ('app.get<"/x">([](const Request& r) { return r.path; });', OWNED),
    ('app.get<"/x">([] { return std::string_view("x"); });', OWNED),
    ('app.get<"/x">([] { return std::span<const int>(); });', OWNED),
    ('app.get<"/x">([]() -> Task<std::string_view> { co_return "x"; });', OWNED),
    ('app.get<"/x">([]() -> std::optional<std::string_view> { return "x"; });', OWNED),
    ('app.get<"/x">([]() -> std::expected<std::string_view, Problem> { return "x"; });', OWNED),
    (
        'app.get<"/x">([]() -> Task<std::expected<int, std::string_view>> { co_return 1; });',
        OWNED,
    ),
    ('app.get<"/x">([]() -> std::variant<int, std::span<int>> { return 1; });', OWNED),
    ('app.get<"/x">([] { return Json(std::string_view("x")); });', OWNED),
    ("app.use([]() -> std::optional<std::string_view> { return {}; });", OWNED),
    ("app.use([](const Item&) -> std::expected<void, std::string_view> { return {}; });", OWNED),
    ("app.error_page([](const ErrorAnswer&) -> std::string_view { return {}; });", OWNED),
    ('app.get<"/">([](Own<11>) { return 1; });', OWNED),
    ('app.get("/x", [] { return 1; });', TEMPLATE),
    ('app.post("/x", [](int) { return 1; }, time_limit(std::chrono::seconds(5)));', TEMPLATE),
    ('app.ws("/x", [](WebSocket&) -> Task<> { co_return; });', TEMPLATE),
    ('app.group("/a").del("/x", [] { return 1; });', TEMPLATE),
    ('app.group<"/{shop}">().get<"/{id}">([](int) { return 1; });', NUMBER),
    ('app.ws<"/{room}">([](WebSocket&) -> Task<> { co_return; });', NUMBER),
    ('app.get<"/{id}">([](const std::string& id) { return id; });', BY_VALUE),
    ('app.get<"/{id}">([](const int& id) { return id; });', BY_VALUE),
    ('app.get<"/x{id}">([](int) { return 1; });', WHOLE_SEGMENT),
    ('app.get<"users">([] { return 1; });', SLASH),
    ('app.get<"/{id}/{id}">([](int, int) { return 1; });', NOT_VALID),
    ('app.get<"/a//b">([] { return 1; });', NOT_VALID),
    ('app.get<"/{rest...}/x">([](int) { return 1; });', NOT_VALID),
    ('app.get<"/{id}">([](auto id) { return id; });', NO_AUTO),
    ('app.get<"/">("text");', NO_AUTO),
    ('app.get<"/">([n = 0]() mutable { return ++n; });', NO_MUTABLE),
    ('app.get<"/">([n = 0]() mutable noexcept { return ++n; });', NO_MUTABLE),
    ('app.route(wire::Method::get, "/", [n = 0]() mutable { return ++n; });', NO_MUTABLE),
    ("app.use([n = 0]() mutable { ++n; });", NO_MUTABLE),
    ('app.get<"/">([](std::vector<int>) { return 1; });', UNKNOWN),
    ('app.get<"/">([](int*) { return 1; });', UNKNOWN),
    ('app.get<"/">([](int&) { return 1; });', BY_VALUE),
    ('app.get<"/">([] { return Opaque(); });', NO_JSON),
    ('app.get<"/">([] { return sleep(std::chrono::seconds(1)); });', NO_JSON),
    ('app.post<"/">([](Json<Opaque>) { return 1; });', NO_JSON),
    ('app.get<"/">([] { return Larger(); });', "a struct with a base class has no JSON form"),
    ('app.post<"/">([](Json<Heir>) { return 1; });', "a struct with a base class has no JSON form"),
    ('app.get<"/">([] { return Unnamed(); });', "to a member that the struct does not have"),
    ('app.get<"/">([] { return Twins(); });', "two members have the same name in JSON"),
    ('app.get<"/">([] { return Quoted(); });', "has no quote, backslash or control character"),
    ('app.get<"/">([] { return Either(); });', "a json::Value holds anything"),
    ('app.get<"/">([] { return OneWay(); });', "Convert<T> needs `static J write(const T&)`"),
    ('app.post<"/">([](Json<OneWay>) {});', "Convert<T> needs `static J write(const T&)`"),
    ('app.get<"/">([] { return Round(); });', "Convert<T> writes a T as a T again"),
    ('app.post<"/">([](Json<Views>) {});', "a std::string_view would refer to a text that is gone"),
    ('app.get<"/">([] { return std::map<double, int>(); });', NO_JSON),
    ('app.get<"/">([] { return 1; }, 5);', "behind the handler stands middleware"),
    ("app.use([](int) {});", "a middleware takes no path parameters"),
    ("app.use([](Body) {});", "a middleware leaves the body to the handler"),
    ("app.use([](int*) {});", "a middleware cannot take a parameter of this type"),
    ('app.use("x");', MIDDLEWARE),
    ("app.use([](auto&) {});", MIDDLEWARE),
    ('app.group("/a").use("x");', MIDDLEWARE),
    ("app.error_page([](const ErrorAnswer&) { return 5; });", PAGE),
    ("app.error_page([](const ErrorAnswer&) -> std::variant<Response, int> { return 5; });", PAGE),
    ("app.error_page([](const ErrorAnswer&) -> Task<Response> { co_return Response(); });", PAGE),
    ("app.error_page([](const ErrorAnswer&) {});", PAGE),
    ('app.error_page([](int) { return "x"; });', PAGE_FUNCTION),
    ('app.error_page([n = 0](const ErrorAnswer&) mutable { ++n; return "x"; });', PAGE_FUNCTION),
    ('app.error_page("x");', PAGE_FUNCTION),
    ('app.group("/a").error_page([](const ErrorAnswer&) { return 5; });', PAGE),
    ("app.state<Item>(Item{});", STATE),
    ("app.state<Item>([](core::EventLoop&) { return Item{}; });", STATE),
    ("app.state<Item>([] { return std::make_unique<Item>(); });", STATE),
    ("app.share(Item{});", LASTING),
    ('app.post<"/">([](Body, Json<Item>) { return 1; });', ONE_BODY),
    ('app.post<"/">([](BodyStream) { return 1; });', STREAMED),
    ('app.post<"/">([](const Session& session) { return session.exists(); });', BY_VALUE),
    ('app.post<"/">([](Session& session) { return session.exists(); });', BY_VALUE),
    ('app.post<"/">([](const Json<Item>& item) { return item->id; });', BY_VALUE),
    ('app.post<"/">([](const Query<Item>& item) { return item->id; });', BY_VALUE),
    ('app.post<"/">([](const Body& body) { return body.text(); });', BY_VALUE),
    ('app.post<"/">([](const Cookies& all) { return all.get("a").has_value(); });', BY_VALUE),
    ('app.post<"/">([](Multipart&) { return 1; });', BY_VALUE),
    ("app.use([](const Session&) {});", BY_VALUE),
    ('app.get<"/">([](Own<0>) { return 1; });', NUMBER),
    ('app.get<"/">([](Own<0>&) { return 1; });', BY_VALUE),
    ("app.use([](Own<0>) {});", "a middleware takes no path parameters"),
    ("app.use([](Own<2>) {});", FROM),
    ('app.post<"/{id}">([](Own<1>, Body) { return 1; });', ONE_BODY),
    ('app.get<"/">([](Own<2>) { return 1; });', FROM),
    ('app.get<"/">([](Own<3>) { return 1; });', FROM),
    ('app.get<"/">([](Own<4>) { return 1; });', FROM),
    ('app.get<"/">([](Own<5>) { return 1; });', FROM_RESULT),
    ('app.get<"/">([](Own<6>) { return 1; });', FROM_UNKNOWN),
    ('app.get<"/">([](Own<7>) { return 1; });', "cannot take the T that it makes"),
    ('app.get<"/">([](Own<8>) { return 1; });', FROM_UNKNOWN),
    ('app.get<"/">([](Own<9>) { return 1; });', BY_VALUE),
    ('app.ws<"/">([](WebSocket&, Own<2>) -> Task<> { co_return; });', FROM),
    ('Client().post("/", Named{"ann"});', NAMELESS),
    ('ClientRequest("PUT", "/").json(Named{"ann"});', NAMELESS),
    ('tcp::Server(":0").on_data([n = 0](tcp::Peer&, ByteView) mutable { ++n; });', "`mutable`"),
    ('tcp::serve(":0", [](tcp::Stream, Item) -> Task<> { co_return; });', "states alone"),
    ('tcp::serve(":0", [n = 0](tcp::Stream) mutable -> Task<> { ++n; co_return; });', "`mutable`"),
]


@pytest.fixture(scope="module", name="compile_text")
def fixture_compile_text(tmp_path_factory):
    return clang_check.compiler(tmp_path_factory.mktemp("head"), HEAD)


@pytest.fixture(scope="module", name="compile_body")
def fixture_compile_body(compile_text):
    """Compiles the body of a function that has an App."""
    return lambda body: compile_text(f"void f([[maybe_unused]] App& app) {{ {body} }}")


@pytest.mark.parametrize("body", RIGHT)
def test_what_fits_compiles(compile_body, body):
    done = compile_body(body)
    assert done.returncode == 0, done.stderr


def test_a_global_app_is_not_ambiguous(compile_text):
    done = compile_text('App app; void f() { app.get<"/">([] { return 1; }); }')
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("body", "sentence"), WRONG)
def test_what_does_not_fit_is_one_error(compile_body, body, sentence):
    done = compile_body(body)
    assert done.returncode != 0
    errors = clang_check.errors_of(done)
    assert len(errors) == 1 and sentence in errors[0], done.stderr


def test_a_websocket_without_its_header_is_one_error(tmp_path):
    compile_text = clang_check.compiler(tmp_path, '#include "tiderace/app.h"\n')
    done = compile_text('void f(tiderace::http::App& app) { app.ws<"/">([] { return 1; }); }')
    errors = clang_check.errors_of(done)
    assert len(errors) == 1 and "needs #include <tiderace/websocket.h>" in errors[0], done.stderr
