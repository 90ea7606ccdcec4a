// Wakes: which open pages have to look into the database again, on this node and on the others.
//
//   like, reply, follow, post --commit--> member(id), author(id)
//       -> every loop of this process, by WakeHub            -> seats of that member, or of those
//       -> Bus: Redis, or PostgreSQL's NOTIFY -> other nodes    who follow that author -> look
//
// A wake carries no news, only whose pages are to look. So a wake that is lost, doubled or forged
// shows nothing wrong, a slow page has one mark instead of a queue, and a node that lost its bus
// wakes all of its pages when it is back.
//
// Owner    Wakes: the loop's Site. WakeHub: shared by the loops of a process.
// Thread   Wakes and Seat: the loop's. WakeHub: any.
// Errors   None of the callers: a bus that fails is tried again until the wakes are sent.
// Limits   seats_max of a loop, seats_of_member_max of each member there; waiting_max wakes that
//          the bus has not taken, above which one wake for all pages takes their place.
#pragma once

#include <tiderace/db.h>
#include <tiderace/redis.h>
#include <tiderace/task.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tidepool {

// How nodes reach each other. Both empty: this node is alone.
struct Bus {
    std::optional<tiderace::redis::Client> redis = {};
    std::optional<tiderace::db::Database> postgres = {};

    bool on() const { return redis.has_value() || postgres.has_value(); }
};

class Wakes;

class WakeHub {
  public:
    explicit WakeHub(Bus bus) : bus_(std::move(bus)) {}

    const Bus& bus() const { return bus_; }
    void join(tiderace::core::EventLoop& loop, const std::shared_ptr<Wakes*>& wakes);
    void leave(const std::shared_ptr<Wakes*>& wakes);
    // To all loops of this process, as Wakes::hear().
    void broadcast(const std::string& words);

  private:
    struct Listener {
        tiderace::core::EventLoop* loop;
        std::shared_ptr<Wakes*> wakes;
        bool missed = false;  // its mailbox was full
    };

    Bus bus_;
    std::mutex mutex_;
    std::vector<Listener> listeners_;
};

class Wakes {
  public:
    static constexpr std::size_t seats_max = 2'000;
    static constexpr std::size_t seats_of_member_max = 8;
    static constexpr std::size_t waiting_max = 1'000;
    static constexpr std::size_t words_bytes_max = 4'000;  // of one message; NOTIFY takes 8,000
    static constexpr std::string_view all = "*";

    // An open page.
    class Seat {
      public:
        Seat(Wakes& wakes, std::int64_t member);
        ~Seat();
        Seat(const Seat&) = delete;
        Seat& operator=(const Seat&) = delete;

        // False: there are too many.
        bool is_free() const { return free_; }
        // Waits until the page has to look again, for `longest` at most.
        tiderace::Task<> wait(tiderace::Duration longest);
        void ring() { bell_.try_send('!'); }

      private:
        Wakes* wakes_;
        std::int64_t member_;
        bool free_;
        tiderace::Channel<char> bell_{1};
    };

    Wakes(tiderace::core::EventLoop& loop, std::shared_ptr<WakeHub> hub);
    ~Wakes();
    Wakes(const Wakes&) = delete;
    Wakes& operator=(const Wakes&) = delete;

    // After the commit: something changed for that member; that one wrote a post.
    void member(std::int64_t id) { publish("m" + std::to_string(id)); }
    void author(std::int64_t id) { publish("a" + std::to_string(id)); }
    // "m17 a4", or "*". Anything else is ignored: anybody may write to a bus.
    void hear(std::string_view words);
    std::size_t seats() const { return seats_.size(); }

    // A loop's chores, for as long as it runs: finds the followers of authors; writes to the bus.
    tiderace::Task<> find_followers(tiderace::db::Database db);
    tiderace::Task<> send();
    // A process's: what other nodes give to the bus.
    static tiderace::Task<> receive(std::shared_ptr<WakeHub> hub);

  private:
    void publish(const std::string& word);
    void ring_all();
    void ring_member(std::int64_t id);
    tiderace::Task<> ring_followers(tiderace::db::Database& db,
                                    const std::vector<std::int64_t>& authors);

    std::shared_ptr<WakeHub> hub_;
    std::shared_ptr<Wakes*> self_;
    std::unordered_multimap<std::int64_t, Seat*> seats_;
    std::set<std::int64_t> authors_;  // that wrote, and whose followers are not woken yet
    std::set<std::string> unsent_;
    tiderace::Channel<char> authors_bell_{1};
    tiderace::Channel<char> unsent_bell_{1};
};

}  // namespace tidepool
