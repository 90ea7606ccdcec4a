// World: one event loop and the peers it talks to, so that one test of behaviour runs on every
// engine: on the fake network (FakeWorld) and over loopback sockets (SocketWorld).
//
// Both have a clock that the test owns: advance() is how deadlines pass, and nothing ever sleeps.
//
// Owner    The test. It outlives its peers and what is attached to its loop.
// Thread   The test's: it is the loop's thread, too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/backend/poller.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/manual_clock.h"

namespace tiderace::testing {

// The other end of a connection, driven by the test: it says bytes, keeps what it hears, and knows
// how it ended. What it does takes effect in the world's next turns.
class Peer {
  public:
    virtual ~Peer() = default;

    // Never blocks; what finds no room goes later. Nothing after finish() or an end.
    virtual void say(ByteView bytes) = 0;
    // Ends our direction, after everything sent.
    virtual void finish() = 0;
    // Closes both directions now; unsent bytes are dropped.
    virtual void close() = 0;
    // The same with a RST.
    virtual void reset() = 0;
    // While false it takes nothing, as a reader that stalls. Starts true.
    virtual void set_listening(bool on) = 0;

    // All it was sent so far.
    virtual const std::string& heard() const = 0;
    // The other side finished in order: FIN.
    virtual bool ended() const = 0;
    virtual bool was_reset() const = 0;
    bool over() const { return ended() || was_reset(); }
};

// A listening socket on a loopback port of the kernel's choice, and where it is.
struct Listening {
    core::Descriptor socket;
    core::Address at;
};
Listening listen_on_loopback(core::Kernel& kernel, int backlog);

class World {
  public:
    virtual ~World() = default;

    core::EventLoop& loop() { return *loop_; }
    ManualClock& clock() { return clock_; }
    // The loop's kernel.
    FailNth& kernel() { return *kernel_; }

    // A listening socket on an address of the world's choice, and where it is.
    core::Descriptor listen(int backlog = 128);
    const core::Address& listening_at() const { return listening_at_; }
    // A peer that connects there. It is connected when this returns, if there was room in the
    // queue.
    std::unique_ptr<Peer> connect() { return connect(listening_at_); }
    virtual std::unique_ptr<Peer> connect(const core::Address& to) = 0;

    // Turns until `done` returns true, if possible without passing a deadline. False: nothing more
    // happened and it is still not so.
    virtual bool run_until(unique_function<bool()> done) = 0;
    // Turns until what can happen now has happened. Time stands still.
    virtual void settle() = 0;
    // As settle(), again and again until a thread of a pool did its part: it takes real time, which
    // the clock does not know. False: a minute was not enough.
    bool wait_for_pool(const std::function<bool()>& done);
    // Time passes, in steps, with the turns that it takes.
    virtual void advance(Duration by) = 0;
    // Descriptors that the loop's side has open; -1 if this world cannot tell.
    virtual std::int64_t open_descriptors() const { return -1; }

  protected:
    World() = default;
    void start(core::Kernel& below, std::unique_ptr<core::Poller> poller);
    void start(core::Kernel& below, std::string_view engine);
    // After start().
    std::unique_ptr<core::EventLoop> make_loop_on(std::unique_ptr<core::Poller> poller);

    ManualClock clock_;
    std::unique_ptr<FailNth> kernel_;
    std::unique_ptr<core::EventLoop> loop_;

  private:
    core::LoopOptions options();

    core::Address listening_at_;
};

// The engines of engine.h, and "fake".
std::vector<std::string> world_names();
// These without the variants of one, and without stand-ins: enough for what only uses a
// connection.
std::vector<std::string> main_world_names();
std::unique_ptr<World> make_world(std::string_view name);
// As a part of a test's name, where a dash may not be.
std::string label_of_world(std::string name);

}  // namespace tiderace::testing
