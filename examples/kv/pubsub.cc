#include "examples/kv/pubsub.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "examples/kv/client.h"
#include "examples/kv/commands.h"
#include "examples/kv/glob.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

// A message, written once for each version of the protocol and not for each subscriber; a long one
// is shared by all of them.
class Message {
  public:
    Message(std::vector<ByteView> words, core::Ref<LooseBytes> loose)
        : words_(std::move(words)), loose_(std::move(loose)) {}

    void send_to(Client& client) {
        core::Ref<Block>& block = blocks_[client.protocol == resp::Protocol::resp3 ? 1 : 0];
        if (!block) {
            std::string text;
            resp::Writer writer(text, client.protocol);
            writer.push(words_.size());
            for (const ByteView each : words_) writer.bulk(each);
            block = core::make_ref<Block>(std::move(text), loose_);
            block->detach();  // no key holds it
        }
        // A short one costs less as a copy than as a piece of each queue.
        if (block->view().size() < Text::shared_bytes_min) return client.push(block->view());
        Answers message(loose_);
        message.share(block->view(), block);
        client.push(message);
    }

  private:
    std::vector<ByteView> words_;
    core::Ref<LooseBytes> loose_;
    std::array<core::Ref<Block>, 2> blocks_;
};

void answer(Call& call, std::string_view kind, std::optional<ByteView> name) {
    call.reply.push(3);
    call.reply.bulk(kind);
    if (name) {
        call.reply.bulk(*name);
    } else {
        call.reply.null();
    }
    call.reply.integer(static_cast<std::int64_t>(call.client.subscription_count()));
}

// The memory of a subscription: its name is in two tables.
std::size_t memory_of(ByteView name) {
    constexpr std::size_t places_bytes = 256;
    return 2 * name.size() + places_bytes;
}

void add_all(Call& call, std::string_view kind, PubSub::Subscribers& to,
             std::set<std::string, std::less<>>& own) {
    for (const ByteView name : call.args.from(1)) {
        if (own.emplace(name).second) {
            PubSub::add(to, name, call.client);
            call.client.subscriptions().bytes += memory_of(name);
        }
        answer(call, kind, name);
    }
}

void remove_all(Call& call, std::string_view kind, PubSub::Subscribers& from,
                std::set<std::string, std::less<>>& own) {
    std::vector<std::string> names;
    for (const ByteView name : call.args.from(1)) names.emplace_back(name);
    if (call.args.size() == 1) names.assign(own.begin(), own.end());
    // Redis answers once in any case, or a client that waits for an answer would wait for ever.
    if (names.empty()) answer(call, kind, std::nullopt);
    for (const std::string& name : names) {
        if (own.erase(name) > 0) {
            PubSub::remove(from, name, call.client);
            call.client.subscriptions().bytes -= memory_of(name);
        }
        answer(call, kind, name);
    }
}

// A channel is held against all patterns, so neither may be long. False: one is, and that was
// answered.
bool are_short(Call& call, resp::Arguments names) {
    for (const ByteView name : names) {
        if (name.size() <= Glob::bytes_max) continue;
        call.reply.error("ERR a channel or pattern is longer than " +
                         std::to_string(Glob::bytes_max) + " bytes");
        return false;
    }
    return true;
}

void subscribe(Call& call) {
    if (!are_short(call, call.args.from(1))) return;
    add_all(call, "subscribe", call.server.pubsub().channels, call.client.subscriptions().channels);
}

void psubscribe(Call& call) {
    if (!are_short(call, call.args.from(1))) return;
    add_all(call, "psubscribe", call.server.pubsub().patterns,
            call.client.subscriptions().patterns);
}

void unsubscribe(Call& call) {
    remove_all(call, "unsubscribe", call.server.pubsub().channels,
               call.client.subscriptions().channels);
}

void punsubscribe(Call& call) {
    remove_all(call, "punsubscribe", call.server.pubsub().patterns,
               call.client.subscriptions().patterns);
}

void publish(Call& call) {
    if (!are_short(call, call.args.part(1, 2))) return;
    const std::size_t count = call.server.pubsub().publish(call.args[1], call.args[2]);
    call.reply.integer(static_cast<std::int64_t>(count));
}

void pubsub(Call& call) {
    PubSub& all = call.server.pubsub();
    if (same_word(call.args[1], "CHANNELS") && call.args.size() <= 3) {
        const ByteView wanted = call.args.size() == 3 ? call.args[2] : "*";
        if (!call.takes_pattern(wanted)) return;
        Glob pattern(wanted);
        std::vector<ByteView> names;
        for (const auto& [name, clients] : all.channels) {
            if (pattern.matches(name)) names.push_back(name);
        }
        call.reply.array(names.size());
        for (const ByteView name : names) call.reply.bulk(name);
    } else if (same_word(call.args[1], "NUMSUB")) {
        call.reply.array(2 * (call.args.size() - 2));
        for (const ByteView name : call.args.from(2)) {
            const auto found = all.channels.find(name);
            call.reply.bulk(name);
            call.reply.integer(
                found == all.channels.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
        }
    } else if (same_word(call.args[1], "NUMPAT") && call.args.size() == 2) {
        call.reply.integer(static_cast<std::int64_t>(all.patterns.size()));
    } else {
        call.syntax_error();
    }
}

}  // namespace

std::size_t PubSub::publish(ByteView channel, ByteView message) {
    std::size_t count = 0;
    if (const auto found = channels.find(channel); found != channels.end()) {
        Message text({"message", channel, message}, loose_);
        for (Client* client : found->second) text.send_to(*client);
        count += found->second.size();
    }
    // A client whose channel and pattern both match gets the message twice, as from Redis.
    for (const auto& [pattern, clients] : patterns) {
        if (!Glob(pattern).matches(channel)) continue;
        Message text({"pmessage", pattern, channel, message}, loose_);
        for (Client* client : clients) text.send_to(*client);
        count += clients.size();
    }
    return count;
}

void PubSub::add(Subscribers& to, ByteView name, Client& client) {
    auto found = to.find(name);
    if (found == to.end()) found = to.try_emplace(std::string(name)).first;
    found->second.insert(&client);
}

void PubSub::remove(Subscribers& from, ByteView name, Client& client) {
    const auto found = from.find(name);
    if (found == from.end()) return;
    found->second.erase(&client);
    // PUBSUB CHANNELS lists those with subscribers.
    if (found->second.empty()) from.erase(found);
}

Commands pubsub_commands() {
    static constexpr Command commands[] = {
        {"subscribe", subscribe, -2, flag::when_subscribed | flag::no_transaction},
        {"psubscribe", psubscribe, -2, flag::when_subscribed | flag::no_transaction},
        {"unsubscribe", unsubscribe, -1, flag::when_subscribed | flag::no_transaction},
        {"punsubscribe", punsubscribe, -1, flag::when_subscribed | flag::no_transaction},
        {"publish", publish, 3, 0},
        {"pubsub", pubsub, -2, 0},
    };
    return commands;
}

}  // namespace kv
