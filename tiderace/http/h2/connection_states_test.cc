// Every type of frame on a stream in every state, with valid and invalid lengths, and with every
// flag: the peer gets what RFC 9113 requires, which is restated here as a few rules.
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using testing::H2Stage;
using wire::H2Error;
using wire::H2FrameType;
namespace h2_flag = wire::h2_flag;

enum class On {
    connection,
    idle,
    even,                // a number that is the server's to open, and never is
    open,                // its request goes on
    half_closed_remote,  // its answer goes on
    half_closed_local,   // its request goes on behind the answer
    ended,
    reset_by_peer,
    reset_by_us,
    passed_over,  // a later one was opened
    forgotten,    // much later ones were
    count_
};
constexpr const char* names[] = {"stream 0", "idle",           "even",     "open",
                                 "waiting",  "answered",       "ended",    "reset by the peer",
                                 "reset",    "was never used", "forgotten"};

// Nothing at all, RST_STREAM, or GOAWAY.
struct FrameVerdict {
    enum class Reach : std::uint8_t { none, stream, connection } reach = Reach::none;
    H2Error error = H2Error::no_error;

    bool operator==(const FrameVerdict&) const = default;
};
constexpr FrameVerdict nothing{};
constexpr FrameVerdict resets_stream(H2Error error) {
    return {FrameVerdict::Reach::stream, error};
}
constexpr FrameVerdict ends_connection(H2Error error) {
    return {FrameVerdict::Reach::connection, error};
}

struct ReceivedFrame {
    H2FrameType type;
    On on;
    std::uint8_t flags;
    std::uint32_t length;

    bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
    // :method POST as a field block, no padding that fits, an increment, an odd number. A GOAWAY
    // without an error.
    std::string payload() const {
        return std::string(length, type == H2FrameType::goaway ? '\0' : '\x83');
    }
};

bool is_idle(On on) {
    return on == On::idle || on == On::even;
}

// For DATA and HEADERS that are well-formed themselves.
FrameVerdict on_content(const ReceivedFrame& c) {
    const bool headers = c.type == H2FrameType::headers;
    switch (c.on) {
        case On::idle:  // one pseudo-field, or none: no request
            return headers ? resets_stream(H2Error::protocol_error)
                           : ends_connection(H2Error::protocol_error);
        case On::connection:
        case On::even:
            return ends_connection(H2Error::protocol_error);
        case On::open:
        case On::half_closed_local:
            // Trailers have no pseudo-field, and end the stream.
            if (!headers || (c.length == 0 && c.has(h2_flag::end_stream))) return nothing;
            return resets_stream(H2Error::protocol_error);
        case On::half_closed_remote:
        case On::reset_by_peer:
            return resets_stream(H2Error::stream_closed);
        case On::ended:
            return ends_connection(H2Error::stream_closed);
        case On::passed_over:
            return ends_connection(headers ? H2Error::protocol_error : H2Error::stream_closed);
        case On::reset_by_us:
        case On::forgotten:
        case On::count_:
            break;
    }
    return nothing;
}

FrameVerdict expected(const ReceivedFrame& c) {
    const bool on_connection = c.on == On::connection;
    const FrameVerdict wrong = ends_connection(H2Error::protocol_error);
    const FrameVerdict wrong_size = ends_connection(H2Error::frame_size_error);
    switch (c.type) {
        case H2FrameType::headers:
        case H2FrameType::data: {
            const bool section = c.type == H2FrameType::headers && c.has(h2_flag::priority);
            const std::uint32_t before = (section ? 5 : 0) + (c.has(h2_flag::padded) ? 1 : 0);
            if (on_connection) return wrong;
            if (c.length < before) return wrong_size;
            if (c.has(h2_flag::padded)) return wrong;  // 131 bytes of it
            if (c.type == H2FrameType::data) return on_content(c);
            // Without END_HEADERS the PING behind it falls into the field block.
            if (!c.has(h2_flag::end_headers)) return wrong;
            ReceivedFrame rest = c;
            rest.length -= before;
            return on_content(rest);
        }
        case H2FrameType::priority:
            if (on_connection) return wrong;
            if (c.length == 5) return nothing;
            // An idle stream cannot be reset.
            return is_idle(c.on) ? wrong_size : resets_stream(H2Error::frame_size_error);
        case H2FrameType::rst_stream:
            if (on_connection) return wrong;
            if (c.length != 4) return wrong_size;
            return is_idle(c.on) ? wrong : nothing;
        case H2FrameType::window_update:
            if (c.length != 4) return wrong_size;
            return is_idle(c.on) ? wrong : nothing;
        case H2FrameType::settings:
            if (!on_connection) return wrong;
            return c.length % 6 != 0 || (c.has(h2_flag::ack) && c.length > 0) ? wrong_size
                                                                              : nothing;
        case H2FrameType::ping:
            if (!on_connection) return wrong;
            return c.length == 8 ? nothing : wrong_size;
        case H2FrameType::goaway:
            if (!on_connection) return wrong;
            return c.length >= 8 ? nothing : wrong_size;
        case H2FrameType::priority_update:
            if (!on_connection) return wrong;
            return c.length >= 4 ? nothing : wrong_size;
        case H2FrameType::push_promise:
        case H2FrameType::continuation:
            return wrong;
    }
    return nothing;  // a type of tomorrow
}

