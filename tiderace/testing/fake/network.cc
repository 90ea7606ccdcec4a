#include "tiderace/testing/fake/network.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::testing {
namespace {

core::Address read_address(const sockaddr* address, socklen_t bytes) {
    return core::Address::from_sockaddr(address, bytes).value_or(core::Address{});
}

void write_address(const core::Address& from, sockaddr* address, socklen_t* bytes) {
    if (address == nullptr) return;
    sockaddr_storage storage{};
    const socklen_t used = from.to_sockaddr(storage);
    std::memcpy(address, &storage, std::min(*bytes, used));
    *bytes = used;
}

// A listener on "any" answers for every address.
bool answers_for(const core::Address& bound, const core::Address& wanted) {
    if (bound.is_unix() || wanted.is_unix()) return bound == wanted;
    // To dial "any" reaches the own machine, as in Linux.
    return bound.port() == wanted.port() && (bound == wanted || bound.is_any() || wanted.is_any());
}

}  // namespace

FakeNetwork::FakeNetwork(ManualClock& clock, const FaultPlan& plan)
    : ForwardingKernel(core::system_kernel()), clock_(&clock), plan_(plan), random_(plan.seed) {}

FakeNetwork::~FakeNetwork() = default;

// ---- descriptors and time ----------------------------------------------------------------------

FakeNetwork::Entry* FakeNetwork::entry(int fd) {
    const auto number = static_cast<std::size_t>(fd - first_descriptor);
    if (fd < first_descriptor || number >= entries_.size() || entries_[number].free()) {
        return nullptr;
    }
    return &entries_[number];
}

FakeSocket* FakeNetwork::socket(int fd) const {
    const auto number = static_cast<std::size_t>(fd - first_descriptor);
    return fd >= first_descriptor && number < entries_.size() ? entries_[number].socket.get()
                                                              : nullptr;
}

std::uint64_t FakeNetwork::opening(int fd) const {
    const auto number = static_cast<std::size_t>(fd - first_descriptor);
    const bool there =
        fd >= first_descriptor && number < entries_.size() && !entries_[number].free();
    return there ? entries_[number].opening : 0;
}

int FakeNetwork::take_number() {
    if (open_ >= descriptors_max_) return -EMFILE;
    ++open_;
    // The lowest free number, as the kernel does it: so a descriptor that is used after its close
    // hits another socket here as well, and not always nothing.
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [](const Entry& candidate) { return candidate.free(); });
    const auto number = found - entries_.begin();
    if (found == entries_.end()) entries_.emplace_back();
    entries_[static_cast<std::size_t>(number)].opening = ++openings_;
    return first_descriptor + static_cast<int>(number);
}

int FakeNetwork::make_file(std::string contents) {
    const int fd = take_number();
    TR_CHECK(fd >= 0);
    entries_[static_cast<std::size_t>(fd - first_descriptor)].file =
        std::make_unique<std::string>(std::move(contents));
    return fd;
}

void FakeNetwork::truncate_file(int fd, std::size_t bytes) {
    entry(fd)->file->resize(bytes);
}

std::optional<Instant> FakeNetwork::next_event() const {
    if (events_.empty()) return std::nullopt;
    return events_.begin()->first;
}

std::size_t FakeNetwork::run_due_events() {
    std::size_t ran = 0;
    for (; !events_.empty() && events_.begin()->first <= clock_->now(); ++ran) {
        // Out of the map first: an event may add others, and some at this very moment.
        const auto event = events_.extract(events_.begin());
        event.mapped()();
    }
    return ran;
}

Duration FakeNetwork::delay() {
    const auto most = static_cast<std::uint64_t>(plan_.delay_max.count());
    return most == 0 ? Duration::zero() : Duration(random_.below(most + 1));
}

ssize_t FakeNetwork::note(const char* call, int fd, ssize_t result) {
    if (tracing_) {
        const auto micro = (clock_->now() - ManualClock().now()) / 1us;
        trace_.push_back(std::to_string(micro) + " us  " + call + "(" + std::to_string(fd) +
                         ") = " + std::to_string(result));
    }
    return result;
}

