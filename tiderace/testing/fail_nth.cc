#include "tiderace/testing/fail_nth.h"

#include <cerrno>
#include <numeric>

namespace tiderace::testing {
namespace {

struct CallFacts {
    std::string_view name;
    int usual_error;
};

// In the order of Call.
constexpr std::array<CallFacts, static_cast<std::size_t>(Call::count_)> facts{{
    {"open_socket", EMFILE},
    {"bind", EADDRINUSE},
    {"listen", EADDRINUSE},
    {"accept", EMFILE},
    {"connect", ECONNREFUSED},
    {"local_address", ENOBUFS},
    {"set_option", ENOPROTOOPT},
    {"get_option", ENOPROTOOPT},
    {"receive", ECONNRESET},
    {"send", EPIPE},
    {"send_file", EIO},
    {"shut_down", ENOTCONN},
    {"close", EIO},
    {"open_beneath", EMFILE},
    {"file_status", EIO},
    {"read_at", EIO},
    {"entry_status", EIO},
    {"read_directory", EIO},
}};

}  // namespace

std::string_view to_string(Call call) {
    return facts[static_cast<std::size_t>(call)].name;
}

int usual_error(Call call) {
    return facts[static_cast<std::size_t>(call)].usual_error;
}

void FailNth::fail(std::uint64_t nth, int error, std::optional<Call> kind) {
    countdown_ = nth;
    error_ = error;
    kind_ = kind;
    failed_.reset();
}

std::uint64_t FailNth::calls() const {
    return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

// Only fail() leads to `failed_`: fail_all() has no end of its own that a test would wait for.
int FailNth::arrived(Call kind) {
    ++calls_[static_cast<std::size_t>(kind)];
    if (const int error = always_[static_cast<std::size_t>(kind)]; error != 0) return error;
    if (countdown_ == 0 || kind_.value_or(kind) != kind) return 0;
    if (--countdown_ > 0) return 0;
    failed_ = kind;
    return error_ != 0 ? error_ : usual_error(kind);
}

int FailNth::before(Call kind) {
    return -arrived(kind);
}

}  // namespace tiderace::testing
