#include "tiderace/http/websocket/topics.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"

namespace tiderace::http {

struct WebSocketTopics::Topic {
    explicit Topic(std::string n) : name(std::move(n)) {}

    std::string name;
    IntrusiveList<TopicSubscription> subscriptions;
    IntrusiveList<TopicListener> listeners;
    std::size_t subscribers = 0;  // of both kinds
    std::vector<Message> batch;   // published in this turn
};

// The batch that one loop hands to the others at the end of a turn.
struct WebSocketTopics::Batch {
    std::vector<Message> messages;
    std::size_t bytes = 0;
    bool answer = false;  // the sender waits for it to be taken
};

struct WebSocketTopics::SharedFrames final : core::Shared {
    std::string bytes;
};

namespace {

// How often a loop whose publishers wait looks at the others without a notice: a mailbox that is
// full, or has no memory, refuses it.
constexpr Duration look_pause = 100ms;

wire::WebSocketOpcode opcode_of(WebSocketKind kind) {
    return kind == WebSocketKind::text ? wire::WebSocketOpcode::text
                                       : wire::WebSocketOpcode::binary;
}

void append_frame(std::string& out, WebSocketKind kind, bool compressed, ByteView payload) {
    std::array<char, wire::websocket_head_bytes_max> head;
    const std::size_t size = wire::write_websocket_head(
        {.payload_bytes = payload.size(), .opcode = opcode_of(kind), .compressed = compressed},
        head);
    out.append(head.data(), size).append(payload);
}

// As WebSocketConnection sends a message that stands alone.
void append_message(std::string& out, const TopicMessage& message, int form,
                    WebSocketService& service) {
    if (form != 0 && message.payload.size() >= service.options().deflate_bytes_min) {
        std::string& deflated = service.deflate_scratch();
        service.deflater(form).compress(message.payload, false, deflated);
        if (deflated.size() < message.payload.size()) {
            append_frame(out, message.kind, true, deflated);
            return;
        }
    }
    append_frame(out, message.kind, false, message.payload);
}

}  // namespace

TopicSubscription::TopicSubscription(WebSocketTopics& topics, WebSocketTopics::Topic& topic,
                                     WebSocketConnection& socket)
    : topics_(&topics), topic_(&topic), socket_(&socket) {
    topic.subscriptions.push_back(*this);
    ++topic.subscribers;
}

TopicSubscription::~TopicSubscription() {
    unlink();
    --topic_->subscribers;
    topics_->forget_if_empty(*topic_);
}

void TopicListener::leave() {
    WebSocketTopics::Topic* const topic = std::exchange(topic_, nullptr);
    if (topic == nullptr) return;
    unlink();
    --topic->subscribers;
    topics_->forget_if_empty(*topic);
}

template <typename Call>
bool WebSocketTopics::contain(Call&& call) {
    return core::contain(service_->loop().log(), "websocket", "a topic", call);
}

WebSocketTopics::WebSocketTopics(WebSocketService& service, WebSocketHub& hub, TopicLimits limits)
    : service_(&service), hub_(&hub), limits_(limits), number_(take_place(hub)) {
    TR_CHECK(number_ < loops_max);
    hub.loops_.push_back(this);
    attach(service);
}

// A loop keeps its place until all have ended, because the counters of the others are addressed by
// it; then numbering begins anew.
std::size_t WebSocketTopics::take_place(WebSocketHub& hub) {
    const auto gone = [](const WebSocketTopics* one) { return one == nullptr; };
    if (std::ranges::all_of(hub.loops_, gone)) hub.loops_.clear();
    return hub.loops_.size();
}

void WebSocketTopics::attach(WebSocketService& service) {
    TR_CHECK(service.topics() == nullptr && &service.loop() == &service_->loop());
    service.set_topics(this);
    attached_.push_back(service);
    // One service that waits makes all publishers of the loop wait: they share the topics.
    waits_ |= service.options().slow_receiver == SlowReceiver::wait;
}

WebSocketTopics::~WebSocketTopics() {
    for (const auto& [name, topic] : topics_) {
        TR_CHECK(topic->subscribers == 0, "sockets outlive their topics");
    }
    while (!attached_.empty()) attached_.pop_front().set_topics(nullptr);
    hub_->loops_[number_] = nullptr;
}

// --- subscribing -----------------------------------------------------------------------------

WebSocketTopics::Topic* WebSocketTopics::find(ByteView name) const {
    const auto found = topics_.find(name);
    return found == topics_.end() ? nullptr : found->second.get();
}

// nullptr: a limit.
WebSocketTopics::Topic* WebSocketTopics::find_or_make(ByteView name) {
    if (Topic* topic = find(name)) return topic;
    if (topics_.size() >= limits_.topics_max) return nullptr;
    auto made = std::make_unique<Topic>(std::string(name));
    Topic* topic = made.get();
    topics_.emplace(topic->name, std::move(made));
    return topic;
}

std::size_t WebSocketTopics::subscribers(ByteView name) const {
    const Topic* topic = find(name);
    return topic != nullptr ? topic->subscribers : 0;
}

std::size_t WebSocketTopics::names_in_fullest_bucket() const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < topics_.bucket_count(); ++i) {
        most = std::max(most, topics_.bucket_size(i));
    }
    return most;
}

