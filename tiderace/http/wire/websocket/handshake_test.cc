#include "tiderace/http/wire/websocket/handshake.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tiderace::http::wire {
namespace {

constexpr ByteView key = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr ByteView good_accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields good_fields() {
    return {{"Host", "a.example"},
            {"Upgrade", "websocket"},
            {"Connection", "Upgrade"},
            {"Sec-WebSocket-Key", std::string(key)},
            {"Sec-WebSocket-Version", "13"}};
}

// The usual fields with one of them changed, or gone.
Fields with(const std::string& name, const std::string& value) {
    Fields fields = good_fields();
    std::erase_if(fields, [&](const auto& field) { return field.first == name; });
    if (!value.empty()) fields.emplace_back(name, value);
    return fields;
}

Fields with_more(const std::string& name, const std::string& value) {
    Fields fields = good_fields();
    fields.emplace_back(name, value);
    return fields;
}

WebSocketRefusal judge(const Fields& fields, const char* method = "GET",
                       WebSocketCarrier carrier = WebSocketCarrier::http1) {
    RequestHead head;
    head.clear();
    head.set_method(method);
    head.set_version_minor(1);
    for (const auto& [name, value] : fields) head.add_field(name, value);
    return judge_websocket_request(head, carrier);
}

TEST(WebSocketHandshake, AnswersTheKeyOfTheStandard) {
    const WebSocketAccept accept = websocket_accept(key);
    EXPECT_EQ(ByteView(accept.data(), accept.size()), good_accept);
}

TEST(WebSocketHandshake, TakesAKeyOfSixteenBytesInItsOneSpelling) {
    EXPECT_TRUE(valid_websocket_key(key));
    EXPECT_TRUE(valid_websocket_key("AAAAAAAAAAAAAAAAAAAAAA=="));
    for (const ByteView bad : {"", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAB==",
                               "AAAAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAA AAAAAAAAAA==",
                               "AAAAAAAAAAAAAAAAAAAAA-==", "dGhlIHNhbXBsZSBub25jZQ==A"}) {
        EXPECT_FALSE(valid_websocket_key(bad)) << bad;
    }
}

TEST(WebSocketHandshake, MakesKeysThatItTakes) {
    std::array<unsigned char, 16> random{};
    for (unsigned i = 0; i < 256; ++i) {
        random.fill(static_cast<unsigned char>(i));
        const WebSocketKey made = websocket_key(random);
        EXPECT_TRUE(valid_websocket_key({made.data(), made.size()})) << i;
    }
}

TEST(WebSocketHandshake, LetsTheUsualRequestIn) {
    EXPECT_EQ(judge(good_fields()), WebSocketRefusal::none);
    EXPECT_EQ(judge(with("Upgrade", "h2c, WebSocket")), WebSocketRefusal::none);
    EXPECT_EQ(judge(with_more("Sec-WebSocket-Protocol", "chat, superchat")),
              WebSocketRefusal::none);
}

struct RefusalCase {
    const char* what;
    Fields fields;
    WebSocketRefusal refusal;
};

TEST(WebSocketHandshake, RefusesWhatIsMissingOrDoubtful) {
    const RefusalCase cases[] = {
        {"no Upgrade", with("Upgrade", ""), WebSocketRefusal::not_asked_for},
        {"another protocol", with("Upgrade", "h2c"), WebSocketRefusal::not_asked_for},
        {"no version", with("Sec-WebSocket-Version", ""), WebSocketRefusal::bad_version},
        {"version 8", with("Sec-WebSocket-Version", "8"), WebSocketRefusal::bad_version},
        {"a list of versions", with("Sec-WebSocket-Version", "13, 8"),
         WebSocketRefusal::bad_version},
        {"two versions", with_more("Sec-WebSocket-Version", "13"), WebSocketRefusal::bad_version},
        {"no key", with("Sec-WebSocket-Key", ""), WebSocketRefusal::bad_key},
        {"a short key", with("Sec-WebSocket-Key", "AAAA"), WebSocketRefusal::bad_key},
        {"two keys", with_more("Sec-WebSocket-Key", std::string(key)), WebSocketRefusal::bad_key},
        {"a subprotocol twice", with_more("Sec-WebSocket-Protocol", "a, b, a"),
         WebSocketRefusal::bad_protocols},
        {"an empty subprotocol", with_more("Sec-WebSocket-Protocol", "a,,b"),
         WebSocketRefusal::bad_protocols},
        {"no token", with_more("Sec-WebSocket-Protocol", "a b"), WebSocketRefusal::bad_protocols},
    };
    for (const RefusalCase& one : cases) EXPECT_EQ(judge(one.fields), one.refusal) << one.what;
    EXPECT_EQ(judge(good_fields(), "POST"), WebSocketRefusal::bad_method);
}

TEST(WebSocketHandshake, NeedsNoKeyAndNoUpgradeOverHttp2) {
    const Fields fields = {{"sec-websocket-version", "13"}};
    EXPECT_EQ(judge(fields, "CONNECT", WebSocketCarrier::http2), WebSocketRefusal::none);
    EXPECT_EQ(judge({}, "CONNECT", WebSocketCarrier::http2), WebSocketRefusal::bad_version);
}

TEST(WebSocketHandshake, EveryRefusalHasItsStatusAndSentence) {
    EXPECT_EQ(status_for(WebSocketRefusal::not_asked_for), 426);
    EXPECT_EQ(status_for(WebSocketRefusal::bad_version), 426);
    EXPECT_EQ(status_for(WebSocketRefusal::bad_key), 400);
    EXPECT_EQ(status_for(WebSocketRefusal::bad_origin), 403);
    for (unsigned i = 1; i <= static_cast<unsigned>(WebSocketRefusal::bad_origin); ++i) {
        EXPECT_TRUE(to_string(static_cast<WebSocketRefusal>(i)).ends_with('.')) << i;
    }
}

TEST(WebSocketHandshake, ChoosesTheSubprotocolThatTheServerLikesBest) {
    RequestHead head;
    head.clear();
    head.add_field("Sec-WebSocket-Protocol", "one, two");
    head.add_field("Sec-WebSocket-Protocol", "three");
    const std::vector<std::string> ours = {"three", "two"};
    EXPECT_EQ(choose_subprotocol(head, ours), "three");
    const std::vector<std::string> others = {"TWO", "four"};
    EXPECT_EQ(choose_subprotocol(head, others), "");
}

TEST(WebSocketHandshake, ComparesOriginsWithTheAuthorityThatWasAsked) {
    EXPECT_TRUE(is_same_origin("http://a.example", "a.example", false));
    EXPECT_TRUE(is_same_origin("http://A.example:80", "a.example", false));
    EXPECT_TRUE(is_same_origin("https://a.example", "a.example:443", true));
    EXPECT_TRUE(is_same_origin("http://127.0.0.1:8080", "127.0.0.1:8080", false));
    EXPECT_FALSE(is_same_origin("http://a.example", "a.example", true));
    EXPECT_FALSE(is_same_origin("http://b.example", "a.example", false));
    EXPECT_FALSE(is_same_origin("http://a.example:8080", "a.example", false));
    EXPECT_FALSE(is_same_origin("http://a.example.evil", "a.example", false));
    EXPECT_FALSE(is_same_origin("null", "a.example", false));
    EXPECT_FALSE(is_same_origin("http://", "", false));
}

// --- the client ------------------------------------------------------------------------------

std::string answer(const std::string& accept = std::string(good_accept),
                   const std::string& more = "") {
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: keep-alive, "
           "Upgrade\r\nSec-WebSocket-Accept: " +
           accept + "\r\n" + more + "\r\n";
}

TEST(WebSocketClientHandshake, AsksAsAServerWantsToBeAsked) {
    const std::vector<std::string> protocols = {"a", "b"};
    const std::vector<std::string> more = {"Cookie: x=y"};
    EXPECT_EQ(websocket_request({.authority = "h:1",
                                 .target = "/chat?x",
                                 .key = key,
                                 .origin = "http://o",
                                 .subprotocols = protocols,
                                 .extensions = "permessage-deflate",
                                 .fields = more}),
              "GET /chat?x HTTP/1.1\r\nHost: h:1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
              "Origin: http://o\r\nSec-WebSocket-Protocol: a, b\r\n"
              "Sec-WebSocket-Extensions: permessage-deflate\r\nCookie: x=y\r\n\r\n");
}

TEST(WebSocketClientHandshake, ReadsAnAnswerAtEverySplit) {
    const std::vector<std::string> offered = {"chat"};
    const std::string text = answer(std::string(good_accept),
                                    "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Extensions: "
                                    "permessage-deflate\r\n");
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        ASSERT_EQ(parse_websocket_answer(ByteView(text).substr(0, cut), key, offered).status,
                  ParseStatus::need_more)
            << cut;
    }
    const std::string with_frame = text + "\x81\x01x";
    const WebSocketAnswer read = parse_websocket_answer(with_frame, key, offered);
    EXPECT_EQ(read.status, ParseStatus::complete) << read.why;
    EXPECT_EQ(read.bytes, text.size());
    EXPECT_EQ(read.subprotocol, "chat");
    EXPECT_EQ(read.extensions, "permessage-deflate");
}