class H2States : public testing::H2Test {
  protected:
    void SetUp() override {
        http::H2Options options = H2Stage::plain();
        options.budget.units_max = 0xffff'ffff;  // faults by the thousand are the point here
        start(options);
        stage_->on("/held", [this](Exchange& exchange) { held_.push_back(exchange.defer()); });
    }
    void TearDown() override { held_.clear(); }

    // The number of a stream in that state, on a connection that may have had others before.
    std::uint32_t stream_in(H2Client& client, On on) {
        switch (on) {
            case On::connection:
                return 0;
            case On::idle:
                return client.get("/hello") + 2;
            case On::even:
                client.get("/hello");
                return client.get("/hello") - 1;
            case On::open:
                return client.request("POST", "/held", {}, false);
            case On::half_closed_remote:
                return client.get("/held");
            case On::half_closed_local:
                return client.request("POST", "/hello", {}, false);
            case On::ended:
                return client.get("/hello");
            case On::reset_by_peer: {
                const std::uint32_t stream = client.get("/held");
                client.reset(stream);
                return stream;
            }
            case On::reset_by_us: {
                const std::uint32_t stream = client.get("/held");
                client.frame(H2FrameType::window_update, 0, stream, std::string(4, '\0'));
                return stream;
            }
            case On::passed_over: {
                const std::uint32_t stream = client.get("/hello") + 2;
                client.skip(stream);
                client.get("/hello");
                return stream;
            }
            case On::forgotten: {
                const std::uint32_t stream = client.get("/hello");
                client.skip(stream + 2 * wire::h2_closed_streams_max);
                client.get("/hello");
                return stream;
            }
            case On::count_:
                break;
        }
        return 0;
    }

    FrameVerdict play(const ReceivedFrame& c) {
        if (client_ == nullptr || client_->goaway()) {
            connect();
            world_->settle();
        }
        H2Client& client = *client_;
        client.hold();
        const std::uint32_t number = stream_in(client, c.on);
        client.say_all();
        world_->settle();
        const std::size_t resets = client.resets();
        client.hold();
        client.frame(c.type, c.flags, number, c.payload());
        client.ping("the next");
        client.say_all();
        world_->settle();
        const FrameVerdict verdict = verdict_of(client, number, resets);
        if (c.on == On::idle) client.skip(number);  // it may be open now
        const bool is_open =
            c.on == On::open || c.on == On::half_closed_remote || c.on == On::half_closed_local;
        if (is_open) client.reset(number);
        world_->settle();
        held_.clear();
        world_->advance(1ms);  // a loop that turns for ever in one moment spins
        return verdict;
    }

    FrameVerdict verdict_of(H2Client& client, std::uint32_t number, std::size_t resets) {
        if (client.goaway()) return ends_connection(*client.goaway());
        EXPECT_EQ(client.pongs().back(), "the next");
        if (client.resets() > resets) return resets_stream(*client.answer(number).reset);
        return nothing;
    }

    std::vector<core::Ref<Exchange>> held_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2States, ::testing::Values("fake"),
                         [](const auto& world) { return world.param; });

TEST_P(H2States, EveryFrameInEveryStateIsAsTheRfcSays) {
    std::size_t cases = 0;
    const auto play_all = [&](std::initializer_list<unsigned> types,
                              std::initializer_list<unsigned> flags) {
        for (const unsigned type : types) {
            for (int on = 0; on < static_cast<int>(On::count_); ++on) {
                for (const unsigned flag : flags) {
                    for (const std::uint32_t length : {0U, 4U, 5U, 6U, 8U, 9U}) {
                        const ReceivedFrame c{static_cast<H2FrameType>(type), static_cast<On>(on),
                                              static_cast<std::uint8_t>(flag), length};
                        ASSERT_EQ(play(c), expected(c))
                            << "type " << type << ' ' << names[on] << ", flags " << flag
                            << ", length " << length;
                        ++cases;
                    }
                }
            }
        }
    };
    play_all({0x00, 0x01}, {0x00, 0x01, 0x04, 0x05, 0x25, 0x0d, 0xd2, 0xff});
    // The other types know one flag at most.
    play_all({0x04, 0x06}, {0x00, 0x01, 0xfe});
    play_all({0x02, 0x03, 0x05, 0x07, 0x08, 0x09, 0x10, 0x77}, {0x00, 0xff});
    EXPECT_EQ(cases, (2U * 8 + 2 * 3 + 8 * 2) * 11 * 6);
}

}  // namespace
}  // namespace tiderace::http
