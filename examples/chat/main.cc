// chat: rooms over WebSocket, and the page that uses them.
//
//   chat [ADDRESS [CERTIFICATE KEY]]          127.0.0.1:8080 by default
#include <tiderace/app.h>
#include <tiderace/websocket.h>

#include <algorithm>
#include <map>
#include <mutex>

using namespace tiderace;
using namespace tiderace::http;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Name = json::Length<std::string, 1, 20>;  // characters

constexpr std::size_t rooms_max = 1'000, guests_max = 200;
constexpr Duration pace = 250ms, burst = 2s;  // eight messages at once, then four a second

struct Guest {
    Name room, name;
};
struct Said {
    std::string from, said;
};
struct Members {
    std::uint64_t n = 0;  // counts up: loops may deliver two lists in either order
    std::vector<std::string> members = {};
};

class Rooms {  // shared by all loops
  public:
    // The members afterwards; "": the room is full.
    std::string enter(const Guest& guest) {
        const std::lock_guard lock(mutex_);
        if (!rooms_.contains(guest.room) && rooms_.size() >= rooms_max) return "";
        Members& room = rooms_[guest.room];
        if (room.members.size() >= guests_max) return "";
        room.members.push_back(guest.name);
        return json::write(Members{++room.n, room.members});
    }
    std::string leave(const Guest& guest) {
        const std::lock_guard lock(mutex_);
        Members room = std::move(rooms_[guest.room]);
        room.members.erase(std::ranges::find(room.members, *guest.name));
        ++room.n;
        room.members.empty() ? void(rooms_.erase(guest.room)) : void(rooms_[guest.room] = room);
        return json::write(room);
    }

  private:
    std::mutex mutex_;
    std::map<std::string, Members> rooms_;
};

int main(int argc, char** argv) {
    App app;
    Rooms rooms;
    app.use(security_headers()).state<Topics>(topics()).files("/", CHAT_PAGE);
    const auto chat = [&](WebSocket& socket, Query<Guest> guest, Topics& topics) -> Task<> {
        const std::string members = rooms.enter(*guest);
        if (members.empty()) co_return socket.close(1013, "no place left");
        const std::shared_ptr<void> stay(nullptr, [&](void*) {  // whatever ends this task
            topics.publish(*guest->room, rooms.leave(*guest));
        });
        socket.join(topics, *guest->room);
        topics.publish(*guest->room, members);
        for (Instant next{}; auto message = co_await socket.receive();) {
            if (!message->is_text()) co_return socket.close(1003, "text only");
            next = std::max(next, Instant(Clock::now()) - burst) + pace;
            co_await sleep_until(next);
            topics.publish(*guest->room, json::write(Said{guest->name, message->text()}));
        }
    };
    app.ws<"/chat">(chat, {.message_bytes_max = 4_KiB, .queue_bytes_max = 512_KiB});
    ServeOptions options{.listen = argc > 1 ? argv[1] : "127.0.0.1:8080"};
    if (argc > 3) options.tls.certificates = {{argv[2], argv[3]}};
    return app.serve(options);
}
