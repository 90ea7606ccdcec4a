#include "tiderace/http/wire/h2/hpack_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::http::wire {
namespace {

using namespace std::string_literals;
using DecoderStatus = HpackDecoder::Status;

std::string bytes_of(ByteView hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size();) {
        if (hex[i] == ' ') {
            ++i;
            continue;
        }
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
        i += 2;
    }
    return bytes;
}

struct Reading {
    std::string fields;  // "name: value\n", "!" before what is never indexed
    DecoderStatus status;
    std::size_t list_bytes;
};

enum class Way { one_by_one, loop };

Reading read(HpackDecoder& decoder, const std::string& block, std::size_t list_bytes_max = 4096,
             Way way = Way::one_by_one) {
    std::vector<char> arena(decoder.arena_bytes(list_bytes_max));
    // Exactly sized and freed at the end, so that ASan detects reads beyond it and kept views.
    auto piece = std::make_unique<std::string>(block);
    HpackDecoder::Block fields = decoder.read(*piece, arena, list_bytes_max);
    std::vector<HpackField> kept;
    if (way == Way::loop) {
        fields.for_each([&](const HpackField& field) { kept.push_back(field); });
    } else {
        while (fields.next() == DecoderStatus::field) kept.push_back(fields.field());
    }
    EXPECT_EQ(fields.next(), fields.status());
    EXPECT_EQ(fields.for_each([](const HpackField&) { FAIL(); }), fields.status());
    EXPECT_LE(fields.arena_used(), arena.size());
    piece.reset();
    Reading reading{{}, fields.status(), fields.list_bytes()};
    if (reading.status != DecoderStatus::end) return reading;
    for (const HpackField& field : kept) {
        if (field.never_indexed) reading.fields += '!';
        reading.fields += std::string(field.name) + ": " + std::string(field.value) + '\n';
    }
    return reading;
}

std::string table_of(const HpackDecoder& decoder) {
    std::string text;
    for (std::uint32_t i = 0; i < decoder.table().size(); ++i) {
        const HpackField field = decoder.table().at(i);
        text += std::string(field.name) + ": " + std::string(field.value) + '\n';
    }
    return text + std::to_string(decoder.table().bytes());
}

struct Example {
    const char* section;
    ByteView hex;
    std::string fields;
    std::string table;
};

void expect_examples(const std::vector<Example>& examples, std::uint32_t table_bytes) {
    for (const Way way : {Way::one_by_one, Way::loop}) {
        HpackDecoder decoder(table_bytes);
        for (const Example& example : examples) {
            const Reading reading = read(decoder, bytes_of(example.hex), 4096, way);
            EXPECT_EQ(reading.status, DecoderStatus::end) << example.section;
            EXPECT_EQ(reading.fields, example.fields) << example.section;
            EXPECT_EQ(table_of(decoder), example.table) << example.section;
        }
    }
}

TEST(HpackDecoder, ReadsTheSingleFieldsOfAppendixC2) {
    expect_examples({{"C.2.1", "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
                      "custom-key: custom-header\n", "custom-key: custom-header\n55"}},
                    4096);
    expect_examples({{"C.2.2", "040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", "0"}},
                    4096);
    expect_examples(
        {{"C.2.3", "1008 7061 7373 776f 7264 0673 6563 7265 74", "!password: secret\n", "0"}},
        4096);
    expect_examples({{"C.2.4", "82", ":method: GET\n", "0"}}, 4096);
}

const std::string get_http = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
const std::string get_https =
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"
    "custom-key: custom-value\n";

