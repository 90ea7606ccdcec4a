#include "tiderace/tcp/race.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"

namespace tiderace::tcp {

std::vector<core::Address> interleave(const std::vector<core::Address>& addresses) {
    std::vector<core::Address> first, second;
    for (const core::Address& each : addresses) {
        (each.family() == addresses.front().family() ? first : second).push_back(each);
    }
    // RFC 8305, 4: families take turns, and the resolver's first choice leads. A family that is
    // broken here costs one stagger, not one for each of its addresses.
    std::vector<core::Address> ordered;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) ordered.push_back(first[i]);
        if (i < second.size()) ordered.push_back(second[i]);
    }
    return ordered;
}

//
//   start() --connect--> open_ counts it --on_connected()--> over: won, or noted as a fault
//      `--no socket, no room in the engine: over at once----^
//
// Losers stay in attempts_ until await_resume(): an engine's callback may be on the stack.
class Race::Attempt final : public net::TcpTransport::Opening {
  public:
    Attempt(Race& race, core::Address to) : to(std::move(to)), race_(&race) {}

    void on_connected(int error) override { race_->ended(*this, -error); }

    core::Address to;
    std::unique_ptr<net::TcpTransport> socket;
    bool over = false;

  private:
    Race* race_;
};

Race::Race(std::vector<core::Address> addresses, Duration stagger, Instant until)
    : addresses_(std::move(addresses)), stagger_(stagger), until_(until) {
    TR_CHECK(!addresses_.empty());
}

Race::~Race() = default;

void Race::await_suspend(std::coroutine_handle<> handle) {
    waiter_.suspend(handle);
    start_next();
}

Race::Outcome Race::await_resume() {
    loop().cancel(*this);
    Outcome outcome = std::move(fault_);
    if (won_ != nullptr) {
        outcome = {.transport = std::move(won_->socket), .address = won_->to, .error = 0};
    }
    // Closes the sockets that lost.
    attempts_.clear();
    return outcome;
}

// One attempt begins; attempts that fail at once count as tried.
void Race::start_next() {
    while (attempts_.size() < addresses_.size()) {
        attempts_.push_back(std::make_unique<Attempt>(*this, addresses_[attempts_.size()]));
        if (start(*attempts_.back())) break;
    }
    if (won_ != nullptr) return;
    const bool more = attempts_.size() < addresses_.size();
    loop().arm(*this, more ? std::min(until_, moment_after(loop().now(), stagger_)) : until_);
    finish_if_lost();
}

bool Race::start(Attempt& attempt) {
    core::Kernel& kernel = loop().kernel();
    sockaddr_storage storage;
    attempt.to.to_sockaddr(storage);
    const int fd = kernel.open_socket(storage.ss_family, SOCK_STREAM, 0);
    // Until it is under way: a failure before that is no event of the engine.
    attempt.over = true;
    if (fd < 0) {
        note_fault(attempt.to, -fd);
        return false;
    }
    if (!attempt.to.is_unix()) {
        const int on = 1;
        kernel.set_option(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    auto socket = net::TcpTransport::make(loop(), fd);
    if (!socket) {
        note_fault(attempt.to, socket.error().code());
        return false;
    }
    attempt.socket = std::move(*socket);
    attempt.over = false;
    ++open_;
    attempt.socket->connect(attempt.to, attempt);
    return true;
}

void Race::ended(Attempt& attempt, int error) {
    // Another attempt may have won in this turn: the first one stays the winner.
    if (won_ != nullptr || std::exchange(attempt.over, true)) return;
    --open_;
    if (error == 0) {
        won_ = &attempt;
        waiter_.wake();
        return;
    }
    note_fault(attempt.to, error);
    // At once, without the rest of the stagger, which is there for addresses that do not answer.
    start_next();
}

// A missing address family of this machine is a weaker error than an address's answer.
void Race::note_fault(const core::Address& address, int error) {
    const auto is_local = [](int code) {
        return code == 0 || code == EAFNOSUPPORT || code == ENETUNREACH || code == EADDRNOTAVAIL;
    };
    if (fault_.error != 0 && !(is_local(fault_.error) && !is_local(error))) return;
    fault_.address = address;
    fault_.error = error;
}

void Race::finish_if_lost() {
    if (open_ == 0 && attempts_.size() == addresses_.size()) waiter_.wake();
}

void Race::on_expired() {
    if (won_ != nullptr) return;
    if (loop().now() < until_) return start_next();
    note_fault(attempts_.back()->to, ETIMEDOUT);
    waiter_.wake();
}

}  // namespace tiderace::tcp
