// rival_pistache PORT: the text of lib_app with Pistache.
#include <pistache/endpoint.h>
#include <pistache/http.h>
#include <pistache/router.h>

#include <cstdint>
#include <cstdlib>

namespace {

Pistache::Rest::Route::Result hello(const Pistache::Rest::Request&,
                                    Pistache::Http::ResponseWriter response) {
    response.send(Pistache::Http::Code::Ok, "hello\n");
    return Pistache::Rest::Route::Result::Ok;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const Pistache::Address address("127.0.0.1",
                                    Pistache::Port(static_cast<std::uint16_t>(std::atoi(argv[1]))));
    Pistache::Http::Endpoint server(address);
    server.init(
        Pistache::Http::Endpoint::options().threads(1).flags(Pistache::Tcp::Options::ReuseAddr));
    Pistache::Rest::Router router;
    Pistache::Rest::Routes::Get(router, "/hello.txt", &hello);
    server.setHandler(router.handler());
    server.serve();
}
