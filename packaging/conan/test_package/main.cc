#include <tiderace/app.h>
#include <tiderace/version.h>

#include <cstdio>

int main() {
    tiderace::http::App app;
    app.get<"/">([] { return "hello\n"; });
    std::puts("hello from Tiderace " TIDERACE_VERSION_TEXT);
    return app.fault().empty() ? 0 : 1;
}
