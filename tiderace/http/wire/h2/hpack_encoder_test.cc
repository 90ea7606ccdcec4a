#include "tiderace/http/wire/h2/hpack_encoder.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tiderace/base/random.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;
using Block = HpackEncoder::Block;
using Fault = HpackEncoder::Fault;

// An encoder and its peer.
class HpackEncoderTest : public ::testing::Test {
  protected:
    // The bytes of the block that `fill` makes.
    std::string encode(const std::function<void(Block&)>& fill, std::size_t room = 4096) {
        std::vector<char> out(room);
        Block block(encoder, out);
        fill(block);
        return std::string(block.finish());
    }
    std::string decode(const std::string& bytes) {
        std::vector<char> arena(decoder.arena_bytes(8192));
        HpackDecoder::Block fields = decoder.read(bytes, arena, 8192);
        std::string text;
        while (fields.next() == HpackDecoder::Status::field) {
            EXPECT_EQ(fields.field().refusal, Refusal::none);
            if (fields.field().never_indexed) text += '!';
            text +=
                std::string(fields.field().name) + ": " + std::string(fields.field().value) + '\n';
        }
        EXPECT_EQ(fields.status(), HpackDecoder::Status::end);
        return text;
    }
    void expect_same_tables() {
        ASSERT_EQ(encoder.table().size(), decoder.table().size());
        ASSERT_EQ(encoder.table().bytes(), decoder.table().bytes());
        ASSERT_EQ(encoder.table().bytes_max(), decoder.table().bytes_max());
        for (std::uint32_t i = 0; i < encoder.table().size(); ++i) {
            ASSERT_EQ(encoder.table().at(i).name, decoder.table().at(i).name);
            ASSERT_EQ(encoder.table().at(i).value, decoder.table().at(i).value);
        }
    }

    HpackEncoder encoder;
    HpackDecoder decoder;
};

TEST_F(HpackEncoderTest, ARequestIsAFewBytesFromTheSecondOneOn) {
    const auto request = [](Block& block) {
        EXPECT_TRUE(block.pseudo(PseudoField::method, "GET"));
        EXPECT_TRUE(block.pseudo(PseudoField::scheme, "https"));
        EXPECT_TRUE(block.pseudo(PseudoField::authority, "a.example"));
        EXPECT_TRUE(block.pseudo(PseudoField::path, "/"));
        EXPECT_TRUE(block.field("User-Agent", "tiderace"));
    };
    const std::string text =
        ":method: GET\n:scheme: https\n:authority: a.example\n:path: /\nuser-agent: tiderace\n";
    EXPECT_EQ(decode(encode(request)), text);
    const std::string second = encode(request);
    EXPECT_EQ(second.size(), 5U);
    EXPECT_EQ(decode(second), text);
    const auto other = [](Block& block) {
        EXPECT_TRUE(block.pseudo(PseudoField::method, "PURGE"));
        EXPECT_TRUE(block.pseudo(PseudoField::path, "/once"));
        EXPECT_FALSE(block.pseudo(PseudoField::authority, "a\nb"));
    };
    EXPECT_EQ(encode(other), "");
    EXPECT_EQ(decode(encode(request)), text) << "the tables agree after a block that never was";
    expect_same_tables();
}

TEST_F(HpackEncoderTest, WhatRepeatsIsOneByteTheSecondTime) {
    const auto answer = [](Block& block) {
        EXPECT_TRUE(block.status(200));
        EXPECT_TRUE(block.field(FieldName::server, "tiderace"));
        EXPECT_TRUE(block.field(FieldName::content_type, "text/html; charset=utf-8"));
        EXPECT_TRUE(block.field("Vary", "accept-encoding"));
    };
    const std::string text =
        ":status: 200\nserver: tiderace\ncontent-type: text/html; charset=utf-8\n"
        "vary: accept-encoding\n";
    EXPECT_EQ(decode(encode(answer)), text);
    const std::string second = encode(answer);
    EXPECT_EQ(second, "\x88\xc0\xbf\xbe");
    EXPECT_EQ(decode(second), text);
    expect_same_tables();
}

