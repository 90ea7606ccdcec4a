#include "tiderace/tls/client_hello.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::tls {
namespace {

using Found = ClientHelloScan::Found;
using Turn = ClientHelloScan::Turn;

std::string record(const std::string& payload, char type = 22) {
    return std::string{type, 3, 1, static_cast<char>(payload.size() >> 8U),
                       static_cast<char>(payload.size())} +
           payload;
}
std::string message(std::size_t bytes, char type = 1) {
    return std::string{type, static_cast<char>(bytes >> 16U), static_cast<char>(bytes >> 8U),
                       static_cast<char>(bytes)} +
           std::string(bytes, 'h');
}
// One record for each `piece` bytes.
std::string records(const std::string& whole, std::size_t piece) {
    std::string made;
    for (std::size_t at = 0; at < whole.size(); at += piece)
        made += record(whole.substr(at, piece));
    return made;
}

// Given at once and byte by byte; both must end at the same place with the same verdict.
struct Verdict {
    Found found;
    std::size_t used;
    bool operator==(const Verdict&) const = default;
};
Verdict verdict(const std::string& bytes, Turn turn = Turn::first) {
    ClientHelloScan at_once(turn);
    const auto taken = at_once.take(bytes);
    ClientHelloScan slow(turn);
    Verdict one{Found::part, 0};
    while (one.found == Found::part && one.used < bytes.size()) {
        const auto next = slow.take(ByteView(bytes).substr(one.used, 1));
        one = {next.found, one.used + next.used};
    }
    EXPECT_EQ(one.found, taken.found);
    if (taken.found == Found::whole || taken.found == Found::part) {
        EXPECT_EQ(one.used, taken.used);
    }
    return {taken.found, taken.used};
}

TEST(ClientHelloScan, FindsTheEndWhereverTheRecordsAreCut) {
    const std::string hello = message(300);
    for (const std::size_t piece : {1U, 2U, 3U, 4U, 5U, 100U, 303U, 304U, 1'000U}) {
        const std::string bytes = records(hello, piece);
        EXPECT_EQ(verdict(bytes), (Verdict{Found::whole, bytes.size()})) << piece;
        EXPECT_EQ(verdict(bytes + record("more", 23)), (Verdict{Found::whole, bytes.size()}));
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
            EXPECT_EQ(verdict(bytes.substr(0, cut)), (Verdict{Found::part, cut})) << piece;
        }
    }
    const std::string empty = records(message(0), 4);
    EXPECT_EQ(verdict(empty), (Verdict{Found::whole, empty.size()}));
    EXPECT_EQ(verdict(record("") + empty).found, Found::whole);
}

TEST(ClientHelloScan, HasALimitThatTheLengthAloneMayPass) {
    const auto max = ClientHelloScan::hello_bytes_max;
    EXPECT_EQ(verdict(records(message(max), 16'000)).found, Found::whole);
    EXPECT_EQ(verdict(record(message(max + 1).substr(0, 4))).found, Found::refused);
    EXPECT_EQ(verdict(record(std::string("\1\1\0\0", 4))).found, Found::refused);
}

TEST(ClientHelloScan, NothingIsBehindAHelloInItsRecord) {
    EXPECT_EQ(verdict(record(message(10) + "x")).found, Found::refused);
    EXPECT_EQ(verdict(record(message(10) + message(10))).found, Found::refused);
}

TEST(ClientHelloScan, LeavesToOpensslWhatIsNoHello) {
    EXPECT_EQ(verdict(record(message(10, 2))).found, Found::other);
    EXPECT_EQ(verdict(record("\x15")).found, Found::other);
    EXPECT_EQ(verdict(record("\1", 21)).found, Found::other);
    EXPECT_EQ(verdict(record("\1") + record("x", 21)).found, Found::other);
    EXPECT_EQ(verdict(record("x", 23)).found, Found::other);
    EXPECT_EQ(verdict(std::string("\x16\3\1\x40\1", 5)).found, Found::other);
}

TEST(ClientHelloScan, ASecondHelloMayComeBehindOtherRecords) {
    const std::string hello = records(message(300), 100);
    const std::string before = record("\1", 20) + record("early", 23);
    EXPECT_EQ(verdict(before + hello, Turn::after_retry),
              (Verdict{Found::whole, before.size() + hello.size()}));
    EXPECT_EQ(verdict(before, Turn::after_retry).found, Found::part);
    EXPECT_EQ(verdict(before + record(std::string("\1\1\0\0", 4)), Turn::after_retry).found,
              Found::refused);
    EXPECT_EQ(verdict(record("\1") + record("early", 23), Turn::after_retry).found, Found::other);
    EXPECT_EQ(verdict(record("\2\2", 21), Turn::after_retry).found, Found::other);
}

}  // namespace
}  // namespace tiderace::tls
