#include "examples/tidepool/wakes.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <utility>

namespace tidepool {

using namespace tiderace;
using namespace std::chrono_literals;

namespace {

constexpr const char* redis_channel = "tidepool:wakes";
constexpr const char* postgres_channel = "tidepool_wakes";
constexpr std::size_t authors_max = 200;  // above, all pages look
constexpr std::size_t members_of_query = 500;
constexpr Duration pause_min = 100ms;  // between two deliveries of wakes, which gathers them
constexpr Duration pause_max = 5s;     // after a fault

Task<> give(const Bus& bus, std::string words) {
    if (bus.redis) {
        co_await bus.redis->publish(redis_channel, words);
        co_return;
    }
    db::Database postgres = *bus.postgres;
    const std::string channel = postgres_channel;
    // NOTIFY as a function, because the statement does not take parameters; and the cast, because
    // its own type is void.
    co_await postgres.one<std::int64_t>("select cast(1 as bigint) from pg_notify(?, ?)", channel,
                                        words);
}

std::string marks(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += i == 0 ? "?" : ", ?";
    return text;
}

}  // namespace

void WakeHub::join(core::EventLoop& loop, const std::shared_ptr<Wakes*>& wakes) {
    const std::lock_guard lock(mutex_);
    listeners_.push_back({&loop, wakes});
}

void WakeHub::leave(const std::shared_ptr<Wakes*>& wakes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [&](const Listener& one) { return one.wakes == wakes; });
}

void WakeHub::broadcast(const std::string& words) {
    const std::lock_guard lock(mutex_);
    for (Listener& one : listeners_) {
        // It runs on that loop, where its Wakes end as well.
        const std::weak_ptr<Wakes*> wakes = one.wakes;
        auto hear = [wakes, text = one.missed ? std::string(Wakes::all) : words] {
            if (const auto alive = wakes.lock()) (*alive)->hear(text);
        };
        // A full mailbox: the next wake that gets through is for all pages, so none is left out.
        one.missed = !one.loop->post(std::move(hear));
    }
}

Wakes::Seat::Seat(Wakes& wakes, std::int64_t member)
    : wakes_(&wakes),
      member_(member),
      free_(wakes.seats_.size() < seats_max && wakes.seats_.count(member) < seats_of_member_max) {
    if (free_) wakes_->seats_.emplace(member, this);
}

Wakes::Seat::~Seat() {
    const auto [begin, end] = wakes_->seats_.equal_range(member_);
    for (auto at = begin; at != end; ++at) {
        if (at->second != this) continue;
        wakes_->seats_.erase(at);
        return;
    }
}

Task<> Wakes::Seat::wait(Duration longest) {
    auto rung = bell_.receive();
    co_await within(longest, std::move(rung));
}

Wakes::Wakes(core::EventLoop& loop, std::shared_ptr<WakeHub> hub)
    : hub_(std::move(hub)), self_(std::make_shared<Wakes*>(this)) {
    hub_->join(loop, self_);
}

Wakes::~Wakes() {
    hub_->leave(self_);
}

void Wakes::publish(const std::string& word) {
    // This process at once: its own pages do not wait for the bus.
    hub_->broadcast(word);
    if (!hub_->bus().on()) return;
    // The bus is away, and one wake for all pages takes the place of many.
    if (unsent_.size() >= waiting_max) {
        unsent_.clear();
        unsent_.emplace(all);
    }
    if (!unsent_.contains(std::string(all))) unsent_.insert(word);
    unsent_bell_.try_send('!');
}

void Wakes::hear(std::string_view words) {
    while (!words.empty()) {
        const std::size_t space = std::min(words.find(' '), words.size());
        const std::string_view word = words.substr(0, space);
        words.remove_prefix(std::min(space + 1, words.size()));
        if (word == all) {
            ring_all();
            continue;
        }
        std::int64_t id = 0;
        if (word.size() < 2) continue;
        const auto read = std::from_chars(word.data() + 1, word.data() + word.size(), id);
        if (read.ec != std::errc() || read.ptr != word.data() + word.size()) continue;
        if (word[0] == 'm') ring_member(id);
        // No page is open here, so no follower has to be found.
        if (word[0] != 'a' || seats_.empty()) continue;
        if (authors_.size() < authors_max) {
            authors_.insert(id);
            authors_bell_.try_send('!');
        } else {
            authors_.clear();
            ring_all();
        }
    }
}

