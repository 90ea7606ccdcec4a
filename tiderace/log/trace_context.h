// Internal. TraceContext: the place of a request in a distributed trace (W3C Trace Context), read
// from its `traceparent` and `tracestate`, and sent on with the requests that it causes.
//
//   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//                |  the trace                        the parent       sampled
//
// Owner    A value.
// Thread   Any.
// Errors   continue_trace(): false for what is malformed (2.2.2): it begins a trace of its own.
// Limits   state_bytes_max of tracestate; a longer one is dropped (3.3.1.5).
// Keywords: traceparent, tracestate, distributed tracing, OpenTelemetry, span
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"

namespace tiderace::log {

class TraceContext {
  public:
    static constexpr std::size_t state_bytes_max = 512;

    TraceContext() = default;
    // A trace that begins here. 32 lower-case hexadecimal digits; the span's id is the last 16.
    explicit TraceContext(ByteView id);

    // Part of the trace that `parent`, the value of traceparent, names.
    bool continue_trace(ByteView parent);
    // False: it is too long, or has other characters than printable ASCII.
    bool add_state(ByteView state);

    // Hexadecimal digits; "" where there is none.
    std::string_view trace_id() const { return {trace_.data(), has_id_ ? trace_.size() : 0}; }
    std::string_view span_id() const { return {span_.data(), has_id_ ? span_.size() : 0}; }
    std::string_view parent_id() const {
        return {parent_.data(), has_parent_ ? parent_.size() : 0};
    }
    bool sampled() const { return sampled_; }
    // What a request that this one causes is sent with: its parent is this one's span.
    std::string traceparent() const;
    const std::string& tracestate() const { return state_; }

  private:
    std::array<char, 32> trace_{};
    std::array<char, 16> span_{};
    std::array<char, 16> parent_{};
    bool has_id_ = false;
    bool has_parent_ = false;
    bool sampled_ = false;
    std::string state_;
};

}  // namespace tiderace::log
