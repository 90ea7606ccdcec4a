#include "tiderace/http/wire/websocket/frame.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

using Kind = WebSocketReader::Step::Kind;
using Fault = WebSocketFault;
using Opcode = WebSocketOpcode;

constexpr WebSocketMask some_mask{{0x37, 0xfa, 0x21, 0x3d}};

struct Frame {
    Opcode opcode = Opcode::text;
    std::string payload;
    bool final = true;
    bool compressed = false;
    bool masked = true;
};

std::string bytes_of(const Frame& frame) {
    const WebSocketFrameHead head{.payload_bytes = frame.payload.size(),
                                  .mask = frame.masked ? some_mask : WebSocketMask{},
                                  .opcode = frame.opcode,
                                  .final = frame.final,
                                  .compressed = frame.compressed,
                                  .masked = frame.masked};
    std::array<char, websocket_head_bytes_max> out;
    std::string bytes(out.data(), write_websocket_head(head, out));
    std::string payload(frame.payload.size(), '\0');
    apply_websocket_mask(frame.payload, head.mask, payload.data());
    return bytes + payload;
}

std::string bytes_of(const std::vector<Frame>& frames) {
    std::string bytes;
    for (const Frame& frame : frames) bytes += bytes_of(frame);
    return bytes;
}

// All that a reader made of some bytes, in one line: "text(Hello) ping() fault(…)".
class Reading {
  public:
    explicit Reading(const WebSocketReaderOptions& options = {}) : reader_(options) {}

    void take(ByteView bytes) {
        unread_ += bytes;
        while (!over_) {
            const auto step = reader_.next(unread_);
            if (step.kind == Kind::need_more) return;
            add(step);
            unread_.erase(0, step.used);
        }
    }
    const std::string& text() const { return text_; }
    std::size_t unread() const { return unread_.size(); }
    Fault fault() const { return fault_; }

  private:
    static std::string name(Opcode opcode) {
        static constexpr std::array<const char*, 11> names{
            "continuation", "text", "binary", "", "", "", "", "", "close", "ping", "pong"};
        return names[static_cast<std::size_t>(opcode)];
    }

    void add(const WebSocketReader::Step& step) {
        if (step.kind == Kind::fault) {
            over_ = true;
            fault_ = step.fault;
            text_ += "fault(" + std::string(to_string(step.fault)) + ")";
            return;
        }
        std::string payload(step.payload.size(), '\0');
        apply_websocket_mask(step.payload, step.mask, payload.data());
        if (step.kind == Kind::control) {
            text_ += name(step.opcode) + "(" + payload + ") ";
            return;
        }
        if (step.first) message_ = (step.compressed ? "compressed " : "") + name(step.opcode) + "(";
        message_ += payload;
        if (step.last) text_ += message_ + ") ";
    }

    WebSocketReader reader_;
    std::string unread_, message_, text_;
    Fault fault_ = Fault::none;
    bool over_ = false;
};

std::string read_whole(ByteView bytes, const WebSocketReaderOptions& options = {}) {
    Reading reading(options);
    reading.take(bytes);
    return reading.text();
}

Fault fault_of(ByteView bytes, const WebSocketReaderOptions& options = {}) {
    Reading reading(options);
    reading.take(bytes);
    return reading.fault();
}