void Wakes::ring_all() {
    for (const auto& [member, seat] : seats_) seat->ring();
}

void Wakes::ring_member(std::int64_t id) {
    const auto [begin, end] = seats_.equal_range(id);
    for (auto at = begin; at != end; ++at) at->second->ring();
}

Task<> Wakes::ring_followers(db::Database& db, const std::vector<std::int64_t>& authors) {
    std::vector<std::int64_t> members;
    // Only those with an open page: an author may have a million followers, a node some thousand
    // pages.
    for (const auto& [member, seat] : seats_) members.push_back(member);
    std::ranges::sort(members);
    const auto same = std::ranges::unique(members);
    members.erase(same.begin(), same.end());
    for (std::size_t from = 0; from < members.size(); from += members_of_query) {
        const std::size_t count = std::min(members_of_query, members.size() - from);
        std::vector<db::Value> values(authors.begin(), authors.end());
        for (std::size_t i = 0; i < count; ++i) values.emplace_back(members[from + i]);
        const std::string sql = "select distinct follower from follows where followee in (" +
                                marks(authors.size()) + ") and follower in (" + marks(count) + ")";
        const auto followers = co_await db.all<std::int64_t>(sql, values);
        for (const std::int64_t follower : followers) ring_member(follower);
    }
}

// The two ways of a wake that was gathered:
//
//    hear("a7") -> authors_ -> find_followers, at most every pause_min -> the seats of followers
//    publish()  -> unsent_  -> send, what has gathered meanwhile        -> the bus
//
// Both gather while a query or the bus is slow, so that more wakes cost no more queries.
Task<> Wakes::find_followers(db::Database db) {
    Duration pause = pause_min;
    while (co_await authors_bell_.receive()) {
        const std::vector<std::int64_t> authors(authors_.begin(), authors_.end());
        authors_.clear();
        bool failed = false;  // a catch may not co_await
        try {
            co_await ring_followers(db, authors);
            pause = pause_min;
        } catch (const db::Error&) {
            failed = true;
        }
        if (failed) {
            // The members to wake are unknown, so all look once the database answers again.
            pause = std::min<Duration>(2 * pause, pause_max);
            ring_all();
        }
        co_await sleep(pause);
    }
}

Task<> Wakes::send() {
    Duration pause = pause_min;
    while (co_await unsent_bell_.receive()) {
        while (!unsent_.empty()) {
            std::string words;
            std::vector<std::string> taken;
            while (!unsent_.empty() && words.size() < words_bytes_max) {
                // Out of the set first: a wake of the same member that comes meanwhile is another.
                taken.push_back(unsent_.extract(unsent_.begin()).value());
                words += (words.empty() ? "" : " ") + taken.back();
            }
            bool failed = false;
            try {
                co_await give(hub_->bus(), words);
                pause = pause_min;
            } catch (const db::Error&) {
                failed = true;
            }
            if (!failed) continue;
            // Back among the others, where the same word that came meanwhile falls together with
            // it.
            unsent_.insert(taken.begin(), taken.end());
            co_await sleep(pause);
            pause = std::min<Duration>(2 * pause, pause_max);
        }
    }
}

Task<> Wakes::receive(std::shared_ptr<WakeHub> hub) {
    const Bus& bus = hub->bus();
    if (bus.redis) {
        redis::Channels channels;
        channels.channels.emplace_back(redis_channel);
        auto messages = redis::subscribe(*bus.redis, std::move(channels));
        while (auto message = co_await messages.next()) {
            const bool gap = message->restarted || message->missed > 0;
            // Messages of the time without a connection are lost: any page may be meant.
            hub->broadcast(gap ? std::string(all) : message->payload);
        }
    } else if (bus.postgres) {
        std::string channel = postgres_channel;
        auto notes = db::listen(*bus.postgres, std::move(channel));
        while (auto note = co_await notes.next()) {
            // Empty after each connect: what was sent before it was missed.
            hub->broadcast(note->payload.empty() ? std::string(all) : note->payload);
        }
    }
}

}  // namespace tidepool