// Names come from peers, so their length, a socket's subscriptions and all topics of a loop are
// bounded.
bool WebSocketTopics::subscribe(WebSocketConnection& socket, ByteView name) {
    service_->loop().assert_on_loop();
    TR_CHECK(socket.service().topics() == this, "a socket of another loop, or service");
    if (socket.connection().closing()) return false;
    const auto is_this = [&](const auto& one) { return one->topic().name == name; };
    if (std::ranges::any_of(socket.subscriptions_, is_this)) return true;
    if (name.size() > limits_.name_bytes_max ||
        socket.subscriptions_.size() >= limits_.subscriptions_max) {
        return false;
    }
    flush();  // earlier messages are not for this one
    Topic* topic = find_or_make(name);
    if (topic == nullptr) return false;
    socket.subscriptions_.push_back(std::make_unique<TopicSubscription>(*this, *topic, socket));
    return true;
}

bool WebSocketTopics::listen(TopicListener& listener, ByteView name) {
    service_->loop().assert_on_loop();
    TR_CHECK(listener.topic_ == nullptr, "it listens already");
    if (name.size() > limits_.name_bytes_max) return false;
    flush();  // as in subscribe()
    Topic* topic = find_or_make(name);
    if (topic == nullptr) return false;
    listener.topics_ = this;
    listener.topic_ = topic;
    topic->listeners.push_back(listener);
    ++topic->subscribers;
    return true;
}

void WebSocketTopics::unsubscribe(WebSocketConnection& socket, ByteView name) {
    service_->loop().assert_on_loop();
    flush();
    std::erase_if(socket.subscriptions_,
                  [&](const auto& one) { return one->topic().name == name; });
}

// Not while a batch waits: dirty_ holds a pointer to the topic.
void WebSocketTopics::forget_if_empty(Topic& topic) {
    if (topic.subscribers == 0 && topic.batch.empty()) topics_.erase(topics_.find(topic.name));
}

// --- publishing ------------------------------------------------------------------------------

// One copy of the message for all loops: they share it, and only its count is touched by several.
net::Backlog WebSocketTopics::publish(ByteView topic, WebSocketKind kind, ByteView message) {
    service_->loop().assert_on_loop();
    const bool alone = hub_->loops_.size() == 1;
    // On one loop a topic without subscribers costs no copy. With several, another loop may have
    // some.
    if (alone && find(topic) == nullptr) return net::Backlog::low;
    const auto shared = std::make_shared<const TopicMessage>(
        TopicMessage{std::string(topic), kind, std::string(message)});
    add(shared);
    if (!alone) {
        outgoing_.push_back(shared);
        outgoing_bytes_ += message.size();
        if (outgoing_bytes_ > limits_.batch_bytes_max) hand_over();
        service_->loop().at_turn_end(*this);
    }
    return is_behind() ? net::Backlog::high : net::Backlog::low;
}