TEST(WebSocketReader, ReadsTheExamplesOfTheStandard) {
    const WebSocketReaderOptions from_server{.masked = false};
    EXPECT_EQ(read_whole("\x81\x05Hello", from_server), "text(Hello) ");
    EXPECT_EQ(read_whole("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "text(Hello) ");
    EXPECT_EQ(read_whole("\x01\x03Hel\x80\x02lo", from_server), "text(Hello) ");
    EXPECT_EQ(read_whole("\x89\x05Hello", from_server), "ping(Hello) ");
    EXPECT_EQ(read_whole("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), "pong(Hello) ");
    const std::string bytes256(256, 'b');
    EXPECT_EQ(read_whole(std::string("\x82\x7e\x01\x00", 4) + bytes256, from_server),
              "binary(" + bytes256 + ") ");
    const std::string bytes64k(65'536, 'k');
    EXPECT_EQ(read_whole(std::string("\x82\x7f\0\0\0\0\0\x01\0\0", 10) + bytes64k, from_server),
              "binary(" + bytes64k + ") ");
}

TEST(WebSocketReader, GivesControlFramesInTheMiddleOfAMessage) {
    const std::string bytes = bytes_of({{Opcode::text, "one ", false},
                                        {Opcode::ping, "p"},
                                        {Opcode::continuation, "two ", false},
                                        {Opcode::pong, ""},
                                        {Opcode::continuation, "", false},
                                        {Opcode::continuation, "three"},
                                        {Opcode::binary, ""},
                                        {Opcode::close, "\x03\xe8"}});
    EXPECT_EQ(read_whole(bytes), "ping(p) pong() text(one two three) binary() close(\x03\xe8) ");
}

TEST(WebSocketReader, MakesTheSameOfEverySplit) {
    const std::string good = bytes_of({{Opcode::text, "Hello", false},
                                       {Opcode::ping, "are you there"},
                                       {Opcode::continuation, std::string(130, 'x')},
                                       {Opcode::binary, std::string(20, 'y')},
                                       {Opcode::close, "\x03\xe8"}});
    const std::string bad = bytes_of({{Opcode::text, "Hello"}, {Opcode::continuation, "no"}});
    for (const std::string& bytes : {good, bad}) {
        const std::string expected = read_whole(bytes);
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            Reading reading;
            reading.take(ByteView(bytes).substr(0, cut));
            reading.take(ByteView(bytes).substr(cut));
            ASSERT_EQ(reading.text(), expected) << cut;
        }
        Reading reading;
        for (const char c : bytes) reading.take({&c, 1});
        EXPECT_EQ(reading.text(), expected);
    }
}

TEST(WebSocketReader, UsesWhatItCanOfAMessageAndKeepsOnlyHeadsAndControls) {
    const std::string bytes = bytes_of({Opcode::binary, std::string(1000, 'z')});
    Reading reading;
    reading.take(ByteView(bytes).substr(0, 500));
    EXPECT_EQ(reading.unread(), 0u);
    Reading control;
    control.take(ByteView(bytes_of({Opcode::ping, "payload"})).substr(0, 9));
    EXPECT_EQ(control.unread(), 9u);
}

TEST(WebSocketReader, RefusesEveryFirstByteThatMayNotBe) {
    for (unsigned first = 0; first < 256; ++first) {
        const unsigned opcode = first & 15;
        const bool known = opcode <= 2 || (opcode >= 8 && opcode <= 10);
        Fault expected = Fault::none;
        if ((first & 0x30) != 0) {  // NOLINT(bugprone-branch-clone): in the reader's order
            expected = Fault::reserved_bit;
        } else if (!known) {
            expected = Fault::unknown_opcode;
        } else if (opcode >= 8 && (first & 0x80) == 0) {
            expected = Fault::control_fragmented;
        } else if ((first & 0x40) != 0) {
            expected = Fault::reserved_bit;  // no extension was agreed on
        } else if (opcode == 0) {
            expected = Fault::nothing_to_continue;
        }
        const char bytes[] = {static_cast<char>(first), '\x80', 0, 0, 0, 0};
        EXPECT_EQ(fault_of({bytes, sizeof bytes}), expected) << first;
    }
}

TEST(WebSocketReader, RefusesWhatIsCertainBeforeTheFrameIsWhole) {
    EXPECT_EQ(fault_of("\x83"), Fault::unknown_opcode);
    EXPECT_EQ(fault_of("\x89\xfe"), Fault::control_too_long);
    EXPECT_EQ(fault_of("\x82\xff\x80"), Fault::length_overflow);
    // 16 MiB and one byte are announced, none has come.
    EXPECT_EQ(fault_of(ByteView("\x82\xff\0\0\0\0\x01\0\0\x01????", 14)), Fault::message_too_large);
}

struct LengthCase {
    const char* what;
    ByteView bytes;
    Fault fault;
};

TEST(WebSocketReader, TakesLengthsInTheirShortestFormOnly) {
    const LengthCase cases[] = {
        {"125 in two bytes", {"\x82\xfe\x00\x7d", 4}, Fault::length_not_shortest},
        {"0 in two bytes", {"\x82\xfe\x00\x00", 4}, Fault::length_not_shortest},
        {"126 in two bytes", {"\x82\xfe\x00\x7e????", 8}, Fault::none},
        {"65535 in eight", {"\x82\xff\0\0\0\0\0\0\xff\xff", 10}, Fault::length_not_shortest},
        {"65536 in eight", {"\x82\xff\0\0\0\0\0\x01\0\0????", 14}, Fault::none},
        {"the top bit", {"\x82\xff\x80\0\0\0\0\0\0\0", 10}, Fault::length_overflow},
        {"the largest",
         {"\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff????", 14},
         Fault::message_too_large},
        {"a ping of 126", {"\x89\xfe\x00\x7e", 4}, Fault::control_too_long},
        {"a close of 65536", {"\x88\xff\0\0\0\0\0\x01\0\0", 10}, Fault::control_too_long},
    };
    for (const LengthCase& one : cases) EXPECT_EQ(fault_of(one.bytes), one.fault) << one.what;
}

TEST(WebSocketReader, HoldsEachSideToItsMask) {
    const WebSocketReaderOptions from_server{.masked = false};
    for (const Opcode opcode : {Opcode::text, Opcode::binary, Opcode::ping, Opcode::close}) {
        EXPECT_EQ(fault_of(bytes_of({opcode, "", true, false, false})), Fault::mask_missing);
        EXPECT_EQ(fault_of(bytes_of({opcode, ""}), from_server), Fault::mask_present);
    }
}

TEST(WebSocketReader, KeepsTheOrderOfFragments) {
    EXPECT_EQ(fault_of(bytes_of({Opcode::continuation, "a"})), Fault::nothing_to_continue);
    EXPECT_EQ(fault_of(bytes_of({{Opcode::text, "a"}, {Opcode::continuation, "b"}})),
              Fault::nothing_to_continue);
    EXPECT_EQ(fault_of(bytes_of({{Opcode::text, "a", false}, {Opcode::text, "b"}})),
              Fault::message_unfinished);
    EXPECT_EQ(fault_of(bytes_of({{Opcode::text, "a", false}, {Opcode::binary, "b", false}})),
              Fault::message_unfinished);
}

TEST(WebSocketReader, TakesTheCompressionBitOnAFirstFrameOnly) {
    const WebSocketReaderOptions deflate{.compression = true};
    EXPECT_EQ(read_whole(bytes_of({Opcode::text, "x", true, true}), deflate),
              "compressed text(x) ");
    EXPECT_EQ(read_whole(bytes_of({{Opcode::text, "x", false, true}, {Opcode::continuation, "y"}}),
                         deflate),
              "compressed text(xy) ");
    EXPECT_EQ(fault_of(bytes_of({{Opcode::text, "x", false, true},
                                 {Opcode::continuation, "y", true, true}}),
                       deflate),
              Fault::reserved_bit);
    for (const Opcode opcode : {Opcode::ping, Opcode::pong, Opcode::close}) {
        EXPECT_EQ(fault_of(bytes_of({opcode, "", true, true}), deflate), Fault::reserved_bit);
    }
}

TEST(WebSocketReader, BoundsMessagesOverAllTheirFragmentsAndFramesByThemselves) {
    const WebSocketReaderOptions ten{.message_bytes_max = 10};
    EXPECT_EQ(fault_of(bytes_of({Opcode::text, std::string(10, 'a')}), ten), Fault::none);
    EXPECT_EQ(fault_of(bytes_of({Opcode::text, std::string(11, 'a')}), ten),
              Fault::message_too_large);
    EXPECT_EQ(fault_of(bytes_of({{Opcode::text, "123456", false},
                                 {Opcode::continuation, "7890"},
                                 {Opcode::text, "1234567890"}}),
                       ten),
              Fault::none);
    EXPECT_EQ(
        fault_of(bytes_of({{Opcode::text, "123456", false}, {Opcode::continuation, "78901"}}), ten),
        Fault::message_too_large);
    const WebSocketReaderOptions small_frames{.frame_bytes_max = 4};
    EXPECT_EQ(fault_of(bytes_of({{Opcode::text, "1234", false}, {Opcode::continuation, "5678"}}),
                       small_frames),
              Fault::none);
    EXPECT_EQ(fault_of(bytes_of({Opcode::text, "12345"}), small_frames), Fault::frame_too_large);
}

TEST(WebSocketReader, BoundsASecondMessageOfSeveralFramesAsTheFirst) {
    const WebSocketReaderOptions ten{.message_bytes_max = 10};
    const std::vector<Frame> full{{Opcode::text, "12345", false}, {Opcode::continuation, "67890"}};
    std::vector<Frame> frames = full;
    for (int i = 0; i < 3; ++i) {
        frames.insert(frames.end(), full.begin(), full.end());
        EXPECT_EQ(fault_of(bytes_of(frames), ten), Fault::none) << i;
        std::vector<Frame> more = frames;
        more.back().payload += '1';
        EXPECT_EQ(fault_of(bytes_of(more), ten), Fault::message_too_large) << i;
    }
}

// What does not compress grows: 64 bytes, and one in 1,024.
TEST(WebSocketReader, GivesACompressedMessageRoomToGrowAndNoOther) {
    for (const std::uint64_t most : {10ull, 1'024ull, 10'240ull}) {
        const auto judge = [&](std::uint64_t bytes, bool compressed) {
            const WebSocketReaderOptions options{.compression = true, .message_bytes_max = most};
            return fault_of(bytes_of({Opcode::text, std::string(bytes, 'a'), true, compressed}),
                            options);
        };
        const std::uint64_t room = most + most / 1'024 + 64;
        EXPECT_EQ(judge(most, false), Fault::none) << most;
        EXPECT_EQ(judge(most + 1, false), Fault::message_too_large) << most;
        EXPECT_EQ(judge(room, true), Fault::none) << most;
        EXPECT_EQ(judge(room + 1, true), Fault::message_too_large) << most;
    }
    // The largest limits there are do not wrap to small ones.
    for (const std::uint64_t most : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 64}) {
        for (const bool compressed : {false, true}) {
            const WebSocketReaderOptions options{.compression = true, .message_bytes_max = most};
            EXPECT_EQ(fault_of(bytes_of({Opcode::text, std::string(1'000, 'a'), true, compressed}),
                               options),
                      Fault::none);
        }
    }
}

// --- every head there is, in every state ---------------------------------------------------------

struct Length {
    const char* bytes;  // behind the first two, and the low seven bits of the second
    std::size_t count;
    unsigned form;
    std::uint64_t value;
    bool shortest;
};
constexpr Length lengths[] = {
    {"", 0, 0, 0, true},
    {"", 0, 125, 125, true},
    {"\0\0", 2, 126, 0, false},
    {"\0\x7d", 2, 126, 125, false},
    {"\0\x7e", 2, 126, 126, true},
    {"\xff\xff", 2, 126, 65'535, true},
    {"\0\0\0\0\0\0\0\0", 8, 127, 0, false},
    {"\0\0\0\0\0\0\xff\xff", 8, 127, 65'535, false},
    {"\0\0\0\0\0\1\0\0", 8, 127, 65'536, true},
    {"\0\0\0\0\1\0\0\1", 8, 127, 16_MiB + 1, true},
    {"\x7f\xff\xff\xff\xff\xff\xff\xff", 8, 127, 0x7fff'ffff'ffff'ffff, true},
    {"\x80\0\0\0\0\0\0\0", 8, 127, 0x8000'0000'0000'0000, true},
};

enum class Inside { nothing, text, compressed };

struct AnyHead {
    unsigned first;  // FIN, RSV1 to 3, opcode
    bool masked;
    const Length& length;
    Inside inside;
    WebSocketReaderOptions reader;

    std::string bytes() const {
        const bool masks = reader.masked;
        std::string before;
        if (inside != Inside::nothing) {
            before = bytes_of({Opcode::text, "a", false, inside == Inside::compressed, masks});
        }
        before += static_cast<char>(first);
        before += static_cast<char>((masked ? 0x80U : 0U) | length.form);
        before.append(length.bytes, length.count);
        return masked ? before + "mask" : before;
    }
};

// RFC 6455, section 5, and RFC 7692, 6: the close code that it is answered with; 0: it may be.
std::uint16_t judge(const AnyHead& h) {
    const unsigned opcode = h.first & 15;
    const bool control = opcode >= 8;
    const bool final = (h.first & 0x80) != 0;
    const bool rsv1 = (h.first & 0x40) != 0;
    const bool known = opcode <= 2 || (opcode >= 8 && opcode <= 10);
    const bool begins = opcode == 1 || opcode == 2;
    const bool in_order = control || (begins == (h.inside == Inside::nothing));
    const bool right =
        (h.first & 0x30) == 0 && known && in_order && (!rsv1 || (h.reader.compression && begins)) &&
        (!control || (final && h.length.value <= 125)) && h.masked == h.reader.masked &&
        h.length.shortest && h.length.value < 0x8000'0000'0000'0000;
    if (!right) return websocket_close::protocol_error;
    const bool compressed = h.inside == Inside::compressed || rsv1;
    const std::uint64_t before = h.inside == Inside::nothing ? 0 : 1;
    // A compressed message is bounded at inflating; here only sizes that could never fit.
    const bool too_large =
        h.length.value > 1_GiB || (!compressed && h.length.value > 16_MiB - before);
    return too_large ? websocket_close::too_large : std::uint16_t{0};
}

TEST(WebSocketReader, EveryHeadInEveryStateIsAsTheStandardSays) {
    std::size_t cases = 0;
    for (unsigned set = 0; set < 2 * 2 * 3 * 256; ++set) {
        const WebSocketReaderOptions reader{.masked = (set & 1) != 0,
                                            .compression = (set & 2) != 0};
        const auto inside = static_cast<Inside>((set >> 2) % 3);
        if (inside == Inside::compressed && !reader.compression) continue;
        for (const Length& length : lengths) {
            for (const bool masked : {false, true}) {
                const AnyHead h{(set >> 2) / 3, masked, length, inside, reader};
                const Fault found = fault_of(h.bytes(), reader);
                const std::uint16_t code = found == Fault::none ? 0 : close_code_for(found);
                ASSERT_EQ(code, judge(h))
                    << to_string(found) << ": first byte " << h.first << ", length " << length.value
                    << " as " << length.form << (masked ? ", masked" : "") << ", inside "
                    << static_cast<int>(inside) << ", set " << set;
                ++cases;
            }
        }
    }
    EXPECT_EQ(cases, 256U * 12 * 2 * (2 * 3 + 2 * 2));
}

TEST(WebSocketHead, IsWrittenAsItIsRead) {
    Random random(5);
    for (int round = 0; round < 2'000; ++round) {
        WebSocketFrameHead head{.payload_bytes = random.next() >> (1 + random.below(63)),
                                .opcode = random.chance(1, 2) ? Opcode::text : Opcode::binary,
                                .final = random.chance(1, 2),
                                .compressed = random.chance(1, 2),
                                .masked = random.chance(1, 2)};
        if (head.masked) head.mask = some_mask;
        std::array<char, websocket_head_bytes_max> out;
        const ByteView bytes(out.data(), write_websocket_head(head, out));
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
            ASSERT_EQ(parse_websocket_head(bytes.substr(0, cut)).status, ParseStatus::need_more);
        }
        const WebSocketHeadParse parsed = parse_websocket_head(bytes);
        ASSERT_EQ(parsed.status, ParseStatus::complete);
        EXPECT_EQ(parsed.bytes, bytes.size());
        EXPECT_EQ(parsed.head.payload_bytes, head.payload_bytes);
        EXPECT_EQ(parsed.head.mask, head.mask);
        EXPECT_EQ(parsed.head.final, head.final);
        EXPECT_EQ(parsed.head.compressed, head.compressed);
    }
}

TEST(WebSocketHead, HasTheShortestFormOfItsLength) {
    const std::pair<std::uint64_t, std::size_t> cases[] = {
        {0, 2}, {1, 2}, {125, 2}, {126, 4}, {65'535, 4}, {65'536, 10}, {1ULL << 40, 10},
    };
    for (const auto& [payload_bytes, head_bytes] : cases) {
        std::array<char, websocket_head_bytes_max> out;
        const WebSocketFrameHead head{.payload_bytes = payload_bytes, .opcode = Opcode::text};
        EXPECT_EQ(write_websocket_head(head, out), head_bytes) << payload_bytes;
        EXPECT_EQ(parse_websocket_head({out.data(), head_bytes}).head.payload_bytes, payload_bytes);
    }
}

TEST(WebSocketClosePayload, IsNothingOrACodeAndAReason) {
    EXPECT_EQ(parse_websocket_close("").code, websocket_close::no_code);
    EXPECT_EQ(parse_websocket_close("").fault, Fault::none);
    EXPECT_EQ(parse_websocket_close("\x03").fault, Fault::close_payload_of_one);
    const WebSocketClose close = parse_websocket_close("\x03\xe8so long");
    EXPECT_EQ(close.code, 1000);
    EXPECT_EQ(close.reason, "so long");
    EXPECT_EQ(parse_websocket_close("\x03\xe8\xff").fault, Fault::not_utf8);
    EXPECT_EQ(parse_websocket_close("\x03\xe8 cut off \xe2\x82").fault, Fault::not_utf8);
}

TEST(WebSocketClosePayload, CarriesNoReservedCode) {
    for (unsigned code = 0; code <= 0xffff; ++code) {
        const bool may = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                         (code >= 3000 && code < 5000);
        const char payload[] = {static_cast<char>(code >> 8), static_cast<char>(code & 255)};
        ASSERT_EQ(parse_websocket_close({payload, 2}).fault == Fault::none, may) << code;
    }
}

TEST(WebSocketFaults, EachHasAnAnswerAndAName) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Fault::count_); ++i) {
        const auto fault = static_cast<Fault>(i);
        EXPECT_TRUE(may_be_sent(close_code_for(fault))) << i;
        EXPECT_FALSE(to_string(fault).empty()) << i;
        EXPECT_LE(to_string(fault).size(), websocket_control_bytes_max - 2);
    }
    EXPECT_EQ(close_code_for(Fault::not_utf8), websocket_close::bad_payload);
    EXPECT_EQ(close_code_for(Fault::message_too_large), websocket_close::too_large);
    EXPECT_EQ(close_code_for(Fault::mask_missing), websocket_close::protocol_error);
}

}  // namespace
}  // namespace tiderace::http::wire
