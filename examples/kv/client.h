// Client: one connection: its commands in, its answers out, and what it has begun: a transaction,
// subscriptions, a wait for a list.
//
//   bytes -> CommandReader -> Server::execute -> the batch's answers -> send()
//                                                   |
//                      while the log is not synced: held, until released
//
// Answers are held so that no client learns of a change which a crash can still undo (--fsync
// always). Two buffers: what waits for the sync under way, and what waits for the next one.
//
// Owner    Itself: made by the server for a connection, ends in on_close().
// Limits   Unsent answers: Options::output_bytes_max; above it, the next commands wait. What it
//          sends: Server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <tiderace/resp.h>

#include "examples/kv/answers.h"
#include "tiderace/net/connection.h"

namespace kv {

class Server;
struct Command;
namespace resp = tiderace::resp;

// A command that waits for EXEC, with memory of its own.
class QueuedCommand {
  public:
    QueuedCommand(const Command& command, resp::Arguments arguments);

    const Command& command() const { return *command_; }
    resp::Arguments arguments() const { return {text_.data(), ranges_.data(), ranges_.size()}; }
    // With what the object itself takes: a PING has four bytes.
    std::size_t bytes() const {
        return sizeof(*this) + text_.capacity() + ranges_.capacity() * sizeof(resp::Range);
    }

  private:
    const Command* command_;
    std::string text_;
    std::vector<resp::Range> ranges_;
};

//   reading -- has_backlog(), or too much held --> waits -- on_drained(), sync_ended() --> reading
//   reading -- BLPOP finds nothing: block() --> blocked -- unblock(): served, too late --> reading
//   any -- QUIT, a fault, its end --> closing_ -- nothing is held --> finish() -> on_close()
//   any -- the program ends --> stopping_ -- nothing is held --> close_when_quiet() -> on_close()
//   any -- CLIENT KILL, too slow a subscriber --> killed_ -> on_close() in the same turn
//
class Client final : public net::Session {
  public:
    struct Transaction {
        std::vector<QueuedCommand> queue;
        std::size_t queue_bytes = 0;
        std::set<std::string, std::less<>> watched;
        std::size_t watched_bytes = 0;
        bool open = false;     // since MULTI
        bool spoiled = false;  // a command could not be queued: EXEC fails
        bool dirty = false;    // a watched key was changed
    };
    struct Subscriptions {
        std::set<std::string, std::less<>> channels;
        std::set<std::string, std::less<>> patterns;
        std::size_t bytes = 0;  // of both, in all tables
        std::size_t size() const { return channels.size() + patterns.size(); }
    };

    // connection: nullptr for the client that replays a log.
    Client(Server& server, net::Connection* connection, std::uint64_t id);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Answers and messages, in order.
    void send(ByteView bytes);
    void send(Answers& answers);  // empties them
    // A message that it did not request: a subscriber that reads too slowly is closed.
    void push(ByteView bytes);
    void push(Answers& message);
    // Closes once everything is sent.
    void close_soon() { closing_ = true; }
    void kill();
    bool killed() const { return killed_; }
    std::size_t unsent_bytes() const;
    std::size_t copied_bytes() const;  // of these, those in the connection's own memory

    // What is held waits for a sync that starts now; it has ended.
    void sync_started();
    void sync_ended();
    bool holds() const { return !held_.empty() || !in_flight_.empty(); }

    Transaction& transaction();
    bool in_transaction() const { return transaction_ != nullptr && transaction_->open; }
    Transaction* any_transaction() { return transaction_.get(); }
    void end_transaction() { transaction_.reset(); }
    Subscriptions& subscriptions();
    std::size_t subscription_count() const {
        return subscriptions_ != nullptr ? subscriptions_->size() : 0;
    }

    // Its queued commands are executed: none of them may wait.
    void set_in_exec(bool in_exec) { in_exec_ = in_exec; }
    bool in_exec() const { return in_exec_; }

    // Nothing more can be sent to it: an element that is popped for it would be lost.
    bool leaves() const;
    // BLPOP waits: no further command is read.
    bool blocked() const { return blocked_; }
    void block(std::size_t command_bytes);
    // Its answer is sent, and it reads on.
    void unblock(Answers& answer);

    // Without it, commands are small and few (Server::limits_of_unknown).
    bool authenticated() const { return authenticated_; }
    void set_authenticated(bool authenticated);

    std::uint64_t id() const { return id_; }
    std::string address() const;
    bool replays() const { return connection_ == nullptr; }
    net::Connection* connection() { return connection_; }

    resp::Protocol protocol = resp::Protocol::resp2;
    std::string name;

  private:
    struct Input final : core::Budget::Holder {
        explicit Input(Client& c) : client(&c) {}
        void refuse() TR_ON_LOOP override { client->refuse_input(); }
        Client* client;
    };

    // One that has shown no password, whatever it is doing, makes way for others.
    bool is_idle() const override { return !authenticated_; }
    bool is_trusted() const override { return authenticated_; }
    std::size_t on_data(net::Connection& connection, ByteView data) override;
    void on_drained(net::Connection& connection) override;
    void on_peer_finished(net::Connection& connection) override;
    void on_drain(net::Connection& connection) override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;

    std::size_t read_on(ByteView data, Answers& out);
    void read_commands(ByteView& in, Answers& out);
    // Its bytes that are kept. If all clients' bytes are too many, some clients are refused.
    void count_input();
    void refuse_input();
    bool must_wait() const;
    void refuse(Answers& out);
    bool may_send_now();
    void close_if_slow();
    void after_held();
    void resume();

    Server* server_;
    net::Connection* connection_;
    std::uint64_t id_;
    resp::CommandReader reader_;
    Answers held_;
    Answers in_flight_;
    Answers pushed_;  // by its own command, to go behind the answer
    std::unique_ptr<Transaction> transaction_;
    std::unique_ptr<Subscriptions> subscriptions_;
    Input input_{*this};
    std::size_t blocked_bytes_ = 0;  // of the command that waits
    std::string behind_;             // commands behind it, where they are many
    std::size_t behind_used_ = 0;    // of them
    bool authenticated_ = false;
    bool closing_ = false;
    bool blocked_ = false;
    bool executing_ = false;
    bool in_exec_ = false;
    bool stopping_ = false;  // it is to end when nothing is held any more
    bool waits_for_sync_ = false;
    bool killed_ = false;
};

}  // namespace kv
