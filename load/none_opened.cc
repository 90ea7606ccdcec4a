#include "load/none_opened.h"

#include <algorithm>

namespace tiderace::load {
namespace {

// The kind that was counted most; the number of kinds when all are zero.
template <typename Kind, typename Counts>
Kind most_frequent(const Counts& counts) {
    const auto most = std::ranges::max_element(counts);
    if (*most == 0) return Kind::count_;
    return static_cast<Kind>(most - counts.begin());
}

std::string why_handshakes_failed(const LoadSum& sum, const LoadTarget& target) {
    const auto failure = most_frequent<tls::HandshakeFailure>(sum.handshakes_failed);
    switch (failure) {
        case tls::HandshakeFailure::certificate:
            return "the certificate of " + target.host +
                   " is not trusted: --ca FILE trusts its authority, --insecure accepts any "
                   "certificate";
        case tls::HandshakeFailure::plain_http:
        case tls::HandshakeFailure::not_tls:
            return target.host + " does not speak TLS: use http:// in the URL";
        case tls::HandshakeFailure::no_shared_protocol:
            return target.host + " does not offer this version of HTTP: choose another with --http";
        case tls::HandshakeFailure::count_:
            return "the TLS handshake with " + target.host + " failed";
        default:
            return "the TLS handshake with " + target.host + " failed (" +
                   std::string(to_string(failure)) + ")";
    }
}

}  // namespace

std::string why_none_opened(const LoadSum& sum, const LoadTarget& target) {
    // It could be reached, so that the report itself shows what went wrong.
    if (sum.tally.opened > 0) return "";
    const std::string where = target.address.to_string();
    // The most frequent, because a thousand connections may fail in more ways than one, and a
    // sentence helps with one.
    // Each sentence ends with what the person can do; where there is nothing, with what was found.
    switch (most_frequent<ConnectError>(sum.tally.connect_errors)) {
        case ConnectError::refused:
            return "nothing listens on " + where +
                   " (connection refused): start the server, or correct the URL";
        case ConnectError::timed_out:
            return where + " does not answer: check the address, or wait longer with --timeout";
        case ConnectError::reset:
            return where + " resets every connection";
        case ConnectError::no_port:
            return "this machine has no free port left: use more --source-addresses, or wait a "
                   "minute";
        case ConnectError::no_descriptor:
            return "this process may not open any more files: raise ulimit -n";
        case ConnectError::tls:
            return why_handshakes_failed(sum, target);
        case ConnectError::no_protocol:
            return target.host + " does not offer HTTP/2: leave out --http 2";
        case ConnectError::other:
            return "no connection to " + where + " could be opened";
        case ConnectError::count_:
            break;
    }
    return "";
}

}  // namespace tiderace::load
