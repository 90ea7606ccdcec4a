#include "tiderace/http/wire/canonical_path.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::http::wire {
namespace {

struct Outcome {
    PathFault fault;
    std::string path;
    bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
    *out << "fault " << int(outcome.fault) << ", path \"" << outcome.path << '"';
}

Outcome resolve(ByteView raw) {
    std::vector<char> scratch(raw.size());
    const PathResult result = canonicalize(raw, scratch);
    return {result.fault, std::string(result.path)};
}

Outcome path(std::string_view text) {
    return {PathFault::none, std::string(text)};
}
Outcome refused(PathFault fault) {
    return {fault, ""};
}

TEST(CanonicalPath, LeavesAPlainPathWhereItIs) {
    std::array<char, 64> scratch;
    for (const ByteView raw : {"/", "/1k.html", "/a/b/c/", "/a..b", "/a.", "/a;b=c", "/~u/"}) {
        const PathResult result = canonicalize(raw, scratch);
        EXPECT_EQ(result.fault, PathFault::none) << raw;
        EXPECT_EQ(result.path.data(), raw.data()) << raw;
        EXPECT_EQ(result.path.size(), raw.size()) << raw;
        EXPECT_FALSE(result.rewritten) << raw;
    }
}

TEST(CanonicalPath, DecodesEscapesOnce) {
    EXPECT_EQ(resolve("/a%20b"), path("/a b"));
    EXPECT_EQ(resolve("/%61"), path("/a"));
    EXPECT_EQ(resolve("/caf%C3%A9"), path("/caf\xC3\xA9"));
    EXPECT_EQ(resolve("/%2561"), path("/%61"));
    EXPECT_EQ(resolve("/%252e%252e/x"), path("/%2e%2e/x"));
    EXPECT_EQ(resolve("/%252f"), path("/%2f"));
    EXPECT_EQ(resolve("/a%3Fb%23c"), path("/a?b#c"));
}

TEST(CanonicalPath, ResolvesDotSegmentsHoweverTheyAreWritten) {
    EXPECT_EQ(resolve("/a/../b"), path("/b"));
    EXPECT_EQ(resolve("/a/./b"), path("/a/b"));
    EXPECT_EQ(resolve("/./"), path("/"));
    EXPECT_EQ(resolve("/."), path("/"));
    EXPECT_EQ(resolve("/a/."), path("/a/"));
    EXPECT_EQ(resolve("/a/.."), path("/"));
    EXPECT_EQ(resolve("/a/b/.."), path("/a/"));
    EXPECT_EQ(resolve("/a/b/../"), path("/a/"));
    EXPECT_EQ(resolve("/a/b/../../c"), path("/c"));
    EXPECT_EQ(resolve("/a/%2e%2E/b"), path("/b"));
    EXPECT_EQ(resolve("/a/.%2e/b"), path("/b"));
    EXPECT_EQ(resolve("/a/%2e/b"), path("/a/b"));
    EXPECT_EQ(resolve("/a//../b"), path("/b"));
}

TEST(CanonicalPath, KeepsNamesThatOnlyLookLikeDotSegments) {
    for (const ByteView raw : {"/...", "/.a", "/..a", "/a/.../b", "/..;/b", "/. /b"}) {
        EXPECT_EQ(resolve(raw), path(raw));
    }
    EXPECT_EQ(resolve("/..%20"), path("/.. "));
}

TEST(CanonicalPath, MergesSlashes) {
    EXPECT_EQ(resolve("//"), path("/"));
    EXPECT_EQ(resolve("//example.org/x"), path("/example.org/x"));
    EXPECT_EQ(resolve("/a///b//"), path("/a/b/"));
    EXPECT_EQ(resolve("/a/.//b"), path("/a/b"));
}

TEST(CanonicalPath, RefusesToClimbAboveTheRoot) {
    for (const ByteView raw :
         {"/..", "/../", "/../etc/passwd", "/a/../..", "/a/../../b", "/./..", "//..", "//../a",
          "/%2e%2e/", "/.%2E", "/a/b/../../../c", "/a/%2e%2e/%2e%2e/b"}) {
        EXPECT_EQ(resolve(raw).fault, PathFault::above_root) << raw;
    }
}

TEST(CanonicalPath, RefusesWhatOneReaderTakesForASlashAndAnotherDoesNot) {
    EXPECT_EQ(resolve("/a%2Fb"), refused(PathFault::encoded_slash));
    EXPECT_EQ(resolve("/a%2fb"), refused(PathFault::encoded_slash));
    EXPECT_EQ(resolve("/%2e%2e%2f"), refused(PathFault::encoded_slash));
    EXPECT_EQ(resolve("/..%2f..%2fetc"), refused(PathFault::encoded_slash));
    EXPECT_EQ(resolve("/a\\b"), refused(PathFault::backslash));
    EXPECT_EQ(resolve("/a%5Cb"), refused(PathFault::backslash));
    EXPECT_EQ(resolve("/..%5c..%5cetc"), refused(PathFault::backslash));
}

TEST(CanonicalPath, RefusesNulAndControls) {
    EXPECT_EQ(resolve("/a%00.html"), refused(PathFault::nul));
    EXPECT_EQ(resolve(ByteView("/a\0b", 4)), refused(PathFault::nul));
    EXPECT_EQ(resolve("/%0d%0aSet-Cookie:x"), refused(PathFault::control_character));
    EXPECT_EQ(resolve("/%1f"), refused(PathFault::control_character));
    EXPECT_EQ(resolve("/%7F"), refused(PathFault::control_character));
    EXPECT_EQ(resolve("/a\tb"), refused(PathFault::control_character));
}

TEST(CanonicalPath, RefusesBadEscapes) {
    for (const ByteView raw : {"/%", "/%2", "/%zz", "/a%", "/%%41", "/%u002e", "/a/%2/../b"}) {
        EXPECT_EQ(resolve(raw), refused(PathFault::bad_escape)) << raw;
    }
}

TEST(CanonicalPath, RefusesOverlongUtf8ButTakesOtherBytes) {
    for (const ByteView raw :
         {"/%c0%af", "/%c0%ae%c0%ae/", "/%C1%9C", "/%e0%80%af", "/%e0%9f%bf", "/%f0%80%80%af",
          "/%f8%80%80%80%af", "/%fc%80%80%80%80%af", "/\xC0\xAF", "/%c0\xAF", "/\xC0%af"}) {
        EXPECT_EQ(resolve(raw), refused(PathFault::bad_escape)) << raw;
    }
    // Each lead byte to its last overlong follower, and no further.
    for (const ByteView raw : {"/%e0%9f", "/%f0%8f", "/%f8%87", "/%fc%83"}) {
        EXPECT_EQ(resolve(raw), refused(PathFault::bad_escape)) << raw;
    }
    EXPECT_EQ(resolve("/%e0%a0"), path("/\xE0\xA0"));
    EXPECT_EQ(resolve("/%f0%90"), path("/\xF0\x90"));
    EXPECT_EQ(resolve("/%f8%88"), path("/\xF8\x88"));
    EXPECT_EQ(resolve("/%fc%84"), path("/\xFC\x84"));
    EXPECT_EQ(resolve("/%fca"), path("/\xFC"
                                     "a"));
    EXPECT_EQ(resolve("/%c0"), path("/\xC0"));
    EXPECT_EQ(resolve("/%ff%fe"), path("/\xFF\xFE"));
    EXPECT_EQ(resolve("/%c0/%af"), path("/\xC0/\xAF"));
    EXPECT_EQ(resolve("/%e0%a0%80"), path("/\xE0\xA0\x80"));
    EXPECT_EQ(resolve("/%f0%9f%8c%8a"), path("/\xF0\x9F\x8C\x8A"));
}

TEST(CanonicalPath, RefusesWhatIsLongerThanTheScratch) {
    std::array<char, 4> scratch;
    EXPECT_EQ(canonicalize("/abc", scratch).fault, PathFault::none);
    EXPECT_EQ(canonicalize("/abcd", scratch).fault, PathFault::too_long);
    EXPECT_EQ(canonicalize("/a/..", scratch).fault, PathFault::too_long);
}

TEST(CanonicalPath, RefusesWhatDoesNotBeginAtTheRoot) {
    EXPECT_EQ(resolve(""), refused(PathFault::relative));
    EXPECT_EQ(resolve("*"), refused(PathFault::relative));
    EXPECT_EQ(resolve("a/b"), refused(PathFault::relative));
    EXPECT_EQ(resolve("%2Fa"), refused(PathFault::relative));
}

TEST(CanonicalPath, FindsWhatToChangeWhereverItStandsInALongPath) {
    for (std::size_t size = 1; size <= 70; ++size) {
        const std::string plain = "/" + std::string(size - 1, 'a');
        EXPECT_EQ(resolve(plain), path(plain));
        for (std::size_t at = 1; at + 3 <= size; ++at) {
            SCOPED_TRACE(std::to_string(size) + " bytes, at " + std::to_string(at));
            auto with = [&](ByteView part) {
                return std::string(plain).replace(at, part.size(), part);
            };
            const std::string before = plain.substr(0, at), after(size - at - 3, 'a');
            EXPECT_EQ(resolve(with("%62")), path(before + "b" + after));
            EXPECT_EQ(resolve(with("\x7F")), refused(PathFault::control_character));
            EXPECT_EQ(resolve(with("\t")), refused(PathFault::control_character));
            EXPECT_EQ(resolve(with("\\")), refused(PathFault::backslash));
            EXPECT_EQ(resolve(with("\xC0\xAF")), refused(PathFault::bad_escape));
            const std::string folder = before == "/" ? "" : before;
            EXPECT_EQ(resolve(with("//a")), path(folder + "/a" + after));
            EXPECT_EQ(resolve(with("/./")), path(folder + "/" + after));
        }
        for (std::size_t at = 1; at < size; ++at) {
            std::string bad = plain;
            bad[at] = '\x7F';
            EXPECT_EQ(resolve(bad), refused(PathFault::control_character)) << size << ", " << at;
        }
    }
}

TEST(CanonicalPath, SaysWhetherItNamesAFolderAndWhetherItChanged) {
    std::array<char, 64> scratch;
    EXPECT_TRUE(canonicalize("/", scratch).trailing_slash);
    EXPECT_TRUE(canonicalize("/a/b/..", scratch).trailing_slash);
    EXPECT_TRUE(canonicalize("/a/b/..", scratch).rewritten);
    EXPECT_FALSE(canonicalize("/a", scratch).trailing_slash);
    EXPECT_TRUE(canonicalize("/%61", scratch).rewritten);
    EXPECT_FALSE(canonicalize("/.well-known/x", scratch).rewritten);
}

std::string random_path(Random& random) {
    constexpr std::array<ByteView, 20> pieces = {"/",   "/",   "/",   ".",    "..",   "%2e", "a",
                                                 "b",   "%61", "%25", "%",    "%2F",  "\\",  "%00",
                                                 "%c0", "%af", "%20", "\xE0", "\x80", "2e"};
    std::string raw = "/";
    for (std::uint64_t n = random.below(14); n > 0; --n) {
        // Mostly the first few: random faults would leave hardly a path to look at.
        raw += pieces[random.chance(1, 8) ? random.below(pieces.size()) : random.below(10)];
    }
    return raw;
}

TEST(CanonicalPath, EveryPathItMakesIsCanonical) {
    int made = 0;
    for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
        Random random(seed);
        const std::string raw = random_path(random);
        SCOPED_TRACE("seed " + std::to_string(seed) + " path " + raw);
        std::vector<char> scratch(raw.size());
        const PathResult result = canonicalize(raw, scratch);
        if (result.fault != PathFault::none) {
            ASSERT_TRUE(result.path.empty());
            continue;
        }
        ++made;
        const std::string seen = std::string(result.path) + "/";
        ASSERT_TRUE(result.path.starts_with('/'));
        ASSERT_LE(result.path.size(), raw.size());
        ASSERT_EQ(result.path.find("//"), ByteView::npos);
        ASSERT_EQ(seen.find("/./"), std::string::npos);
        ASSERT_EQ(seen.find("/../"), std::string::npos);
        ASSERT_EQ(result.rewritten, result.path != raw);
        ASSERT_EQ(result.trailing_slash, result.path.back() == '/');
        ASSERT_EQ(result.hidden, has_hidden_segment(result.path));

        std::array<char, 256> memory;
        BoundedText link(memory);
        ASSERT_TRUE(append_path(link, result.path));
        ASSERT_EQ(resolve(link.view()), path(result.path));
    }
    EXPECT_GT(made, 2000);
}

