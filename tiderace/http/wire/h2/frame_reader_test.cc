#include "tiderace/http/wire/h2/frame_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/wire/h2/frame_writer.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;

constexpr std::uint8_t none = 0;

std::string frame(H2FrameType type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload) {
    std::string out(h2_frame_header_bytes, '\0');
    write_h2_frame_header(out, {.length = static_cast<std::uint32_t>(payload.size()),
                                .type = type,
                                .flags = flags,
                                .stream = stream});
    return out + payload;
}

const std::string preface(h2_preface);
const std::string first_settings = frame(H2FrameType::settings, none, 0, "");
const std::string opening = preface + first_settings;

// The frames read, as text; DATA is shown by its content, not by its pieces.
struct Told {
    std::string text;
    H2Fault fault;

    void operator()(const H2Data& piece) {
        if (piece.frame_begins) {
            text += "data " + std::to_string(piece.stream) + " takes " +
                    std::to_string(piece.flow_bytes) + " pads " +
                    std::to_string(piece.padding_bytes) + '\n';
        }
        text += piece.bytes;
        if (piece.end_stream) text += "\nend\n";
    }
    void operator()(const H2Headers& headers) {
        text += "headers " + std::to_string(headers.stream) + ' ' + std::string(headers.block) +
                (headers.end_stream ? " end" : "") + (headers.depends_on_itself ? " self" : "") +
                " +" + std::to_string(headers.continuations) + '\n';
    }
    void operator()(const H2PriorityFrame& f) { say("priority", f.stream); }
    void operator()(const H2RstStream& f) { say("rst_stream", f.stream, f.code); }
    void operator()(const H2SettingsFrame& f) {
        say(f.ack ? "settings ack" : "settings", f.entries.size());
    }
    void operator()(const H2Ping& f) {
        text += (f.ack ? "pong " : "ping ") + std::string(f.data.data(), f.data.size()) + '\n';
    }
    void operator()(const H2Goaway& f) {
        say("goaway", f.last_stream, f.code);
        text += std::string(f.debug) + '\n';
    }
    void operator()(const H2WindowUpdate& f) { say("window", f.stream, f.increment); }
    void operator()(const H2PriorityUpdate& f) {
        say("priority_update", f.prioritized_stream);
        text += std::string(f.value) + '\n';
    }
    void operator()(const H2UnknownFrame& f) { say("unknown", f.type); }

    template <typename... Numbers>
    void say(const char* what, Numbers... numbers) {
        text += what;
        ((text += ' ' + std::to_string(numbers)), ...);
        text += '\n';
    }
};

// Feeds `bytes` in pieces that end at each of `ends`, as a connection does: unused bytes come
// again with more behind it.
Told read(const std::string& bytes, const std::vector<std::size_t>& ends,
          const H2ReaderLimits& limits = {}) {
    H2FrameReader reader(limits);
    Told told;
    std::size_t used = 0;
    for (const std::size_t end : ends) {
        while (true) {
            const std::string piece = bytes.substr(used, end - used);  // so that ASan sees its end
            const H2FrameReader::Step step = reader.next(piece);
            used += step.used;
            EXPECT_LE(used, end);
            if (step.status == H2FrameReader::Status::need_more) break;
            if (step.status == H2FrameReader::Status::frame) std::visit(told, step.frame);
            if (step.status == H2FrameReader::Status::fault) {
                told.text += "fault\n";
                told.fault = step.fault;
                if (step.fault.scope == H2Fault::Scope::connection) return told;
            }
        }
    }
    return told;
}

Told read_whole(const std::string& bytes, const H2ReaderLimits& limits = {}) {
    return read(bytes, {bytes.size()}, limits);
}

std::string after_opening(const std::string& bytes) {
    const std::string text = read_whole(opening + bytes).text;
    EXPECT_TRUE(text.starts_with("settings 0\n"));
    return text.substr(text.find('\n') + 1);
}

