#include "server/listening.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tiderace/base/thread_refusal.h"
#include "tiderace/net/listener.h"

namespace tiderace::server {
namespace {

core::Kernel& kernel() {
    return core::system_kernel();
}

}  // namespace

Result<std::unique_ptr<Listening>> Listening::open(const SharedParts& parts,
                                                   std::vector<Worker*> workers,
                                                   ListeningSockets& sockets) {
    std::unique_ptr<Listening> listening(new Listening(parts, std::move(workers), sockets));
    if (auto spread = listening->spread_all(); !spread) return fail(spread.error());
    if (auto made = listening->make_intakes(); !made) return fail(made.error());
    return listening;
}

// Also where no drain came before: the thread uses what ends here.
Listening::~Listening() {
    stop();
}

// Gives each socket to those that accept from it. Where a later one fails, the sockets that were
// spread before close with this object, and the clients that wait in their queues are reset.
Result<> Listening::spread_all() {
    of_worker_.resize(workers_.size());
    for (ListeningSockets::Socket& socket : sockets_->take()) {
        if (auto done = spread(std::move(socket)); !done) return done;
    }
    if (sockets_->redirecting().empty()) return {};
    for (Worker* worker : workers_) worker->open_redirect(encrypted_port(), *parts_);
    return {};
}

// A Unix socket has no port; a proxy in front of it uses the scheme's default.
std::uint16_t Listening::encrypted_port() const {
    if (options_->tls.https_port) return static_cast<std::uint16_t>(*options_->tls.https_port);
    // Of several addresses the first: a redirect names one port.
    for (const core::Address& address : sockets_->addresses()) {
        if (!address.is_unix()) return address.port();
    }
    return 443;
}

Result<> Listening::spread(ListeningSockets::Socket socket) {
    const Purpose purpose = socket.purpose;
    const core::Address& bound = socket.bound;
    const auto backlog = static_cast<int>(options_->backlog);
    // A Unix socket cannot be bound twice: its loops share one queue.
    const bool has_one_each =
        options_->accept == AcceptMode::reuseport && !bound.is_unix() && workers_.size() > 1;
    // One worker needs no second socket on the port.
    if (has_one_each) {
        auto shared =
            net::share_listener(kernel(), std::move(socket.listener), workers_.size(), backlog);
        if (!shared) return fail(shared.error());
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            of_worker_[i].push_back({std::move((*shared)[i]), purpose});
        }
        return {};
    }
    // Bound by ListeningSockets, and listening only from here on: until the workers are made,
    // clients are refused, and do not wait for a server that may fail to start.
    if (auto listens = net::start_listening(kernel(), socket.listener, backlog); !listens) {
        return fail(listens.error());
    }
    if (options_->accept == AcceptMode::queue) {
        of_queue_.push_back({std::move(socket.listener), purpose});
        return {};
    }
    if (workers_.size() == 1) {
        of_worker_[0].push_back({std::move(socket.listener), purpose});
        return {};
    }
    for (auto& sockets : of_worker_) {
        // The same queue for all: each loop has a descriptor of its own to watch and close.
        sockets.push_back({core::Descriptor(kernel(), ::dup(socket.listener.get())), purpose});
        if (!sockets.back().listener) return fail(Error::last("share", bound.to_string()));
    }
    return {};
}

// The workers' own sockets are watched from their loops' first turn on, those of the queue from now
// on: what its thread accepts until then waits in the mailboxes.
Result<> Listening::start() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        for (Socket& socket : of_worker_[i]) {
            if (socket.purpose == Purpose::site) {
                workers_[i]->connections().listen(std::move(socket.listener), workers_[i]->layer());
            } else {
                workers_[i]->redirects()->listen(std::move(socket.listener));
            }
        }
    }
    if (of_queue_.empty()) return {};
    return start_queue();
}

Result<> Listening::start_queue() {
    for (Socket& socket : of_queue_) {
        net::Intake& intake = *intakes_[static_cast<std::size_t>(socket.purpose)];
        // Only the layer of the worker that serves a connection can begin TLS on it, so the intake
        // hands over the bare connection.
        if (socket.purpose == Purpose::site && workers_[0]->layer() != nullptr) {
            intake.listen_layered(std::move(socket.listener));
        } else {
            intake.listen(std::move(socket.listener));
        }
    }
    // The intake belongs to the group's first loop, which needs no thread of ours.
    if (queue_loop_ == nullptr) return {};
    const int code =
        thread_refusal([this] { queue_thread_ = std::thread([this] { queue_loop_->run(); }); });
    if (code == 0) return {};
    return fail(Error(code, "start", "the thread that listens",
                      "no further thread is allowed: raise the limit (ulimit -u, pids.max of "
                      "the cgroup), or give --accept shared"));
}

std::vector<net::Intake::Target> Listening::targets(Purpose purpose) const {
    std::vector<net::Intake::Target> all;
    for (Worker* worker : workers_) {
        if (purpose == Purpose::site) {
            all.push_back({&worker->loop(), &worker->connections(), worker->layer()});
        } else {
            all.push_back({&worker->loop(), worker->redirects()});
        }
    }
    return all;
}

// One for each purpose and not for each socket: it deals its connections out in turn, which would
// begin anew for each of several.
Result<> Listening::make_intakes() {
    if (of_queue_.empty()) return {};
    // In the order of their numbers, by which start_queue() finds them.
    for (const Purpose purpose : {Purpose::site, Purpose::redirect}) {
        if (purpose == Purpose::redirect && sockets_->redirecting().empty()) break;
        auto intake = make_intake(purpose);
        if (!intake) return fail(intake.error());
        intakes_.push_back(std::move(*intake));
    }
    return {};
}

Result<std::unique_ptr<net::Intake>> Listening::make_intake(Purpose purpose) {
    const net::IntakeOptions options{
        .connections_max = parts_->connections_max_of_all,
        .refusal = busy_answer(),
    };
    if (parts_->group != nullptr) {
        // nullptr: the threading model has no place of its own for listening, so a thread gets it.
        if (auto intake = parts_->group->make_intake(targets(purpose), options)) return intake;
    }
    if (queue_loop_ == nullptr) {
        auto loop = core::EventLoop::create({.engine = parts_->listening_engine});
        if (!loop) return fail(loop.error());
        queue_loop_ = std::move(*loop);
    }
    return std::make_unique<net::HandOff>(*queue_loop_, targets(purpose), options.waiting_max,
                                          options.refusal);
}

std::uint64_t Listening::refused() const {
    std::uint64_t all = 0;
    for (const auto& intake : intakes_) all += intake->refused();
    return all;
}

// Called twice: when draining begins, on the first loop, and by the destructor. The first loop
// waits here for the thread that listens, which ends within one turn of its loop: it accepts what
// waits in the kernel's queue, so that no client which the kernel has let in is reset.
void Listening::stop() {
    // The intakes are the group's first loop's, on which a drain calls this.
    if (queue_loop_ == nullptr) {
        for (const auto& intake : intakes_) intake->stop();
        return;
    }
    // Never started, or stopped before.
    if (!queue_thread_.joinable()) return;
    // On its own loop: an intake is not made for calls from other threads.
    const bool posted = queue_loop_->post([this] {
        for (const auto& intake : intakes_) intake->stop();
        queue_loop_->stop();
    });
    // Refused where memory runs out: then it ends without order, and does not keep us for ever.
    if (!posted) queue_loop_->request_stop();
    queue_thread_.join();
}

}  // namespace tiderace::server
