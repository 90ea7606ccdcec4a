// life ADDRESS… [CERTIFICATE KEY | development]: health, readiness, a background task, and an end
// that POST /end begins. The certificate and its key end in ".pem".
#include <tiderace/app.h>

#include <cstdio>
#include <string_view>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    tiderace::http::ServeOptions options{.threads = 2, .drain_notice = 1s};
    options.listen.addresses.clear();
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]).ends_with(".pem")) {
            options.tls.certificates = {{argv[i], argv[i + 1]}};
            break;
        }
        if (std::string_view(argv[i]) == "development") {
            options.tls.certificates = {tiderace::development_certificate};
            break;
        }
        options.listen.addresses.emplace_back(argv[i]);
    }
    tiderace::http::App app;
    app.health("/healthz").ready("/readyz");
    app.post<"/end">([&app] { app.drain(); });
    app.background(
        [&app]() -> tiderace::Task<> {
            while (!app.draining()) co_await tiderace::sleep(10ms);
            std::fputs("the background task is over\n", stderr);
        },
        {.grace = 5s});
    return app.serve(options);
}
