#include "tiderace/net/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/net/tcp_transport.h"

namespace tiderace::net {
namespace {

std::string_view advice_for(int error) {
    switch (error) {
        case ECONNREFUSED:
            return "nobody listens there";
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

}  // namespace

// From connect() to its outcome. What comes of it is told at the end of the turn, where no callback
// of the backend is on the stack.
class Connector::Attempt final : private core::IoObserver,
                                 private core::Timer,
                                 private core::TurnEnd {
  public:
    Attempt(Connector& connector, core::Address to, Done done, TransportLayer* layer)
        : connector_(&connector), to_(std::move(to)), done_(std::move(done)), layer_(layer) {}
    ~Attempt() {
        connector_->loop_->cancel(*this);
        if (handle_) connector_->loop_->backend().close(handle_, {});
    }

    void start() TR_ON_LOOP {
        core::EventLoop& loop = *connector_->loop_;
        if (connector_->size() > connector_->options_.connections_max) return end(EUSERS);
        sockaddr_storage storage;
        to_.to_sockaddr(storage);
        const int fd = loop.kernel().open_socket(storage.ss_family, SOCK_STREAM, 0);
        if (fd < 0) return end(-fd);
        if (!to_.is_unix()) {
            const int on = 1;
            loop.kernel().set_option(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        }
        auto attached = loop.backend().attach(fd, *this);
        if (!attached) {
            loop.kernel().close(fd);
            return end(attached.error().code());
        }
        handle_ = *attached;
        loop.backend().start_connect(handle_, to_);
        loop.arm(*this, loop.now() + connector_->options_.timeout);
    }

    // Ends untold.
    void give_up() TR_ON_LOOP {
        done_ = {};
        end(ECANCELED);
    }

    const core::Address& to() const { return to_; }
    TransportLayer* layer() const { return layer_; }
    int error() const { return error_; }
    Done take_done() { return std::move(done_); }
    // The connected socket, which is the caller's from here on.
    int take_socket() {
        const int fd = handle_.fd;
        connector_->loop_->backend().detach(handle_);
        handle_ = {};
        return fd;
    }

  private:
    void on_connected(int error) TR_ON_LOOP override { end(-error); }
    void on_expired() TR_ON_LOOP override { end(ETIMEDOUT); }
    void on_turn_end() TR_ON_LOOP override { connector_->finish(*this); }

    void end(int error) TR_ON_LOOP {
        if (std::exchange(ended_, true)) return;
        error_ = error;
        connector_->loop_->cancel(*this);
        connector_->loop_->at_turn_end(*this);
    }

    Connector* connector_;
    core::Address to_;
    Done done_;
    TransportLayer* layer_;
    core::IoHandle handle_;
    int error_ = 0;
    bool ended_ = false;
};

Connector::Connector(core::EventLoop& loop, ConnectorOptions options)
    : loop_(&loop), options_(std::move(options)) {}

Connector::~Connector() {
    // An attempt that has ended runs once more at the end of a turn: it must be there.
    abort_all();
    while (connections_.size() > 0 || !attempts_.empty()) {
        loop_->turn(Duration::zero());
        abort_all();
    }
}

void Connector::connect(const core::Address& to, Done done, TransportLayer* layer) {
    loop_->assert_on_loop();
    attempts_.push_back(std::make_unique<Attempt>(*this, to, std::move(done), layer));
    attempts_.back()->start();
}

void Connector::finish(Attempt& attempt) {
    const auto found =
        std::ranges::find(attempts_, &attempt, [](const auto& one) { return one.get(); });
    TR_CHECK(found != attempts_.end());
    const std::unique_ptr<Attempt> ended = std::move(*found);
    attempts_.erase(found);
    Done done = ended->take_done();
    if (!done) return;
    const auto refuse = [&](int error) {
        done(fail(Error(error, "connect to", ended->to().to_string(), advice_for(error))));
    };
    if (ended->error() != 0) return refuse(ended->error());
    auto tcp = std::make_unique<TcpTransport>(*loop_, ended->take_socket());
    if (!tcp->attached()) return refuse(EMFILE);
    std::unique_ptr<Transport> transport = std::move(tcp);
    if (ended->layer() != nullptr) transport = ended->layer()->wrap(std::move(transport));
    Connection& connection = connections_.emplace(static_cast<Connection::Owner&>(*this),
                                                  std::move(transport), ended->to());
    done(&connection);
}

void Connector::abort_all() {
    loop_->assert_on_loop();
    for (const auto& attempt : attempts_) attempt->give_up();
    connections_.for_each([](ConnectionId, Connection& connection) {
        connection.loop().assert_on_loop();
        connection.abort(CloseReason::server_stopped);
    });
}

}  // namespace tiderace::net
