#include "tiderace/resp/reply_reader.h"

#include <algorithm>
#include <string_view>

#include "tiderace/base/check.h"
#include "tiderace/resp/number.h"

namespace tiderace::resp {
namespace {

constexpr std::size_t nodes_kept_max = 32;  // 1 KiB, as MessageBytes keeps

constexpr Step advanced{Progress::complete};

Kind aggregate_kind(char type) {
    switch (type) {
        case '*':
            return Kind::array;
        case '~':
            return Kind::set;
        case '%':
            return Kind::map;
        case '>':
            return Kind::push;
        default:
            return Kind::attribute;
    }
}

}  // namespace

ReplyReader::ReplyReader(const Limits& limits) : limits_(&limits) {
    TR_CHECK(limits.message_bytes_max < UINT32_MAX, "message_bytes_max is below 4 GiB");
    // A map of n pairs has 2n elements, which a node counts in 32 bits.
    TR_CHECK(limits.elements_max < UINT32_MAX / 2, "elements_max is below 2^31");
}

Progress ReplyReader::read(ByteView& in) {
    if (state_ == State::faulty) return Progress::fault;
    if (state_ == State::complete) release();
    if (in.empty()) return Progress::more;
    const Progress progress = bytes_.read(in, [this](ByteView message) { return scan(message); });
    state_ = progress == Progress::complete ? State::complete
             : progress == Progress::more   ? State::within
                                            : State::faulty;
    return progress;
}

Reply ReplyReader::reply() const {
    if (state_ != State::complete) return {};
    return {nodes_.data(), bytes_.base(), 0};
}

void ReplyReader::release() {
    bytes_.clear();
    nodes_.clear();
    // An idle connection frees the room for a past large reply.
    if (nodes_.capacity() > nodes_kept_max) std::vector<ReplyNode>().swap(nodes_);
    open_.clear();
    at_ = 0;
    pending_ = 0;
    ended_ = false;
    state_ = State::start;
}

Step ReplyReader::refuse(Fault fault) {
    fault_ = fault;
    return {Progress::fault};
}

Step ReplyReader::scan(ByteView message) {
    while (!ended_) {
        if (at_ == message.size()) return need(at_ + 1);
        const Step step = scan_value(message);
        if (step.progress != Progress::complete) return step;
        if (at_ > limits_->message_bytes_max) return refuse(Fault::message_too_large);
    }
    return {Progress::complete, at_};
}

Step ReplyReader::scan_value(ByteView message) {
    switch (message[at_]) {
        case '+':
        case '-':
        case ':':
        case ',':
        case '(':
        case '#':
        case '_':
            return scan_line(message);
        case '$':
        case '!':
        case '=':
            return scan_bulk(message);
        case '*':
        case '~':
        case '%':
        case '>':
        case '|':
            return scan_aggregate(message);
        default:
            return refuse(Fault::unknown_type);
    }
}

Step ReplyReader::scan_line(ByteView message) {
    const std::size_t from = at_ + 1;
    const std::size_t room = limits_->line_bytes_max + 2;
    const ByteView front = message.substr(from, room);
    const std::size_t end = front.find('\n');
    if (end == ByteView::npos) {
        if (front.size() == room) return refuse(Fault::line_too_long);
        return {Progress::more, from + room, [](char byte) { return byte == '\n'; }};
    }
    if (end == 0 || front[end - 1] != '\r') return refuse(Fault::bad_line);
    const ByteView text = front.substr(0, end - 1);
    // A lone CR may be a line's end to another reader of the same stream.
    if (text.find('\r') != ByteView::npos) return refuse(Fault::bad_line);
    const char type = message[at_];
    // add() notes at_ as the offset of the node's text. It is called only where the whole value is
    // there: a scan that goes on later begins at the value, and would add its node again.
    at_ = from;
    const Fault fault = take_line(type, text);
    if (fault != Fault::none) return refuse(fault);
    at_ = from + end + 1;
    value_ended();
    return advanced;
}

Fault ReplyReader::take_line(char type, ByteView text) {
    Kind kind = type == '+' ? Kind::simple_string : Kind::simple_error;
    std::int64_t number = 0;
    if (type == ':') {
        const auto value = parse_integer(text);
        if (!value) return Fault::bad_number;
        kind = Kind::integer;
        number = *value;
    } else if (type == ',') {
        if (!parse_double(text)) return Fault::bad_number;
        kind = Kind::real;
    } else if (type == '(') {
        if (!is_big_number(text)) return Fault::bad_number;
        kind = Kind::big_number;
    } else if (type == '#') {
        if (text != "t" && text != "f") return Fault::bad_boolean;
        kind = Kind::boolean;
        number = text == "t" ? 1 : 0;
    } else if (type == '_') {
        if (!text.empty()) return Fault::bad_null;
        kind = Kind::null;
    }
    ReplyNode& node = add(kind);
    node.bytes = static_cast<std::uint32_t>(text.size());
    node.number = number;
    return Fault::none;
}

Step ReplyReader::scan_bulk(ByteView message) {
    const char type = message[at_];
    std::size_t from = at_ + 1;
    std::int64_t bytes = 0;
    // "$?" and "*?" announce no length, so no limit could be applied beforehand.
    if (from < message.size() && message[from] == '?') return refuse(Fault::streamed);
    const Progress progress = read_length(message, from, bytes);
    if (progress == Progress::more) return need(message.size() + 1);
    // RESP 2's null. An error or a verbatim string that is null does not exist.
    const bool null = bytes == -1 && type == '$';
    if (progress == Progress::fault || (bytes < 0 && !null)) return refuse(Fault::bad_length);
    if (null) {
        add(Kind::null);
        at_ = from;
        value_ended();
        return advanced;
    }
    const auto size = static_cast<std::size_t>(bytes);
    // By its announced length, before any of it is gathered.
    if (size > limits_->bulk_bytes_max) return refuse(Fault::bulk_too_large);
    const std::size_t end = from + size + 2;
    if (end > limits_->message_bytes_max) return refuse(Fault::message_too_large);
    if (end > message.size()) return need(end);
    if (message[end - 2] != '\r' || message[end - 1] != '\n') return refuse(Fault::unended_bulk);
    constexpr std::size_t format_bytes = std::string_view("txt:").size();
    const bool verbatim = type == '=';
    if (verbatim && (size < format_bytes || message[from + format_bytes - 1] != ':')) {
        return refuse(Fault::bad_verbatim);
    }
    at_ = from;
    ReplyNode& node = add(verbatim      ? Kind::verbatim
                          : type == '!' ? Kind::bulk_error
                                        : Kind::bulk_string);
    node.bytes = static_cast<std::uint32_t>(size);
    node.format_bytes = verbatim ? format_bytes : 0;
    at_ = end;
    value_ended();
    return advanced;
}

Step ReplyReader::scan_aggregate(ByteView message) {
    const Kind kind = aggregate_kind(message[at_]);
    std::size_t from = at_ + 1;
    std::int64_t announced = 0;
    if (from < message.size() && message[from] == '?') return refuse(Fault::streamed);
    const Progress progress = read_length(message, from, announced);
    if (progress == Progress::more) return need(message.size() + 1);
    const bool null = announced == -1 && kind == Kind::array;
    if (progress == Progress::fault || (announced < 0 && !null)) return refuse(Fault::bad_length);
    // A push stands between replies; inside one, the replies' order would be lost.
    if (kind == Kind::push && !nodes_.empty()) return refuse(Fault::nested_push);
    at_ = from;
    if (null) {
        add(Kind::null);
        value_ended();
        return advanced;
    }
    const bool pairs = kind == Kind::map || kind == Kind::attribute;
    // Announced elements that have not begun count, too: arrays within arrays would otherwise
    // multiply the limit.
    const std::size_t room =
        limits_->elements_max - std::min(limits_->elements_max, nodes_.size() + pending_);
    const auto count = static_cast<std::size_t>(announced);
    // Nothing announces an attribute, so its own node needs room, even when it is empty.
    const bool full = kind == Kind::attribute && room == 0;
    if (full || count > room || (pairs && count > room / 2))
        return refuse(Fault::too_many_elements);
    if (open_.size() == limits_->depth_max) return refuse(Fault::too_deep);
    const auto elements = static_cast<std::uint32_t>(pairs ? 2 * count : count);
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    add(kind).count = elements;
    if (elements > 0) {
        open_.push_back({index, elements});
        pending_ += elements;
    } else if (kind != Kind::attribute) {
        // An empty attribute completes no value, because its own follows it.
        value_ended();
    }
    return advanced;
}

ReplyNode& ReplyReader::add(Kind kind) {
    // An attribute is announced by nothing.
    if (pending_ > 0 && kind != Kind::attribute) --pending_;
    return nodes_.emplace_back(ReplyNode{.kind = kind,
                                         .format_bytes = 0,
                                         .count = 0,
                                         .end = static_cast<std::uint32_t>(nodes_.size() + 1),
                                         .offset = static_cast<std::uint32_t>(at_),
                                         .bytes = 0,
                                         .number = 0});
}

// Counts it in the aggregate around it, which may end with it, and so on.
void ReplyReader::value_ended() {
    while (!open_.empty()) {
        Open& around = open_.back();
        if (--around.left > 0) return;
        ReplyNode& aggregate = nodes_[around.node];
        aggregate.end = static_cast<std::uint32_t>(nodes_.size());
        open_.pop_back();
        if (aggregate.kind == Kind::attribute) return;  // its value follows
    }
    ended_ = true;
}

}  // namespace tiderace::resp
