#include "tiderace/testing/socket_world.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "tiderace/base/check.h"

namespace tiderace::testing {

class SocketWorld::SocketPeer final : public Peer {
  public:
    SocketPeer(SocketWorld& world, const core::Address& to) : world_(&world) {
        sockaddr_storage storage;
        const socklen_t bytes = to.to_sockaddr(storage);
        fd_ = ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        TR_CHECK(fd_ >= 0);
        // Blocking, on loopback: it waits for a place in the queue at most.
        was_reset_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&storage), bytes) != 0;
        ::fcntl(fd_, F_SETFL, O_NONBLOCK);
        // Separate writes arrive separately.
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        world.peers_.push_back(this);
    }
    ~SocketPeer() override {
        std::erase(world_->peers_, this);
        close();
    }

    void say(ByteView bytes) override {
        to_say_ += bytes;
        say_some();
    }
    void finish() override {
        finishing_ = true;
        say_some();
    }
    void close() override {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void reset() override {
        const linger hard{.l_onoff = 1, .l_linger = 0};
        if (fd_ >= 0) ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close();
    }
    void set_listening(bool on) override { listening_ = on; }
    const std::string& heard() const override { return heard_; }
    bool ended() const override { return ended_; }
    bool was_reset() const override { return was_reset_; }

    void act() {
        say_some();
        hear_some();
    }

  private:
    void say_some() {
        while (fd_ >= 0 && !to_say_.empty()) {
            const ssize_t sent = ::send(fd_, to_say_.data(), to_say_.size(), MSG_NOSIGNAL);
            if (sent < 0) return;
            to_say_.erase(0, static_cast<std::size_t>(sent));
        }
        if (fd_ >= 0 && finishing_) ::shutdown(fd_, SHUT_WR);
    }
    void hear_some() {
        static char buffer[64 * 1024];
        while (fd_ >= 0 && listening_ && !over()) {
            const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
            ended_ = got == 0;
            was_reset_ = got < 0;
            if (got > 0) heard_.append(buffer, static_cast<std::size_t>(got));
        }
    }

    SocketWorld* world_;
    int fd_ = -1;
    std::string to_say_;
    std::string heard_;
    bool finishing_ = false;
    bool listening_ = true;
    bool ended_ = false;
    bool was_reset_ = false;
};

SocketWorld::SocketWorld(std::string_view engine) {
    start(core::system_kernel(), engine);
}

SocketWorld::~SocketWorld() {
    loop_.reset();
}

std::unique_ptr<Peer> SocketWorld::connect(const core::Address& to) {
    return std::make_unique<SocketPeer>(*this, to);
}

// The peers on both sides of the turn: they are on this thread, and nothing else lets them act.
void SocketWorld::turn(Duration wait) {
    for (SocketPeer* peer : peers_) peer->act();
    loop_->turn(wait);
    for (SocketPeer* peer : peers_) peer->act();
}

bool SocketWorld::run_until(unique_function<bool()> done) {
    // Not the loop's: the kernel's work takes real time, however its clock stands.
    const core::SystemClock clock;
    const Instant latest = clock.now() + patience;
    while (!done()) {
        if (clock.now() > latest) return false;
        turn(1ms);
    }
    return true;
}

void SocketWorld::settle() {
    // Loopback delivers in the call; the milliseconds are for what the kernel puts off.
    for (int round = 0; round < 4; ++round) turn(round == 0 ? Duration::zero() : Duration(1ms));
}

void SocketWorld::advance(Duration by) {
    const Instant until = clock_.now() + by;
    // In steps: after one jump everything would be due in one turn, in no order. At most a thousand
    // of them, so that a test may let hours pass.
    const Duration step = std::max<Duration>(10ms, by / 1'000);
    while (clock_.now() < until) {
        clock_.advance(std::min(step, until - clock_.now()));
        turn(Duration::zero());
    }
    settle();
}

}  // namespace tiderace::testing
