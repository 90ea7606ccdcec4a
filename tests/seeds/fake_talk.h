// FakeTalk: what one client of a scenario says, in pieces and in its own time, and how it ends;
// and the server's life around all of them.
//
// Owner    A scenario; it goes before its world.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tiderace/base/random.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {

struct FakeTalk {
    enum class Ending : std::uint8_t { finish, close, reset, none };

    std::unique_ptr<FakePeer> peer;
    std::string text;
    Ending ending = Ending::finish;
    bool gave_up = false;  // it closed or reset
    bool deaf = false;     // it stopped reading
    bool cut = false;      // it does not say all of it

    bool done() const { return gave_up || peer->over() || peer->refused(); }
};

// One in eight says only the beginning of its text.
void cut_some(Random& random, FakeTalk& talk);

// Connects, and plans the whole text and the ending. At times in pieces of `small_bytes_max`.
void plan_talk(FakeWorld& world, Random& random, FakeTalk& talk, std::size_t small_bytes_max);

// Mostly none; else `least` bytes and up to `more` at a time: so many that a seed stays short.
FakePeer::Pace random_pace(Random& random, std::size_t least, std::size_t more);

// 1 to `most`; an hour where nothing but the client is to decide.
Duration some_seconds(Random& random, bool patient, std::uint64_t most);

// `patient`: neither a deadline nor the number of streams decides anything.
http::H2Options random_h2_options(Random& random, bool patient);

// No faults but what the clients do.
bool is_quiet(FakeWorld& world);

// Until `all_done`, five minutes, or, in one of four, a moment in the middle of it; then drains the
// server and lets slow peers hear the rest. True: it was in the middle.
bool serve_and_drain(FakeWorld& world, Random& random, net::TcpServer& server,
                     const std::function<bool()>& all_done);

}  // namespace tiderace::testing
