// A server of HTTP/2 that says exactly the frames that a test wants, and notes what it hears.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/http/client/client_fixture.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/request.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::http {

class H2TestServer {
  public:
    using FieldList = testing::H2Client::Fields;
    using Type = wire::H2FrameType;

    // The events of one connection.
    struct Heard {
        net::Connection* connection = nullptr;
        wire::H2FrameReader reader;
        wire::HpackDecoder decoder;
        std::string frames;  // "SETTINGS; WINDOW_UPDATE 0; HEADERS 1 GET /; …"
        std::vector<std::uint32_t> streams;
        std::size_t body_bytes = 0;
        bool ended = false;
    };

    explicit H2TestServer(testing::FakeWorld& world) : server_(world.loop(), sessions_, {}) {
        sessions_.on_open = [this](net::Connection& made) {
            all.push_back(std::make_unique<Heard>());
            all.back()->connection = &made;
            if (greets) settings({});
        };
        sessions_.on_data = [this](net::Connection& connection, ByteView data) {
            return hear(of(connection), data);
        };
        sessions_.on_peer_finished = [this](net::Connection& connection) {
            of(connection).ended = true;
            connection.close_when_sent();
        };
        sessions_.on_close = [this](net::Connection& connection, net::CloseReason) {
            of(connection).ended = true;
            of(connection).connection = nullptr;
        };
        server_.listen(world.listen());
        url = "http://" + world.listening_at().to_string();
    }
    ~H2TestServer() { server_.abort_all(); }

    // On the connection whose request is being answered, otherwise on the latest.
    void frame(Type type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
        std::string bytes(wire::h2_frame_header_bytes, '\0');
        wire::write_h2_frame_header(
            bytes, {static_cast<std::uint32_t>(payload.size()), type, flags, stream});
        say(bytes + std::string(payload));
    }
    void say(const std::string& bytes) {
        const Heard& to = asking_ != nullptr ? *asking_ : last();
        if (to.connection != nullptr) to.connection->write(bytes);
    }
    void settings(const std::vector<wire::H2Setting>& all) {
        std::array<char, 128> bytes;
        say({bytes.data(), wire::write_h2_settings(bytes, all)});
    }
    void head(std::uint32_t stream, const FieldList& fields, bool end) {
        const std::uint8_t flags =
            wire::h2_flag::end_headers | (end ? wire::h2_flag::end_stream : 0);
        frame(Type::headers, flags, stream, testing::H2Client::block(fields));
    }
    void data(std::uint32_t stream, std::string_view bytes, bool end) {
        frame(Type::data, end ? wire::h2_flag::end_stream : 0, stream, bytes);
    }
    void answer(std::uint32_t stream, std::string_view body) {
        head(stream, {{":status", "200"}}, false);
        data(stream, body, true);
    }
    void reset(std::uint32_t stream, wire::H2Error error) {
        frame(Type::rst_stream, 0, stream, number(static_cast<std::uint32_t>(error)));
    }
    void go_away(std::uint32_t last_stream, wire::H2Error error) {
        frame(Type::goaway, 0, 0, number(last_stream) + number(static_cast<std::uint32_t>(error)));
    }
    void window_update(std::uint32_t stream, std::uint32_t increment) {
        frame(Type::window_update, 0, stream, number(increment));
    }
    static std::string number(std::uint32_t value) {
        std::string bytes;
        for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
        return bytes;
    }

    Heard& last() { return *all.back(); }
    std::size_t connections() const { return server_.size(); }

    // Called with each request: its stream and "GET /path".
    std::function<void(std::uint32_t, const std::string&)> on_request;
    bool greets = true;
    std::vector<std::unique_ptr<Heard>> all;  // connections, the latest last
    std::string url;

  private:
    Heard& of(const net::Connection& connection) {
        return **std::ranges::find(all, &connection,
                                   [](const auto& heard) { return heard->connection; });
    }
    std::size_t hear(Heard& heard, ByteView data) {
        std::size_t used = 0;
        while (true) {
            const auto step = heard.reader.next(data.substr(used));
            used += step.used;
            if (step.status == wire::H2FrameReader::Status::need_more) return used;
            if (step.status == wire::H2FrameReader::Status::fault) {
                heard.frames += "! ";
                heard.connection->close(net::CloseReason::aborted);
                return data.size();
            }
            std::visit([&](const auto& frame) { note(heard, frame); }, step.frame);
        }
    }
    void note(Heard& heard, const wire::H2Headers& frame) {
        wire::RequestHead head;
        const wire::H2RequestLimits limits{};
        std::vector<char> arena(wire::h2_arena_bytes(limits, heard.decoder));
        const auto parsed = wire::parse_h2_request(heard.decoder, frame.block, arena, limits, head);
        EXPECT_EQ(parsed.status, wire::H2RequestParse::Status::complete);
        std::string asked = std::string(head.method_text()) + " " + std::string(head.target());
        heard.frames += "HEADERS " + std::to_string(frame.stream) + " " + asked +
                        (frame.end_stream ? " end; " : "; ");
        heard.streams.push_back(frame.stream);
        asking_ = &heard;
        if (on_request) on_request(frame.stream, asked);
        asking_ = nullptr;
    }
    static void note(Heard& heard, const wire::H2Data& frame) {
        heard.body_bytes += frame.bytes.size();
        if (frame.end_stream) heard.frames += "END " + std::to_string(frame.stream) + "; ";
    }
    static void note(Heard& heard, const wire::H2RstStream& frame) {
        heard.frames += "RST " + std::to_string(frame.stream) + " " + name(frame.code) + "; ";
    }
    static void note(Heard& heard, const wire::H2SettingsFrame& frame) {
        heard.frames += frame.ack ? "ACK; " : "SETTINGS; ";
    }
    static void note(Heard& heard, const wire::H2Ping& frame) {
        heard.frames += frame.ack ? "PONG; " : "PING; ";
    }
    static void note(Heard& heard, const wire::H2Goaway& frame) {
        heard.frames += "GOAWAY " + name(frame.code) + "; ";
    }
    static void note(Heard& heard, const wire::H2WindowUpdate& frame) {
        heard.frames += "WINDOW " + std::to_string(frame.stream) + "; ";
    }
    static void note(Heard& heard, const wire::H2PriorityFrame&) { heard.frames += "PRIORITY; "; }
    static void note(Heard& heard, const wire::H2PriorityUpdate&) { heard.frames += "UPDATE; "; }
    static void note(Heard& heard, const wire::H2UnknownFrame&) { heard.frames += "?; "; }
    static std::string name(std::uint32_t code) {
        return std::string(to_string(static_cast<wire::H2Error>(code)));
    }

    testing::ScriptedSessions sessions_;
    net::TcpServer server_;
    const Heard* asking_ = nullptr;
};

// A client with prior knowledge, and such a server.
class ScriptedH2Test : public ClientTest {
  protected:
    ScriptedH2Test() { make({.timeout = 1h, .versions = ClientVersions::http_2}); }
    ~ScriptedH2Test() override {
        runner.cancel_spawned();
        client.reset();
        world.settle();
    }

    // Every request gets these frames.
    void answer_with(std::function<void(std::uint32_t)> answer) {
        server.on_request = [answer = std::move(answer)](std::uint32_t stream, const std::string&) {
            answer(stream);
        };
    }
    std::shared_ptr<std::string> begin_get(const std::string& path) {
        return begin(ClientRequest("GET", server.url + path));
    }
    bool heard(std::string_view what) {
        return server.last().frames.find(what) != std::string::npos;
    }

    H2TestServer server{world};
};

}  // namespace tiderace::http
