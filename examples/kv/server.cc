#include "examples/kv/server.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "examples/kv/memory_used.h"
#include "examples/kv/replay.h"

namespace kv {
namespace {

// AppendLog::tick() counts ten of them for a second.
constexpr tiderace::Duration period = std::chrono::milliseconds(100);
// Keys that are due at the same moment must not hold up the loop.
constexpr std::size_t expired_max = 2'000;  // in a period
// One large answer must not keep its memory for ever.
constexpr std::size_t out_bytes_kept = 1 << 20;

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

Server::Server(core::EventLoop& loop, const Options& options, std::function<void()> stop)
    : loop_(&loop),
      options_(options),
      stop_(std::move(stop)),
      // A message is larger than its longest argument: the command's other words come on top.
      limits_{.bulk_bytes_max = options.bulk_bytes_max,
              .message_bytes_max = std::max(std::size_t{1} << 30, options.bulk_bytes_max + 4096)},
      input_(core::make_ref<core::Budget>(loop, "input", options.input_bytes_max)),
      blocked_(loop, loose_),
      pool_(2, 64),
      log_(loop, pool_, {.started = [this] { sync_started(); }, .ended = [this] { sync_ended(); }}),
      snapshots_(options.folder),
      random_(hash_of("random elements")),
      started_(loop.now()) {
    keys_.on_loss([this](ByteView key, Keyspace::Loss loss) {
        ++(loss == Keyspace::Loss::expired ? counters_.expired : counters_.evicted);
        std::string text;
        // Logged, because a replay has no clock and no memory limit of its own.
        resp::Writer(text).command({"DEL", key});
        log_text(text);
        key_changed(key);
    });
}

Server::~Server() = default;

Result<std::string> Server::start() {
    replaying_ = true;
    // Nothing expires while the log is replayed: its DELs record what did.
    keys_.set_now(0);
    auto replayed = replay_folder(*this, options_.folder);
    replaying_ = false;
    set_time();
    if (!replayed) return fail(replayed.error());
    snapshots_.set_generation(replayed->snapshot);
    if (options_.log) {
        // Keys that only a snapshot holds are found in it again; the log goes on behind it.
        const std::uint64_t number = std::max(replayed->log, replayed->snapshot);
        if (auto opened = log_.open(options_.folder, number, options_.sync); !opened) {
            return fail(opened.error());
        }
    }
    loop_->arm(*this, loop_->now() + period);
    return replayed->text;
}

void Server::set_time() {
    keys_.set_now(now_ms());
    keys_.set_eviction(options_.eviction);
}

Answers& Server::begin_batch() {
    set_time();
    out_.clear();
    return out_;
}

void Server::end_batch() {
    if (out_.text().capacity() > out_bytes_kept) std::string().swap(out_.text());
    if (loose_->bytes > options_.output_bytes_max) close_largest(loose_->bytes);
}

// In the order of the library's rule (core/budget.h).
void Server::close_largest(std::size_t expected) {
    std::vector<core::Claim> claims;
    std::vector<Client*> holders;
    for (const auto& [id, client] : clients_) {
        const std::size_t bytes = client->unsent_bytes();
        if (!client->killed()) {
            claims.push_back({.bytes = bytes,
                              .client = core::ClientKey(client->connection()->peer()),
                              .trusted = client->authenticated()});
            holders.push_back(client);
        } else {
            // Its blocks go at the turn's end.
            expected -= std::min(expected, bytes);
        }
    }
    if (expected <= options_.output_bytes_max) return;
    for (const std::size_t index :
         core::choose_to_go(claims, expected - options_.output_bytes_max)) {
        holders[index]->kill();
    }
}

net::Session& Server::make_session(net::Connection& connection) {
    ++counters_.connections;
    const std::uint64_t id = next_id_++;
    Client* client = new Client(*this, &connection, id);  // it ends itself in on_close
    clients_.emplace(id, client);
    return *client;
}

void Server::forget(Client& client) {
    unwatch(client);
    blocked_.forget(client);
    unsubscribe_all(client);
    std::erase(waiting_, &client);
    std::erase(in_flight_, &client);
    clients_.erase(client.id());
}

void Server::unsubscribe_all(Client& client) {
    if (client.subscription_count() == 0) return;
    auto& own = client.subscriptions();
    for (const auto& each : own.channels) PubSub::remove(pubsub_.channels, each, client);
    for (const auto& each : own.patterns) PubSub::remove(pubsub_.patterns, each, client);
    own = {};
}

void Server::execute(Client& client, resp::Arguments arguments, ByteView encoded, Answers& out) {
    if (arguments.empty()) return;
    resp::Writer reply(out.text(), client.protocol);
    const Command* command = table_.find(arguments[0]);
    if (command == nullptr) {
        std::string text = "ERR unknown command '" + std::string(arguments[0].substr(0, 128)) +
                           "', with args beginning with: ";
        for (std::size_t i = 1; i < arguments.size() && text.size() < 256; ++i) {
            text += "'" + std::string(arguments[i].substr(0, 128)) + "' ";
        }
        reply.error(text);
        // EXEC then refuses all of it, so that no part of a faulty transaction is executed.
        if (client.in_transaction()) client.transaction().spoiled = true;
        return;
    }
    if (!may_run(*command, client, arguments, reply)) {
        if (client.in_transaction()) client.transaction().spoiled = true;
        return;
    }
    if (client.in_transaction() && (command->flags & flag::in_transaction) == 0) {
        auto& transaction = client.transaction();
        transaction.queue.emplace_back(*command, arguments);
        transaction.queue_bytes += transaction.queue.back().bytes();
        if (transaction.queue_bytes > limits_.message_bytes_max) {
            transaction.spoiled = true;
            // The memory goes at once; EXEC reports the rest.
            transaction.queue.clear();
            transaction.queue_bytes = 0;
        }
        reply.simple("QUEUED");
        return;
    }
    run(*command, client, arguments, encoded, out);
    // After the command, not within it: it may still be working on the key, and EXEC on its other
    // commands.
    if (!blocked_.ready()) return;
    blocked_.serve(*this);
}

bool Server::may_run(const Command& command, Client& client, resp::Arguments arguments,
                     resp::Writer& reply) {
    const auto count = static_cast<int>(arguments.size());
    if (command.arity > 0 ? count != command.arity : count < -command.arity) {
        reply.error("ERR wrong number of arguments for '" + std::string(command.name) +
                    "' command");
        return false;
    }
    if (!client.authenticated() && (command.flags & flag::before_auth) == 0 && !replaying_) {
        reply.error("NOAUTH Authentication required.");
        return false;
    }
    if (client.subscription_count() > 0 && client.protocol == resp::Protocol::resp2 &&
        (command.flags & flag::when_subscribed) == 0) {
        reply.error("ERR Can't execute '" + std::string(command.name) +
                    "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed "
                    "in this context");
        return false;
    }
    if (client.in_transaction() && (command.flags & flag::no_transaction) != 0) {
        reply.error("ERR Command not allowed inside a transaction");
        return false;
    }
    const auto refused = refusal(command.flags);
    if (refused) reply.error(*refused);
    return !refused;
}

std::optional<std::string> Server::refusal(unsigned flags) {
    if ((flags & flag::write) == 0 || replaying_) return std::nullopt;
    // Every write makes room, but only commands that need memory are refused: DEL and similar
    // commands are what a client needs when memory is full.
    if (!make_room() && (flags & flag::grows) != 0) {
        return "OOM command not allowed when used memory > 'maxmemory'.";
    }
    if (log_.failed()) return "MISCONF Errors writing to the log: " + log_.failure();
    return std::nullopt;
}

bool Server::make_room() {
    if (options_.memory_max == 0) return true;
    while (memory_used() > options_.memory_max && keys_.evict_one()) continue;
    return memory_used() <= options_.memory_max;
}

// Logged after it ran, and only if it changed something; call.log_as() has replaced a text that
// depends on the time or on chance.
void Server::run(const Command& command, Client& client, resp::Arguments arguments,
                 ByteView encoded, Answers& out) {
    ++counters_.commands;
    Call call(*this, client, arguments, out);
    command.run(call);
    if (call.is_changed()) write_log(call, arguments, encoded);
    if (out.own_bytes() < options_.output_bytes_max) return;
    // No client may have so much to read. A transaction still runs to its end, because it is one
    // step.
    out.clear();
    client.kill();
}

void Server::write_log(const Call& call, resp::Arguments arguments, ByteView encoded) {
    if (!log_.is_open()) return;
    if (!call.log_text().empty()) return log_text(call.log_text());
    if (!encoded.empty()) return log_text(encoded);
    std::string text;
    resp::Writer writer(text);
    writer.array(arguments.size());
    for (const ByteView each : arguments) writer.bulk(each);
    log_text(text);
}

void Server::log_text(ByteView text) {
    if (!log_.is_open() || replaying_) return;
    // With the first change only: a transaction that reads leaves nothing in the log.
    if (in_group_ && !std::exchange(group_begun_, true)) log_.append("*1\r\n$5\r\nMULTI\r\n");
    log_.append(text);
}

void Server::end_log_group() {
    in_group_ = false;
    if (std::exchange(group_begun_, false)) log_.append("*1\r\n$4\r\nEXEC\r\n");
}

void Server::report_foreign(const Client& client) {
    constexpr tiderace::Duration pause = std::chrono::minutes(1);
    if (foreign_reported_ && loop_->now() < *foreign_reported_ + pause) return;
    foreign_reported_ = loop_->now();
    std::fprintf(stderr,
                 "kv: %s sent HTTP, TLS or other bytes that are no command, so its connection is "
                 "closed; a page in a browser of that machine may be attacking\n",
                 client.address().c_str());
}

void Server::watch(ByteView key, Client& client) {
    auto& transaction = client.transaction();
    if (!transaction.watched.emplace(key).second) return;
    // The name is in two tables.
    constexpr std::size_t place_bytes = 128;
    transaction.watched_bytes += 2 * key.size() + place_bytes;
    auto found = watchers_.find(key);
    if (found == watchers_.end()) found = watchers_.try_emplace(std::string(key)).first;
    found->second.insert(&client);
}

void Server::unwatch(Client& client) {
    auto* transaction = client.any_transaction();
    if (transaction == nullptr) return;
    for (const std::string& key : transaction->watched) {
        const auto found = watchers_.find(key);
        found->second.erase(&client);
        if (found->second.empty()) watchers_.erase(found);
    }
    transaction->watched.clear();
    transaction->watched_bytes = 0;
}

void Server::key_changed(ByteView key) {
    blocked_.key_changed(key);
    if (watchers_.empty()) return;
    const auto found = watchers_.find(key);
    if (found == watchers_.end()) return;
    for (Client* client : found->second) client->transaction().dirty = true;
}

void Server::all_keys_go() {
    for (const auto& [key, clients] : watchers_) {
        // One that is absent stays as it was.
        if (keys_.peek(key) == nullptr) continue;
        for (Client* client : clients) client->transaction().dirty = true;
    }
}

// Answers that were held up to now depend on what this sync writes. Later answers wait for the next
// one.
void Server::sync_started() {
    in_flight_ = std::exchange(waiting_, {});
    for (Client* client : in_flight_) client->sync_started();
}

void Server::sync_ended() {
    for (Client* client : std::exchange(in_flight_, {})) client->sync_ended();
}

Result<> Server::begin_snapshot() {
    if (snapshots_.running()) return fail(tiderace::Error(0, "snapshot", "already in progress"));
    // The log goes first: changes after the fork are then in the log of the same number.
    const std::uint64_t number = std::max(snapshots_.generation(), log_.number()) + 1;
    if (log_.is_open()) {
        if (auto rotated = log_.rotate(number); !rotated) return rotated;
    }
    return snapshots_.begin(keys_, number);
}

Result<> Server::shut_down(bool save) {
    // A log has all of it already, and its end is written when it is destroyed.
    if (save && !log_.is_open()) {
        const auto saved =
            snapshots_.save(keys_, std::max(snapshots_.generation(), log_.number()) + 1);
        if (!saved) return saved;
    }
    stop_();
    return {};
}

void Server::drain(tiderace::Instant, tiderace::unique_function<void()> done) {
    // Clients that wait would keep their connections open until the drain's end.
    blocked_.end_all();
    done();
}

void Server::on_expired() {
    loop_->arm(*this, loop_->now() + period);
    set_time();
    keys_.expire_some(expired_max);
    // Here the copies in the connections' queues count as well, whose own limit is the loop's.
    std::size_t unsent = loose_->bytes;
    for (const auto& [id, client] : clients_) unsent += client->copied_bytes();
    if (unsent > options_.output_bytes_max) close_largest(unsent);
    log_.tick();
    snapshots_.poll();
    // The log is rewritten when most of it is superseded: at twice the size of the keys themselves.
    const std::uint64_t wanted = std::max(options_.rewrite_bytes_min, 2 * snapshots_.bytes());
    if (log_.is_open() && !snapshots_.running() && log_.bytes() > wanted) rewrite_log();
}

// Where the new log cannot be made it is tried again in the next period; where only the child
// cannot, once the new log has grown as large. A reason that stays is reported once.
void Server::rewrite_log() {
    const auto begun = begin_snapshot();
    const std::string failure = begun ? std::string() : begun.error().message();
    if (!failure.empty() && failure != rewrite_failure_) {
        std::fprintf(stderr, "kv: the log cannot be rewritten: %s\n", failure.c_str());
    }
    rewrite_failure_ = failure;
}

}  // namespace kv
