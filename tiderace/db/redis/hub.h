// Internal. Hub: the commands of one loop to one server, or to the servers of a cluster.
//
//   submit() -> Node of its key's slot -> the node's Link: all commands of a turn in one write
//                  |                          |
//                  | no link yet: wait        +-> MOVED, ASK: to the node that is named
//                  |                          +-> lost: reading commands are sent again, once
//                  +-> connect(): attempts with pauses that grow, until nothing waits any more
//
// Without a cluster there is one node, and no table of slots.
//
// Owner    The runner's locals, one for each client of a loop. Calls end before it.
// Thread   The loop's.
// Errors   By Call::fail().
// Limits   Options: commands_max, unsent_bytes_max, nodes_max, waiting_timeout.
// Keywords: cluster, MOVED, ASK, failover
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/core/timer_wheel.h"
#include "tiderace/db/redis/link.h"
#include "tiderace/db/reserve.h"
#include "tiderace/task/backoff.h"
#include "tiderace/task/runner.h"

namespace tiderace::db::redis {

struct Settings {
    Place place;
    Options options;
};

class Hub;

// Sets a flag for as long as it lives, however its task ends.
class Flagged final {
  public:
    explicit Flagged(bool& flag) : flag_(&flag) { flag = true; }
    Flagged(Flagged&& other) noexcept : flag_(std::exchange(other.flag_, nullptr)) {}
    Flagged& operator=(Flagged&&) = delete;
    ~Flagged() {
        if (flag_ != nullptr) *flag_ = false;
    }

  private:
    bool* flag_;
};

// One server.
//
//   idle -- accept() --> connecting_ -- open_link() --> link_ -- on_lost() --> idle
//                         |     ^                                     `- calls that read: accept()
//                         '-----' failed: a pause that grows; calls that are due by then fail
//
class Node final : private Link::Observer, private core::Timer {
  public:
    Node(Hub& hub, std::string address);

    const std::string& address() const { return address_; }
    void accept(Call& call);
    bool idle() const {
        return !connecting_ && waiting_.empty() && link_ == nullptr && own_ == nullptr;
    }
    // No task has anything of it, though there may be connections.
    bool unused() const {
        return !connecting_ && waiting_.empty() && (own_ == nullptr || own_->unused());
    }
    // Connections that one task each has for itself.
    Reserve& own();

  private:
    friend class Hub;

    bool on_error_reply(Call& call, resp::Reply reply) override;
    void on_lost(std::vector<Call*> unanswered, const Error& why) override;
    void on_expired() override;

    bool has_room(Call& call, std::uint64_t unsent);
    void send(Call& call);
    task::Task<> connect(Flagged connecting);
    task::Task<std::optional<Error>> attempt();
    void fail_waiting(const Error& why, Instant due_until);

    Hub* hub_;
    std::string address_;
    LinkRef link_;
    std::unique_ptr<Reserve> own_;  // made when first requested
    IntrusiveList<Call> waiting_;   // in the order of their due times
    task::Backoff backoff_;
    Instant next_attempt_{};
    bool connecting_ = false;
};

class Hub final {
  public:
    static constexpr std::uint8_t redirects_max = 5;
    static constexpr std::uint8_t resends_max = 1;

    Hub(task::Runner& runner, const std::shared_ptr<const Settings>& settings);

    // The reply, or why there is none, comes later; never inside this call.
    void submit(Call& call);

    // The server of a key, for connections of a task's own; "" for any.
    Node& node_of(std::string_view key);

    struct Counters {
        std::size_t commands = 0;  // that wait or are not answered
        std::size_t nodes = 0;
        std::uint64_t opened = 0;
        std::uint64_t failed = 0;  // connections that could not be made
        std::uint64_t redirected = 0;
        std::uint64_t resent = 0;
    };
    Counters counters() const;

    const Settings& settings() const { return *settings_; }
    // Whether a Client with these settings uses this hub: two with the same URL may have different
    // options.
    bool has(const std::shared_ptr<const Settings>& settings) const {
        return !handles_.owner_before(settings) && !settings.owner_before(handles_);
    }
    // No Client and no task has it any more.
    bool left() const;
    task::Runner& runner() const { return *runner_; }

  private:
    friend class Node;

    using Slots = std::array<Node*, slots>;

    Node& node_for(const Command& command);
    Node* node_at(const std::string& address);
    bool redirect(Node& from, Call& call, std::string_view text);
    bool leave_node(Node& dead, Call& call);
    void refresh_soon(Node& from);
    task::Task<> refresh(Node& from, Flagged refreshing);
    void learn(const std::string& from, resp::Reply table);

    task::Runner* runner_;
    std::shared_ptr<const Settings> settings_;  // its own copy, for its connections
    std::weak_ptr<const Settings> handles_;     // every Client, and every task of one, has them
    std::size_t commands_ = 0;
    std::size_t waiting_bytes_ = 0;  // of commands that wait for a connection, at all nodes
    Counters counters_;
    std::unique_ptr<Slots> slots_;              // of a cluster; nullptr: not known
    std::vector<std::unique_ptr<Node>> nodes_;  // the first one is the URL's
    Instant refreshed_{};
    bool refreshing_ = false;
};

// The hubs of one loop.
class Hubs final {
  public:
    explicit Hubs(task::Runner& runner) : runner_(&runner) { (void)runner.local<Links>(); }
    Hub& of(const std::shared_ptr<const Settings>& settings);

  private:
    task::Runner* runner_;
    std::vector<std::unique_ptr<Hub>> all_;
};

}  // namespace tiderace::db::redis
