#include "tiderace/resp/command_reader.h"

#include "tiderace/base/check.h"

namespace tiderace::resp {
namespace {

// Commands of more arguments are rare; their room is freed, so that idle connections stay small.
constexpr std::size_t ranges_kept_max = 64;

Step complete(std::size_t bytes) {
    return {Progress::complete, bytes};
}

}  // namespace

CommandReader::CommandReader(const Limits& limits) {
    set_limits(limits);
}

void CommandReader::set_limits(const Limits& limits) {
    limits_ = &limits;
    // A Range has 32-bit offsets.
    TR_CHECK(limits.message_bytes_max < UINT32_MAX, "message_bytes_max is below 4 GiB");
}

Progress CommandReader::read(ByteView& in) {
    if (state_ == State::faulty) return Progress::fault;
    if (state_ == State::complete) release();
    if (in.empty()) return Progress::more;
    const Progress progress = bytes_.read(in, [this](ByteView message) { return scan(message); });
    state_ = progress == Progress::complete ? State::complete
             : progress == Progress::more   ? State::within
                                            : State::faulty;
    if (progress == Progress::complete) {
        // Inline words had escapes undone, so they are in words_ and not in the message.
        base_ = head_done_ ? bytes_.base() : words_.data();
        if (head_done_) encoded_ = {base_, at_};
    }
    return progress;
}

void CommandReader::release() {
    bytes_.clear();
    ranges_.clear();
    if (ranges_.capacity() > ranges_kept_max) std::vector<Range>().swap(ranges_);
    if (!head_done_) std::string().swap(words_);
    base_ = nullptr;
    encoded_ = {};
    at_ = 0;
    expected_ = 0;
    head_done_ = false;
    state_ = State::start;
}

Step CommandReader::refuse(Fault fault) {
    fault_ = fault;
    return {Progress::fault};
}

Step CommandReader::scan(ByteView message) {
    if (!head_done_) {
        // As Redis does: a first byte other than '*' is a line that a person typed.
        if (message[0] != '*') return scan_inline(message);
        const Step step = scan_head(message);
        if (step.progress != Progress::complete) return step;
    }
    while (ranges_.size() < expected_) {
        if (at_ == message.size()) return need(at_ + 1);
        if (message[at_] != '$') {
            found_ = message[at_];
            return refuse(Fault::bulk_expected);
        }
        std::size_t from = at_ + 1;
        std::int64_t bytes = 0;
        const Progress progress = read_length(message, from, bytes);
        // One byte more, because where its line ends is not known.
        if (progress == Progress::more) return need(message.size() + 1);
        // Redis has no null among arguments.
        if (progress == Progress::fault || bytes < 0) return refuse(Fault::bad_length);
        const auto size = static_cast<std::size_t>(bytes);
        if (size > limits_->bulk_bytes_max) return refuse(Fault::bulk_too_large);
        const std::size_t end = from + size + 2;
        // By the announced length, before any of it is gathered.
        if (end > limits_->message_bytes_max) return refuse(Fault::message_too_large);
        if (end > message.size()) return need(end);
        if (message[end - 2] != '\r' || message[end - 1] != '\n') {
            return refuse(Fault::unended_bulk);
        }
        ranges_.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(size)});
        at_ = end;
    }
    return complete(at_);
}

Step CommandReader::scan_head(ByteView message) {
    std::size_t from = 1;
    std::int64_t count = 0;
    const Progress progress = read_length(message, from, count);
    if (progress == Progress::more) return need(message.size() + 1);
    if (progress == Progress::fault) return refuse(Fault::bad_length);
    if (count > 0 && static_cast<std::size_t>(count) > limits_->elements_max) {
        return refuse(Fault::too_many_elements);
    }
    // "*-1" is a command without arguments, as in Redis.
    expected_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    head_done_ = true;
    at_ = from;
    return complete(from);
}

Step CommandReader::scan_inline(ByteView message) {
    const ByteView front = message.substr(0, limits_->line_bytes_max + 2);
    const std::size_t end = front.find('\n');
    if (has_control_bytes(front.substr(0, end))) return refuse(Fault::foreign_protocol);
    // Nothing of it is kept between two calls: MessageBytes calls again only with the whole line,
    // or with the control byte that refuses it.
    if (end == ByteView::npos) {
        if (front.size() == limits_->line_bytes_max + 2) return refuse(Fault::line_too_long);
        return {Progress::more, limits_->line_bytes_max + 2, ends_inline};
    }
    ByteView line = front.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > limits_->line_bytes_max) return refuse(Fault::line_too_long);
    words_.reserve(line.size() + 1);  // its words have no more bytes than the line
    if (!split_inline(line, words_, ranges_)) return refuse(Fault::unbalanced_quotes);
    if (is_http(words_, ranges_)) return refuse(Fault::foreign_protocol);
    if (ranges_.size() > limits_->elements_max) return refuse(Fault::too_many_elements);
    for (const Range& word : ranges_) {
        if (word.bytes > limits_->bulk_bytes_max) return refuse(Fault::bulk_too_large);
    }
    at_ = end + 1;
    return complete(at_);
}

}  // namespace tiderace::resp