TEST(WebSocketClientHandshake, WaitsForAHeadUpToItsLimitAndNoLonger) {
    const std::string begun = "HTTP/1.1 101 x\r\nX: ";
    const std::string most = begun + std::string(websocket_answer_bytes_max - begun.size(), 'x');
    EXPECT_EQ(parse_websocket_answer(most, key, {}).status, ParseStatus::need_more);
    EXPECT_EQ(parse_websocket_answer(most + "x", key, {}).status, ParseStatus::refused);
}

TEST(WebSocketClientHandshake, RefusesWhatDoesNotAnswerItsRequest) {
    const std::vector<std::string> offered = {"chat"};
    const std::string accept(good_accept);
    const std::string cases[] = {
        "HTTP/1.0 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "SSH-2.0-x",
        "HTTP/1.1 1012" + answer().substr(12),
        "HTTP/1.1 101x" + answer().substr(12),
        answer(accept, "Sec-WebSocket-Protocol: \r\nSec-WebSocket-Protocol: chat\r\n"),
        answer(accept, "Sec-WebSocket-Extensions:\r\nSec-WebSocket-Extensions: x\r\n"),
        answer("s3pPLMBiTxaQ9kYGzzhZRbK+xOx="),
        answer(accept, "Sec-WebSocket-Accept: " + accept + "\r\n"),
        answer(accept, "Sec-WebSocket-Protocol: other\r\n"),
        answer(accept, "bad name: x\r\n"),
        "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + "\r\n\r\n",
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " + accept + "\r\n\r\n",
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 101 " + std::string(websocket_answer_bytes_max, 'x'),
        "HTTP/1.1 101 x\r\nX: " + std::string(websocket_answer_bytes_max, 'x'),
    };
    for (const std::string& text : cases) {
        const WebSocketAnswer read = parse_websocket_answer(text, key, offered);
        EXPECT_EQ(read.status, ParseStatus::refused) << text.substr(0, 80);
        EXPECT_FALSE(read.why.empty());
    }
    EXPECT_EQ(parse_websocket_answer(cases[2], key, offered).http_status, 404);
    // A status line without the space that RFC 9112 wants behind the status.
    const std::string bare = "HTTP/1.1 101" + answer().substr(answer().find("\r\n"));
    EXPECT_EQ(parse_websocket_answer(bare, key, offered).status, ParseStatus::complete);
}

}  // namespace
}  // namespace tiderace::http::wire
