// Feeds a byte string in pieces: whole, at every two-way split, and byte by byte. What a protocol
// answers must not depend on how the network cut its input.
//
//   feed_at_every_split(input, sessions, [&](const Fed& fed) { EXPECT_EQ(fed.answer, …) << fed.how;
//   });
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::testing {

// Calls run(pieces, how): whole, cut in two at each place, and byte by byte. Pure parsers use this.
template <typename Run>
void at_every_split(ByteView bytes, Run&& run) {
    std::vector<ByteView> pieces{bytes};
    run(std::span<const ByteView>(pieces), std::string("whole"));
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        pieces = {bytes.substr(0, cut), bytes.substr(cut)};
        run(std::span<const ByteView>(pieces), "cut at " + std::to_string(cut));
    }
    pieces.clear();
    for (std::size_t i = 0; i < bytes.size(); ++i) pieces.push_back(bytes.substr(i, 1));
    run(std::span<const ByteView>(pieces), std::string("byte by byte"));
}

// The result of one feeding.
struct Fed {
    std::string answer;
    bool ended = false;      // the Session's side finished or closed
    bool was_reset = false;  // … hard
    std::string how;         // "cut at 17"
};

// Makes a connection over a pipe for each split, gives it the pieces, each in a turn of its own,
// and passes on what it answered. The peer does not finish: a Session that waits for more waits.
template <typename Check>
void feed_at_every_split(ByteView bytes, net::SessionFactory& sessions, Check&& check,
                         const net::TcpServerOptions& options = {}) {
    FakeWorld world;
    at_every_split(bytes, [&](std::span<const ByteView> pieces, const std::string& how) {
        net::TcpServer server(world.loop(), sessions, options);
        Pipe pipe = make_pipe(world.loop());
        server.adopt(std::move(pipe.near), core::Address::loopback(1));
        TransportPeer peer(world.loop(), std::move(pipe.far));
        for (const ByteView piece : pieces) {
            peer.say(piece);
            world.loop().turn(Duration::zero());
        }
        world.settle();
        check(Fed{peer.heard(), peer.ended(), peer.was_reset(), how});
    });
}

}  // namespace tiderace::testing
