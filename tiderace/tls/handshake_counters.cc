#include "tiderace/tls/handshake_counters.h"

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

}  // namespace tiderace::tls
