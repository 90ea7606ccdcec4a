// rival_beast PORT: the text of lib_app with Boost.Beast, on one thread, as its examples of
// asynchronous servers are written.
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;
using net::ip::tcp;

class Session : public std::enable_shared_from_this<Session> {
  public:
    explicit Session(tcp::socket socket) : stream_(std::move(socket)) {
        beast::error_code ignored;
        stream_.socket().set_option(tcp::no_delay(true), ignored);
    }
    void read() {
        request_ = {};
        stream_.expires_after(std::chrono::seconds(60));
        http::async_read(stream_, buffer_, request_,
                         [self = shared_from_this()](beast::error_code fault, std::size_t) {
                             if (!fault) self->answer();
                         });
    }

  private:
    void answer() {
        const bool found = request_.target() == "/hello.txt";
        response_ = std::make_unique<http::response<http::string_body>>(
            found ? http::status::ok : http::status::not_found, request_.version());
        response_->set(http::field::server, "beast");
        response_->set(http::field::content_type, "text/plain");
        response_->keep_alive(request_.keep_alive());
        if (found) response_->body() = "hello\n";
        response_->prepare_payload();
        http::async_write(stream_, *response_,
                          [self = shared_from_this()](beast::error_code fault, std::size_t) {
                              if (!fault && self->response_->keep_alive()) self->read();
                          });
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    std::unique_ptr<http::response<http::string_body>> response_;
};

void accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([&](beast::error_code fault, tcp::socket socket) {
        if (!fault) std::make_shared<Session>(std::move(socket))->read();
        accept(acceptor);
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    net::io_context loop(1);
    const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
    tcp::acceptor acceptor(loop, {net::ip::make_address("127.0.0.1"), port});
    accept(acceptor);
    loop.run();
}
