#include "tiderace/net/listening.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/thread_refusal.h"
#include "tiderace/net/hand_off.h"
#include "tiderace/net/listener.h"

namespace tiderace::net {
namespace {

core::Kernel& kernel() {
    return core::system_kernel();
}

// [::] is opened for IPv4 too; no other IPv6 address is.
bool covers(const core::Address& all, const core::Address& address) {
    using Family = core::Address::Family;
    return all.is_any() && (all.family() == Family::ip6 || address.family() == Family::ip4);
}

}  // namespace

bool overlap(const core::Address& a, const core::Address& b) {
    if (a.is_unix() || b.is_unix()) return a == b;
    return a.port() == b.port() && (a == b || covers(a, b) || covers(b, a));
}

std::optional<SocketName> SocketName::of(const core::Address& address) {
    struct stat made;
    if (!address.is_unix()) return std::nullopt;
    const std::string path(address.path());
    if (::lstat(path.c_str(), &made) != 0) return std::nullopt;
    return SocketName{path, made.st_dev, made.st_ino};
}

void SocketName::remove(const Remover& where_we_may_not) const {
    struct stat now;
    const bool seen = ::lstat(path.c_str(), &now) == 0;
    if (seen && (now.st_dev != device || now.st_ino != inode)) return;
    // The file may have been made as root, in a folder such as /run that the server's user may not
    // change, nor perhaps enter, so that it may be there though it was not seen.
    if ((seen && ::unlink(path.c_str()) == 0) || !where_we_may_not) return;
    where_we_may_not(path, device, inode);
}

// Also where no drain came before: the thread uses what ends here.
Listening::~Listening() {
    stop();
}

Result<> Listening::bind() {
    auto bound = bind_all();
    // A client would take a name without a server for one.
    if (!bound) remove_names();
    return bound;
}

Result<> Listening::bind_all() {
    inherited_ = inherited_listeners(kernel());
    for (std::size_t place = 0; place < options_.addresses.size(); ++place) {
        if (auto bound = bind_one(place); !bound) return bound;
        places_.push_back({{options_.addresses[place], place}, next_number_++});
    }
    if (inherited_.empty()) return {};
    // Clients would wait in its queue for ever.
    return fail(Error(EINVAL, "listen on", local_address(kernel(), inherited_[0]).to_string(),
                      "systemd listens there for this service, and no address of ours is this "
                      "one; add it, or take it out of the .socket unit"));
}

// [::] is also the IPv4 socket that it would be on a machine without IPv6.
core::Descriptor Listening::inherited(const core::Address& address) {
    const auto found = std::ranges::find_if(inherited_, [&](const core::Descriptor& socket) {
        const core::Address has = local_address(kernel(), socket);
        return has == address ||
               (has.is_any() && has.port() == address.port() && covers(address, has));
    });
    if (found == inherited_.end()) return {};
    core::Descriptor taken = std::move(*found);
    inherited_.erase(found);
    return taken;
}

// Bound without SO_REUSEPORT, so that a port somebody else serves is an error and not half of
// their traffic.
Result<> Listening::bind_one(std::size_t place) {
    const std::string& text = options_.addresses[place];
    auto address = core::Address::parse(text);
    if (!address) return fail(address.error());
    // Sockets that are bound only share an address: our own two would be noticed late.
    if (const auto ours = who_listens_at(*address)) {
        return fail(Error(EADDRINUSE, "listen on", text,
                          name_of(*ours) + " listens there already; leave one of the two out"));
    }
    if (core::Descriptor listener = inherited(*address)) {
        addresses_.push_back(*address);
        sockets_.push_back(std::move(listener));
        return {};
    }
    auto listener = bind_free_port(place, *address);
    if (!listener) return fail(listener.error());
    // Asked of the kernel, which has chosen the port where 0 was given.
    addresses_.push_back(address->is_unix() ? *address : local_address(kernel(), *listener));
    if (auto name = SocketName::of(*address)) names_.push_back(std::move(*name));
    sockets_.push_back(std::move(*listener));
    return {};
}

Result<core::Descriptor> Listening::bind_free_port(std::size_t place, core::Address& address) {
    const std::uint16_t ports = place == 0 ? options_.ports_tried_max : 1;
    const ListenOptions plain{
        .backlog = options_.backlog,
        // A default port moves to the next one at once instead.
        .in_use_retry = ports > 1 ? Duration{} : ServingDefaults::in_use_retry};
    auto listener = bind_listener(kernel(), address, plain);
    const std::uint16_t wanted = address.port();
    // A port that was chosen is served, or the start fails: a proxy in front knows only that one.
    for (std::uint16_t i = 1; i < ports && !listener && listener.error().code() == EADDRINUSE;
         ++i) {
        address = address.with_port(static_cast<std::uint16_t>(wanted + i));
        listener = bind_listener(kernel(), address, plain);
        if (listener) port_fallback_ = PortFallback{wanted, address.port()};
    }
    return listener;
}

// As the user wrote it: "--listen :8080".
std::string Listening::name_of(std::size_t place) const {
    const bool moved = place == 0 && port_fallback_;
    const std::string text = moved ? addresses_[place].to_string() : options_.addresses[place];
    return options_.named_by.empty() ? text : options_.named_by[place] + " " + text;
}

std::optional<std::size_t> Listening::who_listens_at(const core::Address& address) const {
    const auto find = [&](const auto& is_it) -> std::optional<std::size_t> {
        const auto found = std::ranges::find_if(addresses_, is_it);
        if (found == addresses_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - addresses_.begin());
    };
    if (const auto place = find([&](const auto& bound) { return overlap(bound, address); })) {
        return place;
    }
    if (!address.is_unix()) return std::nullopt;
    // One file has many spellings: "a.sock", "./a.sock", a link.
    struct stat there;
    if (::stat(std::string(address.path()).c_str(), &there) != 0) return std::nullopt;
    const auto same = std::ranges::find_if(names_, [&](const SocketName& name) {
        return name.device == there.st_dev && name.inode == there.st_ino;
    });
    if (same == names_.end()) return std::nullopt;
    return find([&](const auto& bound) { return bound.is_unix() && bound.path() == same->path; });
}

// Where a later one fails, the sockets that were spread before close with this object, and the
// clients that wait in their queues are reset.
Result<> Listening::spread(LoopGroup& loops, std::vector<Targets> of_place, const Spread& how) {
    of_place_ = std::move(of_place);
    for (Place& place : places_) {
        const auto& servers = of_place_[place.wanted.like];
        place.wanted.like = static_cast<std::size_t>(
            std::ranges::find_if(of_place_,
                                 [&](const Targets& other) {
                                     return other[0].server == servers[0].server &&
                                            other[0].layer == servers[0].layer;
                                 }) -
            of_place_.begin());
    }
    of_loop_.resize(loops.size());
    mode_ = how.mode;
    for (std::size_t place = 0; place < sockets_.size(); ++place) {
        auto done =
            spread_socket(sockets_[place], addresses_[place], loops.size(), how.mode, place);
        if (!done) return done;
    }
    sockets_.clear();
    return make_intakes(loops, how);
}

Result<> Listening::spread_socket(core::Descriptor& bound, const core::Address& address,
                                  std::size_t loops, AcceptMode mode, std::size_t place) {
    // A single loop does not need a second socket on the port.
    const bool has_one_each = mode == AcceptMode::reuseport && loops > 1 && !address.is_unix() &&
                              shared_ports_are_spread();
    if (has_one_each) {
        auto shared = share_listener(kernel(), std::move(bound), loops, options_.backlog);
        if (!shared) return fail(shared.error());
        for (std::size_t i = 0; i < loops; ++i) {
            of_loop_[i].push_back({std::move((*shared)[i]), place});
        }
        return {};
    }
    // Bound before, and listening only from here on: until the servers are made, clients are
    // refused, and do not wait for a server that may fail to start.
    if (auto listens = start_listening(kernel(), bound, options_.backlog); !listens) return listens;
    if (mode == AcceptMode::queue) {
        of_queue_.push_back({std::move(bound), place});
        return {};
    }
    // The same queue for all: each loop has a descriptor of its own to watch and close.
    for (std::size_t i = 1; i < loops; ++i) {
        of_loop_[i].push_back({core::Descriptor(kernel(), ::dup(bound.get())), place});
        if (!of_loop_[i].back().listener) return fail(Error::last("share", address.to_string()));
    }
    of_loop_[0].push_back({std::move(bound), place});
    return {};
}

// One for each server and not for each socket: it deals its connections out in turn, which would
// begin anew for each of several.
Result<> Listening::make_intakes(LoopGroup& loops, const Spread& how) {
    for (const Socket& socket : of_queue_) {
        const Targets& targets = of_place_[socket.place];
        Queue& queue = queue_of(socket.place);
        if (queue.targets.empty() || targets[0].layer != nullptr) queue.targets = targets;
    }
    for (Queue& queue : queues_) {
        // nullptr: the group has no place of its own for listening, so a thread gets it.
        queue.intake = loops.make_intake(queue.targets, how.intake);
        if (queue.intake != nullptr) continue;
        if (queue_loop_ == nullptr) {
            auto loop = core::EventLoop::create({.engine = how.engine});
            if (!loop) return fail(loop.error());
            queue_loop_ = std::move(*loop);
        }
        queue.intake = std::make_unique<HandOff>(*queue_loop_, queue.targets,
                                                 how.intake.waiting_max, how.intake.refusal);
    }
    return {};
}

Listening::Queue& Listening::queue_of(std::size_t place) {
    const auto same = std::ranges::find_if(queues_, [&](const Queue& queue) {
        return queue.targets[0].server == of_place_[place][0].server;
    });
    return same != queues_.end() ? *same : queues_.emplace_back();
}

// The loops watch their servers' own sockets from their first turn on. The queue accepts from now
// on: until that turn its connections wait in the mailboxes.
Result<> Listening::start() {
    for (std::size_t i = 0; i < of_loop_.size(); ++i) {
        for (Socket& socket : of_loop_[i]) {
            const Intake::Target& target = of_place_[socket.place][i];
            target.loop->assert_on_loop();
            target.server->listen(std::move(socket.listener), target.layer,
                                  places_[socket.place].number);
        }
    }
    of_loop_.clear();
    return of_queue_.empty() ? Result<>() : start_queue();
}

Result<> Listening::start_queue() {
    intake_loop().assert_on_loop();
    for (Socket& socket : of_queue_) {
        Intake& intake = *queue_of(socket.place).intake;
        // Only the layer of the loop that serves a connection can begin TLS on it, so the intake
        // hands over the bare connection.
        if (of_place_[socket.place][0].layer != nullptr) {
            intake.listen_layered(std::move(socket.listener));
        } else {
            intake.listen(std::move(socket.listener));
        }
    }
    // The intake belongs to the group's first loop, so we start no thread for it.
    if (queue_loop_ == nullptr) return {};
    const int code =
        thread_refusal([this] { queue_thread_ = std::thread([this] { queue_loop_->run(); }); });
    if (code == 0) return {};
    return fail(Error(code, "start", "the thread that listens",
                      "no further thread is allowed: raise the limit (ulimit -u, pids.max of "
                      "the cgroup), or give --accept shared"));
}

// The loop on which all intakes run.
const core::EventLoop& Listening::intake_loop() const {
    return queue_loop_ != nullptr ? *queue_loop_ : *of_place_[0][0].loop;
}

std::uint64_t Listening::refused() const {
    std::uint64_t all = 0;
    for (const Queue& queue : queues_) {
        if (queue.intake != nullptr) all += queue.intake->refused();
    }
    return all;
}

// Called twice: when draining begins, on the first loop, and by the destructor. The first loop
// waits here for the thread that listens, which ends within one turn of its loop: it accepts what
// waits in the kernel's queue, so that no client which the kernel has let in is reset.
void Listening::stop() {
    remove_names();
    const auto stop_all = [this] {
        for (const Queue& queue : queues_) {
            if (queue.intake == nullptr) continue;
            intake_loop().assert_on_loop();
            queue.intake->stop();
        }
    };
    // The intakes are the group's first loop's, on which a drain calls this.
    if (queue_loop_ == nullptr) return stop_all();
    // Never started, or stopped before.
    if (!queue_thread_.joinable()) return;
    // On its own loop: an intake is not made for calls from other threads.
    const bool posted = queue_loop_->post([this, stop_all] {
        stop_all();
        queue_loop_->assert_on_loop();
        queue_loop_->stop();
    });
    // Refused where memory runs out: then it ends without order, and does not keep us for ever.
    if (!posted) queue_loop_->request_stop();
    queue_thread_.join();
}

void Listening::end() {
    stop();
    queues_.clear();
    queue_loop_.reset();
    sockets_.clear();
    of_loop_.clear();
    of_queue_.clear();
}

void Listening::remove_names() {
    for (const SocketName& name : std::exchange(names_, {})) name.remove(options_.remove_name);
}

}  // namespace tiderace::net
