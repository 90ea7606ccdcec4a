#include "tiderace/http/wire/multipart.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/testing/split_feed.h"

namespace tiderace::http::wire {
namespace {

using Event = MultipartReader::Event;

// What a form says, however it was cut: "part name [file] (type) data. … end".
std::string read_form(std::span<const ByteView> pieces, const MultipartLimits& limits = {},
                      ByteView boundary = "XX") {
    MultipartReader reader(boundary, limits);
    std::string held;
    std::string out;
    for (const ByteView piece : pieces) {
        held += piece;
        for (;;) {
            const MultipartReader::Step step = reader.next(held);
            if (step.event == Event::part) {
                out += "part " + std::string(reader.name());
                if (auto file = reader.filename()) out += " [" + std::string(*file) + "]";
                if (!reader.content_type().empty()) {
                    out += " (" + std::string(reader.content_type()) + ")";
                }
                out += ": ";
            }
            if (step.event == Event::data) out += step.data;
            if (step.event == Event::part_end) out += ". ";
            if (step.event == Event::failed) {
                return out + "failed: " + std::string(to_string(reader.fault()));
            }
            held.erase(0, step.bytes);
            if (step.event == Event::need_more || (step.event == Event::end && held.empty())) break;
        }
        EXPECT_LE(held.size(), reader.held_bytes_max());
    }
    if (!reader.finish()) return out + "failed: " + std::string(to_string(reader.fault()));
    return out + "end";
}

void expect_form(ByteView body, ByteView expected, const MultipartLimits& limits = {}) {
    testing::at_every_split(body, [&](std::span<const ByteView> pieces, const std::string& how) {
        EXPECT_EQ(read_form(pieces, limits), expected) << how;
    });
}

std::string form_field(std::string_view name, std::string_view value) {
    return "--XX\r\nContent-Disposition: form-data; name=\"" + std::string(name) + "\"\r\n\r\n" +
           std::string(value) + "\r\n";
}

TEST(MultipartForm, ReadsPartsAtEverySplit) {
    expect_form("--XX--", "end");
    expect_form("--XX--\r\nepilogue", "end");
    expect_form("--XX\r\nA:\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--XX--",
                "part a: 1. end");
    expect_form(form_field("a", "1") + "--XX--\r\n", "part a: 1. end");
    expect_form(form_field("a", "") + form_field("b", "2\r\n--X") + "--XX--",
                "part a: . part b: 2\r\n--X. end");
    // The second head is shorter than what was searched of the first.
    expect_form("--XX\r\nX-Long: " + std::string(60, 'x') +
                    "\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n" +
                    form_field("b", "2") + "--XX--",
                "part a: 1. part b: 2. end");
    expect_form("preamble\r\n" + form_field("a", "\r\n\r\r\n-") + "--XX--",
                "part a: \r\n\r\r\n-. end");
    expect_form(
        "--XX \t\r\ncontent-disposition:form-data;name=f;filename=\"a\\\"b.txt\"\r\n"
        "Content-Type: text/plain\r\nX-Other: y\r\n\r\ndata\r\n--XX--",
        "part f [a\"b.txt] (text/plain): data. end");
    expect_form("--XX\r\nContent-Disposition: form-data; name=a; filename=\"\"\r\n\r\n--XX--",
                "part a []: . end");
}

TEST(MultipartForm, WhatIsNoFormFailsAtEverySplit) {
    const struct {
        std::string body;
        std::string_view expected;
    } cases[] = {
        {"", "failed: the body ends before its last boundary"},
        {"-", "failed: the body ends before its last boundary"},
        {"nothing", "failed: the body ends before its last boundary"},
        {"--XX\r\n", "failed: the body ends before its last boundary"},
        {form_field("a", "1"), "part a: 1failed: the body ends before its last boundary"},
        {form_field("a", "1") + "--XX",
         "part a: 1. failed: the body ends before its last boundary"},
        {form_field("a", "1") + "--XXY",
         "part a: 1. failed: a boundary is not followed by the end of its line"},
        {"--XX\r\r\n", "failed: a boundary is not followed by the end of its line"},
        {"--XX\n", "failed: a boundary is not followed by the end of its line"},
        {"--XX\r\n\r\n\r\n",
         "failed: a part has no \"Content-Disposition: form-data\" with a name"},
        {"--XX\r\nno colon\r\n\r\n", "failed: the head of a part is not valid"},
        {"--XX\r\nnocolon\r\n\r\n", "failed: the head of a part is not valid"},
        {"--XX\r\nA B: c\r\n\r\n", "failed: the head of a part is not valid"},
        {"--XX\r\nA:\x01\r\n\r\n", "failed: the head of a part is not valid"},
        {"--XX\r\nA: c\r\n folded\r\n\r\n", "failed: the head of a part is not valid"},
        {"--XX\r\nA: c\nd\r\n\r\n", "failed: the head of a part is not valid"},
        {"--XX\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n",
         "failed: the head of a part is not valid"},
        {"--XX\r\nContent-Disposition: form-data; name=\"a\r\n\r\n",
         "failed: the head of a part is not valid"},
        {"--XX\r\nContent-Disposition: form-data; name=a\r\n"
         "Content-Disposition: form-data; name=b\r\n\r\n",
         "failed: the head of a part is not valid"},
        {"--XX\r\nContent-Type: text/plain\r\n\r\n",
         "failed: a part has no \"Content-Disposition: form-data\" with a name"},
        {"--XX\r\nContent-Disposition: attachment; name=a\r\n\r\n",
         "failed: a part has no \"Content-Disposition: form-data\" with a name"},
    };
    for (const auto& one : cases) expect_form(one.body, one.expected);
}

TEST(MultipartForm, LimitsHoldAtTheByte) {
    const std::string two = form_field("a", "12345") + form_field("b", "") + "--XX--";
    expect_form(two, "part a: 12345. part b: . end", {.parts_max = 2, .part_bytes_max = 5});
    expect_form(two, "part a: 12345. failed: the form has too many parts", {.parts_max = 1});
    const std::size_t head = std::string_view("Content-Disposition: form-data; name=\"a\"").size();
    expect_form(two, "part a: 12345. part b: . end", {.head_bytes_max = head});
    expect_form(two, "failed: the head of a part is too large", {.head_bytes_max = head - 1});
    // A head that takes more than a delimiter with its padding, of which read_form() bounds what is
    // held.
    const std::string long_name(100, 'n');
    const std::string long_head = form_field(long_name, "") + "--XX--";
    expect_form(long_head, "part " + long_name + ": . end", {.head_bytes_max = head + 99});
    expect_form(long_head, "failed: the head of a part is too large",
                {.head_bytes_max = head + 98});
    const std::string six = form_field("a", "123456") + "--XX--";
    testing::at_every_split(six, [&](std::span<const ByteView> pieces, const std::string& how) {
        EXPECT_TRUE(
            read_form(pieces, {.part_bytes_max = 5}).ends_with("failed: a part is too large"))
            << how;
    });
    const std::string name(MultipartReader::name_bytes_max, 'n');
    for (const bool over : {false, true}) {
        const std::string body = form_field(name + (over ? "n" : ""), "") + "--XX--";
        const ByteView whole = body;
        EXPECT_EQ(read_form({&whole, 1}),
                  over ? "failed: the name of a part or of a file is too long"
                       : "part " + name + ": . end");
    }
}

// A head that never ends is scanned once, not again with each byte.
TEST(MultipartForm, APeerThatSendsByteByByteCostsNoMore) {
    MultipartReader reader("XX", {.head_bytes_max = 1'000'000});
    std::string body = "--XX\r\nA: " + std::string(200'000, 'a');
    std::string held;
    for (const char c : body) {
        held += c;
        const auto step = reader.next(held);
        ASSERT_EQ(step.event, Event::need_more);
        held.erase(0, step.bytes);
    }
    EXPECT_EQ(held.size(), body.size() - 6);
}

TEST(MultipartForm, APreambleIsShort) {
    const std::string fits = std::string(MultipartReader::preamble_bytes_max, 'p') + "\r\n--XX--";
    const std::string over = "p" + fits;
    expect_form(fits, "end");
    expect_form(over, "failed: the body does not begin with its boundary");
}

TEST(MultipartForm, ABoundaryIsFoundInItsContentType) {
    const std::string seventy(70, 'b');
    const struct {
        std::string type;
        std::optional<ByteView> boundary;
    } cases[] = {
        {"multipart/form-data; boundary=abc", "abc"},
        {"Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", "a b"},
        {"multipart/form-data; boundary=" + seventy, seventy},
        {"multipart/form-data; boundary=" + seventy + "b", std::nullopt},
        {"multipart/form-data; boundary=\"\"", std::nullopt},
        {"multipart/form-data; boundary=\"a \"", std::nullopt},
        {"multipart/form-data; boundary=\"a\\\"b\"", std::nullopt},
        {"multipart/form-data; boundary=a; boundary=b", std::nullopt},
        {"multipart/form-data; boundary=a; x", std::nullopt},
        {"multipart/form-data", std::nullopt},
        {"multipart/mixed; boundary=abc", std::nullopt},
        {"", std::nullopt},
    };
    for (const auto& one : cases) EXPECT_EQ(multipart_boundary(one.type), one.boundary) << one.type;
}

// RFC 2046, 5.1.1: bchars.
TEST(MultipartForm, ABoundaryIsMadeOfItsOwnBytesOnly) {
    const ByteView allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'()+_,-./:=? ";
    for (int byte = 0; byte < 256; ++byte) {
        const std::string boundary = {'x', static_cast<char>(byte), 'x'};
        const std::string type = "multipart/form-data; boundary=\"" + boundary + '"';
        const auto found = multipart_boundary(type);
        EXPECT_EQ(found.has_value(), allowed.contains(boundary[1])) << byte;
        if (found) {
            EXPECT_EQ(*found, boundary);
        }
    }
}

}  // namespace
}  // namespace tiderace::http::wire