void WebSocketTopics::publish_from(WebSocketConnection& publisher, ByteView topic,
                                   WebSocketKind kind, ByteView message) {
    if (publish(topic, kind, message) == net::Backlog::low) return;
    if (publisher.held_ || !publisher.is_open()) return;
    publisher.set_held(true);
    paused_.push_back(publisher);
    look_again_later();
}

// Collected until the turn's end, so that the messages of a turn are encoded once for all
// subscribers and sent in one call to each.
void WebSocketTopics::add(const Message& message) {
    Topic* topic = find(message->topic);
    if (topic == nullptr) return;
    const bool is_first = topic->batch.empty();
    topic->batch.push_back(message);
    try {
        if (is_first) dirty_.push_back(topic);
    } catch (...) {
        topic->batch.clear();  // a batch outside dirty_ is never delivered
        throw;
    }
    dirty_bytes_ += message->payload.size();
    service_->loop().at_turn_end(*this);
    if (dirty_bytes_ > limits_.batch_bytes_max) deliver_all();
}

void WebSocketTopics::on_turn_end() {
    flush();
    if (outgoing_.empty()) return;
    const std::size_t messages = outgoing_.size();
    if (contain([this]() TR_ON_LOOP { hand_over(); })) return;
    missed_ += messages;  // by some of the loops
    outgoing_.clear();
    outgoing_bytes_ = 0;
}

// The list is taken first, because a socket's send() also flushes, and must not deliver the same
// batches again. A topic with a batch is not forgotten, so the pointers stay valid.
void WebSocketTopics::deliver_all() {
    dirty_bytes_ = 0;
    for (Topic* topic : std::exchange(dirty_, {})) {
        deliver(*topic);
        topic->batch.clear();
        forget_if_empty(*topic);
    }
}

void WebSocketTopics::deliver(Topic& topic) {
    Encoded encoded;
    // A fault ends the socket it happened at; the other subscribers get the message.
    topic.subscriptions.for_each([&](TopicSubscription& subscription) {
        service_->loop().assert_on_loop();
        WebSocketConnection& socket = subscription.socket();
        if (!contain([&]() TR_ON_LOOP { deliver_to(socket, topic, encoded); })) {
            socket.connection().close(net::CloseReason::session_failed);
        }
    });
    topic.listeners.for_each([&](TopicListener& listener) {
        for (const Message& message : topic.batch) {
            contain([&] { listener.on_message(message); });
        }
    });
    behind_.store(behind_sockets_ > 0, std::memory_order_release);
}

void WebSocketTopics::deliver_to(WebSocketConnection& socket, const Topic& topic,
                                 Encoded& encoded) {
    // -1: a window or a mask of its own makes its bytes differ from the shared ones.
    const int form = socket.shared_form();
    WebSocketSend result = WebSocketSend::sent;
    if (form < 0) {
        for (const Message& message : topic.batch) {
            result = socket.send(message->kind, message->payload);
        }
    } else {
        core::Ref<SharedFrames>& frames = encoded[static_cast<std::size_t>(form)];
        if (frames.get() == nullptr) {
            core::Ref<SharedFrames> made(new SharedFrames);
            for (const Message& message : topic.batch) {
                append_message(made->bytes, *message, form, *service_);
            }
            frames = std::move(made);
        }
        result = socket.send_frames(frames->bytes, frames, topic.batch.size());
    }
    const bool waits = socket.service().options().slow_receiver == SlowReceiver::wait;
    if (waits && result == WebSocketSend::high && !std::exchange(socket.behind_, true)) {
        ++behind_sockets_;
    }
}

// --- between loops ---------------------------------------------------------------------------

// Two counters that only grow, each written by one loop: no lock, and no update that reads first.
std::uint64_t WebSocketTopics::in_flight(const WebSocketTopics& to) const {
    return sent_bytes_[to.number_] - to.taken_bytes_[number_].load(std::memory_order_acquire);
}

