// A static site over HTTP/2 and its clients in every weather: frames cut anywhere, windows of every
// size, slow readers and deaf ones, streams given up, frames that make no sense. What each hears
// are lawful frames within the windows that it gave, and the beginnings of the right answers, all
// of them where nothing went wrong; every connection ends; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::testing {
namespace {

using http::wire::h2_frame_bytes_min;
using http::wire::h2_frame_header_bytes;
using http::wire::H2FrameHeader;
using http::wire::H2FrameType;
using http::wire::H2SettingId;
namespace h2_flag = http::wire::h2_flag;

struct Question {
    const char* method;
    const char* path;
    H2Client::Fields fields;
    int status;
    std::string body = {};
};

class Http2Site {
  public:
    Http2Site(World& world, http::H2Options options, const net::TcpServerOptions& connections)
        : world_(&world),
          site_(world, {}, connections),
          http2_(world.loop(), site_.site(), std::move(options)) {
        site_.service().set_http2(http2_);
    }
    ~Http2Site() {
        site_.server().abort_all();
        world_->settle();
    }
    net::TcpServer& server() { return site_.server(); }
    bool started() const { return site_.started(); }
    const http::H2Counters& counters() { return http2_.counters(); }

  private:
    World* world_;
    HttpSite site_;
    http::H2Service http2_;
};

// With their bodies as a site answers them where nothing fails.
const std::vector<Question>& questions() {
    static const std::vector<Question> all = [] {
        std::vector<Question> made{
            {"GET", "/", {}, 200},
            {"GET", "/small.txt", {}, 200},
            {"GET", "/large.txt", {}, 200},
            {"GET", "/large.txt", {{"priority", "u=1, i"}}, 200},
            {"GET", "/sub", {}, 301},
            {"GET", "/missing", {}, 404},
            {"HEAD", "/large.txt", {}, 200},
            {"GET", "/large.txt", {{"range", "bytes=500-90000"}}, 206},
            {"GET", "/small.txt", {{"range", "bytes=9999-"}}, 416},
            {"GET", "/small.txt", {{"if-none-match", "*"}}, 304},
            {"POST", "/small.txt", {{"content-length", "0"}}, 405},
            {"GET", "/%2e%2e/etc/passwd", {}, 400},
            {"OPTIONS", "*", {}, 204},
        };
        FakeWorld world;
        Http2Site site(world, {}, {});
        site.server().listen(world.listen());
        const auto peer = world.connect();
        H2Client client(*peer);
        for (Question& one : made) {
            const auto stream = client.request(one.method, one.path, one.fields, true);
            client.window_update(stream, 1'000'000);
            client.window_update(0, 1'000'000);
            world.settle();
            one.body = client.answer(stream).body;
            EXPECT_TRUE(client.answer(stream).ended) << one.path;
            EXPECT_EQ(client.answer(stream).status, one.status) << one.path;
        }
        return made;
    }();
    return all;
}

struct Http2Talk : FakeTalk {
    std::map<std::uint32_t, const Question*> asked;
    std::set<std::uint32_t> given_up;  // reset by the client
    std::map<std::uint32_t, std::uint64_t> granted;
    std::uint64_t window = 65'535;  // of each stream, before `granted`
    bool wide = false;              // all answers fit into the windows
    bool nonsense = false;          // frames that were not meant
};

void say_nonsense(Random& random, H2Client& client, Http2Talk& talk) {
    talk.nonsense = true;
    std::string payload(random.below(24), '\0');
    for (char& byte : payload) byte = static_cast<char>(random.below(256));
    client.frame(static_cast<H2FrameType>(random.below(18)),
                 static_cast<std::uint8_t>(random.below(256)),
                 static_cast<std::uint32_t>(random.below(20)), payload);
}

void say_aside(Random& random, H2Client& client, Http2Talk& talk, std::uint32_t stream) {
    const auto amount = static_cast<std::uint32_t>(1 + random.below(50'000));
    switch (random.below(10)) {
        case 0:
            client.window_update(stream, amount);
            talk.granted[stream] += amount;
            break;
        case 1:
            client.window_update(0, amount);
            talk.granted[0] += amount;
            break;
        case 2:
            client.reset(stream);
            talk.given_up.insert(stream);
            break;
        case 3:
            client.ping("12345678");
            break;
        case 4: {
            const char next = static_cast<char>(stream + 2 * random.below(3));
            client.frame(H2FrameType::priority_update, 0, 0,
                         std::string("\0\0\0", 3) + next + "u=" + "0i7"[random.below(3)]);
            break;
        }
        case 5:
            if (random.chance(1, 3)) say_nonsense(random, client, talk);
            break;
        default:
            break;
    }
}

// Preface, SETTINGS, and some requests with what comes between them.
void write_talk(Random& random, Http2Talk& talk) {
    static constexpr std::uint32_t windows[] = {0, 1, 1'000, 65'535, 1'000'000, 1'000'000};
    const std::uint32_t window = windows[random.below(std::size(windows))];
    talk.window = window;
    talk.wide = window == 1'000'000;
    RecordingPeer written;
    H2Client client(written,
                    {{H2SettingId::initial_window_size, window},
                     {H2SettingId::header_table_size, random.chance(1, 2) ? 0U : 65'536U}});
    talk.granted[0] = 65'535;
    if (talk.wide) {
        client.window_update(0, 1'000'000'000);
        talk.granted[0] += 1'000'000'000;
    }
    for (std::uint64_t i = 1 + random.below(8); i > 0; --i) {
        const Question& one = questions()[random.below(questions().size())];
        const bool has_body = std::string_view(one.method) == "POST";
        const auto stream = client.request(one.method, one.path, one.fields, !has_body);
        talk.asked[stream] = &one;
        if (has_body) client.data(stream, std::string(30, 'b'), true);
        while (random.chance(1, 2)) say_aside(random, client, talk, stream);
    }
    talk.text = std::move(written.said);
    cut_some(random, talk);
}

http::H2Options random_budgeted_options(Random& random, bool patient) {
    http::H2Options options = random_h2_options(random, patient);
    if (!patient) options.budget.units_max = static_cast<std::uint32_t>(10 + random.below(10'000));
    return options;
}

// Each frame is one that a server may send, on a stream that waits for it, within the windows.
void expect_lawful_frames(const Http2Talk& talk) {
    ByteView rest = talk.peer->heard();
    std::map<std::uint32_t, std::uint64_t> data;
    std::set<std::uint32_t> heads, over;
    bool first = true;
    bool failed = false;  // GOAWAY with an error
    while (rest.size() >= h2_frame_header_bytes) {
        const H2FrameHeader header = http::wire::read_h2_frame_header(rest);
        ASSERT_LE(header.length, h2_frame_bytes_min);
        ASSERT_FALSE(failed) << "something behind the last GOAWAY";
        ASSERT_TRUE(!first || header.type == H2FrameType::settings);
        first = false;
        const bool on_stream =
            header.type == H2FrameType::data || header.type == H2FrameType::headers;
        if (on_stream) {
            ASSERT_TRUE(talk.nonsense || talk.asked.contains(header.stream)) << header.stream;
            ASSERT_FALSE(over.contains(header.stream)) << "behind the end of " << header.stream;
            ASSERT_EQ(header.type == H2FrameType::headers, heads.insert(header.stream).second);
            if (header.has(h2_flag::end_stream)) over.insert(header.stream);
        }
        if (header.type == H2FrameType::data) {
            data[header.stream] += header.length;
            data[0] += header.length;
        }
        if (header.type == H2FrameType::rst_stream) over.insert(header.stream);
        if (rest.size() < h2_frame_header_bytes + header.length) break;
        const ByteView payload = rest.substr(h2_frame_header_bytes, header.length);
        failed =
            header.type == H2FrameType::goaway && payload.substr(4, 4) != ByteView("\0\0\0\0", 4);
        rest.remove_prefix(h2_frame_header_bytes + header.length);
    }
    if (talk.nonsense) return;  // it may have been a WINDOW_UPDATE
    for (const auto& [stream, bytes] : data) {
        const auto granted = talk.granted.find(stream);
        EXPECT_LE(bytes, (granted == talk.granted.end() ? 0 : granted->second) +
                             (stream == 0 ? 0 : talk.window));
    }
}

// `calm`: nothing but what the client did itself kept an answer from it.
void expect_right_answers(Http2Talk& talk, bool calm) {
    H2Client ear(*talk.peer, {}, false);
    for (const auto& [stream, question] : talk.asked) {
        SCOPED_TRACE(std::string(question->method) + ' ' + question->path);
        const H2Client::Answer& answer = ear.answer(stream);
        if (calm && talk.wide && !talk.given_up.contains(stream)) {
            EXPECT_TRUE(answer.ended);
            EXPECT_EQ(answer.status, question->status);
        }
        if (answer.status == 0 || talk.nonsense) continue;
        if (answer.status != question->status) {
            EXPECT_EQ(answer.status, 408);
            continue;
        }
        ByteView body = answer.body;
        // A file that became shorter ends its stream: the frame that had promised more of it is
        // filled with zeros, and then a reset, or the connection's end, shows that it is cut.
        if (!answer.ended) body = body.substr(0, body.find(char{}));
        EXPECT_EQ(body, question->body.substr(0, body.size()));
        EXPECT_TRUE(!answer.ended || answer.body.size() == question->body.size());
    }
}

void h2_site(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    std::vector<Http2Talk> clients(1 + random.below(4));
    net::TcpServerOptions connections;
    connections.connection.write = some_seconds(random, quiet, 20);
    Http2Site site(world, random_budgeted_options(random, quiet), connections);
    ASSERT_TRUE(site.started());
    site.server().listen(world.listen(static_cast<int>(1 + random.below(8))));
    for (Http2Talk& client : clients) {
        write_talk(random, client);
        client.peer = world.connect_fake();
        client.peer->set_saying_pace(random_pace(random, 1 + client.text.size() / 60, 3'000));
        client.peer->set_hearing_pace(random_pace(random, 2'000 * client.asked.size(), 3'000));
        plan_talk(world, random, client, 30);
    }
    const bool early = serve_and_drain(world, random, site.server(), [&] {
        return std::ranges::all_of(clients, [](const Http2Talk& c) { return c.done(); });
    });
    for (Http2Talk& client : clients) {
        // A preface that did not come whole, or not before the server stopped, was an HTTP/1.1
        // request, and a bad one.
        if (client.peer->heard().starts_with("HTTP/1.1 4") && (client.cut || early)) continue;
        expect_lawful_frames(client);
        const bool calm = quiet && !early && !client.deaf && !client.cut && !client.nonsense &&
                          client.ending == FakeTalk::Ending::finish;
        expect_right_answers(client, calm);
    }
}

TEST(Http2Seeds, Site) {
    run_seeds(h2_site, {.one_in_sanitized = 5});
}

}  // namespace
}  // namespace tiderace::testing