std::size_t FakeNetwork::maybe_less(std::size_t bytes, FaultPlan::Odds odds) {
    return bytes > 1 && happens(odds) ? 1 + random_.below(bytes - 1) : bytes;
}

// ---- connecting --------------------------------------------------------------------------------

FakeSocket* FakeNetwork::listener_at(const core::Address& address) {
    for (const Entry& candidate : entries_) {
        FakeSocket* const socket = candidate.socket.get();
        if (socket != nullptr && socket->state() == FakeSocket::State::listening &&
            answers_for(socket->local, address)) {
            return socket;
        }
    }
    return nullptr;
}

FakeNetwork::Dialled FakeNetwork::dial(const core::Address& to) {
    FakeSocket* const listener = listener_at(to);
    if (listener == nullptr) return {.refused = true};
    // Neither joined nor refused: the kernel drops the SYN, and the dialler tries again.
    if (listener->backlog.size() >= listener->backlog_max) return {};
    auto near = std::make_shared<FakeSocket>();
    auto far = std::make_shared<FakeSocket>();
    FakeSocket::join(near, far, plan_.buffer_bytes);
    near->peer = far->local = to;
    near->local = far->peer =
        to.is_unix() ? core::Address{} : core::Address::loopback(next_port_++);
    // As accepted sockets have them: the server sets its options on the listener alone.
    far->options = listener->options;
    listener->backlog.push_back(std::move(far));
    return {.socket = std::move(near)};
}

int FakeNetwork::open_socket(int, int, int) {
    const int fd = take_number();
    if (fd >= 0) {
        entries_[static_cast<std::size_t>(fd - first_descriptor)].socket =
            std::make_shared<FakeSocket>();
    }
    return static_cast<int>(note("open_socket", fd, fd));
}

int FakeNetwork::bind(int fd, const sockaddr* address, socklen_t bytes) {
    FakeSocket* const bound = socket(fd);
    if (bound == nullptr) return -EBADF;
    core::Address wanted = read_address(address, bytes);
    if (!wanted.is_unix() && wanted.port() == 0) wanted = wanted.with_port(next_port_++);
    if (listener_at(wanted) != nullptr) return -EADDRINUSE;
    bound->local = std::move(wanted);
    return 0;
}

int FakeNetwork::listen(int fd, int backlog) {
    FakeSocket* const listener = socket(fd);
    if (listener == nullptr) return -EBADF;
    listener->listen(static_cast<std::size_t>(std::max(backlog, 1)));
    return 0;
}

int FakeNetwork::accept(int fd, sockaddr* peer, socklen_t* bytes) {
    FakeSocket* const listener = socket(fd);
    if (listener == nullptr) return -EBADF;
    return static_cast<int>(note("accept", fd, accept_now(*listener, peer, bytes)));
}

int FakeNetwork::accept_now(FakeSocket& listener, sockaddr* peer, socklen_t* bytes) {
    if (listener.state() != FakeSocket::State::listening) return -EINVAL;
    if (happens(plan_.interrupted)) return -EINTR;
    // The real kernel takes the descriptor first, so this happens even with an empty queue.
    if (happens(plan_.accept_no_descriptor)) return random_.chance(1, 2) ? -EMFILE : -ENFILE;
    if (open_ >= descriptors_max_) return -EMFILE;
    if (listener.backlog.empty()) return -EAGAIN;
    auto accepted = std::move(listener.backlog.front());
    listener.backlog.pop_front();
    // The dialler sees a reset, since it took itself for connected.
    if (happens(plan_.accept_aborted)) {
        accepted->reset();
        return -ECONNABORTED;
    }
    write_address(accepted->peer, peer, bytes);
    const int fd = take_number();
    entries_[static_cast<std::size_t>(fd - first_descriptor)].socket = std::move(accepted);
    return fd;
}

