// Internal. Link: one connection to a server: commands in the order of their sending, replies in
// the same.
//
//   send() send() send()  ->  one write at the end of the turn  ->  replies to the calls, in order
//                                                                   pushes to the observer
//
//   open -- lose(): a fault, a deadline, the peer's end --> broken -- end of the turn --> closed
//   its LinkRef ends (EndLink) -> among Links::closing_ -- release() --> destroyed
//
// Owner    The one that opened it, by a LinkRef; its end closes the connection, within this turn.
// Thread   The loop's.
// Errors   on_lost(), once: with every call that has no reply.
// Limits   Options: unsent_bytes_max, reply_bytes_max, command_timeout.
// Memory   An unanswered command: 8 bytes. A reply that has come in part: its bytes.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/db/redis/call.h"
#include "tiderace/db/redis/options.h"
#include "tiderace/db/redis/place.h"
#include "tiderace/db/redis/reply.h"
#include "tiderace/net/connection.h"
#include "tiderace/resp/reply_reader.h"
#include "tiderace/task/task.h"
#include "tiderace/tcp/dial.h"

namespace tiderace::db::redis {

class Links;

class Link final : private net::Connection::Owner, private net::Session {
  public:
    class Observer {
      public:
        // True: the call is taken, and will be answered otherwise (a redirection).
        virtual bool on_error_reply(Call&, resp::Reply) { return false; }
        // A message that answers no command.
        virtual void on_push(resp::Reply) {}
        // The connection is gone. `unanswered` are in the order of their sending, and know it.
        virtual void on_lost(std::vector<Call*> unanswered, const Error& why) = 0;

      protected:
        ~Observer() = default;
    };

    Link(Links& all, tcp::Dialed dialed, const Options& options);

    void observe(Observer* observer) { observer_ = observer; }
    // Misuse once it is broken().
    void send(Call& call);
    // A command whose reply is dropped.
    void send_unasked(std::string_view bytes);
    // All that comes is a push from now on: a subscription.
    void expect_only_pushes() { only_pushes_ = true; }
    // How long the server may take over a reply, or between parts of it.
    void set_patience(Duration patience);

    bool broken() const { return broken_; }
    // Outstanding replies, including cancelled calls'.
    std::size_t unanswered() const { return sent_.size(); }
    std::uint64_t unsent_bytes() const { return connection_ ? connection_->queue_bytes() : 0; }
    // When bytes came from the server last.
    Instant heard() const { return heard_; }
    const Error& failure() const { return *failure_; }

  private:
    friend class Call;
    friend class Links;
    friend struct EndLink;

    core::EventLoop& loop() override;
    const net::ConnectionLimits& limits() const override { return limits_; }
    void release(net::Connection& connection, net::CloseReason reason) override;
    std::size_t on_data(net::Connection& connection, ByteView data) override;
    void on_secured(net::Connection&) override { secured_ = true; }
    void on_peer_finished(net::Connection& connection) override;
    void on_deadline(net::Connection& connection) override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;

    void take(resp::Reply reply);
    void refuse(resp::Fault fault);
    void forget(Call& call);
    void lose(Error why);
    void expect();

    Links* all_;
    Observer* observer_ = nullptr;
    Duration patience_;
    net::ConnectionLimits limits_;
    resp::Limits reply_limits_;
    resp::ReplyReader reader_{reply_limits_};
    std::shared_ptr<tcp::ClientLayer> layer_;
    std::unique_ptr<net::Connection> connection_;  // declared after what it uses; null once closed
    std::deque<Call*> sent_;                       // nullptr: cancelled
    std::uint64_t answered_ = 0;                   // the place of sent_.front()
    Instant heard_{};
    std::optional<Error> failure_;
    bool secured_;
    bool only_pushes_ = false;
    bool broken_ = false;
};

// Ends a link: it is destroyed when its connection is closed.
struct EndLink {
    void operator()(Link* link) const;
};
using LinkRef = std::unique_ptr<Link, EndLink>;

// The links of one loop that close. A pool of links asks for this first, so that it outlives them.
class Links final {
  public:
    explicit Links(task::Runner& runner) : runner_(&runner) {}
    // Closes them, with the turns that it takes.
    ~Links();
    task::Runner& runner() const { return *runner_; }

  private:
    friend class Link;
    friend struct EndLink;
    task::Runner* runner_;
    std::vector<std::unique_ptr<Link>> closing_;
};

// Connects, agrees on RESP 3 if the server knows it, logs in and selects the database.
// `address`: "host:port" or "unix:PATH", which is the place's own unless a cluster redirects.
// Throws Error{connection_lost} or Error{configuration}.
task::Task<LinkRef> open_link(const Place& place, std::string address, const Options& options,
                              Instant until);

// One command on a link that is the task's own. The reply may be an error.
task::Task<Reply> ask(Link& link, Command command);

}  // namespace tiderace::db::redis
