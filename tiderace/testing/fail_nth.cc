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

int FailNth::arrived(Call kind) {
    ++calls_[static_cast<std::size_t>(kind)];
    if (const int error = always_[static_cast<std::size_t>(kind)]; error != 0) return error;
    if (countdown_ == 0 || kind_.value_or(kind) != kind) return 0;
    if (--countdown_ > 0) return 0;
    failed_ = kind;
    return error_ != 0 ? error_ : usual_error(kind);
}

int FailNth::open_socket(int family, int type, int protocol) {
    if (const int error = arrived(Call::open_socket)) return -error;
    return below_->open_socket(family, type, protocol);
}

int FailNth::bind(int fd, const sockaddr* address, socklen_t bytes) {
    if (const int error = arrived(Call::bind)) return -error;
    return below_->bind(fd, address, bytes);
}

int FailNth::listen(int fd, int backlog) {
    if (const int error = arrived(Call::listen)) return -error;
    return below_->listen(fd, backlog);
}

int FailNth::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    if (const int error = arrived(Call::accept)) return -error;
    return below_->accept(fd, peer, bytes);
}

int FailNth::connect(int fd, const sockaddr* address, socklen_t bytes) {
    if (const int error = arrived(Call::connect)) return -error;
    return below_->connect(fd, address, bytes);
}

int FailNth::local_address(int fd, sockaddr* address, socklen_t* bytes) {
    if (const int error = arrived(Call::local_address)) return -error;
    return below_->local_address(fd, address, bytes);
}

int FailNth::set_option(int fd, int level, int name, const void* value, socklen_t bytes) {
    if (const int error = arrived(Call::set_option)) return -error;
    return below_->set_option(fd, level, name, value, bytes);
}

int FailNth::get_option(int fd, int level, int name, void* value, socklen_t* bytes) {
    if (const int error = arrived(Call::get_option)) return -error;
    return below_->get_option(fd, level, name, value, bytes);
}

ssize_t FailNth::receive(int fd, void* buffer, std::size_t bytes) {
    if (const int error = arrived(Call::receive)) return -error;
    return below_->receive(fd, buffer, bytes);
}

ssize_t FailNth::send(int fd, const iovec* pieces, int count, bool more) {
    if (const int error = arrived(Call::send)) return -error;
    return below_->send(fd, pieces, count, more);
}

ssize_t FailNth::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    if (const int error = arrived(Call::send_file)) return -error;
    return below_->send_file(fd, file, offset, bytes);
}

int FailNth::shut_down(int fd, int how) {
    if (const int error = arrived(Call::shut_down)) return -error;
    return below_->shut_down(fd, how);
}

int FailNth::close(int fd) {
    const int error = arrived(Call::close);
    const int closed = below_->close(fd);
    return error != 0 ? -error : closed;
}

int FailNth::open_beneath(int directory, const char* path, int flags, core::Links links) {
    if (const int error = arrived(Call::open_beneath)) return -error;
    return below_->open_beneath(directory, path, flags, links);
}

int FailNth::file_status(int fd, struct stat* status) {
    if (const int error = arrived(Call::file_status)) return -error;
    return below_->file_status(fd, status);
}

ssize_t FailNth::read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
    if (const int error = arrived(Call::read_at)) return -error;
    return below_->read_at(fd, buffer, bytes, offset);
}

int FailNth::entry_status(int directory, const char* name, struct stat* status) {
    if (const int error = arrived(Call::entry_status)) return -error;
    return below_->entry_status(directory, name, status);
}

ssize_t FailNth::read_directory(int directory, void* buffer, std::size_t bytes) {
    if (const int error = arrived(Call::read_directory)) return -error;
    return below_->read_directory(directory, buffer, bytes);
}

}  // namespace tiderace::testing
