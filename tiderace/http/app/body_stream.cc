#include "tiderace/http/app/body_stream.h"

#include <memory>
#include <utility>

namespace tiderace::http {

// What the receiver has and the handler has not taken.
class BodyStream::Inflow final : public core::Shared {
  public:
    std::string bytes;
    bool ended = false;
    bool failed = false;
    bool paused = false;
    Next* waiting = nullptr;

    bool has_news() const { return !bytes.empty() || ended || failed; }
    void wake() {
        if (waiting != nullptr) std::exchange(waiting, nullptr)->wake();
    }
};

class BodyStream::Receiver final : public BodyReceiver {
  public:
    explicit Receiver(core::Ref<Inflow> inflow) : inflow_(std::move(inflow)) {}

  private:
    void on_body(Exchange& exchange, ByteView bytes) override {
        inflow_->bytes += bytes;
        // The handler is slower than the peer: TCP, or the stream's window, holds the peer back.
        if (inflow_->bytes.size() >= held_bytes_max && !inflow_->paused) {
            inflow_->paused = true;
            exchange.set_body_reading(false);
        }
        inflow_->wake();
    }
    void on_body_end(Exchange&) override {
        inflow_->ended = true;
        inflow_->wake();
    }
    void on_body_failed(Exchange&) override {
        inflow_->failed = true;
        inflow_->wake();
    }

    core::Ref<Inflow> inflow_;
};

BodyStream::BodyStream(Exchange& exchange, std::uint64_t bytes_max, std::string first)
    : exchange_(exchange.defer()), inflow_(core::make_ref<Inflow>()) {
    inflow_->bytes = std::move(first);
    exchange.receive_body(std::make_unique<Receiver>(inflow_), bytes_max);
}

BodyStream::BodyStream(BodyStream&&) noexcept = default;

BodyStream::~BodyStream() {
    // No inflow: it was moved from.
    if (!inflow_ || inflow_->ended || inflow_->failed) return;
    exchange_->withdraw_body();
    // The rest of the body has no reader, and must not block the next request.
    if (inflow_->paused && !exchange_->abandoned()) exchange_->set_body_reading(true);
}

BodyStream::Next BodyStream::next() {
    return Next(*this);
}

std::optional<std::string> BodyStream::take() {
    if (inflow_->bytes.empty()) {
        if (inflow_->failed) throw Problem{.detail = "the body was not completed"};
        TR_CHECK(inflow_->ended, "a body's task goes on when there is something new");
        return std::nullopt;
    }
    // The buffer goes out with its bytes: while the handler works on them, the next ones get one of
    // their own.
    std::string piece = std::exchange(inflow_->bytes, std::string());
    if (std::exchange(inflow_->paused, false) && !inflow_->failed && !exchange_->abandoned()) {
        exchange_->set_body_reading(true);  // more may come inside this call
    }
    return piece;
}

bool BodyStream::Next::await_ready() {
    // spend(): a task that always has news gives way now and then, or it would hold the loop.
    return body_->inflow_->has_news() && task::Context::here().runner->spend();
}

void BodyStream::Next::await_suspend(std::coroutine_handle<> handle) {
    Waiter::suspend(handle);
    TR_CHECK(body_->inflow_->waiting == nullptr, "a body's next() is awaited by one task");
    if (body_->inflow_->has_news()) return Waiter::wake();  // it was this task's turn to wait
    body_->inflow_->waiting = this;
}

BodyStream::Next::~Next() {
    // The task may be destroyed at its await, when the client goes away.
    if (body_->inflow_ && body_->inflow_->waiting == this) body_->inflow_->waiting = nullptr;
}

}  // namespace tiderace::http
