// Listening: spreads the connections of the listening sockets over the workers in the accept mode
// asked for.
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
// Errors   A further socket, or a loop or a thread to listen on, that cannot be had: which, why,
//          what to do.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "server/listening_sockets.h"
#include "server/options.h"
#include "server/worker.h"
#include "tiderace/net/hand_off.h"
#include "tiderace/net/intake.h"

namespace tiderace::server {

class Listening {
  public:
    // `sockets` outlives it.
    static Result<std::unique_ptr<Listening>> open(const SharedParts& parts,
                                                   std::vector<Worker*> workers,
                                                   ListeningSockets& sockets);
    ~Listening();

    // Starts accepting: from the main thread, before the workers' loops run.
    Result<> start();
    // Ends the listening of mode "queue"; the other modes' sockets are the workers' own.
    void stop();
    // New connections that mode "queue" turned away.
    std::uint64_t refused() const;

  private:
    using Purpose = ListeningSockets::Purpose;
    struct Socket {
        core::Descriptor listener;
        Purpose purpose;
    };

    Listening(const SharedParts& parts, std::vector<Worker*> workers, ListeningSockets& sockets)
        : parts_(&parts),
          options_(parts.options),
          sockets_(&sockets),
          workers_(std::move(workers)) {}

    Result<> spread_all();
    Result<> spread(ListeningSockets::Socket socket);
    std::uint16_t encrypted_port() const;
    Result<> make_intakes();
    Result<std::unique_ptr<net::Intake>> make_intake(Purpose purpose);
    std::vector<net::Intake::Target> targets(Purpose purpose) const;
    Result<> start_queue();

    const SharedParts* parts_;
    const ServeOptions* options_;
    ListeningSockets* sockets_;
    std::vector<Worker*> workers_;
    std::vector<std::vector<Socket>> of_worker_;  // to be given to each worker
    std::vector<Socket> of_queue_;
    std::unique_ptr<core::EventLoop> queue_loop_;
    std::vector<std::unique_ptr<net::Intake>> intakes_;  // by purpose
    std::thread queue_thread_;
};

}  // namespace tiderace::server
