// rival_restinio PORT: the text of lib_app with RESTinio, on one thread.
#include <restinio/all.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace {

using Router = restinio::router::express_router_t<>;
struct Traits : restinio::default_single_thread_traits_t {
    using request_handler_t = Router;
};

std::unique_ptr<Router> routes() {
    auto router = std::make_unique<Router>();
    router->http_get("/hello.txt", [](const auto& request, const auto&) {
        return request->create_response()
            .append_header(restinio::http_field::content_type, "text/plain")
            .append_header_date_field()
            .set_body("hello\n")
            .done();
    });
    return router;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    restinio::run(restinio::on_this_thread<Traits>()
                      .address("127.0.0.1")
                      .port(static_cast<std::uint16_t>(std::atoi(argv[1])))
                      .read_next_http_message_timelimit(std::chrono::hours(1))
                      .request_handler(routes()));
}
