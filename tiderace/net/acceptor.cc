#include "tiderace/net/acceptor.h"

#include <sys/socket.h>
#if defined(__linux__)
#include <linux/filter.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "tiderace/base/check.h"
#include "tiderace/core/peer_address.h"
#include "tiderace/log/logger.h"
#include "tiderace/net/tcp_transport.h"

namespace tiderace::net {
namespace {

// After a failure we rest this long, doubled with each further one: without descriptors a retry at
// once would fail again and keep the loop busy.
constexpr Duration rest_min = 100ms;
constexpr Duration rest_max = 1s;
// a refusal is one best-effort send, so signals may interrupt it only so often
constexpr int interruptions_max = 16;

// Between the last accept and the close, the kernel would let in clients whom the close then
// resets. Their SYN is dropped instead: they try again, and find another socket of the port, or
// learn that nobody listens. Accepted sockets inherit the filter; none of their packets has SYN.
void take_no_newcomers(core::Kernel& kernel, int fd) {
#if defined(__linux__)
    constexpr std::uint8_t flags_at = 13;  // in the header of TCP (RFC 9293, 3.1)
    constexpr std::uint8_t syn = 2;
    std::array<sock_filter, 4> program{{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, flags_at),
                                        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, syn, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, 0),
                                        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)}};
    const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
    // Without it a few may be reset.
    kernel.set_option(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
#else
    static_cast<void>(kernel);
    static_cast<void>(fd);
#endif
}

}  // namespace

void refuse_connection(core::Kernel& kernel, int fd, std::string_view words) {
    const bool has_words = !words.empty();
    for (int interrupted = 0; !words.empty();) {
        const iovec piece{const_cast<char*>(words.data()), words.size()};
        const ssize_t sent = kernel.send(fd, &piece, 1, false);
        if (sent == -EINTR && ++interrupted < interruptions_max) continue;
        if (sent <= 0) break;
        words.remove_prefix(static_cast<std::size_t>(sent));
    }
    // Ending our direction first lets the answer out even if the request is still unread.
    if (has_words) {
        kernel.shut_down(fd, SHUT_WR);
    } else {
        // Nothing to send: a reset, which leaves no TIME_WAIT state behind.
        reset_on_close(kernel, fd);
    }
    kernel.close(fd);
}

//
//   accepting --on_accept_failed()--> resting (the timer is armed) --on_expired()--> accepting
//       |  ^                            |
//       |  '--resume()-- paused <-------'  pause(): then on_expired() leaves it paused
//       '---pause()-------^
//
// A pause is the owner's (no room for connections), a rest ours (no descriptors); both have to be
// over.
Acceptor::Acceptor(core::EventLoop& loop, core::Descriptor listener, Receiver& receiver)
    : loop_(&loop), receiver_(&receiver), rest_(rest_min) {
    auto handle = loop.backend().attach(listener.get(), *this);
    TR_CHECK(handle || handle.error().code() == ENOMEM,
             "the engine cannot hold a listening socket");
    // As any other part of a start.
    if (!handle) throw std::bad_alloc();
    listener.release();
    handle_ = *handle;
    take_spare();
}

Acceptor::~Acceptor() {
    loop_->cancel(*this);
    if (handle_) loop_->backend().close(handle_, {});
}

void Acceptor::take_spare() {
    spare_ =
        core::Descriptor(loop_->kernel(), loop_->kernel().open_socket(AF_UNIX, SOCK_STREAM, 0));
}

void Acceptor::start() {
    loop_->backend().set_accepting(handle_, true);
}

void Acceptor::turn_newcomers_away() {
    if (handle_) take_no_newcomers(loop_->kernel(), handle_.fd);
}

// listen(2) of a socket that listens sets the length alone. Where it fails the old one holds.
void Acceptor::set_backlog(int backlog) {
    if (handle_) loop_->kernel().listen(handle_.fd, backlog);
}

// Closing a listening socket resets the connections in its queue. Their clients believe that they
// are connected, so we accept them all first. Clients may connect as fast as we accept: what is
// beyond the longest possible queue was not in it when we began, and must not delay the end.
void Acceptor::stop(std::size_t waiting_max) {
    loop_->assert_on_loop();
    if (!handle_) return;
    loop_->cancel(*this);
    loop_->backend().set_accepting(handle_, false);
    take_no_newcomers(loop_->kernel(), handle_.fd);
    // An engine that accepts ahead of us (io_uring) may hold some that were not reported yet.
    loop_->backend().hand_out_accepted(handle_);
    for (std::size_t taken = 0; taken < waiting_max; ++taken) {
        sockaddr_storage peer;
        socklen_t bytes = sizeof peer;
        auto* raw = reinterpret_cast<sockaddr*>(&peer);
        const int fd = loop_->kernel().accept(handle_.fd, raw, &bytes);
        // ECONNABORTED: that client left while it waited; the next one may still be there.
        if (fd == -EINTR || fd == -ECONNABORTED) continue;
        // EAGAIN: the queue is empty. Without descriptors the rest is reset by the close.
        if (fd < 0) break;
        on_accepted(fd, core::peer_address(raw, bytes));
    }
    loop_->backend().close(handle_, {});
}

void Acceptor::pause() {
    paused_ = true;
    if (handle_) loop_->backend().set_accepting(handle_, false);
}

void Acceptor::resume() {
    paused_ = false;
    // While the timer is armed we rest after a failure; on_expired() starts again.
    if (handle_ && !armed()) loop_->backend().set_accepting(handle_, true);
}

void Acceptor::on_accepted(int fd, const core::Address& peer) {
    ++accepted_;
    rest_ = rest_min;
    receiver_->on_connection(fd, peer);
}

// Accepting stops until the timer fires: the listening socket stays ready, so that the loop would
// otherwise be notified of it in every turn.
void Acceptor::on_accept_failed(int error) {
    // Out of descriptors: shed one client, which would otherwise wait in the queue for its
    // time-out.
    if (error == -EMFILE || error == -ENFILE) shed_one();
    // Once for each series of failures: rest_ grows from its minimum until an accept succeeds.
    if (rest_ == rest_min) log_failure(error);
    loop_->backend().set_accepting(handle_, false);
    loop_->arm(*this, loop_->now() + rest_);
    rest_ = std::min(rest_ * 2, rest_max);
}

void Acceptor::log_failure(int error) {
    log::Logger* const logger = loop_->log();
    if (logger == nullptr) return;
    const bool is_memory = error == -ENOMEM || error == -ENOBUFS;
    const auto left_out =
        logger->may_log(is_memory ? log::Often::out_of_memory : log::Often::cannot_accept);
    if (!left_out) return;
    logger->warning("net", "cannot accept, resting", log::field("error", describe_errno(-error)),
                    log::field("accepted", accepted_), log::field("shed", shed_),
                    log::field("more_before", *left_out));
}

// The spare descriptor is given up for a moment, to accept one connection and to reset it.
void Acceptor::shed_one() {
    spare_.reset();
    // The place of the spare is the only free one, unless another thread has taken it meanwhile.
    const int fd = loop_->kernel().accept(handle_.fd, nullptr, nullptr);
    if (fd >= 0) {
        // A reset, so that the client learns at once that it has to try elsewhere.
        reset_on_close(loop_->kernel(), fd);
        loop_->kernel().close(fd);
        ++shed_;
    }
    take_spare();
}

void Acceptor::on_expired() {
    // The spare may have been lost to another thread while it was given up.
    if (!spare_) take_spare();
    if (!paused_) loop_->backend().set_accepting(handle_, true);
}

}  // namespace tiderace::net
