#include "tiderace/http/app/body_stream.h"

#include <memory>
#include <utility>

#include "tiderace/base/moment.h"

namespace tiderace::http {

// The bytes that the receiver holds for the handler.
class BodyStream::Inflow final : public core::Shared, private core::Budget::Holder {
  public:
    explicit Inflow(const app_parts::Call& call)
        : Holder(call.bodies, *call.exchange.request().peer), exchange_(&call.exchange) {}
    void keep(ByteView more) {
        bytes += more;
        grow_to(bytes.size());
    }
    std::string take() {
        shrink_to(0);
        return std::exchange(bytes, std::string());
    }

    std::string bytes;
    bool ended = false;
    bool failed = false;
    bool refused = false;  // above the budget; failed, too
    bool paused = false;
    Next* waiting = nullptr;

    bool has_news() const { return !bytes.empty() || ended || failed; }
    void wake() {
        if (waiting != nullptr) std::exchange(waiting, nullptr)->wake();
    }

  private:
    void refuse() override {
        take();
        failed = refused = true;
        if (!ended) {
            exchange_->withdraw_body();
            if (std::exchange(paused, false)) exchange_->set_body_reading(true);
        }
        wake();
    }

    Exchange* exchange_;  // while the body is neither ended nor failed
};

class BodyStream::Receiver final : public BodyReceiver {
  public:
    explicit Receiver(core::Ref<Inflow> inflow) : inflow_(std::move(inflow)) {}

  private:
    void on_body(Exchange& exchange, ByteView bytes) override {
        inflow_->keep(bytes);  // the exchange keeps this receiver until its call returns
        if (inflow_->failed) return;
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

BodyStream::BodyStream(app_parts::Call& call)
    : exchange_(call.exchange.defer()),
      inflow_(core::make_ref<Inflow>(call)),
      pause_max_(call.pause_max) {
    inflow_->keep(std::exchange(call.body, {}));
    exchange_->receive_body(std::make_unique<Receiver>(inflow_), call.body_bytes_max);
    handler_works();
}

void BodyStream::handler_works() {
    if (pause_max_ == Duration::max()) return;
    exchange_->set_deadline(moment_after(exchange_->loop().now(), pause_max_));
}

void BodyStream::client_is_awaited() {
    if (pause_max_ != Duration::max()) exchange_->set_deadline(Instant::max());
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
    handler_works();
    if (inflow_->bytes.empty()) {
        if (inflow_->refused) {
            throw Problem{.status = 503, .detail = "too many bytes of bodies wait for handlers"};
        }
        if (inflow_->failed) throw Problem{.detail = "the body was not completed"};
        TR_CHECK(inflow_->ended, "a body's task goes on when there is something new");
        return std::nullopt;
    }
    // The buffer goes out with its bytes: while the handler works on them, the next ones get one of
    // their own.
    std::string piece = inflow_->take();
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
    body_->client_is_awaited();
}

BodyStream::Next::~Next() {
    // The task may be destroyed at its await, when the client goes away; or the await alone, when
    // the handler has waited for long enough: then its own time runs again.
    if (!body_->inflow_ || body_->inflow_->waiting != this) return;
    body_->inflow_->waiting = nullptr;
    body_->handler_works();
}

}  // namespace tiderace::http
