// chat: rooms over WebSocket, and the page that uses them.
//
//   chat --listen 127.0.0.1:8080 [--tls CERT,KEY] [--threads N] [--slow drop|close|wait]
//        [--events on|off] [--page DIR]
//
//   GET /                          the page
//   GET /chat?room=R&name=N        a WebSocket: each text message is said to all in the room
//
// Everyone in a room is sent {"type":"said","from":N,"text":…}, and the events "came" and "went".
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/http/h1_service.h"
#include "tiderace/http/h2_service.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/websocket_accept.h"
#include "tiderace/http/websocket_connection.h"
#include "tiderace/http/websocket_topics.h"
#include "tiderace/http/wire/json_escape.h"
#include "tiderace/http/wire/query.h"
#include "tiderace/http/wire/utf8_validator.h"
#include "tiderace/net/serving.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::chat {
namespace {

constexpr std::size_t name_bytes_max = 40;
constexpr std::size_t message_bytes_max = 4_KiB;

struct Options {
    std::string listen = "127.0.0.1:0";
    std::size_t threads = 1;
    std::string page = CHAT_PAGE;
    tls::ServerOptions tls;  // without certificates: in clear text
    http::SlowReceiver slow = http::SlowReceiver::close;
    bool events = true;  // say who comes and goes
};

// --- the room --------------------------------------------------------------------------------

std::string json_string(ByteView text) {
    std::string memory(text.size() * http::wire::json_growth_max, '\0');
    http::wire::BoundedText out(memory);
    http::wire::append_json(out, text);
    return '"' + std::string(out.view()) + '"';
}

// Somebody in a room: one socket.
class Guest final : public http::WebSocketHandler {
  public:
    Guest(http::WebSocketTopics& rooms, bool events, std::string room, std::string name)
        : rooms_(&rooms), events_(events), room_(std::move(room)), name_(std::move(name)) {}

  private:
    void on_open(http::WebSocketConnection& socket) override {
        rooms_->subscribe(socket, room_);
        tell("came");
    }
    void on_message(http::WebSocketConnection& socket, http::WebSocketKind kind,
                    ByteView message) override {
        if (kind != http::WebSocketKind::text) {
            socket.close(http::wire::websocket_close::unsupported_data, "text only");
            return;
        }
        // With --slow wait it is not read from again until everyone in the room caught up.
        rooms_->publish_from(socket, room_, http::WebSocketKind::text,
                             event("said", R"(,"text":)" + json_string(message)));
    }
    void on_close(http::WebSocketConnection&, std::uint16_t, ByteView) override {
        tell("went");
        delete this;
    }

    void tell(std::string_view type) {
        if (events_) rooms_->publish(room_, http::WebSocketKind::text, event(type));
    }
    std::string event(std::string_view type, const std::string& more = "") const {
        return R"({"type":")" + std::string(type) + R"(","from":)" + json_string(name_) + more +
               '}';
    }

    http::WebSocketTopics* rooms_;
    bool events_;
    std::string room_;
    std::string name_;
};

// The value of one pair of the query: not empty, short, UTF-8.
std::optional<std::string> from_query(ByteView query, ByteView wanted) {
    std::string memory(query.size(), '\0');
    http::wire::QueryPairs pairs(query, memory);
    while (const auto pair = pairs.next()) {
        if (pair->name != wanted) continue;
        const bool good = !pair->value.empty() && pair->value.size() <= name_bytes_max &&
                          http::wire::is_utf8(pair->value);
        return good ? std::optional(std::string(pair->value)) : std::nullopt;
    }
    return std::nullopt;
}

// --- one loop --------------------------------------------------------------------------------

http::WebSocketOptions socket_options(const Options& options) {
    return {.message_bytes_max = message_bytes_max,
            .queue_bytes_max = 512_KiB,
            .slow_receiver = options.slow};
}

class ChatLoop final : public net::LoopService, private http::Handler {
  public:
    static Result<std::unique_ptr<ChatLoop>> create(core::EventLoop& loop, http::WebSocketHub& hub,
                                                    const Options& options) {
        auto page = http::handler::StaticFiles::create(loop, {.root = options.page});
        if (!page) return fail(page.error());
        std::unique_ptr<ChatLoop> made(new ChatLoop(loop, hub, std::move(*page), options));
        if (options.tls.certificates.empty()) return made;
        auto tls = tls::ServerContext::create(loop, options.tls);
        if (!tls) return fail(tls.error());
        made->tls_ = std::move(*tls);
        return made;
    }

