#include "tiderace/db/redis/subscription.h"

#include <deque>
#include <optional>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/task/backoff.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"

namespace tiderace::db::redis {
namespace {

// Messages that came and were not read yet.
class Mailbox final : public Link::Observer {
  public:
    explicit Mailbox(const Options& options) : options_(&options) {}

    std::optional<Message> next() {
        if (messages_.empty()) return std::nullopt;
        Message first = std::move(messages_.front());
        messages_.pop_front();
        bytes_ -= size_of(first);
        first.missed = std::exchange(missed_, 0U);
        return first;
    }
    const std::optional<Error>& failure() const { return failure_; }
    std::size_t confirmed() const { return confirmed_; }

    // Until something comes: a message, a confirmation, the end.
    class Wait {
      public:
        explicit Wait(Mailbox& box) : box_(&box) {}
        Wait(Wait&&) = default;
        ~Wait() {
            if (box_->waiting_ == &waiter_) box_->waiting_ = nullptr;
        }
        bool await_ready() const noexcept {
            return !box_->messages_.empty() || box_->failure_.has_value();
        }
        void await_suspend(std::coroutine_handle<> handle) {
            waiter_.suspend(handle);
            box_->waiting_ = &waiter_;
        }
        void await_resume() const noexcept {}

      private:
        Mailbox* box_;
        task::Waiter waiter_;
    };

  private:
    static std::size_t size_of(const Message& message) {
        return message.channel.size() + message.payload.size() + message.pattern.size();
    }
    void wake() {
        if (waiting_ != nullptr) std::exchange(waiting_, nullptr)->wake();
    }
    void keep(Message message) {
        bytes_ += size_of(message);
        messages_.push_back(std::move(message));
        // The oldest are dropped, and counted for the reader. The newest stays, however large.
        while (messages_.size() > 1 && (messages_.size() > options_->messages_max ||
                                        bytes_ > options_->message_bytes_max)) {
            bytes_ -= size_of(messages_.front());
            messages_.pop_front();
            ++missed_;
        }
    }
    void on_push(resp::Reply push) override {
        // No right to the channel (NOPERM), say: the server answers with an error in place of a
        // push.
        if (push.is_error()) {
            failure_ = error_of(push);
            return wake();
        }
        const std::string_view kind = push[0].text();
        if (kind == "message") {
            keep({.channel = std::string(push[1].text()), .payload = std::string(push[2].text())});
        } else if (kind == "pmessage") {
            keep({.channel = std::string(push[2].text()),
                  .payload = std::string(push[3].text()),
                  .pattern = std::string(push[1].text())});
        } else if (kind == "subscribe" || kind == "psubscribe") {
            ++confirmed_;
        }
        wake();
    }
    void on_lost(std::vector<Call*>, const Error& why) override {
        if (!failure_) failure_ = why;
        wake();
    }

    const Options* options_;
    std::deque<Message> messages_;
    std::size_t bytes_ = 0;
    std::uint64_t missed_ = 0;
    std::size_t confirmed_ = 0;
    std::optional<Error> failure_;
    task::Waiter* waiting_ = nullptr;
};

std::string commands_for(const Channels& to) {
    std::string bytes;
    const auto add = [&](std::string_view name, const std::vector<std::string>& words) {
        if (words.empty()) return;
        std::vector<std::string_view> all = {name};
        all.insert(all.end(), words.begin(), words.end());
        bytes += make_command(Arguments(all)).bytes;
    };
    add("SUBSCRIBE", to.channels);
    add("PSUBSCRIBE", to.patterns);
    return bytes;
}

task::Task<> wait_for(Mailbox& box) {
    Mailbox::Wait wait(box);
    co_await wait;
}

task::Task<> confirm(Mailbox& box, std::size_t wanted) {
    while (box.confirmed() < wanted && !box.failure()) {
        Mailbox::Wait wait(box);
        if (wait.await_ready() && !box.failure()) break;  // a message: it is confirmed
        co_await wait;
    }
    if (box.failure()) throw *box.failure();
}

task::Task<LinkRef> begin(std::shared_ptr<const Settings> settings, Mailbox& box,
                          const Channels& to) {
    const Options& options = settings->options;
    core::EventLoop& loop = task::Context::here().runner->loop();
    LinkRef link = co_await open_link(settings->place, settings->place.address(), options,
                                      moment_after(loop.now(), options.connect_timeout));
    link->observe(&box);
    // Before the commands: their confirmations are also pushes.
    link->expect_only_pushes();
    link->send_unasked(commands_for(to));
    const std::size_t wanted = to.channels.size() + to.patterns.size();
    const auto done = co_await task::within(options.command_timeout, confirm(box, wanted));
    if (!done) throw Error(Fault::timeout, "the server does not confirm the subscription");
    co_return link;
}

}  // namespace

task::Generator<Message> subscribe(Client redis, Channels to) {
    if (to.channels.empty() && to.patterns.empty()) {
        throw Error(Fault::configuration, "a subscription without channels and patterns");
    }
    const std::shared_ptr<const Settings> settings = redis.settings();
    const Options& options = settings->options;
    task::Runner& runner = *task::Context::here().runner;
    // Requested here, so that the links which it needs end after this task.
    (void)runner.local<Hubs>();
    task::Backoff backoff(options.reconnect_pause, options.reconnect_pause_max);
    const std::string ping = make_command("PING").bytes;
    while (true) {
        // Declared before the link, which calls it, so that it outlives the link.
        Mailbox box(options);
        LinkRef link;
        std::optional<Error> failure;
        try {
            link = co_await begin(settings, box, to);
        } catch (const Error& error) {
            failure = error;
        }
        if (!failure) {
            backoff.reset();
            Message first;
            // Messages that were published without a connection are lost; the reader learns of it.
            first.restarted = true;
            co_yield std::move(first);
        }
        std::optional<Instant> pinged;
        while (!failure) {
            if (auto message = box.next()) {
                co_yield std::move(*message);
                continue;
            }
            failure = box.failure();
            if (failure) break;
            const auto heard = co_await task::within(options.silence_max, wait_for(box));
            if (heard) continue;
            // Silence counts from our ping: a reader that was busy for long has sent none, and a
            // connection that is given up loses messages.
            if (pinged && link->heard() < *pinged) {
                failure = Error(Fault::connection_lost, "the server is silent");
                break;
            }
            link->send_unasked(ping);
            pinged = runner.loop().now();
        }
        if (failure->kind() == Fault::configuration) throw *failure;
        link.reset();
        co_await task::sleep(backoff.next());
    }
}

}  // namespace tiderace::db::redis
