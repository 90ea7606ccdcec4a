// H2Client: the far end of an HTTP/2 connection, frame by frame, for tests of the server's side.
//
//   H2Client client(*stage.connect());
//   const auto stream = client.get("/hello");
//   world.run_until([&] { return client.answer(stream).ended; });
//   EXPECT_EQ(client.answer(stream).body, "hello\n");
//
// Owner    The test; it borrows the peer.
// Thread   One.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/wire/h2/error.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/h2/settings.h"
#include "tiderace/testing/world.h"

namespace tiderace::testing {

// Keeps what a client says, so that a test says it in its own time; hears what the test writes.
struct RecordingPeer final : Peer {
    std::string said, to_hear;
    void say(ByteView bytes) override { said += bytes; }
    void finish() override {}
    void close() override {}
    void reset() override {}
    void set_listening(bool) override {}
    const std::string& heard() const override { return to_hear; }
    bool ended() const override { return false; }
    bool was_reset() const override { return false; }
};

class H2Client {
  public:
    using Fields = std::vector<std::pair<std::string, std::string>>;

    struct Answer {
        int status = 0;          // of the last head; 0: none came
        std::vector<int> heads;  // all of them, 100 too
        Fields fields;
        std::string body;
        std::size_t frames = 0;  // of DATA
        bool ended = false;      // END_STREAM
        std::optional<http::wire::H2Error> reset;

        std::string header(std::string_view name) const;
    };

    // Says the preface and `settings`, unless told not to.
    explicit H2Client(Peer& peer, std::vector<http::wire::H2Setting> settings = {},
                      bool with_preface = true);

    // The next stream's number; HEADERS with END_STREAM.
    std::uint32_t get(std::string_view path, const Fields& more = {});
    std::uint32_t request(std::string_view method, std::string_view path, const Fields& more,
                          bool end_stream);
    // HEADERS of exactly these fields.
    void headers(std::uint32_t stream, const Fields& fields, bool end_stream);
    // Extended CONNECT for a WebSocket (RFC 8441), to the authority "a" in clear text.
    void connect_websocket(std::uint32_t stream, std::string_view path);
    void data(std::uint32_t stream, std::string_view bytes, bool end_stream);
    void window_update(std::uint32_t stream, std::uint32_t increment);
    void reset(std::uint32_t stream, http::wire::H2Error error = http::wire::H2Error::cancel);
    void settings(const std::vector<http::wire::H2Setting>& settings);
    void ping(std::string_view eight_bytes, bool ack = false);
    void frame(http::wire::H2FrameType type, std::uint8_t flags, std::uint32_t stream,
               std::string_view payload);
    // A field block as the other functions send it: literals, no table.
    static std::string block(const Fields& fields);

    // Numbers up to `stream` are not used any more.
    void skip(std::uint32_t stream) { next_stream_ = std::max(next_stream_, stream + 2); }

    // Frames from here on are held back until say_all().
    void hold() { holding_ = true; }
    void say_all();

    // What came so far. ---------------------------------------------------------------------------

    const Answer& answer(std::uint32_t stream);
    // The stream of each DATA frame that had something in it.
    const std::vector<std::uint32_t>& data_order();
    struct Goaway {
        std::uint32_t last_stream;
        http::wire::H2Error error;
    };
    const std::vector<Goaway>& goaways();
    std::optional<http::wire::H2Error> goaway();
    // The bytes that WINDOW_UPDATE gave back, by stream; 0 is the connection.
    std::uint64_t given_back(std::uint32_t stream);
    std::size_t settings_acks() { return listen(), settings_acks_; }
    const std::vector<std::string>& pings() { return listen(), pings_; }
    const std::vector<std::string>& pongs() { return listen(), pongs_; }
    // RST_STREAM frames that came, on whatever stream.
    std::size_t resets() { return listen(), resets_; }
    Peer& peer() { return *peer_; }

  private:
    void say(std::string_view bytes);
    void listen();
    void hear(const http::wire::H2FrameHeader& header, std::string_view payload);
    void hear_head(Answer& answer, std::string_view block);

    Peer* peer_;
    std::uint32_t next_stream_ = 1;
    std::string held_;
    bool holding_ = false;
    std::size_t heard_ = 0;
    http::wire::HpackDecoder decoder_;
    std::map<std::uint32_t, Answer> answers_;
    std::map<std::uint32_t, std::uint64_t> given_back_;
    std::vector<std::uint32_t> data_order_;
    std::vector<Goaway> goaways_;
    std::vector<std::string> pings_, pongs_;
    std::string block_;
    std::size_t settings_acks_ = 0;
    std::size_t resets_ = 0;
};

}  // namespace tiderace::testing
