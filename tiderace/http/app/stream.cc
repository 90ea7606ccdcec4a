#include "tiderace/http/app/stream.h"

namespace tiderace::http {
namespace {

// Each line of `text` as a line of its own that begins with `name`; a line break inside a value
// would otherwise begin another field.
void append_lines(std::string& out, std::string_view name, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        out.append(name).append(": ").append(text.substr(0, end)) += '\n';
        if (end == std::string_view::npos) return;
        const bool pair = text.substr(end, 2) == "\r\n";
        text.remove_prefix(end + (pair ? 2 : 1));
    }
}

// A field of one line: what follows a line break is dropped.
void append_line(std::string& out, std::string_view name, std::string_view text) {
    out.append(name).append(": ").append(text.substr(0, text.find_first_of("\r\n"))) += '\n';
}

}  // namespace

std::string render(const Event& event) {
    std::string out;
    if (!event.comment.empty()) append_lines(out, "", event.comment);
    if (!event.event.empty()) append_line(out, "event", event.event);
    if (!event.id.empty()) append_line(out, "id", event.id);
    if (event.retry_ms > 0) append_line(out, "retry", std::to_string(event.retry_ms));
    // An event without data is not dispatched by browsers (HTML, 9.2.6); a comment alone needs
    // none.
    if (!event.data.empty() || event.comment.empty()) append_lines(out, "data", event.data);
    out += '\n';
    return out;
}

GeneratorSource::~GeneratorSource() {
    // The frame uses pieces_, a member, which would end before Root does.
    Root::end_frame();
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

void GeneratorSource::end_when_draining() {
    runner_->local<EventStreams>().add(place_);
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
    runner_->loop().at_turn_end(*this);
}

void EventStreams::add(GeneratorSource::Place& place) {
    open_.push_back(place);
    if (draining_) runner_->loop().at_turn_end(*this);
}

void EventStreams::on_turn_end() {
    while (!open_.empty()) {
        GeneratorSource& source = *open_.front().source;
        open_.pop_front();
        source.finish();
    }
}

}  // namespace tiderace::http
