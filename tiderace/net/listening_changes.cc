// Listening, while it serves: other addresses, without a lost connection.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/net/listener.h"
#include "tiderace/net/listening.h"

namespace tiderace::net {

std::vector<Error> Listening::bind_more(const std::vector<Wanted>& wanted,
                                        std::vector<Bound>& added) const {
    std::vector<Error> faults;
    for (const Wanted& each : wanted) {
        if (std::ranges::find(places_, each, &Place::wanted) != places_.end()) continue;
        auto bound = bind_new(each, added);
        if (bound) {
            added.push_back(std::move(*bound));
        } else {
            faults.push_back(bound.error());
        }
    }
    return faults;
}

std::optional<core::Address> Listening::address_of(std::string_view text) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].wanted.address == text) return addresses_[i];
    }
    return std::nullopt;
}

Result<Listening::Bound> Listening::bind_new(const Wanted& wanted,
                                             const std::vector<Bound>& others) const {
    if (queue_loop_ != nullptr || !queues_.empty()) {
        return fail(Error(0, "listen on", wanted.address,
                          "connections come through one queue, whose addresses need a restart"));
    }
    auto address = core::Address::parse(wanted.address);
    if (!address) return fail(address.error());
    const bool is_taken =
        who_listens_at(*address) || std::ranges::any_of(others, [&](const Bound& other) {
            return overlap(other.address, *address);
        });
    if (is_taken) {
        return fail(Error(EADDRINUSE, "listen on", wanted.address,
                          "this server listens there already, in another way; that needs a "
                          "restart"));
    }
    auto listener =
        bind_listener(core::system_kernel(), *address,
                      {.backlog = options_.backlog, .in_use_retry = ServingDefaults::in_use_retry});
    if (!listener) return fail(listener.error());
    Bound bound{.wanted = wanted, .address = *address, .socket = std::move(*listener)};
    if (!address->is_unix()) bound.address = local_address(core::system_kernel(), bound.socket);
    bound.name = SocketName::of(*address);
    return bound;
}

Result<> Listening::listen(std::vector<Bound>& added, int backlog) {
    options_.backlog = backlog;
    for (Bound& bound : added) {
        of_loop_.clear();
        of_loop_.resize(of_place_[bound.wanted.like].size());
        sockets_.clear();
        sockets_.push_back(std::move(bound.socket));
        auto done =
            spread_socket(sockets_[0], bound.address, of_loop_.size(), mode_, bound.wanted.like);
        sockets_.clear();
        if (!done) {
            of_loop_.clear();
            return done;
        }
        for (auto& of_loop : of_loop_) bound.of_loops.push_back(std::move(of_loop[0].listener));
        of_loop_.clear();
    }
    return {};
}

void Listening::drop(std::vector<Bound>& added) {
    for (const Bound& bound : added) {
        if (bound.name) bound.name->remove({});
    }
    added.clear();
}

void Listening::change(const std::vector<Wanted>& wanted, std::vector<Bound> added) {
    std::vector<std::size_t> removed;
    for (std::size_t i = places_.size(); i-- > 0;) {
        if (std::ranges::find(wanted, places_[i].wanted) == wanted.end()) removed.push_back(i);
    }
    for (Bound& bound : added) {
        const std::uint64_t number = next_number_++;
        const Targets& targets = of_place_[bound.wanted.like];
        for (std::size_t i = 0; i < targets.size(); ++i) {
            on_loop_of(targets[i], [number, layer = targets[i].layer, server = targets[i].server,
                                    socket = std::make_shared<core::Descriptor>(
                                        std::move(bound.of_loops[i]))](core::EventLoop& loop) {
                loop.assert_on_loop();
                server->listen(std::move(*socket), layer, number);
            });
        }
        places_.push_back({bound.wanted, number});
        addresses_.push_back(bound.address);
        if (bound.name) names_.push_back(std::move(*bound.name));
    }
    for (const std::size_t place : removed) remove(place);
}

// A name goes first: from then on nobody connects to the socket.
void Listening::remove(std::size_t place) {
    std::erase_if(names_, [&](const SocketName& name) {
        const core::Address& address = addresses_[place];
        const bool is_it = address.is_unix() && name.path == address.path();
        if (is_it) name.remove(options_.remove_name);
        return is_it;
    });
    const std::uint64_t number = places_[place].number;
    for (const Intake::Target& target : of_place_[places_[place].wanted.like]) {
        on_loop_of(target, [number, server = target.server](core::EventLoop& loop) {
            loop.assert_on_loop();
            server->stop_listening(number);
        });
    }
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(place));
    addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(place));
}

// In the order in which it is asked for. A mailbox that is full belongs to a loop that is
// overwhelmed: it is waited for, because a socket that nobody has would lose its connections.
void Listening::on_loop_of(const Intake::Target& target,
                           const std::function<void(core::EventLoop&)>& task) {
    core::EventLoop* const loop = target.loop;
    if (loop == of_place_[0][0].loop) return task(*loop);
    while (!loop->post([loop, task] { task(*loop); })) ::usleep(1'000);
}

}  // namespace tiderace::net
