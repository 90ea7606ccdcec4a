#include <tiderace/app.h>

#include <string>
#include <vector>

using namespace tiderace::http;

struct Item {
    std::uint64_t id = 0;
    std::string text;
    bool done = false;
};
struct ListPage {
    std::string user;
    std::vector<Item> items;
};

int main(int argc, char** argv) {
    App app;
    app.templates("templates", {.reload = true});
    app.get<"/">([] {
        return page<"list.html">(ListPage{"ann", {{1, "buy <fresh> tea"}, {2, "sail", true}}});
    });
    return app.serve({.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
}