void WebSocketTopics::hand_over() {
    auto batch = std::make_shared<Batch>();
    batch->messages = std::exchange(outgoing_, {});
    // A message without payload weighs something, too.
    batch->bytes = std::exchange(outgoing_bytes_, 0) + batch->messages.size() * 64;
    batch->answer = waits_;
    for (WebSocketTopics* to : hub_->loops_) {
        if (to == this || to == nullptr) continue;
        // A publisher that does not wait drops what a slow loop cannot take, so that its mailbox
        // stays bounded. One that waits stops at half of this, see is_behind().
        const bool too_far = !waits_ && in_flight(*to) > limits_.in_flight_bytes_max;
        const bool handed =
            !too_far && to->service_->loop().post(
                            [to, from = number_, batch = std::shared_ptr<const Batch>(batch)] {
                                to->service_->loop().assert_on_loop();
                                to->take(from, *batch);
                            });
        if (handed) {
            sent_bytes_[to->number_] += batch->bytes;
        } else {
            missed_ += batch->messages.size();
        }
    }
}

void WebSocketTopics::take(std::size_t from, const Batch& batch) {
    // Without memory it is lost here; it counts as taken all the same, or the sender would wait.
    contain([&]() TR_ON_LOOP {
        for (const Message& message : batch.messages) add(message);
        flush();
    });
    // Only this loop writes the word, so a load and a store suffice.
    std::atomic<std::uint64_t>& taken = taken_bytes_[from];
    taken.store(taken.load(std::memory_order_relaxed) + batch.bytes, std::memory_order_release);
    if (!batch.answer) return;
    WebSocketTopics* sender = hub_->loops_[from];
    if (sender != nullptr)
        sender->service_->loop().post([sender] {
            sender->service_->loop().assert_on_loop();
            sender->look_again();
        });
}

// Half of the limit: what is published before a pause takes effect still fits.
bool WebSocketTopics::is_behind() const {
    if (!waits_) return false;
    if (behind_sockets_ > 0) return true;
    return std::ranges::any_of(hub_->loops_, [this](const WebSocketTopics* other) {
        return other != this && other != nullptr &&
               (other->behind_.load(std::memory_order_acquire) ||
                in_flight(*other) > limits_.in_flight_bytes_max / 2);
    });
}

// All loops are notified, because each may have publishers that wait for a subscriber of this one.
// A loop whose mailbox refuses the notice finds out by itself (look_pause).
void WebSocketTopics::on_caught_up() {
    TR_CHECK(behind_sockets_ > 0);
    if (--behind_sockets_ > 0) return;
    behind_.store(false, std::memory_order_release);
    look_again();
    for (WebSocketTopics* other : hub_->loops_) {
        if (other == this || other == nullptr) continue;
        other->service_->loop().post([other] {
            other->service_->loop().assert_on_loop();
            other->look_again();
        });
    }
}

void WebSocketTopics::on_expired() {
    service_->loop().assert_on_loop();
    look_again();
    look_again_later();
}

void WebSocketTopics::look_again_later() {
    const bool is_alone = hub_->loops_.size() == 1;  // without another to notify
    if (paused_.empty() || armed() || is_alone) return;
    service_->loop().arm(*this, service_->loop().now() + look_pause);
}

void WebSocketTopics::look_again() {
    if (paused_.empty() || is_behind()) return;
    IntrusiveList<WebSocketConnection> ready;
    // Taken out first: a socket that reads again may publish and be paused again inside this call.
    ready.splice_back(paused_);
    while (!ready.empty()) {
        WebSocketConnection& socket = ready.pop_front();
        // A fault ends the socket it happened at; the others read again, and the caller, which may
        // be another socket's on_close, goes on.
        if (!contain([&]() TR_ON_LOOP { socket.set_held(false); })) {
            socket.connection().close(net::CloseReason::session_failed);
        }
    }
}

}  // namespace tiderace::http
