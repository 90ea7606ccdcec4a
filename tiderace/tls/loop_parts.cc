#include "tiderace/tls/loop_parts.h"

namespace tiderace::tls {

// Made with the first record: a loop without TLS connections does not pay for it.
std::span<char> LoopParts::plain() {
    if (plain_ == nullptr) plain_ = std::make_unique_for_overwrite<char[]>(plain_bytes);
    return {plain_.get(), plain_bytes};
}

void LoopParts::step_later(Step& step) {
    // Linked: it waits for its turn already.
    if (step.linked()) return;
    waiting_.push_back(step);
    loop_->at_turn_end(*this);
}

void LoopParts::send_later(Step& step) {
    if (step.linked()) return;
    // The first to wait notes the turn, so that it is not served in the same one.
    if (sending_.empty()) sent_in_ = loop_->turns();
    sending_.push_back(step);
    loop_->at_turn_end(*this);
}

// Each once, in a later turn than its request, so that the kernel's events come between: one fast
// reader of a large file must not keep the loop to itself.
void LoopParts::go_on_sending() {
    if (sending_.empty() || sent_in_ == loop_->turns()) return;
    sent_in_ = loop_->turns();
    IntrusiveList<Step> now;
    now.splice_back(sending_);
    while (!now.empty()) now.pop_front().take_step();
}

void LoopParts::on_turn_end() {
    go_on_sending();
    // At most so many handshake steps a turn: each may cost a signature, and thousands of new
    // clients must not stall the connections that are already open.
    if (turn_ != loop_->turns()) {
        turn_ = loop_->turns();
        steps_left_ = steps_per_turn_max_;
    }
    for (; steps_left_ > 0 && !waiting_.empty(); --steps_left_) waiting_.pop_front().take_step();
    // The budget is spent: the loop comes back in its next turn.
    if (!waiting_.empty() || !sending_.empty()) loop_->at_turn_end(*this);
}

void LoopParts::count_done(bool is_tls_1_3, bool resumed, Duration took) {
    HandshakeCounters::Done& done = is_tls_1_3 ? counters_.tls_1_3 : counters_.tls_1_2;
    ++(resumed ? done.resumed : done.full);
    counters_.durations.observe(metrics::nanoseconds(took));
}

void LoopParts::count_failure(HandshakeFailure why, std::string_view words) {
    ++counters_.failed[static_cast<std::size_t>(why)];
    log::Logger* log = loop_->log();
    // At most some lines a second: port scanners fail handshakes all day, and must not fill the
    // disk.
    if (log == nullptr || !log->enabled(log::Level::debug)) return;
    if (log_second_ != loop_->unix_now()) {
        log_second_ = loop_->unix_now();
        log_lines_ = 0;
    }
    if (++log_lines_ > log_lines_per_second_max) return;
    log->debug("tls", "handshake failed", log::field("why", to_string(why)),
               log::field("detail", words));
}

}  // namespace tiderace::tls
