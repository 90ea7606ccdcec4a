#include "tiderace/http/generator_source.h"

#include "tiderace/http/exchange.h"

namespace tiderace::http {

GeneratorSource::~GeneratorSource() {
    // The frame uses pieces_, a member, which would end before Root does.
    Root::end_frame();
}

void GeneratorSource::attach(Exchange& exchange) {
    if (exchange_ != nullptr) return;
    exchange_ = &exchange;
    runner_ = exchange.runner();
    if (runner_ == nullptr) {
        failed_ = true;
        if (log::Logger* const log = exchange.loop().log()) {
            log->error("http", "a generator cannot make a body: its server runs no tasks");
        }
    } else if (ends_when_draining_) {
        runner_->local<EventStreams>().add(place_);
    }
}

BodySource::State GeneratorSource::pull(core::BlockPool& blocks, core::SendQueue& out,
                                        std::size_t bytes_wanted) {
    std::size_t appended = 0;
    while (appended < bytes_wanted) {
        if (!piece_.empty()) {
            appended += piece_.size();
            out.append(blocks, piece_);
            piece_.clear();
        }
        // After the piece above: pieces from before the failure still go out.
        if (failed_) return State::failed;
        if (ended_) return State::end;
        if (alive()) return State::wait;  // it makes the next piece; on_done reports when
        // The piece may be made at once: then pull() goes on here, and on_done() must not call
        // body_ready().
        pulling_ = true;
        Root::start(*runner_, make_next());
        pulling_ = false;
        if (alive()) return State::wait;
        // The caller bounds how many of these it takes in one turn.
        if (piece_.empty() && !ended_ && !failed_) return State::more;
    }
    return State::more;
}

task::Task<> GeneratorSource::make_next() {
    auto next = co_await pieces_.next();
    if (next) piece_ = std::move(*next);
    ended_ = !next;
}

void GeneratorSource::finish() {
    if (ended_ || failed_) return;
    ended_ = true;
    const bool waits = alive();
    Root::end_frame();
    pieces_ = {};
    if (waits) exchange_->body_ready();  // may end this object
}

void GeneratorSource::on_done(std::exception_ptr failure) {
    if (failure) {
        task::log_failure(exchange_->loop().log(), failure);
        failed_ = true;
    }
    if (!pulling_) exchange_->body_ready();  // may end this object
}

void EventStreams::drain() {
    draining_ = true;
    // At the turn's end no task is running: one of them may have requested the drain.
    core::EventLoop& loop = runner_->loop();
    loop.assert_on_loop();
    loop.at_turn_end(*this);
}

void EventStreams::add(GeneratorSource::Place& place) {
    open_.push_back(place);
    core::EventLoop& loop = runner_->loop();
    loop.assert_on_loop();
    if (draining_) loop.at_turn_end(*this);
}

void EventStreams::on_turn_end() {
    while (!open_.empty()) {
        GeneratorSource& source = *open_.front().source;
        open_.pop_front();
        source.finish();
    }
}

}  // namespace tiderace::http