TEST(CanonicalPath, EveryPrefixIsReadWithinItsBounds) {
    const std::string raw = "/a%20b/%2e%2e//c/./%f0%9f%8c%8a/.d";
    for (std::size_t size = 0; size <= raw.size(); ++size) {
        const std::vector<char> exact(raw.begin(), raw.begin() + size);
        const Outcome outcome = resolve(ByteView(exact.data(), exact.size()));
        EXPECT_EQ(outcome.fault == PathFault::none, outcome.path.starts_with('/'));
    }
}

TEST(HiddenSegment, IsOneThatBeginsWithADot) {
    for (const ByteView hidden : {"/.git", "/.git/config", "/a/.b", "/a/.b/c", "/.well-known/.git",
                                  "/.well-knownx", "/a/.well-known/b", "/..."}) {
        EXPECT_TRUE(has_hidden_segment(hidden)) << hidden;
    }
    for (const ByteView shown : {"/", "/a.b", "/a./b.", "/.well-known", "/.well-known/",
                                 "/.well-known/security.txt", "/a/b.c/d"}) {
        EXPECT_FALSE(has_hidden_segment(shown)) << shown;
    }
}

TEST(CanonicalPath, AFaultIsARefusedRequest) {
    EXPECT_EQ(refusal_of(PathFault::none), Refusal::none);
    EXPECT_EQ(refusal_of(PathFault::too_long), Refusal::target_too_long);
    EXPECT_EQ(refusal_of(PathFault::relative), Refusal::bad_target);
}

