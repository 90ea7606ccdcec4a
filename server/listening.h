// Listening: opens the sockets that the options ask for, and spreads their connections over the
// workers in the accept mode asked for.
//
//   reuseport  a socket per worker on each address; the kernel spreads
//   shared     one socket per address, in every worker's loop
//   queue      one socket per address on a thread of its own, which hands over (net/hand_off.h), or
//              on the first loop, where the loops are arranged so (LoopGroup::make_intake)
//
// A Unix socket is always shared: the kernel spreads TCP only.
//
// The addresses of --listen lead to the site, through the worker's layer where there is one; those
// of --https-redirect, always in clear text, lead to the port of the first of the others.
//
// Owner    serve().
// Thread   The main thread, before the loops run; stop() from the first loop.
// Errors   An address that cannot be had: which, why, what to do. Port 8080, if it was only a
//          default, gives way to the next free one.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "server/banner.h"
#include "server/options.h"
#include "server/worker.h"
#include "tiderace/net/hand_off.h"

namespace tiderace::server {

class Listening {
  public:
    static constexpr std::size_t waiting_max = 1024;  // accept mode "queue"

    static Result<std::unique_ptr<Listening>> open(const SharedParts& parts,
                                                   std::vector<Worker*> workers);
    ~Listening();

    // As bound: port 0 is the port that the kernel chose.
    const std::vector<core::Address>& addresses() const { return addresses_; }
    const std::vector<core::Address>& redirecting() const { return redirecting_; }
    const std::optional<PortFallback>& port_fallback() const { return port_fallback_; }

    // Starts accepting: from the main thread, before the workers' loops run.
    void start();
    // The names of Unix sockets, gone before the sockets are closed: after that they may be another
    // server's.
    void remove_socket_files() const;
    // Ends the listening of mode "queue"; the other modes' sockets are the workers' own.
    void stop();
    // New connections that mode "queue" turned away.
    std::uint64_t refused() const;

  private:
    enum class Door : std::uint8_t { site, redirect };
    struct Socket {
        core::Descriptor listener;
        Door door;
    };

    Listening(const SharedParts& parts, std::vector<Worker*> workers)
        : parts_(&parts), options_(parts.options), workers_(std::move(workers)) {}

    Result<> open_all();
    Result<core::Address> open_address(const std::string& text, Door door);
    Result<core::Descriptor> open_first(core::Address& address, Door door);
    Result<> spread(core::Descriptor first, const core::Address& bound, Door door);
    std::uint16_t encrypted_port() const;
    void start_queue();
    std::vector<net::Intake::Target> targets(Door door) const;
    std::unique_ptr<net::Intake> make_intake(Door door);

    const SharedParts* parts_;
    const ServeOptions* options_;
    std::vector<Worker*> workers_;
    std::vector<core::Address> addresses_;
    std::vector<core::Address> redirecting_;
    std::optional<PortFallback> port_fallback_;
    std::vector<std::vector<Socket>> of_worker_;  // to be given to each worker
    std::vector<Socket> of_queue_;
    std::unique_ptr<core::EventLoop> queue_loop_;
    std::vector<std::unique_ptr<net::Intake>> intakes_;  // by door
    std::thread queue_thread_;
};

}  // namespace tiderace::server
