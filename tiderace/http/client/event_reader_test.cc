#include "tiderace/http/client/event_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/client/client_fixture.h"

namespace tiderace::http {
namespace {

// "type:data;" for each event, then the last id and the pause.
std::string parsed(ByteView text, std::size_t piece_bytes, std::size_t bytes_max = 100) {
    EventParser parser(bytes_max);
    std::string told;
    while (!text.empty()) {
        ByteView piece = text.substr(0, piece_bytes);
        text.remove_prefix(piece.size());
        while (!piece.empty() && !parser.overflowed()) {
            if (auto event = parser.take(piece)) told += event->type + ":" + event->data + ";";
        }
        if (parser.overflowed()) return told + "!";
    }
    if (!parser.last_id().empty()) told += " id " + parser.last_id();
    if (parser.retry()) {
        told += " retry " + std::to_string(*parser.retry() / std::chrono::milliseconds(1));
    }
    return told;
}

struct Stream {
    ByteView text;
    std::string_view events;
};

TEST(EventParser, ReadsEachStreamHoweverItIsCut) {
    using namespace std::string_view_literals;
    for (const Stream& stream : {
             Stream{"data: a\n\n", "message:a;"},
             Stream{"data:a\r\rdata:b\r\n\r\ndata:c\n\n", "message:a;message:b;message:c;"},
             Stream{"data:a\r\ndata: b\rdata:  c\n\r\n", "message:a\nb\n c;"},
             Stream{"\xEF\xBB\xBF"
                    "data:a\n\n\xEF\xBB\xBF"
                    "data:b\n\n",
                    "message:a;"},
             Stream{"data\n\ndata\ndata\n\ndata:", "message:;message:\n;"},
             Stream{"event: add\ndata: 1\n\nevent: gone\n\ndata: 2\n\n", "add:1;message:2;"},
             Stream{": a comment\n\n:\n\ndata: x\n:y\n\n", "message:x;"},
             Stream{"id: 7\ndata: x\n\nid: 8\n\n", "message:x; id 8"},
             Stream{"id: 7\ndata: x\n\nid\ndata: y\n\n", "message:x;message:y;"},
             Stream{"id: 7\n\nid: 8\ndata: cut off", " id 7"},
             Stream{"id: 7\n\nid: a\0b\ndata: x\n\n"sv, "message:x; id 7"},
             Stream{"retry: 1500\nretry: -1\nretry: 1s\nretry\n", " retry 1500"},
             Stream{"retry: 99999999999999999999\n", ""},
             Stream{"DATA: x\n data: y\nunknown: z\ndata : w\n\n", ""},
         }) {
        for (std::size_t bytes = 1; bytes <= stream.text.size(); ++bytes) {
            EXPECT_EQ(parsed(stream.text, bytes), stream.events) << stream.text << " by " << bytes;
        }
    }
}

TEST(EventParser, BoundsALineAndAnEvent) {
    const std::string five = "data:abcde\n";  // ten bytes in a line, six in the event
    EXPECT_EQ(parsed(five + "\n", 100, 10), "message:abcde;");
    EXPECT_EQ(parsed(five + "\n", 1, 9), "!");
    EXPECT_EQ(parsed(std::string(100, ':'), 7, 99), "!");
    EXPECT_EQ(parsed(five + five + "\n", 1, 12), "message:abcde\nabcde;");
    EXPECT_EQ(parsed(five + five + "\n", 1, 11), "!");
}

class EventReaderTest : public ClientTest {
  protected:
    static task::Task<> read_all(Client& client, std::string url, std::string& told) {
        auto answer = co_await client.open(ClientRequest("GET", std::move(url)));
        EventReader events(std::move(*answer), 1'000);
        while (true) {
            auto event = co_await events.next();
            if (!event) told += "! " + event.error().message;
            if (!event || !*event) break;
            told += (*event)->type + ":" + (*event)->data + ";";
        }
        told += " after " + events.last_id();
    }
    std::string read(std::string body, std::string_view head = "Connection: close\r\n") {
        ClientTestServer server(world);
        server.say("HTTP/1.1 200 OK\r\n" + std::string(head) + "\r\n" + std::move(body));
        server.answer = [say = server.answer, head](net::Connection& connection,
                                                    const std::string& request) {
            say(connection, request);
            if (head.starts_with("Connection")) connection.finish();
        };
        std::string told;
        run(read_all(the_client(), server.url, told));
        // The text of an error names the address.
        const std::size_t url = told.find(server.url);
        return url == std::string::npos ? told
                                        : told.substr(0, url) + told.substr(told.rfind(" after"));
    }
};

TEST_F(EventReaderTest, GivesEventsUntilTheStreamEnds) {
    EXPECT_EQ(read("id: 1\ndata: a\n\ndata: b\n\ndata: c"), "message:a;message:b; after 1");
}

TEST_F(EventReaderTest, ReportsWhatIsTooLargeAndWhatIsCutOff) {
    EXPECT_EQ(read("data: a\n\n" + std::string(2'000, 'x')), "message:a;!  after ");
    EXPECT_EQ(read("data: a\n\n", "Content-Length: 5000\r\nConnection: close\r\n").substr(0, 13),
              "message:a;!  ");
}

}  // namespace
}  // namespace tiderace::http