TEST(H2FrameReader, ReadsEveryKindOfFrame) {
    using T = H2FrameType;
    struct Case {
        std::string bytes;
        std::string told;
    };
    const Case cases[] = {
        {frame(T::data, none, 1, "abc"), "data 1 takes 3 pads 0\nabc"},
        {frame(T::data, h2_flag::end_stream, 1, "abc"), "data 1 takes 3 pads 0\nabc\nend\n"},
        {frame(T::data, none, 1, ""), "data 1 takes 0 pads 0\n"},
        {frame(T::data, h2_flag::end_stream, 1, ""), "data 1 takes 0 pads 0\n\nend\n"},
        {frame(T::data, h2_flag::padded, 1, "\2abc\0\0"s), "data 1 takes 6 pads 3\nabc"},
        {frame(T::data, h2_flag::padded, 1, "\0abc"s), "data 1 takes 4 pads 1\nabc"},
        {frame(T::data, h2_flag::padded, 1, "\2\0\0"s), "data 1 takes 3 pads 3\n"},
        {frame(T::headers, h2_flag::end_headers, 3, "block"), "headers 3 block +0\n"},
        {frame(T::headers, h2_flag::end_headers | h2_flag::end_stream, 3, ""),
         "headers 3  end +0\n"},
        {frame(T::headers, h2_flag::end_headers | h2_flag::padded, 3, "\3block\0\0\0"s),
         "headers 3 block +0\n"},
        {frame(T::headers, h2_flag::end_headers | h2_flag::priority, 3,
               "\0\0\0\1\x10"
               "block"s),
         "headers 3 block +0\n"},
        {frame(T::headers, h2_flag::end_headers | h2_flag::priority | h2_flag::padded, 3,
               "\1\x80\0\0\1\x10"
               "block\0"s),
         "headers 3 block +0\n"},
        {frame(T::headers, h2_flag::end_headers | h2_flag::priority, 3,
               "\x80\0\0\3\x10"
               "block"s),
         "headers 3 block self +0\n"},
        {frame(T::headers, none, 3, "bl") + frame(T::continuation, none, 3, "o") +
             frame(T::continuation, h2_flag::end_headers, 3, "ck"),
         "headers 3 block +2\n"},
        {frame(T::headers, h2_flag::end_stream, 3, "") +
             frame(T::continuation, h2_flag::end_headers, 3, ""),
         "headers 3  end +1\n"},
        {frame(T::priority, none, 5, "\0\0\0\1\xff"s), "priority 5\n"},
        {frame(T::rst_stream, none, 5, "\0\0\0\10"s), "rst_stream 5 8\n"},
        {frame(T::settings, none, 0, "\0\3\0\0\0\1"s), "settings 6\n"},
        {frame(T::settings, h2_flag::ack, 0, ""), "settings ack 0\n"},
        {frame(T::ping, none, 0, "12345678"), "ping 12345678\n"},
        {frame(T::ping, h2_flag::ack, 0, "12345678"), "pong 12345678\n"},
        {frame(T::goaway, none, 0, "\x80\0\0\7\0\0\0\13debug"s), "goaway 7 11\ndebug\n"},
        {frame(T::window_update, none, 0, "\0\1\0\0"s), "window 0 65536\n"},
        {frame(T::window_update, none, 9, "\x80\0\0\1"s), "window 9 1\n"},
        {frame(T::priority_update, none, 0, "\0\0\0\3u=1"s), "priority_update 3\nu=1\n"},
        {frame(static_cast<T>(0x7f), 0xff, 77, "anything"), "unknown 127\n"},
        {frame(static_cast<T>(0xff), none, 0, ""), "unknown 255\n"},
        // Flags without a meaning are passed over (4.1).
        {frame(T::ping, 0xfe, 0, "12345678"), "ping 12345678\n"},
        {frame(T::rst_stream, 0xff, 5, "\0\0\0\10"s), "rst_stream 5 8\n"},
    };
    for (const Case& c : cases) {
        // A frame behind it shows that the reader found the end.
        EXPECT_EQ(after_opening(c.bytes + frame(T::ping, none, 0, "the next")),
                  c.told + "ping the next\n");
    }
}

struct BadFrame {
    const char* why;
    std::string bytes;
    H2Error error;
    std::uint32_t stream = 0;  // at whose cost; 0: the whole connection's
};

