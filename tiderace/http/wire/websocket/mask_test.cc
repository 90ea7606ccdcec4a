#include "tiderace/http/wire/websocket/mask.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/base/random.h"

namespace tiderace::http::wire {
namespace {

std::string byte_by_byte(ByteView bytes, WebSocketMask mask) {
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        out += static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ mask.key[i % 4]);
    }
    return out;
}

std::string masked(ByteView bytes, WebSocketMask mask) {
    std::string out(bytes.size(), '?');
    apply_websocket_mask(bytes, mask, out.data());
    return out;
}

constexpr WebSocketMask some{{0x37, 0xfa, 0x21, 0x3d}};

TEST(WebSocketMask, UnmasksTheExampleOfTheStandard) {
    EXPECT_EQ(masked("\x7f\x9f\x4d\x51\x58", some), "Hello");
}

TEST(WebSocketMask, AgreesWithOneByteAtATimeForEveryLengthAndAlignment) {
    std::string bytes(120, '\0');
    Random random(1);
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    for (std::size_t from = 0; from < 17; ++from) {
        for (std::size_t size = 0; size + from <= bytes.size(); ++size) {
            const ByteView piece = ByteView(bytes).substr(from, size);
            ASSERT_EQ(masked(piece, some), byte_by_byte(piece, some)) << from << ' ' << size;
        }
    }
}

TEST(WebSocketMask, GoesOnAtEveryPhaseWhereAPieceEnded) {
    const std::string bytes(50, 'x');
    const std::string whole = masked(bytes, some);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        const std::string first = masked(ByteView(bytes).substr(0, cut), some);
        const std::string second = masked(ByteView(bytes).substr(cut), some.after(cut));
        ASSERT_EQ(first + second, whole) << cut;
    }
}

TEST(WebSocketMask, WorksInPlaceAndUndoesItself) {
    std::string bytes(77, 'y');
    apply_websocket_mask(bytes, some, bytes.data());
    EXPECT_NE(bytes, std::string(77, 'y'));
    apply_websocket_mask(bytes, some, bytes.data());
    EXPECT_EQ(bytes, std::string(77, 'y'));
}

}  // namespace
}  // namespace tiderace::http::wire
