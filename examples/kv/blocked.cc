#include "examples/kv/blocked.h"

#include <chrono>
#include <utility>

#include "examples/kv/server.h"

namespace kv {

struct Blocked::Wait final : core::Timer {
    Wait(Blocked& b, Client& c, const Command& command, resp::Arguments arguments)
        : blocked(&b), client(&c), again(command, arguments) {}
    void on_expired() override { blocked->give_up(*client); }

    Blocked* blocked;
    Client* client;
    QueuedCommand again;
    std::uint64_t number = 0;
    std::vector<std::string> keys;  // each once, however often it was named
};

Blocked::Blocked(core::EventLoop& loop, core::Ref<LooseBytes> loose)
    : loop_(&loop), loose_(std::move(loose)) {}
Blocked::~Blocked() = default;

void Blocked::wait(Call& call, const Command& command, resp::Arguments keys, double seconds) {
    Client& client = call.client;
    auto wait = std::make_unique<Wait>(*this, client, command, call.args);
    // Twice: its keys are kept by name as well.
    client.block(2 * wait->again.bytes());
    wait->number = ++waits_so_far_;
    for (const ByteView key : keys) {
        auto found = by_key_.find(key);
        if (found == by_key_.end()) found = by_key_.try_emplace(std::string(key)).first;
        if (found->second.emplace(wait->number, &client).second) wait->keys.emplace_back(key);
    }
    // Zero waits for ever, as in Redis.
    if (seconds > 0) {
        constexpr double seconds_max = 1e9;  // Instant ends after 292 years
        const std::chrono::duration<double> time(seconds < seconds_max ? seconds : seconds_max);
        loop_->assert_on_loop();
        loop_->arm(*wait, loop_->now() + std::chrono::duration_cast<tiderace::Duration>(time));
    }
    waits_[&client] = std::move(wait);
}

void Blocked::note(ByteView key) {
    // Only noted: the command that changes the key is still running.
    if (by_key_.contains(key)) ready_.emplace(key);
}

void Blocked::serve(Server& server) {
    // A command that is served may change further keys (BLMOVE), which come into the set meanwhile.
    while (!ready_.empty()) {
        const std::string key = std::move(ready_.extract(ready_.begin()).value());
        // Looked up anew for each, because those that are served leave the queue, and the last one
        // ends it.
        for (std::uint64_t last = 0;;) {
            const auto queue = by_key_.find(key);
            if (queue == by_key_.end()) break;
            const auto next = queue->second.upper_bound(last);
            if (next == queue->second.end()) break;
            last = next->first;
            Client* const client = next->second;
            if (client->leaves()) continue;
            const auto wait = waits_.find(client);
            Answers out(server.loose());
            const QueuedCommand& again = wait->second->again;
            // The command is executed again as a whole: it knows how it moves, logs and answers.
            server.run(again.command(), *client, again.arguments(), {}, out);
            // Without the key nothing is left for those behind. Where it is there, it holds what
            // this client does not wait for, and others may.
            if (out.empty() && server.keys().peek(key) == nullptr) break;
            if (out.empty()) continue;
            forget(*client);
            client->unblock(out);
        }
    }
}

void Blocked::forget(Client& client) {
    const auto found = waits_.find(&client);
    if (found == waits_.end()) return;
    for (const std::string& key : found->second->keys) {
        const auto at = by_key_.find(key);
        if (at == by_key_.end()) continue;
        at->second.erase(found->second->number);
        if (at->second.empty()) by_key_.erase(at);
    }
    waits_.erase(found);
}

void Blocked::give_up(Client& client) {
    Answers out(loose_);
    resp::Writer(out.text(), client.protocol).null_array();
    forget(client);
    client.unblock(out);
}

void Blocked::end_all() {
    while (!waits_.empty()) give_up(*waits_.begin()->first);
}

}  // namespace kv
