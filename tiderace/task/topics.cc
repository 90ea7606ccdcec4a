#include "tiderace/task/topics.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/contain.h"
#include "tiderace/task/topic_listener.h"

namespace tiderace::task {

struct Topics::Topic {
    explicit Topic(std::string_view n) : name(n) {}

    std::string name;
    IntrusiveList<TopicListener> listeners;
    std::size_t members = 0;
    std::vector<SharedMessage> batch;      // published in this turn
    std::vector<SharedMessage> delivered;  // while its listeners get them
};

// The batch that one loop hands to the others at the end of a turn.
struct Topics::Parcel {
    std::vector<SharedMessage> messages;
    std::size_t bytes = 0;
    bool answer = false;  // the sender waits for it to be taken
};

namespace {

// How often a loop whose publishers wait looks at the others without a notice: a mailbox that is
// full, or has no memory, refuses it.
constexpr Duration look_pause = 100ms;

}  // namespace

template <typename Call>
bool Topics::contain(Call&& call) {
    return core::contain(loop_->log(), "topics", "a follower", call);
}

Topics::Topics(core::EventLoop& loop, std::shared_ptr<TopicHub> hub, const TopicLimits& limits)
    : loop_(&loop), hub_(std::move(hub)), limits_(limits) {
    // A loop keeps its place until all have ended, because the counters of the others are addressed
    // by it; then numbering begins anew.
    auto& loops = hub_->loops_;
    if (std::ranges::all_of(loops, [](const Topics* one) { return one == nullptr; })) loops.clear();
    number_ = loops.size();
    TR_CHECK(number_ < loops_max);
    loops.push_back(this);
}

void Topics::attach(TopicUser& user, bool waits) {
    TR_CHECK(user.topics_ == nullptr);
    user.topics_ = this;
    users_.push_back(user);
    waits_ |= waits;  // they share the topics
}

Topics::~Topics() {
    for (const auto& [name, topic] : topics_) {
        TR_CHECK(topic->members == 0, "a follower outlives its topic");
    }
    while (!users_.empty()) users_.pop_front().topics_ = nullptr;
    hub_->loops_[number_] = nullptr;
}

// --- following -------------------------------------------------------------------------------

Topics::Topic* Topics::find(std::string_view name) const {
    const auto found = topics_.find(name);
    return found == topics_.end() ? nullptr : found->second.get();
}

std::size_t Topics::members(std::string_view name) const {
    const Topic* topic = find(name);
    return topic != nullptr ? topic->members : 0;
}

std::size_t Topics::names_in_fullest_bucket() const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < topics_.bucket_count(); ++i) {
        most = std::max(most, topics_.bucket_size(i));
    }
    return most;
}

// Names come from peers, so their length and all topics of a loop are bounded.
bool Topics::add_listener(TopicListener& listener, std::string_view name) {
    loop_->assert_on_loop();
    TR_CHECK(listener.topic_ == nullptr, "it follows a topic already");
    if (name.size() > limits_.name_bytes_max) return false;
    flush();  // earlier messages are not for this one
    Topic* topic = find(name);
    if (topic == nullptr) {
        if (topics_.size() >= limits_.topics_max) return false;
        auto made = std::make_unique<Topic>(name);
        topic = made.get();
        topics_.emplace(topic->name, std::move(made));
    }
    listener.topics_ = this;
    listener.topic_ = topic;
    topic->listeners.push_back(listener);
    ++topic->members;
    return true;
}

void TopicListener::leave() {
    Topics::Topic* const topic = std::exchange(topic_, nullptr);
    if (topic == nullptr) return;
    unlink();
    --topic->members;
    topics_->forget_if_empty(*topic);
}

std::string_view TopicListener::topic() const {
    return topic_ != nullptr ? std::string_view(topic_->name) : std::string_view();
}

Task<SharedMessage> TopicQueue::next() {
    const auto message = co_await messages_.receive();
    if (!message) co_return nullptr;
    bytes_ -= (*message)->weight();
    co_return *message;
}

void TopicQueue::on_messages(TopicBatch& batch) {
    for (const SharedMessage& message : batch.messages) {
        if (bytes_ + message->weight() > bytes_max_) {
            messages_.close();
            return leave();  // now: its task may take long to come back
        }
        messages_.try_send(SharedMessage(message));
        bytes_ += message->weight();
    }
}

// Not while a batch waits: dirty_ holds a pointer to the topic.
void Topics::forget_if_empty(Topic& topic) {
    if (topic.members == 0 && topic.batch.empty() && topic.delivered.empty())
        topics_.erase(topics_.find(topic.name));
}

// --- publishing ------------------------------------------------------------------------------

// One copy of the message for all loops: they share it, and only its count is touched by several.
bool Topics::publish(std::string_view topic, std::string_view payload, bool is_text) {
    loop_->assert_on_loop();
    const bool alone = hub_->loops_.size() == 1;
    // On one loop a topic without followers costs no copy. With several, another loop may have
    // some.
    if (alone && find(topic) == nullptr) return true;
    const auto shared = std::make_shared<const TopicMessage>(
        TopicMessage{std::string(topic), std::string(payload), is_text});
    add(shared);
    if (!alone) {
        outgoing_.push_back(shared);
        outgoing_bytes_ += shared->weight();
        if (outgoing_bytes_ > limits_.batch_bytes_max) hand_over();
        loop_->at_turn_end(*this);
    }
    return !is_behind();
}

