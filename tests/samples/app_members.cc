// Tells a client of HTTPS which of its certificates was verified.
//
//   app_members ADDRESS CERTIFICATE KEY CLIENT_CA required|optional
#include <tiderace/app.h>
#include <tiderace/net/transport.h>

#include <string>
#include <string_view>

using namespace tiderace;

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    http::App app;
    // Deferred, so that it is the exchange's own copy that is read.
    app.get<"/">([](const http::Request& request) -> Task<std::string> {
        co_await sleep(std::chrono::milliseconds(1));
        const net::TransportSecurity& security = *request.security;
        co_return (security.client_verified ? "verified " : "nobody ") + security.client + "\n";
    });
    http::ServeOptions options{
        .listen = argv[1],
        .tls = {.client_ca = argv[4], .client_required = std::string_view(argv[5]) == "required"}};
    if (*argv[2] != '\0') options.tls.certificates = {{argv[2], argv[3]}};
    return app.serve(options);
}
