#include <tiderace/app.h>

using namespace tiderace::http;

int main(int argc, char** argv) {
    App app;
    app.get<"/">([] { return "Nothing to do.\n"; });
    app.get<"/hello/{name}">(
        [](std::string_view name) { return "hello, " + std::string(name) + "\n"; });
    return app.serve({.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"});
}
