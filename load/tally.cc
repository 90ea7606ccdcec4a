#include "load/tally.h"

#include <numeric>

namespace tiderace::load {

std::string_view to_string(LoadError error) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(LoadError::count_)>
        names{"wrong status",  "wrong length", "wrong hash",   "not HTTP",
              "unasked bytes", "cut short",    "closed early", "connection reset",
              "timed out",     "stream reset", "turned away"};
    return names[static_cast<std::size_t>(error)];
}

std::string_view to_string(ConnectError error) {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(ConnectError::count_)>
        names{"refused", "reset",      "timed out",           "no port left", "no descriptor left",
              "other",   "TLS failed", "protocol not offered"};
    return names[static_cast<std::size_t>(error)];
}

std::uint64_t LoadTally::errors_total() const {
    return std::accumulate(errors.begin(), errors.end(), std::uint64_t{0});
}
bool LoadTally::is_wrong_answer(LoadError kind) const {
    if (kind == LoadError::wrong_status) return wrong_status != 503;
    return kind < LoadError::cut_short;  // by the order of LoadError: the wrong answers come first
}
std::uint64_t LoadTally::wrong_answers() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
        if (is_wrong_answer(static_cast<LoadError>(i))) sum += errors[i];
    }
    return sum;
}
std::uint64_t LoadTally::connect_errors_total() const {
    return std::accumulate(connect_errors.begin(), connect_errors.end(), std::uint64_t{0});
}

void LoadTally::merge(const LoadTally& other) {
    latency.merge(other.latency);
    slow_latency.merge(other.slow_latency);
    answers += other.answers;
    sent += other.sent;
    body_bytes += other.body_bytes;
    received_bytes += other.received_bytes;
    sent_bytes += other.sent_bytes;
    unanswered += other.unanswered;
    never_sent += other.never_sent;
    late_max = std::max(late_max, other.late_max);
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += other.errors[i];
    connections += other.connections;
    opened += other.opened;
    // The sum of each loop's own maximum: an upper bound, because they need not fall together.
    open_max += other.open_max;
    for (std::size_t i = 0; i < connect_errors.size(); ++i) {
        connect_errors[i] += other.connect_errors[i];
    }
    resets += other.resets;
    starved += other.starved;
    // A loop without connections has UINT64_MAX here, which no minimum keeps.
    per_connection_min = std::min(per_connection_min, other.per_connection_min);
    per_connection_max = std::max(per_connection_max, other.per_connection_max);
    // The loops have each taken their first answer as the right one, without a word between them.
    // This checks that they agree.
    if (!reference.known) {
        reference = other.reference;
    } else if (other.reference.known && !(reference == other.reference)) {
        references_differ = true;
    }
    references_differ |= other.references_differ;
    // The first of the first loop that has one: one example is enough to look for the cause.
    if (fault.empty()) fault = other.fault;
    if (wrong_status == 0) wrong_status = other.wrong_status;
}

}  // namespace tiderace::load
