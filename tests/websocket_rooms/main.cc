// Rooms for tests of one to many: what the suites in tests/ load with thousands of sockets.
//
//   websocket_rooms [--listen ADDRESS] [--tls CERTIFICATE,KEY] [--threads N]
//                   [--slow drop|close|wait] [--events on|off]
//
//   GET /echo                   a WebSocket: each message comes back
//   GET /chat?room=R&name=N     a WebSocket: each text message goes to all in the room, as
//                               {"type":"said","from":N,"text":…}; the events "came" and "went"
#include <tiderace/app.h>
#include <tiderace/websocket.h>

#include <map>
#include <string>

namespace tiderace::http {
namespace {

struct Guest {
    json::Length<std::string, 1, 40> room, name;
};
struct Event {
    std::string type, from;
};
struct Said {
    std::string type, from, text;
};

// In a room, for as long as its task runs.
struct Stay {
    Topics& topics;
    const Guest& guest;
    bool tells;

    void tell(const char* type) const {
        if (tells) topics.publish(*guest.room, json::write(Event{type, guest.name}));
    }
    ~Stay() { tell("went"); }
};

int run(std::map<std::string, std::string> flags) {
    const bool tells = flags["--events"] != "off";
    WebSocketOptions sockets{.message_bytes_max = 4_KiB, .queue_bytes_max = 512_KiB};
    if (flags["--slow"] == "drop") sockets.slow_receiver = SlowReceiver::drop;
    if (flags["--slow"] == "wait") sockets.slow_receiver = SlowReceiver::wait;

    App app;
    app.get<"/">([] { return "rooms\n"; });
    app.ws<"/echo">([](WebSocket& socket) -> Task<> {
        while (auto message = co_await socket.receive()) co_await socket.send(*message);
    });
    app.state<Topics>(topics());
    const auto talk = [tells](WebSocket& socket, Query<Guest> guest, Topics& topics) -> Task<> {
        const Stay stay{topics, *guest, tells};
        socket.join(topics, *guest->room);
        stay.tell("came");
        while (auto message = co_await socket.receive()) {
            if (!message->is_text()) co_return socket.close(1003, "text only");
            const Said said{"said", guest->name, message->text()};
            socket.publish(topics, *guest->room, WebSocketMessage(json::write(said)));
        }
    };
    app.ws<"/chat">(talk, sockets);

    ServeOptions options{.listen = flags.contains("--listen") ? flags["--listen"] : "127.0.0.1:0"};
    options.threads = flags.contains("--threads") ? std::stoul(flags["--threads"]) : 1;
    const std::string& pair = flags["--tls"];
    if (const std::size_t comma = pair.find(','); comma != pair.npos) {
        options.tls.certificates = {{pair.substr(0, comma), pair.substr(comma + 1)}};
    }
    return app.serve(options);
}

}  // namespace
}  // namespace tiderace::http

int main(int argc, char** argv) {
    std::map<std::string, std::string> flags;
    for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
    return tiderace::http::run(std::move(flags));
}
