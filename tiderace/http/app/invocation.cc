#include "tiderace/http/app/invocation.h"

namespace tiderace::http::app_parts {

// Without a body, so that it is shown as the application shows its errors. Two seconds are longer
// than most restarts of a connection, and short enough for a person who waits.
bool answer_passing(Exchange& exchange, const TransientError& fault) {
    if (!fault.is_transient() || exchange.responded()) return false;
    exchange.log_exception("a handler");
    exchange.respond(Response(503).header("Retry-After", "2"));
    return true;
}

Invocation::Invocation(Call& call) : exchange_(call.exchange.defer()), runner_(&call.runner) {}

void Invocation::watch() {
    ended_at_once_ = nullptr;
    // Its first steps may have cost it the client.
    if (!exchange_->observe(*this)) return on_abandoned();
    if (context().deadline != Instant::max()) exchange_->set_deadline(context().deadline);
}

void Invocation::on_done(std::exception_ptr failure) {
    // Freed when this call returns: nothing else owns it once its task has ended.
    const std::unique_ptr<Invocation> self(this);
    // The task ended inside start(): its caller must not touch this object any more.
    if (ended_at_once_ != nullptr) *ended_at_once_ = true;
    // The answer may end the connection, which must not call back into what is being destroyed.
    AbandonObserver::unlink();
    exchange_->run([&] {
        answer_problems(*exchange_, [&] {
            if (failure) std::rethrow_exception(failure);
            answer_value(*exchange_, *runner_);
        });
    });
}

// The frame ends at its await, or when it next waits, if the client went away because of what it
// does.
void Invocation::on_abandoned() {
    runner_->destroy_later(std::unique_ptr<Root>(this));
}

}  // namespace tiderace::http::app_parts
