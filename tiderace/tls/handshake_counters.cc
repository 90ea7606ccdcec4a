#include "tiderace/tls/handshake_counters.h"

#include <string>

#include "tiderace/base/enum_names.h"

namespace tiderace::tls {

std::string_view to_string(HandshakeFailure failure) {
    return enum_name(failure);
}

std::string_view sentence_of(HandshakeFailure failure) {
    static constexpr std::array<std::string_view,
                                static_cast<std::size_t>(HandshakeFailure::count_)>
        sentences{"the peer speaks HTTP in clear text",
                  "the peer does not speak TLS",
                  "no version of TLS in common",
                  "no cipher in common",
                  "no protocol in common",
                  "the peer's certificate is missing or not trusted",
                  "the peer refused it",
                  "the peer closed the connection",
                  "the peer did not complete it in time",
                  "the peer broke the protocol",
                  "out of memory"};
    return sentences[static_cast<std::size_t>(failure)];
}

void add_handshakes(metrics::Page& page, std::span<const HandshakeCounters* const> loops) {
    using metrics::Type;
    page.begin(Type::counter, "tiderace_tls_handshakes_total", "Handshakes, by how they went.");
    const auto add = [&](std::string version, std::string result, std::string resumed,
                         auto number_of) {
        std::uint64_t sum = 0;
        for (const HandshakeCounters* const one : loops) sum += number_of(*one);
        page.value({{"version", std::move(version)},
                    {"result", std::move(result)},
                    {"resumed", std::move(resumed)}},
                   sum);
    };
    using Loop = const HandshakeCounters&;
    add("1.2", "done", "false", [](Loop one) -> std::uint64_t { return one.tls_1_2.full; });
    add("1.2", "done", "true", [](Loop one) -> std::uint64_t { return one.tls_1_2.resumed; });
    add("1.3", "done", "false", [](Loop one) -> std::uint64_t { return one.tls_1_3.full; });
    add("1.3", "done", "true", [](Loop one) -> std::uint64_t { return one.tls_1_3.resumed; });
    for (std::size_t i = 0; i < static_cast<std::size_t>(HandshakeFailure::count_); ++i) {
        const auto why = static_cast<HandshakeFailure>(i);
        add("", std::string(to_string(why)), "", [&](Loop one) { return one.failures(why); });
    }
    page.begin(Type::histogram, "tiderace_tls_handshake_duration_seconds",
               "From a connection's accept to the end of its handshake.");
    metrics::HistogramValue value = metrics::Durations::empty();
    for (const HandshakeCounters* const one : loops) one->durations.add_to(value);
    page.histogram({}, value);
}

}  // namespace tiderace::tls
