#include "tiderace/db/lookup.h"

#include <optional>
#include <utility>

#include "tiderace/db/error.h"
#include "tiderace/task/lookup.h"

namespace tiderace::db {
namespace {

// "[::1]:0" and "127.0.0.1:0" without brackets and port.
std::string bare(const core::Address& address) {
    std::string text = address.with_port(1).to_string();
    text.resize(text.rfind(':'));
    if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
    return text;
}

}  // namespace

Instant share_of(Instant now, Instant until, std::size_t addresses) {
    if (until <= now || addresses < 2) return until;
    return now + (until - now) / static_cast<Duration::rep>(addresses);
}

bool is_address(const std::string& host) {
    // literal() also resolves localhost, and its address is spelled otherwise than the name.
    const auto found = core::HostPort{.host = host, .port = 1}.literal();
    return found.size() == 1 && bare(found[0]) == host;
}

task::Task<std::vector<std::string>> addresses_of(std::string host, Instant until) {
    const core::HostPort place{.host = host, .port = 1};
    std::vector<core::Address> found = place.literal();
    // The client libraries would look the name up themselves, and block the loop meanwhile.
    if (found.empty()) {
        task::Lookup lookup(host, until);
        auto answer = co_await lookup;
        if (!answer) throw Error(Fault::connection_lost, answer.error().message());
        found = std::move(*answer);
    }
    std::vector<std::string> texts;
    for (const core::Address& each : found) texts.push_back(bare(each));
    co_return texts;
}

task::Task<> open_one_of(
    task::Runner& runner, std::vector<std::string> addresses, Instant deadline,
    unique_function<task::Task<>(const std::string& address, Instant until)> open) {
    std::optional<Error> failure;
    std::size_t left = addresses.size();
    for (const std::string& address : addresses) {
        const Instant until = share_of(runner.loop().now(), deadline, left--);
        try {
            co_await open(address, until);
            co_return;
        } catch (const Error& error) {
            failure = error;
        }
        // A wrong password is wrong at the other addresses, too.
        if (failure->kind() != Fault::connection_lost) break;
    }
    throw failure ? *failure : Error(Fault::connection_lost, "no address");
}

}  // namespace tiderace::db