void Topics::hold(TopicPublisher& publisher) {
    if (publisher.linked()) return;
    publisher.set_held(true);
    paused_.push_back(publisher);
    look_again_later();
}

// Collected until the turn's end, so that the messages of a turn are encoded once for all
// followers and sent in one call to each.
void Topics::add(const SharedMessage& message) {
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
    loop_->at_turn_end(*this);
    if (dirty_bytes_ > limits_.batch_bytes_max) deliver_all();
}

void Topics::on_turn_end() {
    flush();
    if (outgoing_.empty()) return;
    const std::size_t messages = outgoing_.size();
    if (contain([this] { hand_over(); })) return;
    missed_ += messages;  // by some of the loops
    outgoing_.clear();
    outgoing_bytes_ = 0;
}

// What a listener publishes in here is delivered later: a socket's send() also flushes, and must
// not deliver the same batches again. A topic with a batch is not forgotten, so that the pointers
// stay valid. Nothing throws in here.
void Topics::deliver_all() {
    if (std::exchange(delivering_, true)) return;
    dirty_bytes_ = 0;
    for (Topic* topic : std::exchange(dirty_, {})) {
        topic->delivered.swap(topic->batch);
        deliver(*topic);
        topic->delivered.clear();
        forget_if_empty(*topic);
    }
    delivering_ = false;
}

void Topics::deliver(Topic& topic) {
    TopicBatch batch{topic.delivered};
    topic.listeners.for_each([&](TopicListener& listener) {
        if (contain([&] { listener.on_messages(batch); })) return;
        contain([&] { listener.on_failed(); });
    });
    behind_.store(behind_members_ > 0, std::memory_order_release);
}

// --- between loops ---------------------------------------------------------------------------

// Two counters that only grow, each written by one loop: no lock, and no update that reads first.
std::uint64_t Topics::in_flight(const Topics& to) const {
    return sent_bytes_[to.number_] - to.taken_bytes_[number_].load(std::memory_order_acquire);
}

void Topics::hand_over() {
    auto parcel = std::make_shared<Parcel>();
    parcel->messages = std::exchange(outgoing_, {});
    parcel->bytes = std::exchange(outgoing_bytes_, 0);
    parcel->answer = waits_;
    for (Topics* to : hub_->loops_) {
        if (to == this || to == nullptr) continue;
        // A publisher that does not wait drops what a slow loop cannot take, so that its mailbox
        // stays bounded. One that waits stops at half of this, see is_behind().
        const bool too_far = !waits_ && in_flight(*to) > limits_.in_flight_bytes_max;
        const bool handed =
            !too_far &&
            to->loop_->post([to, from = number_, parcel = std::shared_ptr<const Parcel>(parcel)] {
                to->take(from, *parcel);
            });
        if (handed) {
            sent_bytes_[to->number_] += parcel->bytes;
        } else {
            missed_ += parcel->messages.size();
        }
    }
}

void Topics::take(std::size_t from, const Parcel& parcel) {
    // Without memory it is lost here; it counts as taken all the same, or the sender would wait.
    contain([&] {
        for (const SharedMessage& message : parcel.messages) add(message);
        flush();
    });
    // Only this loop writes the word, so a load and a store suffice.
    std::atomic<std::uint64_t>& taken = taken_bytes_[from];
    taken.store(taken.load(std::memory_order_relaxed) + parcel.bytes, std::memory_order_release);
    if (!parcel.answer) return;
    Topics* sender = hub_->loops_[from];
    if (sender != nullptr) sender->loop_->post([sender] { sender->look_again(); });
}

// Half of the limit: what is published before a pause takes effect still fits.
bool Topics::is_behind() const {
    if (!waits_) return false;
    if (behind_members_ > 0) return true;
    return std::ranges::any_of(hub_->loops_, [this](const Topics* other) {
        return other != this && other != nullptr &&
               (other->behind_.load(std::memory_order_acquire) ||
                in_flight(*other) > limits_.in_flight_bytes_max / 2);
    });
}

// All loops are notified, because each may have publishers that wait for a member of this one.
// A loop whose mailbox refuses the notice finds out by itself (look_pause).
void Topics::caught_up() {
    TR_CHECK(behind_members_ > 0);
    if (--behind_members_ > 0) return;
    behind_.store(false, std::memory_order_release);
    look_again();
    for (Topics* other : hub_->loops_) {
        if (other == this || other == nullptr) continue;
        other->loop_->post([other] { other->look_again(); });
    }
}

void Topics::on_expired() {
    look_again();
    look_again_later();
}

void Topics::look_again_later() {
    const bool is_alone = hub_->loops_.size() == 1;  // without another to notify
    if (paused_.empty() || armed() || is_alone) return;
    loop_->arm(*this, loop_->now() + look_pause);
}

void Topics::look_again() {
    if (paused_.empty() || is_behind()) return;
    IntrusiveList<TopicPublisher> ready;
    // Taken out first: one that goes on may publish and be paused again inside this call.
    ready.splice_back(paused_);
    while (!ready.empty()) {
        TopicPublisher& publisher = ready.pop_front();
        // A fault ends the one it happened at; the others go on, and so does the caller, which may
        // be another one's end.
        if (!contain([&] { publisher.set_held(false); })) publisher.on_failed();
    }
}

std::function<std::unique_ptr<Topics>(core::EventLoop&)> topics(TopicLimits limits) {
    return [hub = std::make_shared<TopicHub>(), limits](core::EventLoop& loop) {
        return std::make_unique<Topics>(loop, hub, limits);
    };
}

}  // namespace tiderace::task