TEST(HpackDecoder, ReadsTheRequestsOfAppendixC3AndC4) {
    const std::string one = ":authority: www.example.com\n";
    const std::string two = "cache-control: no-cache\n" + one;
    const std::string three = "custom-key: custom-value\n" + two;
    expect_examples(
        {{"C.3.1", "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", get_http, one + "57"},
         {"C.3.2", "8286 84be 5808 6e6f 2d63 6163 6865", get_http + "cache-control: no-cache\n",
          two + "110"},
         {"C.3.3", "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
          get_https, three + "164"}},
        4096);
    expect_examples({{"C.4.1", "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", get_http, one + "57"},
                     {"C.4.2", "8286 84be 5886 a8eb 1064 9cbf",
                      get_http + "cache-control: no-cache\n", two + "110"},
                     {"C.4.3", "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
                      get_https, three + "164"}},
                    4096);
}

TEST(HpackDecoder, ReadsTheResponsesOfAppendixC5AndC6WithEviction) {
    const std::string url = "location: https://www.example.com\n";
    const std::string date21 = "date: Mon, 21 Oct 2013 20:13:21 GMT\n";
    const std::string date22 = "date: Mon, 21 Oct 2013 20:13:22 GMT\n";
    const std::string priv = "cache-control: private\n";
    const std::string cookie =
        "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n";
    const std::string gzip = "content-encoding: gzip\n";
    const std::string first = ":status: 302\n" + priv + date21 + url;
    const std::string second = ":status: 307\n" + priv + date21 + url;
    const std::string third = ":status: 200\n" + priv + date22 + url + gzip + cookie;
    const std::string table1 = url + date21 + priv + ":status: 302\n222";
    const std::string table2 = ":status: 307\n" + url + date21 + priv + "222";
    const std::string table3 = cookie + gzip + date22 + "215";
    expect_examples(
        {{"C.5.1",
          "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 "
          "303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 "
          "6f6d",
          first, table1},
         {"C.5.2", "4803 3330 37c1 c0bf", second, table2},
         {"C.5.3",
          "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 "
          "5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 "
          "5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
          third, table3}},
        256);
    expect_examples(
        {{"C.6.1",
          "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b "
          "ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
          first, table1},
         {"C.6.2", "4883 640e ffc1 c0bf", second, table2},
         {"C.6.3",
          "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad "
          "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 "
          "65c0 03ed 4ee5 b106 3d50 07",
          third, table3}},
        256);
}

TEST(HpackDecoder, KnowsTheLastEntryOfEachTable) {
    HpackDecoder decoder;
    EXPECT_EQ(read(decoder, "\xbd"s).fields, "www-authenticate: \n");
    EXPECT_EQ(read(decoder,
                   "\x40\x01"
                   "a\x01"
                   "b\x40\x01"
                   "c\x01"
                   "d"s)
                  .status,
              DecoderStatus::end);
    EXPECT_EQ(read(decoder, "\xbe\xbf"s).fields, "c: d\na: b\n");
    EXPECT_EQ(read(decoder, "\xc0"s).status, DecoderStatus::corrupt);
}

TEST(HpackDecoder, RefusesWhatIsNoFieldBlock) {
    const struct {
        const char* why;
        std::string block;
    } cases[] = {
        {"index 0", "\x80"s},
        {"an index beyond both tables", "\xbe"s},
        {"a far index", "\xff\xff\xff\xff\x7f"s},
        {"an index cut", "\xff"s},
        {"an index of too many bytes", "\xff\x80\x80\x80\x80\x80\x01"s},
        {"a literal with a name beyond the tables",
         "\x7e\x01"
         "a"s},
        {"a literal without a name", "\x40"s},
        {"a name cut",
         "\x40\x03"
         "ab"s},
        {"a literal without a value",
         "\x40\x01"
         "a"s},
        {"a value cut",
         "\x40\x01"
         "a\x02"
         "b"s},
        {"a length that is huge", "\x40\x7f\xff\xff\xff\x7f"s},
        {"Huffman padding of eight bits",
         "\x40\x01"
         "a\x82\x1f\xff"s},
        {"Huffman padding of zeros",
         "\x40\x01"
         "a\x81\x18"s},
        {"EOS in a name",
         "\x40\x84\xff\xff\xff\xff\x01"
         "a"s},
        {"a size update too large", "\x3f\xe2\x1f"s},
        {"a size update after a field", "\x82\x20"s},
        {"three size updates", "\x20\x20\x20"s},
        {"a size update cut", "\x3f"s},
    };
    for (const auto& c : cases) {
        for (const Way way : {Way::one_by_one, Way::loop}) {
            HpackDecoder decoder;
            EXPECT_EQ(read(decoder, c.block, 4096, way).status, DecoderStatus::corrupt) << c.why;
        }
        // Whatever it is cut to is corrupt too, or complete; never more.
        for (std::size_t size = 0; size < c.block.size(); ++size) {
            HpackDecoder other;
            EXPECT_NE(read(other, c.block.substr(0, size)).status, DecoderStatus::too_large);
        }
    }
}

