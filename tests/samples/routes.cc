// routes ADDRESS FOLDER: a log for a group, a route and the rest, in FOLDER, and /openapi.json
// (with a page to try it, /docs), which describes arguments and results of every kind.
#include <tiderace/app.h>

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using namespace tiderace;
using namespace tiderace::http;

enum class Rig : std::uint8_t { sloop, ketch };
struct Handle : json::Checked<std::string> {
    using Checked::Checked;
    static bool holds(const std::string& value) { return value.find(' ') == value.npos; }
    static std::string expected() { return "a text without spaces"; }
};
struct Sail {
    json::Range<double, 0.5, 400.0> square_metres;
    Handle handle;
};
struct Engine {
    json::Range<std::uint16_t, 1, 900> kilowatts;
};
struct Boat {
    std::uint64_t id;
    json::Length<std::string, 1, 40> name;
    std::optional<Rig> rig;
    std::variant<Sail, Engine> drive;
    std::map<std::string, std::string> labels;
    json::Length<std::vector<Sail>, 0, 9> more;
    json::Default<json::Range<std::int64_t, -5, 5>> berth = 0;
};
struct Search {
    std::string q;
    json::Default<json::Range<int, 1, 100>> page = 1;
    std::vector<std::string> tag;
};

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string folder = argv[2];
    App app;
    app.get<"/boats/{id}">([](std::uint64_t) -> std::optional<Boat> { return std::nullopt; });
    app.get<"/boats">([](Query<Search>) { return std::vector<Boat>(); });
    app.post<"/boats">([](Json<Boat> boat) -> std::expected<Created<Boat>, Problem> {
        return Created<Boat>{"/boats/7", *boat};
    });
    app.post<"/search">([](Form<Search> form) { return form->q; });
    app.put<"/rigs/{rig}">(
        [](Rig, Body body) { return std::move(body).text(); },
        bearer_auth({.verify = [](ByteView token) { return token == "key"; }}),
        describe(
            {.summary = "What is sent comes back", .operation_id = "putRig", .tags = {"rigs"}}));
    app.post<"/upload">([](Multipart) -> Task<> { co_return; });
    app.get<"/ticks">([]() -> Events { co_yield {.data = "1"}; });
    app.openapi("/openapi.json",
                {.title = "Harbour", .version = "1", .description = "All kinds", .page = "/docs"});
    app.group("/api")
        .use(access_log(folder + "/api.log", AccessLogFormat::json))
        .get<"/x">([] { return "x\n"; })
        .get<"/own">([] { return "own\n"; }, access_log(folder + "/own.log"));
    app.get<"/quiet">([] { return "quiet\n"; }, access_log("off"));
    return app.serve({.listen = argv[1], .threads = 2, .access_log = folder + "/rest.log"});
}
