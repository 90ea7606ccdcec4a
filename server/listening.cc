#include "server/listening.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tiderace/net/listener.h"

namespace tiderace::server {
namespace {

constexpr std::uint16_t ports_tried_max = 20;

core::Kernel& kernel() {
    return core::system_kernel();
}

}  // namespace

Result<std::unique_ptr<Listening>> Listening::open(const ServeOptions& options,
                                                   std::vector<Worker*> workers) {
    std::unique_ptr<Listening> listening(new Listening(options, std::move(workers)));
    listening->of_worker_.resize(listening->workers_.size());
    for (const std::string& text : options.listen) {
        auto bound = listening->open_address(text);
        if (!bound) return fail(bound.error());
        listening->addresses_.push_back(std::move(*bound));
    }
    return listening;
}

Listening::~Listening() {
    stop();
}

Result<core::Address> Listening::open_address(const std::string& text) {
    auto address = core::Address::parse(text);
    if (!address) return fail(address.error());
    auto first = open_first(*address);
    if (!first) return fail(first.error());
    core::Address bound = address->is_unix() ? *address : net::local_address(kernel(), *first);
    if (auto spread_over = spread(std::move(*first), bound); !spread_over) {
        return fail(spread_over.error());
    }
    return bound;
}

// Opened without SO_REUSEPORT, so that a port somebody else serves is an error and not half of
// their traffic.
Result<core::Descriptor> Listening::open_first(core::Address& address) {
    const net::ListenOptions plain{.backlog = static_cast<int>(options_->backlog)};
    auto listener = net::open_listener(kernel(), address, plain);
    const std::uint16_t wanted = address.port();
    for (std::uint16_t i = 1; i < ports_tried_max && !listener && options_->listen_is_default &&
                              listener.error().code() == EADDRINUSE;
         ++i) {
        address = address.with_port(static_cast<std::uint16_t>(wanted + i));
        listener = net::open_listener(kernel(), address, plain);
        if (listener) port_fallback_ = PortFallback{wanted, address.port()};
    }
    return listener;
}

Result<> Listening::spread(core::Descriptor first, const core::Address& bound) {
    if (options_->accept == AcceptMode::queue) {
        of_queue_.push_back(std::move(first));
        return {};
    }
    if (workers_.size() == 1) {
        of_worker_[0].push_back(std::move(first));
        return {};
    }
    if (options_->accept == AcceptMode::shared || bound.is_unix()) {
        for (auto& sockets : of_worker_) {
            sockets.emplace_back(kernel(), ::dup(first.get()));
            if (!sockets.back()) return fail(Error::last("share", bound.to_string()));
        }
        return {};
    }
    first.reset();
    const net::ListenOptions shared_port{.backlog = static_cast<int>(options_->backlog),
                                         .reuse_port = true};
    for (auto& sockets : of_worker_) {
        auto listener = net::open_listener(kernel(), bound, shared_port);
        if (!listener) return fail(listener.error());
        sockets.push_back(std::move(*listener));
    }
    return {};
}

void Listening::start() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        for (core::Descriptor& socket : of_worker_[i]) {
            workers_[i]->connections().listen(std::move(socket));
        }
    }
    if (of_queue_.empty()) return;
    queue_loop_ = std::move(*core::EventLoop::create({.engine = options_->engine}));
    std::vector<net::HandOff::Target> targets;
    for (Worker* worker : workers_) targets.push_back({&worker->loop(), &worker->connections()});
    hand_off_ = std::make_unique<net::HandOff>(*queue_loop_, std::move(targets), waiting_max,
                                               busy_answer());
    for (core::Descriptor& socket : of_queue_) hand_off_->listen(std::move(socket));
    queue_thread_ = std::thread([this] { queue_loop_->run(); });
}

void Listening::remove_socket_files() const {
    for (const core::Address& address : addresses_) {
        if (address.is_unix()) ::unlink(std::string(address.path()).c_str());
    }
}

void Listening::stop() {
    if (!queue_thread_.joinable()) return;
    queue_loop_->post([this] {
        hand_off_->stop();
        queue_loop_->stop();
    });
    queue_thread_.join();
}

}  // namespace tiderace::server
