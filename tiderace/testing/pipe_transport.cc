#include "tiderace/testing/pipe_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::testing {
namespace {

constexpr std::size_t near_end = 0;
constexpr std::size_t far_end = 1;

// The state that both ends share. It acts in tasks posted to the loop, which hold it.
class PipeState final : public std::enable_shared_from_this<PipeState> {
  public:
    struct End {
        net::Transport::Observer* observer = nullptr;
        std::string arrived;                 // not yet given to this end's observer
        core::SendQueue* waiting = nullptr;  // its queue that found no room
        bool receiving = false;
        bool finished = false;  // its own direction
        bool end_told = false;
        bool closed = false;
        bool reset_on_close = false;
        int broken = 0;  // -errno to be reported
    };

    PipeState(core::EventLoop& loop, const PipeOptions& options)
        : loop_(&loop), options_(options) {}

    End& end(std::size_t number) { return ends_[number]; }
    End& other(std::size_t number) { return ends_[1 - number]; }

    core::Sent send(std::size_t number, core::SendQueue& queue) {
        End& from = end(number);
        TR_CHECK(from.waiting == nullptr, "a send while one is pending");
        if (from.broken != 0 || other(number).closed) return {.error = -EPIPE};
        const Moved moved = move_bytes(number, queue);
        if (moved.error != 0) return {.bytes = moved.bytes, .error = moved.error};
        if (!queue.empty()) from.waiting = &queue;
        act_later();
        return {.bytes = moved.bytes, .pending = !queue.empty()};
    }

    void close(std::size_t number) {
        End& gone = end(number);
        gone.closed = true;
        gone.observer = nullptr;
        gone.waiting = nullptr;
        // As in TCP: a close with bytes unread resets the connection.
        if (gone.reset_on_close || !gone.arrived.empty()) {
            other(number).broken = -ECONNRESET;
            other(number).arrived.clear();
        }
        gone.finished = true;
        act_later();
    }

    void act_later() {
        // One task is enough for both ends, and keeps the mailbox from filling up.
        if (std::exchange(asked_, true)) return;
        TR_CHECK(loop_->post([self = shared_from_this()] { self->act(); }), "the mailbox is full");
    }

  private:
    struct Moved {
        std::uint64_t bytes = 0;
        int error = 0;
    };

    // From `queue` to what the other end has not taken, as far as there is room.
    Moved move_bytes(std::size_t number, core::SendQueue& queue) {
        std::string& target = other(number).arrived;
        Moved moved;
        while (!queue.empty() && target.size() < options_.capacity) {
            const std::size_t room = options_.capacity - target.size();
            iovec piece{};
            std::size_t taken = 0;
            if (queue.gather({&piece, 1}) == 1) {
                taken = std::min(room, piece.iov_len);
                target.append(static_cast<const char*>(piece.iov_base), taken);
            } else {
                const auto range = queue.front_file();
                std::string bytes(std::min<std::uint64_t>(room, range.bytes), '\0');
                const ssize_t got = loop_->kernel().read_at(
                    range.descriptor, bytes.data(), bytes.size(), static_cast<off_t>(range.offset));
                // The error of every backend for a file that has shrunk.
                if (got <= 0) return {moved.bytes, got == 0 ? -EBADMSG : static_cast<int>(got)};
                taken = static_cast<std::size_t>(got);
                target.append(bytes, 0, taken);
            }
            queue.consume(taken);
            moved.bytes += taken;
        }
        return moved;
    }

    void act() {
        // First: what happens below may ask for another round.
        asked_ = false;
        for (const std::size_t number : {near_end, far_end}) {
            deliver(number);
            complete(number);
        }
    }

    void deliver(std::size_t number) {
        End& to = end(number);
        if (to.observer == nullptr || to.end_told) return;
        // Also while it is paused: a transport reports a lost peer whether it is read or not.
        if (to.broken != 0) {
            to.end_told = true;
            to.observer->on_receive_failed(to.broken);
            return;
        }
        if (!to.receiving) return;
        if (!to.arrived.empty()) {
            // Moved out first: the observer may close this end while it looks at the bytes.
            const std::size_t given = std::min(to.arrived.size(), options_.bytes_per_delivery_max);
            const std::string bytes = to.arrived.substr(0, given);
            to.arrived.erase(0, given);
            act_later();  // for the rest, and for a writer that waits for room
            to.observer->on_received(bytes);
        } else if (other(number).finished) {
            to.end_told = true;
            to.observer->on_received({});
        }
    }

    void complete(std::size_t number) {
        End& from = end(number);
        if (from.waiting == nullptr) return;
        const bool broken = from.broken != 0 || other(number).closed;
        const Moved moved = broken ? Moved{.error = -EPIPE} : move_bytes(number, *from.waiting);
        if (moved.bytes == 0 && moved.error == 0) return;
        // Before the call: the observer may send again in it.
        from.waiting = nullptr;
        act_later();
        from.observer->on_sent(moved.error != 0 ? moved.error
                                                : static_cast<std::int64_t>(moved.bytes));
    }

    core::EventLoop* loop_;
    PipeOptions options_;
    std::array<End, 2> ends_;
    bool asked_ = false;
};

class PipeTransport final : public net::Transport {
  public:
    PipeTransport(std::shared_ptr<PipeState> pipe, std::size_t number)
        : pipe_(std::move(pipe)), number_(number) {}
    ~PipeTransport() override {
        if (!pipe_->end(number_).closed) pipe_->close(number_);
    }

    void open(Observer& observer) override { pipe_->end(number_).observer = &observer; }
    void set_receiving(bool on) override {
        pipe_->end(number_).receiving = on;
        if (on) pipe_->act_later();
    }
    core::Sent send(core::SendQueue& queue) override { return pipe_->send(number_, queue); }
    void finish() override {
        pipe_->end(number_).finished = true;
        pipe_->act_later();
    }
    void close(core::SendQueue&& unsent) override {
        pipe_->close(number_);
        unsent.clear();
    }
    void set_reset_on_close() override { pipe_->end(number_).reset_on_close = true; }

  private:
    std::shared_ptr<PipeState> pipe_;
    std::size_t number_;
};

}  // namespace

Pipe make_pipe(core::EventLoop& loop, const PipeOptions& options) {
    const auto state = std::make_shared<PipeState>(loop, options);
    return {.near = std::make_unique<PipeTransport>(state, near_end),
            .far = std::make_unique<PipeTransport>(state, far_end)};
}

}  // namespace tiderace::testing