TEST_F(HpackEncoderTest, WhatChangesIsSentAsText) {
    for (int i = 0; i < 3; ++i) {
        const std::string bytes = encode([](Block& block) {
            block.status(404);
            block.number(FieldName::content_length, 1024);
            block.field(FieldName::etag, "\"a\"");
            block.field(FieldName::connection, "x");  // not in the static table
        });
        EXPECT_EQ(bytes,
                  "\x8d\x0f\x0d\x04"
                  "1024\x0f\x13\x03\"a\"\x00\x0a"
                  "connection\x01x"s);
        EXPECT_EQ(decode(bytes),
                  ":status: 404\ncontent-length: 1024\netag: \"a\"\nconnection: x\n");
    }
    EXPECT_EQ(encoder.table().size(), 0U);
}

TEST_F(HpackEncoderTest, EveryStatusComesThrough) {
    for (int code = 100; code < 1000; ++code) {
        EXPECT_EQ(decode(encode([code](Block& block) { EXPECT_TRUE(block.status(code)); })),
                  ":status: " + std::to_string(code) + '\n');
    }
    for (const int code : {-1, 0, 99, 1000}) {
        std::vector<char> out(64);
        Block block(encoder, out);
        EXPECT_FALSE(block.status(code));
        EXPECT_EQ(block.fault(), Fault::bad_status);
    }
}

TEST_F(HpackEncoderTest, SecretsAreNeverIndexed) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(decode(encode([](Block& block) {
                      block.field(FieldName::set_cookie, "a=b");
                      block.field("Set-Cookie", "c=d");
                  })),
                  "!set-cookie: a=b\n!set-cookie: c=d\n");
    }
    EXPECT_EQ(encoder.table().size(), 0U);
}

TEST_F(HpackEncoderTest, AnUnknownNameIsIndexedFromItsSecondSightOn) {
    const auto answer = [](Block& block) { block.field("X-Frame-Options", "DENY"); };
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 4; ++i) {
        const std::string bytes = encode(answer);
        sizes.push_back(bytes.size());
        EXPECT_EQ(decode(bytes), "x-frame-options: DENY\n");
    }
    EXPECT_GT(sizes[0], 15U);
    EXPECT_GT(sizes[1], 10U);
    EXPECT_EQ(sizes[2], 1U);
    EXPECT_EQ(sizes[3], 1U);
    // One whose value always changes never gets in.
    for (int i = 0; i < 100; ++i) {
        decode(encode([i](Block& block) { block.field("X-Request", std::to_string(i)); }));
    }
    EXPECT_EQ(encoder.table().size(), 1U);
}

TEST_F(HpackEncoderTest, BadFieldsAreFaultsAndNothingIsSent) {
    struct Case {
        ByteView name;
        std::string value;
        Fault fault;
    };
    const Case cases[] = {
        {"Server", "a\rb", Fault::bad_value},
        {"Server", "a\nb", Fault::bad_value},
        {"ETag", "a\0b"s, Fault::bad_value},
        {"X", "\x7f", Fault::bad_value},
        {"bad name", "a", Fault::bad_name},
        {"", "a", Fault::bad_name},
        {":status", "200", Fault::bad_name},
        {"a\n", "a", Fault::bad_name},
        {"Server", std::string(5000, 'a'), Fault::overflow},
    };
    for (const Case& c : cases) {
        std::vector<char> out(4096);
        Block block(encoder, out);
        EXPECT_TRUE(block.status(200));
        EXPECT_FALSE(block.field(c.name, c.value)) << c.name;
        EXPECT_FALSE(block.field(FieldName::vary, "a"));
        EXPECT_FALSE(block.status(200));
        EXPECT_FALSE(block.rendered("a"));
        EXPECT_EQ(block.fault(), c.fault) << c.name;
        EXPECT_EQ(block.finish(), "");
        std::string rendered = "before";
        EXPECT_EQ(append_hpack_field(rendered, c.name, c.value), c.fault == Fault::overflow);
        EXPECT_EQ(rendered == "before", c.fault != Fault::overflow);
    }
}

TEST_F(HpackEncoderTest, SpaceRoundAValueIsNotSent) {
    const auto answer = [](Block& block) {
        block.field(FieldName::server, " a\t");
        block.field(FieldName::etag, "  b");
        block.field("X", " c ");
    };
    EXPECT_EQ(decode(encode(answer)), "server: a\netag: b\nx: c\n");
}