  private:
    ChatLoop(core::EventLoop& loop, http::WebSocketHub& hub,
             std::unique_ptr<http::handler::StaticFiles> page, const Options& options)
        : events_(options.events),
          sockets_(loop, socket_options(options)),
          rooms_(sockets_, hub),
          page_(std::move(page)),
          site_(static_cast<http::Handler&>(*this)),
          http_(loop, site_, {}),
          http2_(loop, site_, {.head = {.extended_connect = true}}) {
        http_.set_http2(http2_);
    }

    net::SessionFactory& sessions(std::size_t) override { return http_; }
    net::TransportLayer* layer(std::size_t) override { return tls_.get(); }

    void handle(http::Exchange& exchange) override {
        if (exchange.request().path != "/chat") {
            page_->handle(exchange);
            return;
        }
        auto room = from_query(exchange.request().query, "room");
        auto name = from_query(exchange.request().query, "name");
        if (!room || !name) {
            exchange.respond_status(400);
            return;
        }
        auto guest = std::make_unique<Guest>(rooms_, events_, std::move(*room), std::move(*name));
        if (http::accept_websocket(exchange, sockets_, *guest) ==
            http::wire::WebSocketRefusal::none) {
            (void)guest.release();  // its own, until its on_close
        }
    }

    bool events_;
    http::WebSocketService sockets_;
    http::WebSocketTopics rooms_;
    std::unique_ptr<http::handler::StaticFiles> page_;
    http::Site site_;
    http::H1Service http_;
    http::H2Service http2_;
    std::unique_ptr<tls::ServerContext> tls_;
};

// --- the program -----------------------------------------------------------------------------

[[noreturn]] void die(const std::string& sentence) {
    std::fprintf(stderr, "chat: %s\n", sentence.c_str());
    std::exit(1);
}

std::size_t parse_threads(std::string_view text) {
    std::size_t threads = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (fault == std::errc{} && end == text.data() + text.size() && threads <= 64) return threads;
    die("--threads takes a number up to 64; 0: one for each CPU");
}

http::SlowReceiver parse_slow(std::string_view text) {
    if (text == "drop") return http::SlowReceiver::drop;
    if (text == "close") return http::SlowReceiver::close;
    if (text == "wait") return http::SlowReceiver::wait;
    die("--slow is drop, close or wait");
}

Options parse(const std::vector<std::string_view>& words) {
    Options options;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        const std::string_view value = words[i + 1];
        if (words[i] == "--listen") {
            options.listen = value;
        } else if (words[i] == "--tls") {
            const std::size_t comma = value.find(',');
            if (comma == value.npos) die("--tls CERTIFICATE,KEY: two files in PEM form");
            options.tls.certificates.push_back(
                {std::string(value.substr(0, comma)), std::string(value.substr(comma + 1))});
        } else if (words[i] == "--threads") {
            options.threads = parse_threads(value);
        } else if (words[i] == "--slow") {
            options.slow = parse_slow(value);
        } else if (words[i] == "--events" && (value == "on" || value == "off")) {
            options.events = value == "on";
        } else if (words[i] == "--page") {
            options.page = value;
        } else {
            die("unknown: " + std::string(words[i]) + " " + std::string(value));
        }
    }
    if (words.size() % 2 != 0) {
        die("flags: --listen ADDRESS --tls CERT,KEY --threads N --slow drop|close|wait --events "
            "on|off --page DIR");
    }
    return options;
}

int run(const Options& options) {
    const std::string_view scheme = options.tls.certificates.empty() ? "http" : "https";
    net::Serving serving({
        .program = "chat",
        .listen = {options.listen},
        .threads = options.threads,
        .on_listening =
            [scheme](const std::vector<core::Address>& addresses) {
                std::printf("chat %s://%s/\n", scheme.data(), addresses[0].to_string().c_str());
                std::fflush(stdout);
            },
    });
    http::WebSocketHub hub;
    return serving.run([&](core::EventLoop& loop) -> Result<std::unique_ptr<net::LoopService>> {
        return ChatLoop::create(loop, hub, options);
    });
}

}  // namespace
}  // namespace tiderace::chat

int main(int argc, char** argv) {
    return tiderace::chat::run(tiderace::chat::parse({argv + 1, argv + argc}));
}