int FakeNetwork::connect(int fd, const sockaddr* address, socklen_t bytes) {
    Entry* const found = entry(fd);
    if (found == nullptr || found->socket == nullptr) return -EBADF;
    if (happens(plan_.interrupted)) return -EINTR;
    const core::Address to = read_address(address, bytes);
    // Always EINPROGRESS, also where a kernel would connect at once (a Unix socket): the later
    // report is the way that needs tests.
    if (std::ranges::find(silent_, to) != silent_.end()) {
        return static_cast<int>(note("connect", fd, -EINPROGRESS));
    }
    auto near = dial(to).socket;
    if (near == nullptr) {
        // Told later and by SO_ERROR alone, as to a socket that does not block.
        found->socket->error = ECONNREFUSED;
    } else {
        near->options = std::move(found->socket->options);
        // The descriptor keeps its number and its options, and has the joined socket from now on.
        found->socket = std::move(near);
    }
    return static_cast<int>(note("connect", fd, -EINPROGRESS));
}

int FakeNetwork::local_address(int fd, sockaddr* address, socklen_t* bytes) {
    const FakeSocket* const named = socket(fd);
    if (named == nullptr) return -EBADF;
    write_address(named->local, address, bytes);
    return 0;
}

int FakeNetwork::set_option(int fd, int level, int name, const void* value, socklen_t bytes) {
    FakeSocket* const target = socket(fd);
    if (target == nullptr) return -EBADF;
    int number = 0;
    std::memcpy(&number, value, std::min<std::size_t>(bytes, sizeof number));
    target->options[{level, name}] = number;
    if (level == SOL_SOCKET && name == SO_LINGER) {
        linger how{};
        std::memcpy(&how, value, std::min<std::size_t>(bytes, sizeof how));
        target->reset_on_close = how.l_onoff != 0 && how.l_linger == 0;
    }
    return 0;
}

int FakeNetwork::get_option(int fd, int level, int name, void* value, socklen_t* bytes) {
    FakeSocket* const target = socket(fd);
    if (target == nullptr) return -EBADF;
    const auto set = target->options.find({level, name});
    int number = set != target->options.end() ? set->second : 0;
    // The kernel forgets an error once it is read.
    if (level == SOL_SOCKET && name == SO_ERROR) number = std::exchange(target->error, 0);
    std::memcpy(value, &number, std::min<std::size_t>(*bytes, sizeof number));
    return 0;
}

// ---- bytes -------------------------------------------------------------------------------------

ssize_t FakeNetwork::receive(int fd, void* buffer, std::size_t bytes) {
    FakeSocket* const target = socket(fd);
    if (target == nullptr) return -EBADF;
    return note("receive", fd, receive_now(*target, static_cast<char*>(buffer), bytes));
}

ssize_t FakeNetwork::receive_now(FakeSocket& socket, char* buffer, std::size_t bytes) {
    if (happens(plan_.interrupted)) return -EINTR;
    if (happens(plan_.receive_again)) return -EAGAIN;
    if (happens(plan_.receive_reset)) socket.reset();
    return socket.take(buffer,
                       maybe_less(std::min(bytes, std::max<std::size_t>(socket.unread(), 1)),
                                  plan_.short_receive));
}

ssize_t FakeNetwork::send(int fd, const iovec* pieces, int count, bool) {
    FakeSocket* const target = socket(fd);
    if (target == nullptr) return -EBADF;
    return note("send", fd, send_now(*target, pieces, count));
}

ssize_t FakeNetwork::send_fault(FakeSocket& socket) {
    if (happens(plan_.interrupted)) return -EINTR;
    if (happens(plan_.send_again)) return -EAGAIN;
    if (happens(plan_.send_no_buffers)) return -ENOBUFS;
    if (happens(plan_.send_reset)) socket.reset();
    return 0;
}