std::vector<BadFrame> bad_frames() {
    using T = H2FrameType;
    using E = H2Error;
    const std::uint8_t end_headers = h2_flag::end_headers;
    const std::uint8_t padded = h2_flag::padded;
    const std::uint8_t priority = h2_flag::priority;
    return {
        {"DATA on 0", frame(T::data, none, 0, "a"), E::protocol_error},
        {"DATA without its pad length", frame(T::data, padded, 1, ""), E::frame_size_error},
        {"DATA padded beyond its end", frame(T::data, padded, 1, "\3ab"), E::protocol_error},
        {"HEADERS on 0", frame(T::headers, end_headers, 0, "a"), E::protocol_error},
        {"HEADERS without pad length", frame(T::headers, end_headers | padded, 1, ""),
         E::frame_size_error},
        {"HEADERS padded too far", frame(T::headers, end_headers | padded, 1, "\2a"),
         E::protocol_error},
        {"HEADERS with half a priority", frame(T::headers, end_headers | priority, 1, "abcd"),
         E::frame_size_error},
        {"HEADERS padded into priority",
         frame(T::headers, end_headers | priority | padded, 1, "\1abcde"), E::protocol_error},
        {"PRIORITY on 0", frame(T::priority, none, 0, "abcde"), E::protocol_error},
        {"short PRIORITY", frame(T::priority, none, 1, "abcd"), E::frame_size_error, 1},
        {"long PRIORITY", frame(T::priority, none, 1, "abcdef"), E::frame_size_error, 1},
        {"PRIORITY on itself", frame(T::priority, none, 1, "\0\0\0\1a"s), E::protocol_error, 1},
        {"RST_STREAM on 0", frame(T::rst_stream, none, 0, "abcd"), E::protocol_error},
        {"short RST_STREAM", frame(T::rst_stream, none, 1, "abc"), E::frame_size_error},
        {"long RST_STREAM", frame(T::rst_stream, none, 1, "abcde"), E::frame_size_error},
        {"SETTINGS on 1", frame(T::settings, none, 1, ""), E::protocol_error},
        {"SETTINGS of 5", frame(T::settings, none, 0, "abcde"), E::frame_size_error},
        {"SETTINGS of 7", frame(T::settings, none, 0, "abcdefg"), E::frame_size_error},
        {"SETTINGS ack with content", frame(T::settings, h2_flag::ack, 0, "abcdef"),
         E::frame_size_error},
        {"PUSH_PROMISE", frame(T::push_promise, end_headers, 1, "\0\0\0\2"s), E::protocol_error},
        {"PING on 1", frame(T::ping, none, 1, "12345678"), E::protocol_error},
        {"short PING", frame(T::ping, none, 0, "1234567"), E::frame_size_error},
        {"long PING", frame(T::ping, h2_flag::ack, 0, "123456789"), E::frame_size_error},
        {"GOAWAY on 1", frame(T::goaway, none, 1, "12345678"), E::protocol_error},
        {"short GOAWAY", frame(T::goaway, none, 0, "1234567"), E::frame_size_error},
        {"short WINDOW_UPDATE", frame(T::window_update, none, 0, "abc"), E::frame_size_error},
        {"long WINDOW_UPDATE", frame(T::window_update, none, 1, "abcde"), E::frame_size_error},
        {"WINDOW_UPDATE 0", frame(T::window_update, none, 0, "\0\0\0\0"s), E::protocol_error},
        {"WINDOW_UPDATE 0 on 1", frame(T::window_update, none, 1, "\x80\0\0\0"s), E::protocol_error,
         1},
        {"lone CONTINUATION", frame(T::continuation, end_headers, 1, "a"), E::protocol_error},
        {"CONTINUATION on 0", frame(T::continuation, end_headers, 0, "a"), E::protocol_error},
        {"PRIORITY_UPDATE on 1", frame(T::priority_update, none, 1, "\0\0\0\1"s),
         E::protocol_error},
        {"short PRIORITY_UPDATE", frame(T::priority_update, none, 0, "\0\0\0"s),
         E::frame_size_error},
        {"PRIORITY_UPDATE of 0", frame(T::priority_update, none, 0, "\0\0\0\0"s),
         E::protocol_error},
        {"PRIORITY_UPDATE of a push", frame(T::priority_update, none, 0, "\0\0\0\2"s),
         E::protocol_error},
        {"too long", frame(T::data, none, 1, std::string(16'385, 'a')), E::frame_size_error},
        {"unknown too long", frame(static_cast<T>(99), none, 1, std::string(16'385, 'a')),
         E::frame_size_error},
    };
}

TEST(H2FrameReader, RefusesWhatAFrameMayNotBe) {
    const std::string next = frame(H2FrameType::ping, none, 0, "the next");
    for (const BadFrame& c : bad_frames()) {
        const Told told = read_whole(opening + c.bytes + next);
        const bool connection = c.stream == 0;
        const H2Fault expected =
            connection ? connection_fault(c.error) : stream_fault(c.error, c.stream);
        EXPECT_EQ(told.fault, expected) << c.why;
        EXPECT_EQ(told.text,
                  connection ? "settings 0\nfault\n" : "settings 0\nfault\nping the next\n")
            << c.why;
    }
}

// The verdict on a single frame, derived independently from RFC 9113, section 6, and RFC 9218,
// 7.1: no_error, or the error and whether it ends the stream only.
struct FrameVerdict {
    H2Error error = H2Error::no_error;
    bool stream_only = false;

    bool operator==(const FrameVerdict&) const = default;
};

struct AnyFrame {
    unsigned type;
    std::uint8_t flags;
    std::uint32_t stream;
    std::uint32_t length;
    char fill;  // each byte of the payload

    bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
    std::string bytes() const {
        return frame(static_cast<H2FrameType>(type), flags, stream, std::string(length, fill));
    }
};

FrameVerdict judge_padding(const AnyFrame& f, std::uint32_t section) {
    const std::uint32_t before = section + (f.has(h2_flag::padded) ? 1 : 0);
    if (f.length < before) return {H2Error::frame_size_error};
    const std::uint32_t padding = f.has(h2_flag::padded) ? static_cast<unsigned char>(f.fill) : 0;
    return {padding > f.length - before ? H2Error::protocol_error : H2Error::no_error};
}

FrameVerdict judge(const AnyFrame& f) {
    constexpr FrameVerdict good, wrong{H2Error::protocol_error},
        wrong_size{H2Error::frame_size_error};
    constexpr FrameVerdict wrong_there{H2Error::protocol_error, true};
    if (f.type == 0x9) return wrong;  // CONTINUATION of nothing, however long
    if (f.length > h2_frame_bytes_min) return wrong_size;
    const bool on_connection = f.stream == 0;
    switch (f.type) {
        case 0x0:  // DATA
            return on_connection ? wrong : judge_padding(f, 0);
        case 0x1:  // HEADERS
            return on_connection ? wrong : judge_padding(f, f.has(h2_flag::priority) ? 5 : 0);
        case 0x2:  // PRIORITY
            if (on_connection) return wrong;
            return f.length == 5 ? good : FrameVerdict{H2Error::frame_size_error, true};
        case 0x3:  // RST_STREAM
            if (on_connection) return wrong;
            return f.length == 4 ? good : wrong_size;
        case 0x4:  // SETTINGS
            if (!on_connection) return wrong;
            return f.length % 6 == 0 && (!f.has(h2_flag::ack) || f.length == 0) ? good : wrong_size;
        case 0x6:  // PING
            if (!on_connection) return wrong;
            return f.length == 8 ? good : wrong_size;
        case 0x7:  // GOAWAY
            if (!on_connection) return wrong;
            return f.length >= 8 ? good : wrong_size;
        case 0x8:  // WINDOW_UPDATE
            if (f.length != 4) return wrong_size;
            if (f.fill != 0) return good;
            return on_connection ? wrong : wrong_there;
        case 0x5:  // PUSH_PROMISE
            return wrong;
        case 0x10:  // PRIORITY_UPDATE
            if (!on_connection) return wrong;
            if (f.length < 4) return wrong_size;
            return f.fill % 2 == 0 ? wrong : good;
        default:
            return good;
    }
}

TEST(H2FrameReader, EveryTypeWithEveryLengthFlagAndPlaceIsAsTheRfcSays) {
    const unsigned types[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 255};
    std::vector<std::uint32_t> lengths{16'384, 16'385};
    for (std::uint32_t length = 0; length < 20; ++length) lengths.push_back(length);
    std::vector<std::uint8_t> flags{0xff, 0xd2};  // 0xd2: those without a meaning
    for (unsigned set = 0; set < 16; ++set) {
        flags.push_back(static_cast<std::uint8_t>((set & 1) | (set & 2) << 1 | (set & 4) << 1 |
                                                  (set & 8) << 2));
    }
    std::size_t cases = 0;
    for (const unsigned type : types) {
        for (const std::uint32_t length : lengths) {
            for (const std::uint8_t flag : flags) {
                for (const std::uint32_t stream : {0U, 1U, 2U}) {
                    for (const char fill : {'\0', '\3'}) {
                        const AnyFrame f{type, flag, stream, length, fill};
                        const Told told = read_whole(opening + f.bytes());
                        const FrameVerdict found{told.fault.error,
                                                 told.fault.scope == H2Fault::Scope::stream};
                        const FrameVerdict expected = judge(f);
                        ++cases;
                        if (expected.error == H2Error::no_error) {
                            ASSERT_EQ(told.fault.error, H2Error::no_error) << type << ' ' << length;
                        } else {
                            ASSERT_EQ(found, expected)
                                << "type " << type << ", length " << length << ", flags "
                                << unsigned{flag} << ", stream " << stream << ", of " << int{fill};
                        }
                    }
                }
            }
        }
    }
    EXPECT_EQ(cases, 15U * 22 * 18 * 3 * 2);
}

TEST(H2FrameReader, LetsNothingButItsContinuationIntoAFieldBlock) {
    const std::string begin = frame(H2FrameType::headers, none, 3, "a");
    EXPECT_TRUE(after_opening(begin).empty());
    for (unsigned type = 0; type < 256; ++type) {
        for (const std::uint32_t stream : {0U, 1U, 3U, 5U}) {
            const auto kind = static_cast<H2FrameType>(type);
            const Told told =
                read_whole(opening + begin + frame(kind, h2_flag::end_headers, stream, "12345678"));
            const bool right = kind == H2FrameType::continuation && stream == 3;
            EXPECT_EQ(told.fault.error, right ? H2Error::no_error : H2Error::protocol_error)
                << type << " on " << stream;
        }
    }
}

TEST(H2FrameReader, BoundsAFieldBlockInBytesAndFrames) {
    const H2ReaderLimits limits{.block_bytes_max = 10, .continuations_max = 3};
    const auto more = [](const std::string& text, std::uint8_t flags = none) {
        return frame(H2FrameType::continuation, flags, 1, text);
    };
    const std::string begin = opening + frame(H2FrameType::headers, none, 1, "12345");
    const std::uint8_t end = h2_flag::end_headers;
    EXPECT_EQ(read_whole(begin + more("67890", end), limits).text,
              "settings 0\nheaders 1 1234567890 +1\n");
    EXPECT_EQ(read_whole(begin + more("") + more("") + more("", end), limits).text,
              "settings 0\nheaders 1 12345 +3\n");
    // The second block has the same room.
    const auto on_three = [](H2FrameType type, const std::string& text, std::uint8_t flags) {
        return frame(type, flags, 3, text);
    };
    EXPECT_EQ(read_whole(begin + more("") + more("") + more("67890", end) +
                             on_three(H2FrameType::headers, "abcde", none) +
                             on_three(H2FrameType::continuation, "f", none) +
                             on_three(H2FrameType::continuation, "", none) +
                             on_three(H2FrameType::continuation, "ghij", end),
                         limits)
                  .text,
              "settings 0\nheaders 1 1234567890 +3\nheaders 3 abcdefghij +3\n");
    const std::string too_much[] = {
        begin + more("678901", end),
        begin + more("6789") + more("01"),
        begin + more("") + more("") + more("") + more("", end),
        opening + frame(H2FrameType::headers, end, 1, "12345678901"),
    };
    for (const std::string& bytes : too_much) {
        EXPECT_EQ(read_whole(bytes, limits).fault, connection_fault(H2Error::enhance_your_calm));
    }
}

TEST(H2FrameReader, WantsThePrefaceAndThenSettings) {
    for (std::size_t at = 0; at < preface.size(); ++at) {
        std::string wrong = opening;
        wrong[at] ^= 1;
        EXPECT_EQ(read_whole(wrong).text, "fault\n") << at;
        EXPECT_EQ(read_whole(wrong.substr(0, at + 1)).fault,
                  connection_fault(H2Error::protocol_error));
        EXPECT_TRUE(read_whole(preface.substr(0, at)).text.empty());
    }
    for (unsigned type = 0; type < 256; ++type) {
        const bool settings = type == static_cast<unsigned>(H2FrameType::settings);
        const Told told =
            read_whole(preface + frame(static_cast<H2FrameType>(type), h2_flag::ack, 0, ""));
        EXPECT_EQ(told.fault, connection_fault(H2Error::protocol_error)) << type;
        EXPECT_EQ(read_whole(preface + frame(static_cast<H2FrameType>(type), none, 0, "")).text,
                  settings ? "settings 0\n" : "fault\n");
    }
}

TEST(H2FrameReader, KnowsWhenItIsSettledAndInABlock) {
    H2FrameReader reader;
    EXPECT_EQ(reader.next(preface).used, preface.size());
    EXPECT_FALSE(reader.settled());
    reader.next(first_settings);
    EXPECT_TRUE(reader.settled());
    EXPECT_FALSE(reader.in_field_block());
    EXPECT_EQ(reader.next(frame(H2FrameType::headers, none, 1, "a")).status,
              H2FrameReader::Status::need_more);
    EXPECT_TRUE(reader.in_field_block());
    const std::string end = frame(H2FrameType::continuation, h2_flag::end_headers, 1, "b");
    EXPECT_EQ(std::get<H2Headers>(reader.next(end).frame).block, "ab");
    EXPECT_FALSE(reader.in_field_block());
}

TEST(H2FrameReader, AServerHasNoPrefaceAndSetsNoPriorities) {
    H2FrameReader reader({}, H2Peer::server);
    EXPECT_EQ(reader.next(first_settings).status, H2FrameReader::Status::frame);
    EXPECT_TRUE(reader.settled());
    const std::string update = frame(H2FrameType::priority_update, none, 0, "\0\0\0\1u=1"s);
    EXPECT_EQ(reader.next(update).fault, connection_fault(H2Error::protocol_error));
    H2FrameReader hears_a_client({}, H2Peer::server);
    EXPECT_EQ(hears_a_client.next(opening).fault, connection_fault(H2Error::protocol_error));
    H2FrameReader hears_a_push({}, H2Peer::server);
    hears_a_push.next(first_settings);
    EXPECT_EQ(hears_a_push.next(frame(H2FrameType::push_promise, none, 1, "\0\0\0\2"s)).fault,
              connection_fault(H2Error::protocol_error));
}

TEST(H2FrameReader, SaysTheSameFaultForEver) {
    H2FrameReader reader;
    for (int i = 0; i < 3; ++i) {
        const H2FrameReader::Step step = reader.next("GET / HTTP/1.1\r\n\r\n");
        EXPECT_EQ(step.fault, connection_fault(H2Error::protocol_error));
        EXPECT_EQ(step.used, 0U);
    }
}

TEST(H2FrameReader, ReadsTheSameAtEverySplit) {
    using T = H2FrameType;
    const std::string bytes =
        opening + frame(T::headers, h2_flag::priority, 1, "\0\0\0\0\1head"s) +
        frame(T::continuation, none, 1, "") +
        frame(T::continuation, h2_flag::end_headers, 1, "tail") +
        frame(T::data, h2_flag::padded, 1, "\3abc\0\0\0"s) + frame(T::data, none, 1, "") +
        frame(static_cast<T>(0x42), none, 9, "unknown") + frame(T::priority, none, 1, "four") +
        frame(T::ping, none, 0, "12345678") +
        frame(T::data, h2_flag::padded | h2_flag::end_stream, 1, "\2de\0\0"s) +
        frame(T::data, h2_flag::padded | h2_flag::end_stream, 3, "\2\0\0"s) +
        frame(T::goaway, none, 0, "\0\0\0\1\0\0\0\0bye"s) + frame(T::ping, none, 1, "12345678");
    const Told whole = read_whole(bytes);
    EXPECT_EQ(whole.fault, connection_fault(H2Error::protocol_error));
    std::vector<std::size_t> every_byte;
    for (std::size_t cut = 1; cut <= bytes.size(); ++cut) {
        every_byte.push_back(cut);
        EXPECT_EQ(read(bytes, {cut, bytes.size()}).text, whole.text) << cut;
    }
    EXPECT_EQ(read(bytes, every_byte).text, whole.text);
}

}  // namespace
}  // namespace tiderace::http::wire
