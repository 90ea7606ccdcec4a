#include "tiderace/net/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/net/tcp_transport.h"

namespace tiderace::net {

std::string_view advice_for_connecting(int error) {
    switch (error) {
        case ECONNREFUSED:
            return "nothing listens there";
        case ETIMEDOUT:
            return "no answer in time; a firewall may drop what is sent there";
        case EMFILE:
            return "no descriptor is left; raise the limit on open files";
        case EUSERS:
            return "ConnectorOptions::connections_max is reached";
        default:
            return "";
    }
}

// From connect() to its outcome. Reports it at the end of the turn, when no callback of the backend
// is on the stack.
//
//   start() -> connecting --on_connected(), on_expired(), give_up()--> ended --turn end--> finish()
//      '------- refused at once: no room, no descriptor ---------------^
//
class Connector::Attempt final : private TcpTransport::Opening,
                                 private core::Timer,
                                 private core::TurnEnd {
  public:
    Attempt(Connector& connector, core::Address to, Done done, TransportLayer* layer)
        : connector_(&connector), to_(std::move(to)), done_(std::move(done)), layer_(layer) {}
    ~Attempt() { connector_->loop_->cancel(*this); }

    void start(const Route& route) TR_ON_LOOP {
        core::EventLoop& loop = *connector_->loop_;
        // size() also counts this attempt.
        if (connector_->size() > connector_->options_.connections_max) return end(EUSERS);
        sockaddr_storage storage;
        to_.to_sockaddr(storage);
        const int fd = loop.kernel().open_socket(storage.ss_family, SOCK_STREAM, 0);
        if (fd < 0) return end(-fd);
        if (const int error = prepare(loop.kernel(), fd, route); error != 0) {
            loop.kernel().close(fd);
            return end(-error);
        }
        auto socket = TcpTransport::make(loop, fd);
        if (!socket) return end(socket.error().code());
        socket_ = std::move(*socket);
        socket_->connect(to_, *this);
        // The kernel's own limit is two minutes on Linux (tcp_syn_retries).
        loop.arm(*this, moment_after(loop.now(), connector_->options_.timeout));
    }

    // Ends it without calling `done`.
    void give_up() TR_ON_LOOP {
        done_ = {};
        end(ECANCELED);
    }

    const core::Address& to() const { return to_; }
    TransportLayer* layer() const { return layer_; }
    int error() const { return error_; }
    Done take_done() { return std::move(done_); }
    std::unique_ptr<Transport> take_socket() { return std::move(socket_); }

  private:
    // 0, or -errno.
    static int prepare(core::Kernel& kernel, int fd, const Route& route) {
        const int on = 1;
        // As on the accepting side: small writes must not wait for acknowledgements (Nagle).
        if (!route.to.is_unix()) {
            kernel.set_option(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        // Before connect(), because the window's scale is fixed by the SYN.
        if (route.receive_buffer_bytes > 0) {
            kernel.set_option(fd, SOL_SOCKET, SO_RCVBUF, &route.receive_buffer_bytes, sizeof(int));
        }
        if (!route.from) return 0;
#if defined(IP_BIND_ADDRESS_NO_PORT)
        // The kernel then chooses the port in connect(), where it only has to be unique for this
        // pair of addresses; bind() would take it for all peers, and ports run out.
        kernel.set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
#endif
        sockaddr_storage storage;
        const socklen_t bytes = route.from->to_sockaddr(storage);
        return kernel.bind(fd, reinterpret_cast<const sockaddr*>(&storage), bytes);
    }

    void on_connected(int error) TR_ON_LOOP override { end(-error); }
    void on_expired() TR_ON_LOOP override { end(ETIMEDOUT); }
    void on_turn_end() TR_ON_LOOP override { connector_->finish(*this); }

    void end(int error) TR_ON_LOOP {
        // The time-out and the kernel's answer may come in one turn: the first one counts.
        if (std::exchange(ended_, true)) return;
        error_ = error;
        connector_->loop_->cancel(*this);
        connector_->loop_->at_turn_end(*this);
    }

    Connector* connector_;
    core::Address to_;
    Done done_;
    TransportLayer* layer_;
    std::unique_ptr<TcpTransport> socket_;
    int error_ = 0;
    bool ended_ = false;
};

Connector::Connector(core::EventLoop& loop, ConnectorOptions options)
    : loop_(&loop), options_(std::move(options)) {}

Connector::~Connector() {
    // An attempt that has ended is called once more at the end of a turn, so it must still exist.
    abort_all();
    while (connections_.size() > 0 || !attempts_.empty()) {
        loop_->turn(Duration::zero());
        abort_all();
    }
}

void Connector::connect(const Route& route, Done done, TransportLayer* layer) {
    loop_->assert_on_loop();
    attempts_.push_back(std::make_unique<Attempt>(*this, route.to, std::move(done), layer));
    attempts_.back()->start(route);
}

void Connector::finish(Attempt& attempt) {
    const auto found =
        std::ranges::find(attempts_, &attempt, [](const auto& one) { return one.get(); });
    TR_CHECK(found != attempts_.end());
    const std::unique_ptr<Attempt> ended = std::move(*found);
    // Erased before `done` is called, which may start the next connection or destroy this
    // Connector.
    attempts_.erase(found);
    Done done = ended->take_done();
    // No callback: it was given up.
    if (!done) return;
    const auto refuse = [&](int error) {
        done(fail(
            Error(error, "connect to", ended->to().to_string(), advice_for_connecting(error))));
    };
    if (ended->error() != 0) return refuse(ended->error());
    std::unique_ptr<Transport> transport = ended->take_socket();
    Connection* connection = nullptr;
    try {
        if (ended->layer() != nullptr) transport = ended->layer()->wrap(std::move(transport));
        connection = &connections_.emplace(static_cast<Connection::Owner&>(*this),
                                           std::move(transport), ended->to());
    } catch (const std::bad_alloc&) {
        // `transport`, if it still is ours, closes the socket.
        return refuse(ENOMEM);
    }
    done(connection);
}

void Connector::abort_all() {
    loop_->assert_on_loop();
    for (const auto& attempt : attempts_) attempt->give_up();
    connections_.for_each([](ConnectionId, Connection& connection) {
        connection.loop().assert_on_loop();
        connection.close(CloseReason::server_stopped);
    });
}

}  // namespace tiderace::net
