// A whole HTTP/2 server and whatever a client may send it behind its preface: handlers that take
// bodies, pause, stream, defer and become connections. No check of ours can be reached, what is
// said are whole frames, and nothing is left over.
#include <algorithm>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/h2_stage.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"

namespace tiderace::http {
namespace {

H2Options small() {
    H2Options options = testing::H2Stage::plain();
    options.streams_max = 8;
    options.stream_window_bytes = 300;
    options.window_bytes = 65'535;
    options.body_bytes_max = 100;
    return options;
}

std::string opening() {
    std::string bytes(wire::h2_preface);
    bytes.resize(bytes.size() + wire::h2_frame_header_bytes);
    wire::write_h2_frame_header(std::span(bytes).subspan(wire::h2_preface.size()),
                                {.type = wire::H2FrameType::settings});
    return bytes;
}

// How it is cut, and what the client does at the end.
struct Manner {
    bool in_two, byte_by_byte, finishes, deaf;

    explicit Manner(unsigned char byte)
        : in_two((byte & 1) != 0),
          byte_by_byte((byte & 2) != 0),
          finishes((byte & 4) != 0),
          deaf((byte & 8) != 0) {}
};

void say(testing::FakeWorld& world, testing::Peer& peer, ByteView bytes, const Manner& manner) {
    const std::size_t piece = manner.byte_by_byte ? 1 + bytes.size() / 40
                              : manner.in_two     ? 1 + bytes.size() / 2
                                                  : bytes.size();
    for (std::size_t from = 0; from < bytes.size(); from += piece) {
        peer.say(bytes.substr(from, piece));
        world.settle();
    }
}

void check_frames(ByteView heard, bool all_heard) {
    while (heard.size() >= wire::h2_frame_header_bytes) {
        const std::size_t bytes =
            wire::h2_frame_header_bytes + wire::read_h2_frame_header(heard).length;
        if (heard.size() < bytes) break;
        heard.remove_prefix(bytes);
    }
    TR_CHECK(heard.empty() || !all_heard);
}

void serve(ByteView bytes, const Manner& manner) {
    testing::FakeWorld world;
    std::vector<core::Ref<Exchange>> kept;
    {
        testing::H2Stage stage(world, small());
        stage.on("/kept", [&](Exchange& exchange) { kept.push_back(exchange.defer()); });
        auto pipe = testing::make_pipe(world.loop(), {.capacity = 4'096});
        stage.server().adopt(std::move(pipe.near), core::Address::loopback(1));
        testing::TransportPeer peer(world.loop(), std::move(pipe.far));
        peer.say(opening());
        world.settle();
        if (manner.deaf) peer.set_listening(false);
        say(world, peer, bytes, manner);
        for (const core::Ref<Exchange>& exchange : kept) exchange->respond_status(204);
        kept.clear();
        world.settle();
        if (manner.finishes) peer.finish();
        world.advance(5min);
        TR_CHECK(stage.server().size() == 0);
        check_frames(peer.heard(), !manner.deaf);
    }
    TR_CHECK(world.loop().blocks().taken() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 2'048));
    if (!bytes.empty()) serve(bytes.substr(1), Manner(static_cast<unsigned char>(bytes[0])));
    return 0;
}

}  // namespace tiderace::http
