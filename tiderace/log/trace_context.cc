#include "tiderace/log/trace_context.h"

#include <algorithm>

#include "tiderace/base/check.h"

namespace tiderace::log {
namespace {

bool is_hex(ByteView text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// All zeros stand for "none" (2.2.2.3).
bool is_id(ByteView text) {
    return is_hex(text) && text.find_first_not_of('0') != text.npos;
}

constexpr std::size_t parent_bytes = 55;  // of version 00

}  // namespace

TraceContext::TraceContext(ByteView id) : has_id_(true) {
    TR_CHECK(id.size() == trace_.size(), "the id of a trace has 32 digits");
    std::ranges::copy(id, trace_.begin());
    std::ranges::copy(id.substr(id.size() - span_.size()), span_.begin());
}

// A later version may add to the end (2.2.2.1), so only its front is read.
bool TraceContext::continue_trace(ByteView parent) {
    if (parent.size() < parent_bytes) return false;
    const ByteView version = parent.substr(0, 2);
    const ByteView trace = parent.substr(3, 32);
    const ByteView span = parent.substr(36, 16);
    const ByteView flags = parent.substr(53, 2);
    if (!is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) || !is_hex(flags)) {
        return false;
    }
    if (parent[2] != '-' || parent[35] != '-' || parent[52] != '-') return false;
    if (parent.size() > parent_bytes && (version == "00" || parent[parent_bytes] != '-')) {
        return false;
    }
    std::ranges::copy(trace, trace_.begin());
    std::ranges::copy(span, parent_.begin());
    has_parent_ = true;
    const char low = flags[1];
    sampled_ = ((low <= '9' ? low - '0' : low - 'a' + 10) & 1) != 0;
    return true;
}

bool TraceContext::add_state(ByteView state) {
    const std::size_t comma = state_.empty() ? 0 : 1;
    const bool fits = state_.size() + comma + state.size() <= state_bytes_max &&
                      std::ranges::all_of(state, [](char c) { return c >= ' ' && c <= '~'; });
    if (!fits) {
        state_.clear();
        return false;
    }
    if (comma != 0) state_ += ',';
    state_ += state;
    return true;
}

std::string TraceContext::traceparent() const {
    if (!has_id_) return {};
    std::string text = "00-";
    text += trace_id();
    text += '-';
    text += span_id();
    text += sampled_ ? "-01" : "-00";
    return text;
}

}  // namespace tiderace::log