// Every byte, and overlong pairs: a name is valid exactly if a request with its escape is.
TEST(CanonicalPath, ANameMayBeASegmentIfARequestMayNameIt) {
    std::vector<std::string> names = {".",        "..",   "...", ".a", "\xC0\xAF", "\xE0\x9F\x80",
                                      "\xC3\xA9", "a%00", "100%"};
    for (int byte = 1; byte < 256; ++byte) {
        names.push_back(std::string("a") + static_cast<char>(byte) + "b");
    }
    for (const std::string& name : names) {
        char memory[64], scratch[64];
        BoundedText raw{std::span<char>(memory)};
        raw.append('/');
        append_path_segment(raw, name);
        const PathResult result = canonicalize(raw.view(), scratch);
        EXPECT_EQ(may_be_segment(name), result.path == "/" + name) << name;
    }
    EXPECT_FALSE(may_be_segment(""));
}

// The answer names the exact fault, and repeats nothing of the path.
TEST(CanonicalPath, EveryFaultHasItsOwnMessage) {
    struct Case {
        ByteView raw;
        ByteView says;
    };
    const Case cases[] = {
        {"/../etc", "climbs above the root"},
        {"/a/%2e%2e/..", "climbs above the root"},
        {"/a%00b", "holds a NUL"},
        {"/a%0Ab", "holds a control character"},
        {"/a%7f", "holds a control"},
        {"/a%2Fb", "an encoded slash"},
        {"/a%5cb", "a backslash"},
        {"/a\\b", "a backslash"},
        {"/%c0%af", "UTF-8 that is longer"},
        {"/%zz", "'%' without two hexadecimal digits"},
    };
    for (const Case& each : cases) {
        char scratch[64];
        const Refusal refusal = refusal_of(canonicalize(each.raw, scratch).fault);
        EXPECT_EQ(status_of(refusal), 400) << each.raw;
        EXPECT_NE(explain(refusal).find(each.says), ByteView::npos) << explain(refusal);
    }
}

TEST(CanonicalPath, WhatLiesBelowAnother) {
    for (const char* path : {"/api", "/api/", "/api/x"})
        EXPECT_TRUE(is_below(path, "/api")) << path;
    for (const char* path : {"/", "/ap", "/apis", "*", ""}) {
        EXPECT_FALSE(is_below(path, "/api")) << path;
        EXPECT_TRUE(is_below(path, "")) << path;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
