// Internal. WebSocketTopics: sockets subscribe to topics; a published message goes to every
// subscriber of every loop, encoded once for a loop.
//
//   publish -> this turn's batch of the topic -> end of turn: one shared piece -> every
//   subscriber's queue
//           -> one post a turn to each other loop, which does the same
//
// Messages of one turn and topic leave together, so a burst costs a subscriber one append and one
// system call. What one loop published arrives everywhere in its order; what a socket is sent
// directly keeps its place among it.
//
// Owner    The program: one for each loop, outlives the loop's sockets. The hub outlives them all.
// Thread   Its loop's; the loops meet in their mailboxes, and in words that one of them writes.
// Errors   A subscriber that is too slow: SlowReceiver. A loop that is too slow: it is waited for
//          with SlowReceiver::wait, otherwise it misses messages, which are counted.
// Limits   TopicLimits. With SlowReceiver::wait the slowest subscriber sets the pace: give such
//          connections a ConnectionLimits::send_bytes_per_second_min.
// Memory   A topic about 200 bytes and its name, a subscription 56. A slow subscriber holds 56
//          bytes for each turn's batch it has not taken; the bytes are the same for all.
// Keywords: broadcast, fan-out
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/keyed_hash.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/shared.h"
#include "tiderace/core/timer_wheel.h"
#include "tiderace/http/websocket/connection.h"
#include "tiderace/http/websocket/service.h"

namespace tiderace::http {

class TopicListener;
class WebSocketTopics;

struct TopicLimits {
    std::size_t topics_max = 100'000;     // of one loop
    std::size_t subscriptions_max = 100;  // of one socket
    std::size_t name_bytes_max = 255;
    std::size_t batch_bytes_max = 256_KiB;    // published in one turn; above it leaves at once
    std::size_t in_flight_bytes_max = 8_MiB;  // from one loop to another
};

// One message, on its way to all loops.
struct TopicMessage {
    std::string topic;
    WebSocketKind kind;
    std::string payload;
};

// Which loops there are. Made before they run.
class WebSocketHub {
  private:
    friend class WebSocketTopics;
    std::vector<WebSocketTopics*> loops_;
};

class WebSocketTopics final : private core::TurnEnd, private core::Timer {
  public:
    WebSocketTopics(WebSocketService& service, WebSocketHub& hub, TopicLimits limits = {});
    ~WebSocketTopics();

    // The sockets of another service of this loop may subscribe, too. It has no topics yet; either
    // may end first.
    void attach(WebSocketService& service);

    // False: a limit. Subscribing twice is once.
    bool subscribe(WebSocketConnection& socket, ByteView topic);
    void unsubscribe(WebSocketConnection& socket, ByteView topic);
    // Once for each listener. False: a limit.
    bool listen(TopicListener& listener, ByteView topic);
    // `high`, with SlowReceiver::wait only: a subscriber is behind; pause publishing.
    net::Backlog publish(ByteView topic, WebSocketKind kind, ByteView message);
    // As publish; and, when it returned `high`, nothing is read from `publisher` until all caught
    // up.
    void publish_from(WebSocketConnection& publisher, ByteView topic, WebSocketKind kind,
                      ByteView message) TR_ON_LOOP;

    // Counts this loop only.
    std::size_t subscribers(ByteView topic) const;
    std::size_t topics() const { return topics_.size(); }
    // How many names the fullest bucket of the table holds: for tests of its hash.
    std::size_t names_in_fullest_bucket() const;
    // Messages that another loop was too far behind to be given.
    std::uint64_t missed() const { return missed_; }

    // For WebSocketConnection. ------------------------------------------------------------------

    // Sends this turn's batches now, so that what is sent directly keeps its place.
    void flush() {
        if (!dirty_.empty()) deliver_all();
    }
    // A subscriber that was behind is no more.
    void on_caught_up() TR_ON_LOOP;

  private:
    friend class TopicListener;
    friend class TopicSubscription;
    struct Topic;
    struct Batch;
    struct SharedFrames;
    using Encoded = std::array<core::Ref<SharedFrames>, 16>;  // by shared_form()
    using Message = std::shared_ptr<const TopicMessage>;
    static constexpr std::size_t loops_max = 256;

    void on_turn_end() override;
    void on_expired() override;
    Topic* find(ByteView name) const;
    Topic* find_or_make(ByteView name);
    void add(const Message& message) TR_ON_LOOP;
    void deliver_all();
    void deliver(Topic& topic);
    void deliver_to(WebSocketConnection& socket, const Topic& topic, Encoded& encoded) TR_ON_LOOP;
    // An exception ends here; false then.
    template <typename Call>
    bool contain(Call&& call);
    void forget_if_empty(Topic& topic);
    void hand_over();
    void take(std::size_t from, const Batch& batch) TR_ON_LOOP;
    std::uint64_t in_flight(const WebSocketTopics& to) const;
    bool is_behind() const;
    void look_again() TR_ON_LOOP;
    void look_again_later() TR_ON_LOOP;

    // The place of this loop in the hub. Where all have gone, the next ones are numbered anew.
    static std::size_t take_place(WebSocketHub& hub);

    WebSocketService* service_;
    IntrusiveList<WebSocketService> attached_;  // service_ among them
    WebSocketHub* hub_;
    TopicLimits limits_;
    std::size_t number_;  // of this loop in the hub
    std::unordered_map<std::string, std::unique_ptr<Topic>, KeyedHash, std::equal_to<>> topics_;
    std::vector<Topic*> dirty_;  // with messages of this turn
    std::size_t dirty_bytes_ = 0;
    std::vector<Message> outgoing_;  // of this turn, for the other loops
    std::size_t outgoing_bytes_ = 0;
    std::uint64_t missed_ = 0;
    bool waits_ = false;  // SlowReceiver::wait, of any service
    std::size_t behind_sockets_ = 0;
    IntrusiveList<WebSocketConnection> paused_;  // publishers

    std::array<std::uint64_t, loops_max> sent_bytes_{};  // to each loop, ever
    // Words that this loop writes and the others read.
    std::array<std::atomic<std::uint64_t>, loops_max> taken_bytes_{};  // from each loop, ever
    std::atomic<bool> behind_ = false;
};

// A follower of a topic that is no socket: an event stream. Leaves the topic when it ends.
class TopicListener : public ListHook {
  public:
    TopicListener() = default;
    TopicListener(const TopicListener&) = delete;
    TopicListener& operator=(const TopicListener&) = delete;
    virtual ~TopicListener() { leave(); }
    void leave();
    // It may leave in this call, and must not end in it. When it throws, it misses the message.
    virtual void on_message(const std::shared_ptr<const TopicMessage>& message) = 0;

  private:
    friend class WebSocketTopics;
    WebSocketTopics* topics_ = nullptr;
    WebSocketTopics::Topic* topic_ = nullptr;
};

// One socket in one topic. Leaves both when it dies.
class TopicSubscription final : public ListHook {
  public:
    TopicSubscription(WebSocketTopics& topics, WebSocketTopics::Topic& topic,
                      WebSocketConnection& socket);
    ~TopicSubscription();

    WebSocketTopics::Topic& topic() const { return *topic_; }
    WebSocketConnection& socket() const { return *socket_; }

  private:
    WebSocketTopics* topics_;
    WebSocketTopics::Topic* topic_;
    WebSocketConnection* socket_;
};

}  // namespace tiderace::http
