// An App over HTTP/2 and its clients, in every weather: several requests of a connection at once,
// streams that are given up, slow and deaf readers. What each hears are the beginnings of the right
// answers, all of them where nothing went wrong; every handler's frame ends; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/seeds/app_site.h"
#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"
#include "tiderace/testing/h2_client.h"

namespace tiderace::testing {
namespace {

using http::wire::H2SettingId;

constexpr std::uint32_t wide_window = 1'000'000;

struct Known {
    AppQuestion question;
    H2Client::Answer answer;  // where nothing fails
};

H2Client::Fields fields_of(const AppQuestion& question) {
    H2Client::Fields fields;
    if (!question.cookie.empty()) fields.emplace_back("cookie", question.cookie);
    if (question.method == "POST") {
        fields.emplace_back("content-type", question.type);
        fields.emplace_back("content-length", std::to_string(question.body.size()));
    }
    return fields;
}

std::uint32_t ask(H2Client& client, const AppQuestion& question) {
    const bool has_body = question.method == "POST";
    const auto stream =
        client.request(question.method, question.path, fields_of(question), !has_body);
    if (has_body) client.data(stream, question.body, true);
    return stream;
}

const std::vector<Known>& all_known() {
    static const std::vector<Known> all = [] {
        std::vector<Known> made;
        for (const AppQuestion& question : all_questions()) {
            FakeWorld world;
            AppSite site(world, {}, {}, {});
            const auto peer = world.connect();
            H2Client client(*peer, {{H2SettingId::initial_window_size, wide_window}});
            client.window_update(0, wide_window);
            const auto stream = ask(client, question);
            world.advance(5s);
            H2Client::Answer answer = client.answer(stream);
            if (question.path == "/breaks") answer.body = all_pieces_before_break();
            made.push_back({question, answer});
            peer->reset();
            world.settle();
        }
        return made;
    }();
    return all;
}

struct AppHttp2Talk : FakeTalk {
    std::map<std::uint32_t, const Known*> asked;
    std::set<std::uint32_t> given_up;  // reset by the client
    bool wide = false;                 // all answers fit into the windows
};

void write_talk(Random& random, AppHttp2Talk& talk) {
    talk.wide = random.chance(1, 2);
    RecordingPeer written;
    H2Client client(written,
                    {{H2SettingId::initial_window_size,
                      talk.wide ? wide_window : static_cast<std::uint32_t>(random.below(5'000))}});
    if (talk.wide) client.window_update(0, 20 * wide_window);
    std::size_t sent = 0;  // within the connection's first window
    for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
        const Known& one = all_known()[random.below(all_known().size())];
        sent += one.question.body.size();
        if (sent > 60'000) break;
        const auto stream = ask(client, one.question);
        talk.asked[stream] = &one;
        if (random.chance(1, 5)) {
            client.reset(stream);
            talk.given_up.insert(stream);
        }
    }
    talk.text = std::move(written.said);
    cut_some(random, talk);
}

// `calm`: nothing but what the client did itself kept an answer from it.
void expect_right_answers(AppHttp2Talk& talk, bool calm) {
    H2Client ear(*talk.peer, {}, false);
    for (const auto& [stream, known] : talk.asked) {
        SCOPED_TRACE(known->question.method + ' ' + known->question.path);
        const H2Client::Answer& answer = ear.answer(stream);
        const bool breaks = known->question.path == "/breaks";
        if (calm && talk.wide && !talk.given_up.contains(stream)) {
            EXPECT_EQ(answer.ended, !breaks);
            EXPECT_EQ(answer.status, known->answer.status);
        }
        if (answer.status == 0) continue;
        if (answer.status != known->answer.status) {
            EXPECT_EQ(answer.status, 408) << "a body that did not come";
            continue;
        }
        EXPECT_EQ(answer.body, known->answer.body.substr(0, answer.body.size()));
        EXPECT_TRUE(!answer.ended || answer.body.size() == known->answer.body.size());
        EXPECT_FALSE(answer.ended && breaks);
    }
}

void handlers_over_h2(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    std::vector<AppHttp2Talk> clients(1 + random.below(3));
    AppSite site(world, {}, random_h2_options(random, quiet), random_connections(random, quiet));
    for (AppHttp2Talk& client : clients) {
        write_talk(random, client);
        client.peer = world.connect_fake();
        client.peer->set_saying_pace(random_pace(random, 1 + client.text.size() / 60, 3'000));
        client.peer->set_hearing_pace(random_pace(random, 2'000 * client.asked.size(), 3'000));
        plan_talk(world, random, client, 40);
    }
    const bool early = serve_and_drain(world, random, site.server(), [&] {
        site.other_loop().turn();
        return std::ranges::all_of(clients, &AppHttp2Talk::done);
    });
    site.expect_to_end(world);
    for (AppHttp2Talk& client : clients) {
        // A preface that did not come whole was an HTTP/1.1 request, and a bad one.
        if (client.peer->heard().starts_with("HTTP/1.1 4") && (client.cut || early)) continue;
        const bool calm = quiet && !early && !client.deaf && !client.cut &&
                          client.ending == FakeTalk::Ending::finish;
        expect_right_answers(client, calm);
    }
}

TEST(AppHttp2Seeds, HandlersOfEveryKind) {
    run_seeds(handlers_over_h2, {.one_in = 4, .one_in_sanitized = 5});
}

// As over HTTP/1.1 (app_seeds_test.cc).
TEST(AppHttp2Seeds, EveryRequestHasTheStatusThatIsItsDue) {
    std::vector<int> statuses;
    for (const Known& one : all_known()) {
        statuses.push_back(one.answer.status);
        EXPECT_EQ(one.answer.ended, one.question.path != "/breaks") << one.question.path;
    }
    EXPECT_EQ(statuses, (std::vector<int>{200, 500, 200, 500, 503, 200, 200, 200, 200, 200,
                                          200, 200, 200, 200, 200, 404, 200, 200, 200,  //
                                          200, 422, 400, 400, 415,                      // JSON
                                          200, 422, 200, 200, 200, 400, 200,  // other bodies
                                          413, 413, 413, 413, 413, 413}));
}

}  // namespace
}  // namespace tiderace::testing
