// Server: executes commands on the keys, for the clients of its one loop.
//
//   client -> execute(): known? arity, password, transaction, memory
//          -> the command's function
//          -> log, keys that are watched, clients that wait for a list
//
// Owner    net::Serving, which makes it before its loop runs. It owns keys, log and pool.
// Thread   The loop's.
// Limits   Options: memory, connections, bytes of incomplete commands, unsent bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tiderace/resp.h>

#include "examples/kv/answers.h"
#include "examples/kv/append_log.h"
#include "examples/kv/blocked.h"
#include "examples/kv/client.h"
#include "examples/kv/commands.h"
#include "examples/kv/keyspace.h"
#include "examples/kv/options.h"
#include "examples/kv/pubsub.h"
#include "examples/kv/snapshots.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/serving.h"

namespace kv {

using tiderace::Result;

struct Counters {
    std::uint64_t connections = 0;
    std::uint64_t commands = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t expired = 0;
    std::uint64_t evicted = 0;
};

class Server final : public net::LoopService, private net::SessionFactory, private core::Timer {
  public:
    // `stop` ends the program; for SHUTDOWN.
    Server(core::EventLoop& loop, const Options& options, std::function<void()> stop);
    ~Server() override;

    // Reads what is on the disk, and begins to log. The text reports what it found.
    Result<std::string> start();

    // For clients.
    const resp::Limits& limits() const { return limits_; }
    // Before AUTH.
    const resp::Limits& limits_of_unknown() const { return limits_of_unknown_; }
    Options& options() { return options_; }
    // The buffer of a batch's answers; reads the clock.
    Answers& begin_batch();
    void end_batch();
    void execute(Client& client, resp::Arguments arguments, ByteView encoded, Answers& out);
    void forget(Client& client);
    void unsubscribe_all(Client& client);
    // The bytes of all clients that are kept.
    const core::Ref<core::Budget>& input() const { return input_; }
    // It sent HTTP or the like: a page in a browser attacks. At most a line a minute.
    void report_foreign(const Client& client);
    // Answers wait for the log.
    bool holds_answers() const { return log_.holds_answers(); }
    void wait_for_sync(Client& client) { waiting_.push_back(&client); }

    // For commands.
    core::EventLoop& loop() { return *loop_; }
    const CommandTable& commands() const { return table_; }
    Keyspace& keys() { return keys_; }
    PubSub& pubsub() { return pubsub_; }
    Blocked& blocked() { return blocked_; }
    tiderace::Random& random() { return random_; }
    AppendLog& log() { return log_; }
    Snapshots& snapshots() { return snapshots_; }
    const core::Ref<LooseBytes>& loose() const { return loose_; }
    Counters& counters() { return counters_; }
    std::map<std::uint64_t, Client*>& clients() { return clients_; }
    void run(const Command& command, Client& client, resp::Arguments arguments, ByteView encoded,
             Answers& out);
    // Why no command with these flags may change a key now: the error's text. May evict keys.
    std::optional<std::string> refusal(unsigned flags);
    void watch(ByteView key, Client& client);
    void unwatch(Client& client);
    void key_changed(ByteView key);
    void all_keys_go();  // before they do
    // Between these, what is logged takes effect together or not at all.
    void begin_log_group() { in_group_ = true; }
    void end_log_group();
    // Saves if that is what keeps the data, and ends the program.
    Result<> shut_down(bool save);
    tiderace::Instant started() const { return started_; }
    // A new snapshot in the background, with a new log behind it. The error: one is being made.
    Result<> begin_snapshot();

  private:
    net::SessionFactory& sessions(std::size_t) override { return *this; }
    void drain(tiderace::Instant deadline, tiderace::unique_function<void()> done) override;
    net::Session& make_session(net::Connection& connection) override;
    void on_expired() override;  // ten times a second

    bool may_run(const Command& command, Client& client, resp::Arguments arguments,
                 resp::Writer& reply);
    // Evicts what it may. False: above the limit still.
    bool make_room();
    void write_log(const Call& call, resp::Arguments arguments, ByteView encoded);
    void log_text(ByteView text);
    void close_largest(std::size_t unsent_bytes);
    void sync_started();
    void sync_ended();
    void set_time();
    void rewrite_log();

    core::EventLoop* loop_;
    core::Ref<LooseBytes> loose_ = core::make_ref<LooseBytes>();
    Options options_;
    std::function<void()> stop_;
    resp::Limits limits_;
    // As in Redis: a password needs no more, and nobody else shall take more memory.
    resp::Limits limits_of_unknown_{.bulk_bytes_max = 16 << 10, .elements_max = 10};
    CommandTable table_;
    Counters counters_;
    Keyspace keys_;
    PubSub pubsub_{loose_};
    core::Ref<core::Budget> input_;
    Blocked blocked_;
    core::WorkerPool pool_;
    AppendLog log_;
    Snapshots snapshots_;
    std::map<std::uint64_t, Client*> clients_;
    std::map<std::string, std::set<Client*>, std::less<>> watchers_;
    std::vector<Client*> waiting_;    // for the next sync
    std::vector<Client*> in_flight_;  // for the one under way
    tiderace::Random random_;
    Answers out_{loose_};
    std::uint64_t next_id_ = 1;
    tiderace::Instant started_;
    std::string rewrite_failure_;  // that was reported
    std::optional<tiderace::Instant> foreign_reported_;
    bool replaying_ = false;
    bool in_group_ = false;
    bool group_begun_ = false;
};

}  // namespace kv