ssize_t FakeNetwork::send_now(FakeSocket& socket, const iovec* pieces, int count) {
    if (const ssize_t fault = send_fault(socket); fault != 0) return fault;
    std::string gathered;
    // One byte is tried even without room, so that put() itself says whether that is EAGAIN or
    // EPIPE.
    const std::size_t room = std::max<std::size_t>(socket.room(), 1);
    for (int i = 0; i < count && gathered.size() < room; ++i) {
        gathered.append(static_cast<const char*>(pieces[i].iov_base),
                        std::min(pieces[i].iov_len, room - gathered.size()));
    }
    return socket.put(ByteView(gathered).substr(0, maybe_less(gathered.size(), plan_.short_send)));
}

ssize_t FakeNetwork::send_file(int fd, int file, off_t* offset, std::size_t bytes) {
    FakeSocket* const target = socket(fd);
    if (target == nullptr) return -EBADF;
    return note("send_file", fd, send_file_now(*target, file, offset, bytes));
}

ssize_t FakeNetwork::send_file_now(FakeSocket& socket, int file, off_t* offset, std::size_t bytes) {
    if (const ssize_t fault = send_fault(socket); fault != 0) return fault;
    if (happens(plan_.file_shrinks)) {
        // A file of the machine is not touched: it ends here as if it had shrunk.
        const Entry* const memory = entry(file);
        if (memory == nullptr) return 0;
        truncate_file(file, std::min(memory->file->size(), static_cast<std::size_t>(*offset)));
    }
    const std::size_t room = std::max<std::size_t>(socket.room(), 1);
    std::string piece(maybe_less(std::min(bytes, room), plan_.short_send), '\0');
    const ssize_t got = read_at(file, piece.data(), piece.size(), *offset);
    if (got <= 0) return got;
    const ssize_t sent = socket.put(ByteView(piece).substr(0, static_cast<std::size_t>(got)));
    if (sent > 0) *offset += sent;
    return sent;
}

std::uint64_t FakeNetwork::unacknowledged_bytes(int fd) {
    FakeSocket* const target = socket(fd);
    return target != nullptr ? target->unread_by_other() : 0;
}

int FakeNetwork::shut_down(int fd, int how) {
    FakeSocket* const target = socket(fd);
    if (target == nullptr) return -EBADF;
    if (target->state() != FakeSocket::State::connected) return -ENOTCONN;
    if (how != SHUT_RD) target->shut_down_sending();
    return static_cast<int>(note("shut_down", fd, 0));
}

int FakeNetwork::close(int fd) {
    if (fd < first_descriptor) return ForwardingKernel::close(fd);
    Entry* const gone = entry(fd);
    TR_CHECK(gone != nullptr, "a descriptor was closed twice");
    // The number is free before the socket closes: that tells the other end, which may open
    // sockets.
    const Entry last = std::exchange(*gone, Entry{});
    --open_;
    if (last.socket != nullptr) last.socket->close();
    return static_cast<int>(note("close", fd, 0));
}

// ---- files -------------------------------------------------------------------------------------

int FakeNetwork::file_status(int fd, struct stat* status) {
    if (fd < first_descriptor) return ForwardingKernel::file_status(fd, status);
    const Entry* const found = entry(fd);
    if (found == nullptr || found->file == nullptr) return -EBADF;
    *status = {};
    status->st_mode = S_IFREG | 0644;
    status->st_size = static_cast<off_t>(found->file->size());
    return 0;
}

ssize_t FakeNetwork::read_at(int fd, void* buffer, std::size_t bytes, off_t offset) {
    if (fd < first_descriptor) return ForwardingKernel::read_at(fd, buffer, bytes, offset);
    const Entry* const found = entry(fd);
    if (found == nullptr || found->file == nullptr) return -EBADF;
    const auto from = static_cast<std::size_t>(offset);
    if (from >= found->file->size()) return 0;
    const std::size_t given = std::min(bytes, found->file->size() - from);
    std::memcpy(buffer, found->file->data() + from, given);
    return static_cast<ssize_t>(given);
}

}  // namespace tiderace::testing
