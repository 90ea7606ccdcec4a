// Topics: one to many. A message to a topic goes to each of its followers, on all loops.
//
//   Task<> tell(tcp::Stream& stream, TopicQueue& news) {
//       while (auto message = co_await news.next()) co_await stream.write(message->payload);
//   }
//   Task<> hear(tcp::Stream& stream, Topics& topics) {
//       while (auto line = co_await stream.read(tcp::Line{})) topics.publish("news", *line);
//   }
//   Task<> session(tcp::Stream stream, Topics& topics) {
//       TopicQueue news(topics, "news");
//       co_await when_any(tell(stream, news), hear(stream, topics));
//   }
//   return tcp::serve(":7000", session, {.states = LoopStates().state<Topics>(topics())});
//
//   publish -> this turn's batch of the topic -> end of turn -> every listener of the loop
//           -> one post a turn to each other loop, which does the same
//
// Handlers of an App, its WebSockets, event streams and streams of TCP share the topics of their
// App: docs/websocket.md. Messages of one loop arrive everywhere in their order.
//
// Owner    The states of a server: one for each loop; all that one topics() made belong together.
//          Outlives its followers.
// Thread   Its loop's; the loops meet in their mailboxes, and in words that one of them writes.
// Errors   A follower that is too slow ends (TopicQueue), or is closed (SlowReceiver of a
//          WebSocket). A loop that is too slow misses messages, which are counted.
// Limits   TopicLimits; a name or a topic too many is refused.
// Memory   A topic about 200 bytes and its name, a follower 56.
// Keywords: broadcast, pub/sub, fan-out, publish, subscribe
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/keyed_hash.h"
#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/timer_wheel.h"

namespace tiderace::task {

class TopicListener;
class TopicPublisher;
class Topics;
class TopicUser;

struct TopicLimits {
    std::size_t topics_max = 100'000;     // of one loop
    std::size_t subscriptions_max = 100;  // of one WebSocket
    std::size_t name_bytes_max = 255;
    std::size_t batch_bytes_max = 256_KiB;    // published in one turn; above it leaves at once
    std::size_t in_flight_bytes_max = 8_MiB;  // from one loop to another
};

// One message, on its way to all loops.
struct TopicMessage {
    std::string topic;
    std::string payload;
    bool is_text = true;  // UTF-8, for followers that tell the two apart

    // In limits: an empty one is not free.
    std::size_t weight() const { return payload.size() + 64; }
};
using SharedMessage = std::shared_ptr<const TopicMessage>;

// What one turn brought to one topic.
struct TopicBatch {
    std::span<const SharedMessage> messages;
    // A listener may leave something for those after it, such as the messages encoded.
    std::shared_ptr<void> shared = nullptr;
};

// Which loops there are.
class TopicHub {
  private:
    friend class Topics;
    std::vector<Topics*> loops_;
};

class Topics final : private core::TurnEnd, private core::Timer {
  public:
    Topics(core::EventLoop& loop, std::shared_ptr<TopicHub> hub, const TopicLimits& limits = {});
    ~Topics();

    // True: no follower that is waited for is behind.
    bool publish(std::string_view topic, std::string_view payload, bool is_text = true);
    // A message of a WebSocket, with its kind.
    template <typename M>
        requires requires(const M& message) { message.is_text(); }
    bool publish(std::string_view topic, const M& message) {
        return publish(topic, message.text(), message.is_text());
    }
    // These count this loop only.
    std::size_t members(std::string_view topic) const;
    std::size_t size() const { return topics_.size(); }
    // Messages that another loop was too far behind to be given.
    std::uint64_t missed() const { return missed_; }
    // How many names the fullest bucket of the table holds: for tests of its hash.
    std::size_t names_in_fullest_bucket() const;

    core::EventLoop& loop() const { return *loop_; }
    const TopicLimits& limits() const { return limits_; }

    // For what has members, such as a WebSocketService. -----------------------------------------

    // With `waits`, publishers of all loops wait for members that are behind.
    void attach(TopicUser& user, bool waits);
    // Delivers this turn's batches now, so that what is sent directly keeps its place.
    void flush() {
        if (!dirty_.empty()) deliver_all();
    }
    // After a publish() that returned false, until all caught up.
    void hold(TopicPublisher& publisher);
    void fell_behind() { ++behind_members_; }  // a member that is waited for, in on_messages()
    void caught_up();

  private:
    friend class TopicListener;
    struct Topic;
    struct Parcel;
    static constexpr std::size_t loops_max = 256;

    void on_turn_end() override;
    void on_expired() override;
    Topic* find(std::string_view name) const;
    bool add_listener(TopicListener& listener, std::string_view name);
    void add(const SharedMessage& message);
    void deliver_all();
    void deliver(Topic& topic);
    // An exception ends here; false then.
    template <typename Call>
    bool contain(Call&& call);
    void forget_if_empty(Topic& topic);
    void hand_over();
    void take(std::size_t from, const Parcel& parcel);
    std::uint64_t in_flight(const Topics& to) const;
    bool is_behind() const;
    void look_again();
    void look_again_later();

    core::EventLoop* loop_;
    std::shared_ptr<TopicHub> hub_;
    IntrusiveList<TopicUser> users_;
    TopicLimits limits_;
    std::size_t number_;  // of this loop in the hub
    std::unordered_map<std::string, std::unique_ptr<Topic>, KeyedHash, std::equal_to<>> topics_;
    std::vector<Topic*> dirty_;  // with messages of this turn
    std::size_t dirty_bytes_ = 0;
    std::vector<SharedMessage> outgoing_;  // of this turn, for the other loops
    std::size_t outgoing_bytes_ = 0;
    std::uint64_t missed_ = 0;
    bool waits_ = false;
    bool delivering_ = false;
    std::size_t behind_members_ = 0;
    IntrusiveList<TopicPublisher> paused_;

    std::array<std::uint64_t, loops_max> sent_bytes_{};  // to each loop, ever
    // Words that this loop writes and the others read.
    std::array<std::atomic<std::uint64_t>, loops_max> taken_bytes_{};  // from each loop, ever
    std::atomic<bool> behind_ = false;
};

// For the states of a server: one hub for all loops, which carries messages between them.
std::function<std::unique_ptr<Topics>(core::EventLoop&)> topics(TopicLimits limits = {});

}  // namespace tiderace::task

namespace tiderace {

using task::Topics;
using task::topics;

}  // namespace tiderace