TEST(HpackDecoder, SizeUpdatesEvictAndMayComeTwice) {
    HpackDecoder decoder;
    EXPECT_EQ(read(decoder,
                   "\x40\x01"
                   "a\x01"
                   "b"s)
                  .status,
              DecoderStatus::end);
    EXPECT_EQ(read(decoder, "\x20\x3f\xe1\x1f\x82"s).fields, ":method: GET\n");
    EXPECT_EQ(decoder.table().size(), 0U);
    EXPECT_EQ(decoder.table().bytes_max(), 4096U);
    EXPECT_EQ(read(decoder, "\x3e"s).status, DecoderStatus::end);
    EXPECT_EQ(decoder.table().bytes_max(), 30U);
    HpackDecoder small(100);
    EXPECT_EQ(read(small, "\x3f\x45\x82").fields, ":method: GET\n");
    EXPECT_EQ(read(small, "\x3f\x46").status, DecoderStatus::corrupt);
}

TEST(HpackDecoder, CountsTheListBeforeItGrows) {
    // One entry of 1,000 bytes, then a thousand references of one byte each.
    HpackDecoder decoder;
    const std::string bomb =
        "\x40\x01"
        "a\x7f\xe8\x06"s +
        std::string(999, 'x') + std::string(1000, '\xbe');
    std::vector<char> arena(decoder.arena_bytes(10'000));
    HpackDecoder::Block fields = decoder.read(bomb, arena, 10'000);
    int given = 0;
    while (fields.next() == DecoderStatus::field) ++given;
    EXPECT_EQ(fields.status(), DecoderStatus::too_large);
    EXPECT_EQ(given, 9);
    EXPECT_EQ(read(decoder, "\xbe").fields, "a: " + std::string(999, 'x') + '\n');
}

// The fields before it fill the arena, and are void now: their place is free for what only the
// table needs.
TEST(HpackDecoder, AFieldThatMakesTheListTooLargeFindsRoomInATightArena) {
    HpackDecoder decoder;
    const std::string block =
        "\x00\x01"
        "z\x7f\xa1\x1e"s +
        std::string(4'000, 'z') +
        "\x40\x01"
        "a\x7f\x49"s +
        std::string(200, 'y') +
        "\x40\x01"
        "b\x7f\x49"s +
        std::string(200, 'x');
    for (const Way way : {Way::one_by_one, Way::loop}) {
        EXPECT_EQ(read(decoder, block, 4'096, way).status, DecoderStatus::too_large);
        EXPECT_EQ(read(decoder, "\xbe\xbf").fields,
                  "b: " + std::string(200, 'x') + "\na: " + std::string(200, 'y') + '\n');
    }
}

TEST(HpackDecoder, AListMayBeExactlyAsLargeAsItsMaximum) {
    HpackDecoder decoder;
    const Reading whole = read(decoder,
                               "\x82\x00\x01"
                               "a\x02"
                               "bc"s);
    EXPECT_EQ(whole.list_bytes, 42U + 35);
    EXPECT_EQ(read(decoder,
                   "\x82\x00\x01"
                   "a\x02"
                   "bc"s,
                   42 + 35)
                  .status,
              DecoderStatus::end);
    EXPECT_EQ(read(decoder,
                   "\x82\x00\x01"
                   "a\x02"
                   "bc"s,
                   42 + 34)
                  .status,
              DecoderStatus::too_large);
    EXPECT_EQ(read(decoder, "\x82\x00\x81\x1f\x81\x1f"s, 42 + 34).fields, ":method: GET\na: a\n");
    EXPECT_EQ(read(decoder, "\x82\x00\x81\x1f\x81\x1f"s, 42 + 33).status, DecoderStatus::too_large);
}

TEST(HpackDecoder, KeepsItsTableInStepThroughAListThatIsTooLarge) {
    for (const bool huffman : {false, true}) {
        const std::string text = huffman ? "\x81\x1f"s
                                         : "\x01"
                                           "a"s;
        HpackDecoder decoder;
        const std::string long_value(200, 'y');
        // Too large at once; then one by a static name, one by its own, one by the name of that.
        const std::string block =
            "\x00\x01"
            "z\x7f\x49"s +
            long_value + "\x50" + text + "\x40" + text + text + "\x7e" + text + "\x10" + text +
            text + "\x82";
        EXPECT_EQ(read(decoder, block, 100).status, DecoderStatus::too_large);
        EXPECT_EQ(table_of(decoder), "a: a\na: a\naccept-encoding: a\n116");
        // One that is too large for the table empties it.
        HpackDecoder small(200);
        EXPECT_EQ(read(small, "\x40" + text + text).status, DecoderStatus::end);
        EXPECT_EQ(read(small, "\x40" + text + "\x7f\x49" + long_value, 100).status,
                  DecoderStatus::too_large);
        EXPECT_EQ(small.table().size(), 0U);
    }
}

TEST(HpackDecoder, AFieldLivesThoughItsEntryIsEvicted) {
    HpackDecoder decoder(80);
    const std::string insert_x =
        "\x40\x03x-x\x04"
        "keep"s;
    EXPECT_EQ(read(decoder, insert_x + "\xbe\x40\x03x-y\x04gone\xbe"s).fields,
              "x-x: keep\nx-x: keep\nx-y: gone\nx-y: gone\n");
    EXPECT_EQ(decoder.table().size(), 2U);
    // A name may come from the entry that its own insertion evicts.
    const std::string thrown_out = std::string(40, 'v');
    EXPECT_EQ(read(decoder, "\x7f\x00\x28"s + thrown_out).fields, "x-x: " + thrown_out + '\n');
    EXPECT_EQ(decoder.table().size(), 1U);
}

TEST(HpackDecoder, JudgesATextOnceAndRemembers) {
    HpackDecoder decoder;
    std::vector<char> arena(4096);
    const auto refusals = [&](const std::string& block) {
        std::vector<Refusal> found;
        HpackDecoder::Block fields = decoder.read(block, arena, 4096);
        while (fields.next() == DecoderStatus::field) found.push_back(fields.field().refusal);
        return found;
    };
    EXPECT_EQ(refusals("\x40\x04Host\x01"
                       "a\xbe"s),
              (std::vector{Refusal::bad_field_name, Refusal::bad_field_name}));
    // Its name by index stays bad; the name of an entry with a bad value is not.
    EXPECT_EQ(refusals("\x0f\x2f\x01"
                       "b"s),
              (std::vector{Refusal::bad_field_name}));
    EXPECT_EQ(refusals("\x40\x01x\x02"
                       "a \xbe\x0f\x2f\x01"
                       "b"s),
              (std::vector{Refusal::bad_field_value, Refusal::bad_field_value, Refusal::none}));
}

TEST(HpackDecoder, AnEmptyBlockHasNoFields) {
    HpackDecoder decoder;
    const Reading reading = read(decoder, "");
    EXPECT_EQ(reading.status, DecoderStatus::end);
    EXPECT_EQ(reading.fields, "");
}

}  // namespace
}  // namespace tiderace::http::wire
