// One route: how long it takes to compile, and how large the program is.
#include <tiderace/app.h>

int main() {
    tiderace::http::App app;
    app.get<"/">([] { return "hello\n"; });
    return app.serve({.listen = ":8080"});
}
