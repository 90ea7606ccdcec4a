// An App and its clients, in every weather: handlers that throw, answer late, never answer, block
// their loop, outlive their client or post to a loop that ended, and bodies that are hostile. What
// each client hears is the beginning of the right answers in their order, all of them where nothing
// went wrong; every handler's frame ends; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/seeds/app_site.h"
#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"

namespace tiderace::testing {
namespace {

std::string as_text(const AppQuestion& question) {
    std::string text = question.method + " " + question.path + " HTTP/1.1\r\nHost: a\r\n";
    if (!question.cookie.empty()) text += "Cookie: " + question.cookie + "\r\n";
    if (question.method == "GET") return text + "\r\n";
    return text + "Content-Type: " + question.type +
           "\r\nContent-Length: " + std::to_string(question.body.size()) + "\r\n\r\n" +
           question.body;
}

// The chunks of a body joined, with a word where it ends; what is not whole stays away.
std::string joined(std::string_view& text) {
    std::string body;
    for (;;) {
        const std::size_t line = text.find("\r\n");
        if (line == text.npos) break;
        const std::size_t bytes = std::stoul(std::string(text.substr(0, line)), nullptr, 16);
        if (bytes == 0) {
            if (text.size() < line + 4) break;
            text.remove_prefix(line + 4);
            return body + "(the end)";
        }
        text.remove_prefix(line + 2);
        body += text.substr(0, bytes);
        if (text.size() < bytes + 2) break;
        text.remove_prefix(bytes + 2);
    }
    text = {};
    return body;
}

// All answers with their bodies as they were before they were cut into chunks, which depend on the
// client's pace.
std::string plain(std::string_view heard) {
    const std::string kept = without_dates(heard);
    std::string_view text = kept;
    std::string out;
    for (;;) {
        const std::size_t end = text.find("\r\n\r\n");
        if (end == text.npos) return out.append(text);
        const std::string_view head = text.substr(0, end + 4);
        text.remove_prefix(head.size());
        out += head;
        const std::size_t length = head.find("Content-Length: ");
        if (length != head.npos) {
            const std::size_t bytes = std::stoul(std::string(head.substr(length + 16)));
            out += text.substr(0, bytes);
            text.remove_prefix(std::min(bytes, text.size()));
        } else if (head.find("Transfer-Encoding: chunked") != head.npos) {
            out += joined(text);
        }
    }
}

// How much of an answer leaves before it is broken off depends on the client's pace; this is all.
std::string all_pieces_of(const std::string& broken) {
    return broken.substr(0, broken.find("\r\n\r\n") + 4) + all_pieces_before_break();
}

// The answer to each request where nothing fails.
std::vector<Asked> answered(const std::vector<AppQuestion>& questions) {
    std::vector<Asked> made;
    for (const AppQuestion& question : questions) {
        const std::string request = as_text(question);
        FakeWorld world;
        AppSite site(world, {}, {}, {});
        const auto peer = world.connect();
        peer->say(request);
        world.advance(5s);
        std::string answer = plain(peer->heard());
        if (question.path == "/breaks") answer = all_pieces_of(answer);
        made.push_back({request, answer, peer->over()});
        peer->reset();
        world.settle();
    }
    return made;
}
const std::vector<Asked>& all_asked_of_the_app() {
    static const std::vector<Asked> all = answered(all_questions());
    return all;
}

// Whether its answer, or the connection's fate after it, depends on how much of it has arrived.
bool varies(const Asked& asked) {
    constexpr std::size_t too_much_for_a_drip = 100'000;  // within the time of a scenario
    return asked.answer.starts_with("HTTP/1.1 413") || asked.request.starts_with("GET /breaks") ||
           asked.request.size() > too_much_for_a_drip;
}

// Until all clients have ended: what each of them heard is right.
void serve(FakeWorld& world, Random& random, AppSite& site, std::vector<AskingTalk>& clients) {
    const bool quiet = is_quiet(world);
    const bool early = serve_and_drain(world, random, site.server(), [&] {
        site.other_loop().turn();
        return all_done(clients);
    });
    site.expect_to_end(world);
    for (const AskingTalk& client : clients) {
        const bool whole =
            is_owed_all(client, quiet && !early) &&
            std::ranges::none_of(client.asked, [](auto* one) { return varies(*one); });
        EXPECT_EQ(fault_in(plain(client.peer->heard()), client.asked, whole), "");
    }
}

void handlers(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    std::vector<AskingTalk> clients(1 + random.below(4));
    AppSite site(world, random_h1_options(random, quiet), {}, random_connections(random, quiet));
    for (AskingTalk& client : clients) {
        choose_requests(random, client, all_asked_of_the_app(), 5, varies);
        begin_talk(world, random, client);
    }
    serve(world, random, site, clients);
}

TEST(AppSeeds, HandlersOfEveryKind) {
    run_seeds(handlers, {.one_in = 2, .one_in_sanitized = 2});
}

// One client asks for very much, the others are served as ever.
void extremes(FakeWorld& world, Random& random) {
    static const std::vector<Asked> much = answered(extreme_questions());
    const bool quiet = is_quiet(world);
    std::vector<AskingTalk> clients(3);
    AppSite site(world, random_h1_options(random, quiet), {}, random_connections(random, quiet));
    for (AskingTalk& client : clients) {
        const bool asks_much = &client == &clients[0];
        choose_requests(random, client, asks_much ? much : all_asked_of_the_app(),
                        asks_much ? 1 : 5, varies);
        begin_talk(world, random, client);
    }
    serve(world, random, site, clients);
}

TEST(AppSeeds, AMillionAwaitsAndAHundredThousandFields) {
    run_seeds(extremes, {.one_in = 100, .one_in_sanitized = 5});
}

TEST(AppSeeds, ATemplateThatIncludesItselfIsNotShown) {
    const auto& all = all_asked_of_the_app();
    const auto self = std::ranges::find_if(
        all, [](const Asked& one) { return one.request.starts_with("GET /self"); });
    ASSERT_NE(self, all.end());
    EXPECT_TRUE(self->answer.ends_with("<p>tide</p>")) << self->answer;
}

TEST(AppSeeds, ExtremesAreAnsweredAsOthersAre) {
    const std::vector<Asked> much = answered(extreme_questions());
    EXPECT_TRUE(much.at(0).answer.ends_with("\r\n\r\n1000000")) << much[0].answer;
    EXPECT_TRUE(much.at(1).answer.starts_with("HTTP/1.1 422 ")) << much[1].answer;
}

TEST(AppSeeds, EveryRequestHasTheStatusThatIsItsDue) {
    std::vector<std::string> statuses;
    for (const Asked& one : all_asked_of_the_app()) {
        ASSERT_TRUE(one.answer.starts_with("HTTP/1.1 ")) << one.request.substr(0, 200);
        statuses.push_back(one.answer.substr(9, 3));
    }
    EXPECT_EQ(statuses, (std::vector<std::string>{
                            "200", "500", "200", "500", "503", "200", "200", "200", "200", "200",
                            "200", "200", "200", "200", "200", "404", "200", "200", "200",  //
                            "200", "422", "400", "400", "415",                              // JSON
                            "200", "422", "200", "200", "200", "400", "200",  // other bodies
                            "413", "413", "413", "413", "413", "413"}));
}

}  // namespace
}  // namespace tiderace::testing
