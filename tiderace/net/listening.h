// Internal. Listening: the sockets that a server listens on, and the loops that accept from them.
//
//   bind()    the addresses, so that a port in use is an error at once, before there is more than
//             one process, and while we are root. Nothing is accepted yet.
//   spread()  gives the sockets to the loops, in one of the ways of AcceptMode
//   start()   accepts;  stop()  when draining begins
//
// A Unix socket is always shared: the kernel spreads TCP only. A socket that systemd listens on for
// us serves the address that it has; the addresses stay as they are without systemd.
//
// Owner    The program. It ends, or end() is called, before the servers that it hands connections
//          to, and before the loops.
// Thread   The main thread, before the loops run; stop() from the first loop.
// Errors   An address that is not available: which, why, what to do; whether another program has
//          it, or it is given twice. A further socket, or a loop or a thread to listen on, that
//          cannot be had. Where one fails, no name of a Unix socket is left behind.
// Keywords: bind, SO_REUSEPORT, Unix socket, accept mode
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tiderace/core/address.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/net/intake.h"
#include "tiderace/net/loop_group.h"
#include "tiderace/net/serving_defaults.h"

namespace tiderace::net {

enum class AcceptMode : std::uint8_t {
    reuseport,  // one listening socket per loop, the kernel spreads; where it does not: shared
    queue,      // one listening thread, or the group's intake, and a bounded queue to the loops
    shared,     // one listening socket that every loop accepts from
};

// The name of a Unix socket that was bound here, by the number of its file too: what has the name
// later may be the next server's socket.
struct SocketName {
    // Removes the name where we may not.
    using Remover = std::function<void(const std::string& path, dev_t device, ino_t inode)>;

    std::string path;
    dev_t device = 0;
    ino_t inode = 0;

    // nullopt: `address` has no file.
    static std::optional<SocketName> of(const core::Address& address);
    // Not a name that now belongs to another socket.
    void remove(const Remover& where_we_may_not) const;
};

struct ListeningOptions {
    std::vector<std::string> addresses = {};
    std::vector<std::string> named_by = {};  // the flag of each, for messages; {}: none
    int backlog = ServingDefaults::backlog;
    // How many ports to try from the first address on: above 1 where that address is a default.
    std::uint16_t ports_tried_max = 1;
    // Removes the name of a Unix socket where we may not.
    SocketName::Remover remove_name = {};
};

struct PortFallback {
    std::uint16_t wanted = 0;  // taken by somebody else
    std::uint16_t used = 0;
};

class Listening {
  public:
    // The servers of one address, one for each loop, and what is put on its connections.
    using Targets = std::vector<Intake::Target>;
    struct Spread {
        AcceptMode mode = AcceptMode::reuseport;
        std::string_view engine = core::LoopOptions{}.engine;  // of a loop that only listens
        IntakeOptions intake = {};
    };

    explicit Listening(ListeningOptions options) : options_(std::move(options)) {}
    ~Listening();

    Result<> bind();
    // As bound, by place: port 0 is the port that the kernel chose.
    const std::vector<core::Address>& addresses() const { return addresses_; }
    // Of an address as it was given; nullopt: it is none of ours.
    std::optional<core::Address> address_of(std::string_view text) const;
    const std::optional<PortFallback>& port_fallback() const { return port_fallback_; }

    // `of_place` has the targets of each address. Listens from here on.
    Result<> spread(LoopGroup& loops, std::vector<Targets> of_place, const Spread& how);
    // Before the loops run; the threads that run them are there.
    Result<> start();
    // Removes the names, and ends the listening of mode "queue"; the other modes' sockets are the
    // servers' own. A client that still found a name would wait in a queue from which nothing is
    // accepted any more.
    void stop();
    // Connections that mode "queue" turned away.
    std::uint64_t refused() const;
    // Closes what no server has been given, and forgets these.
    void end();

    // Other addresses, while it serves. Each is served as an address of the start was: `like` is
    // its place there, which of_place may have had for no address.
    struct Wanted {
        std::string address;
        std::size_t like = 0;
        bool operator==(const Wanted&) const = default;
    };
    struct Bound;
    // Binds those that are new, and adds them. On any thread, while nothing changes. Returns why
    // some could not be bound; drop() the others then.
    std::vector<Error> bind_more(const std::vector<Wanted>& wanted,
                                 std::vector<Bound>& added) const;
    // What comes next is of the first loop. Listens, so that clients connect, and wait.
    // `backlog` holds for these and all later addresses.
    Result<> listen(std::vector<Bound>& added, int backlog);
    // These are served from now on, and what is not wanted any more is closed, once the connections
    // that the kernel has accepted there are served.
    void change(const std::vector<Wanted>& wanted, std::vector<Bound> added);
    // Instead: nothing of them is left.
    static void drop(std::vector<Bound>& added);

    // Removes the names of the Unix sockets, before the sockets are closed. A name that now belongs
    // to another socket, such as the next server's, stays. Once: another server's socket may get
    // the inode number of a closed one.
    void remove_names();
    // In one of several processes, of which another removes them.
    void forget_names() { names_.clear(); }

  private:
    struct Socket {
        core::Descriptor listener;
        std::size_t place;
    };
    struct Queue {
        Targets targets;  // of all places with these servers
        std::unique_ptr<Intake> intake;
    };

    struct Place {
        Wanted wanted;
        std::uint64_t number = 0;  // of its sockets at the servers
    };

    Result<> bind_all();
    Result<Bound> bind_new(const Wanted& wanted, const std::vector<Bound>& others) const;
    void remove(std::size_t place);
    void on_loop_of(const Intake::Target& target,
                    const std::function<void(core::EventLoop&)>& task);
    Result<> bind_one(std::size_t place);
    Result<core::Descriptor> bind_free_port(std::size_t place, core::Address& address);
    core::Descriptor inherited(const core::Address& address);
    std::string name_of(std::size_t place) const;
    std::optional<std::size_t> who_listens_at(const core::Address& address) const;
    Result<> spread_socket(core::Descriptor& bound, const core::Address& address, std::size_t loops,
                           AcceptMode mode, std::size_t place);
    Result<> make_intakes(LoopGroup& loops, const Spread& how);
    Queue& queue_of(std::size_t place);
    Result<> start_queue();
    const core::EventLoop& intake_loop() const;

    ListeningOptions options_;
    std::vector<core::Descriptor> inherited_;  // that no place has
    std::vector<core::Descriptor> sockets_;    // bound, by place
    std::vector<core::Address> addresses_;
    std::vector<Place> places_;  // as addresses_
    std::uint64_t next_number_ = 1;
    AcceptMode mode_ = AcceptMode::reuseport;
    std::vector<SocketName> names_;
    std::optional<PortFallback> port_fallback_;
    std::vector<Targets> of_place_;
    std::vector<std::vector<Socket>> of_loop_;  // to be given to each loop's servers
    std::vector<Socket> of_queue_;
    std::unique_ptr<core::EventLoop> queue_loop_;
    std::vector<Queue> queues_;
    std::thread queue_thread_;
};

// Bound, and then listening: a socket for each loop.
struct Listening::Bound {
    Wanted wanted;
    core::Address address;
    core::Descriptor socket = {};
    std::vector<core::Descriptor> of_loops = {};
    std::optional<SocketName> name = {};  // of a Unix socket
};

// Whether a socket at one of them would take connections of the other.
bool overlap(const core::Address& a, const core::Address& b);

}  // namespace tiderace::net