TEST_F(HpackEncoderTest, ABlockThatWasGivenUpNeverHappened) {
    const auto answer = [](Block& block) {
        block.status(200);
        block.field(FieldName::server, "tiderace");
        block.field(FieldName::date, "Sun, 06 Nov 1994 08:49:37 GMT");
    };
    decode(encode(answer));
    for (std::size_t room = 0; room < 80; ++room) {
        const std::string bytes = encode(
            [&](Block& block) {
                answer(block);
                block.field(FieldName::vary, std::string(60, 'x') + std::to_string(room));
            },
            room);
        if (!bytes.empty()) decode(bytes);  // it fitted
        EXPECT_EQ(decode(encode(answer)),
                  ":status: 200\nserver: tiderace\ndate: Sun, 06 Nov 1994 08:49:37 GMT\n");
        expect_same_tables();
    }
    // One that left the table alone costs nothing.
    const std::string whole = encode(answer);
    EXPECT_EQ(encode(answer, 2), "");
    EXPECT_EQ(encode(answer), whole);
    EXPECT_EQ(whole.size(), 3U);
}

TEST_F(HpackEncoderTest, FollowsThePeersTableSize) {
    const auto answer = [](Block& block) { block.field(FieldName::server, "tiderace"); };
    const std::string text = "server: tiderace\n";
    decode(encode(answer));
    encoder.set_peer_table_bytes_max(4096);
    EXPECT_EQ(encode(answer), "\xbe");
    // Smaller, and then as before: the peer must hear of the smallest.
    encoder.set_peer_table_bytes_max(10);
    encoder.set_peer_table_bytes_max(4096);
    const std::string both = encode(answer);
    EXPECT_EQ(both.substr(0, 4), "\x2a\x3f\xe1\x1f");
    EXPECT_EQ(decode(both), text);
    expect_same_tables();
    encoder.set_peer_table_bytes_max(0);
    EXPECT_EQ(decode(encode(answer)), text);
    EXPECT_EQ(decode(encode(answer)), text);
    EXPECT_EQ(encoder.table().size(), 0U);
    expect_same_tables();
    encoder.set_peer_table_bytes_max(1'000'000);
    EXPECT_EQ(decode(encode(answer)), text);
    EXPECT_EQ(encode(answer), "\xbe");
}

TEST(HpackEncoder, ASmallerTableOfItsOwnIsAnnounced) {
    HpackEncoder encoder(100);
    std::vector<char> out(64);
    Block block(encoder, out);
    block.status(200);
    EXPECT_EQ(block.finish(), "\x3f\x45\x88");
}

TEST_F(HpackEncoderTest, RenderedFieldsStandByThemselves) {
    std::string fields;
    EXPECT_TRUE(append_hpack_field(fields, FieldName::content_type, "text/html"));
    EXPECT_TRUE(append_hpack_field(fields, FieldName::etag, " \"5f-1\" "));
    EXPECT_TRUE(append_hpack_field(fields, "X-Own", ""));
    EXPECT_TRUE(append_hpack_field(fields, "Set-Cookie", "secret"));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(decode(encode([&](Block& block) {
                      block.status(200);
                      block.rendered(fields);
                  })),
                  ":status: 200\ncontent-type: text/html\netag: \"5f-1\"\nx-own: \n"
                  "!set-cookie: secret\n");
    }
    EXPECT_EQ(decoder.table().size(), 0U);
}

TEST_F(HpackEncoderTest, RandomAnswersComeThroughAndTheTablesStayAlike) {
    Random random(3);
    const char* names[] = {"server", "vary", "x-a", "x-b", "etag", "set-cookie", "cache-control"};
    for (int round = 0; round < 2000; ++round) {
        if (random.below(50) == 0) {
            encoder.set_peer_table_bytes_max(static_cast<std::uint32_t>(random.below(4097)));
        }
        std::string expected;
        const std::string bytes = encode([&](Block& block) {
            for (std::uint64_t count = random.below(8); count > 0; --count) {
                const std::string name = names[random.below(std::size(names))];
                const std::string value(random.below(3) == 0 ? random.below(300) : 5,
                                        static_cast<char>('a' + random.below(4)));
                EXPECT_TRUE(block.field(name, value));
                expected += (name == "set-cookie" ? "!" : "") + name + ": " + value + '\n';
            }
        });
        ASSERT_EQ(decode(bytes), expected);
        expect_same_tables();
    }
}

}  // namespace
}  // namespace tiderace::http::wire
