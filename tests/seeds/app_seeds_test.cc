// An App and its clients, in every weather: handlers that throw, answer late, never answer, block
// their loop or outlive their client, and bodies that are hostile. What each client hears is the
// beginning of the right answers in their order, all of them where nothing went wrong; every
// handler's frame ends; nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/app/body_stream.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/app/multipart.h"
#include "tiderace/http/app/pages/page.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/task.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::testing {
namespace {

using http::App;
using task::Generator;
using task::Task;

constexpr std::size_t body_bytes_max = 12'000;

// Counts the frames of handlers that have not ended.
struct Alive {
    Alive() { ++count; }
    Alive(const Alive&) = delete;
    ~Alive() { --count; }
    static inline int count = 0;
};

struct Order {
    std::string item;
    int count;
};

Task<int> value_after(Duration wait, int value) {
    const Alive here;
    co_await sleep(wait);
    co_return value;
}

// Lives in a task that goes on when its request is over.
struct Detached {
    Detached() { ++count; }
    Detached(const Detached&) = delete;
    ~Detached() { --count; }
    static inline int count = 0;
};
Task<> detached() {
    const Detached here;
    co_await sleep(200ms);
}

Task<std::string> race() {
    const Alive here;
    const auto late = co_await within(50ms, value_after(24h, 1));
    const auto both = co_await when_all(value_after(20ms, 2), value_after(10ms, 3));
    co_return late ? "late" : std::to_string(std::get<0>(both) + std::get<1>(both));
}

Task<int> ready(int value) {
    co_return value;
}

// All of them end at once, so the stack must not grow and the loop must not be kept from others.
Task<std::string> many_awaits() {
    const Alive here;
    int sum = 0;
    for (int i = 0; i < 5'000; ++i) sum += co_await ready(1);
    co_return std::to_string(sum);
}

// It ends before its children, which wait for ever.
Task<std::string> parent_that_ends() {
    const Alive here;
    Scope children;
    for (int i = 0; i < 3; ++i) {
        children.spawn([]() -> Task<> {
            const Alive child;
            co_await sleep(24h);
        }());
    }
    co_await sleep(10ms);
    co_return "gone";
}

constexpr int pieces_before_break = 9;

std::string piece(int number) {
    return std::string(500, static_cast<char>('a' + number % 26));
}
Generator<std::string> pieces(int count, bool breaks) {
    const Alive here;
    for (int i = 0; i < count; ++i) {
        if (i % 50 == 7) co_await sleep(20ms);
        std::string one = piece(i);
        co_yield std::move(one);
    }
    if (breaks) throw std::runtime_error("on purpose");
}

struct Word {
    std::string word;
};

// A page whose template turns into one that includes itself, before it is shown: the last good
// version is, whatever the folder has become.
TemporaryFolder& template_folder() {
    static TemporaryFolder folder;
    return folder;
}
void add_page(App& app) {
    template_folder().write("self.html", "<p>{{ word }}</p>");
    app.templates(template_folder().path(), {.reload = true, .show_faults = false});
    app.get<"/self">([] {
        template_folder().write("self.html", "<i>{% include \"self.html\" %}</i>");
        return http::page<"self.html">(Word{"tide"});
    });
}

void add_answers(App& app) {
    app.get<"/text">([] { return "hello"; });
    app.get<"/throw">([]() -> std::string { throw std::runtime_error("on purpose"); });
    app.get<"/late">([]() -> Task<std::string> {
        const Alive here;
        co_await sleep(300ms);
        co_return "late";
    });
    app.get<"/throw-late">([]() -> Task<std::string> {
        const Alive here;
        co_await sleep(5ms);
        throw std::runtime_error("on purpose");
    });
    app.get<"/never">([]() -> Task<std::string> {
        const Alive here;
        co_await sleep(24h);
        co_return "never";
    });
    app.get<"/race">([] { return race(); });
    app.get<"/awaits">([] { return many_awaits(); });
    app.get<"/parent">([] { return parent_that_ends(); });
    app.get<"/detached">([](task::Runner& runner) -> Task<std::string> {
        const Alive here;
        runner.spawn(detached());
        co_await sleep(10ms);
        co_return "begun";
    });
    app.get<"/blocks">([](ManualClock& clock) {
        clock.advance(300ms);
        return "at last";
    });
    app.get<"/pieces">([] { return pieces(200, false); });
    app.get<"/breaks">([] { return pieces(pieces_before_break, true); });
    app.get<"/events">([]() -> http::Events {
        const Alive here;
        for (int i = 0; i < 3; ++i) {
            co_yield {.data = std::to_string(i)};
            co_await sleep(100ms);
        }
    });
}

void add_readers(App& app) {
    app.post<"/json">([](http::Json<Order> order) { return order; });
    app.post<"/form">([](http::Form<Order> order) { return order->item; });
    app.post<"/body">([](http::Body body) -> Task<std::string> {
        const Alive here;
        co_await task::yield();
        co_return std::to_string(body.text().size());
    });
    app.post<"/stream">([](http::BodyStream body) -> Task<std::string> {
        const Alive here;
        std::size_t bytes = 0;
        while (auto piece = co_await body.next()) bytes += piece->size();
        co_return std::to_string(bytes);
    });
    app.post<"/parts">([](http::Multipart form) -> Task<std::string> {
        const Alive here;
        std::string all;
        while (auto part = co_await form.next()) {
            const std::string text = co_await form.text(1'000);
            all += part->name + "=" + text + ";";
        }
        co_return all;
    });
    app.get<"/cookies">([](http::Cookies cookies) -> Task<std::string> {
        const Alive here;
        co_await sleep(10ms);
        co_return std::string(cookies.get("a").value_or("none"));
    });
    app.group("/behind")
        .use([]() -> Task<std::optional<http::Problem>> {
            const Alive here;
            co_await sleep(10ms);
            co_return std::nullopt;
        })
        .get<"/rule">([] { return "passed"; })
        .post<"/body">([](http::Body body) { return std::move(body).text(); });
}

void add_background(App& app) {
    app.background(
        [](ManualClock&) -> Task<> {
            const Alive here;
            for (;;) co_await sleep(1s);
        },
        {.grace = 1s});
}

// The App on the loop of a world.
class AppSite {
  public:
    AppSite(World& world, http::H1Options options, const net::TcpServerOptions& connections)
        : app_({.body_bytes_max = body_bytes_max, .handler_timeout = 2s}) {
        app_.state<ManualClock>([&world](core::EventLoop&) {
            return std::shared_ptr<ManualClock>(&world.clock(), [](ManualClock*) {});
        });
        add_page(app_);
        add_answers(app_);
        add_readers(app_);
        add_background(app_);
        EXPECT_EQ(app_.fault(), "");
        loop_ = std::make_unique<http::AppLoop>(world.loop(), app_, nullptr);
        site_ = std::make_unique<http::Site>(*loop_);
        service_ = std::make_unique<http::H1Service>(world.loop(), *site_, std::move(options));
        server_ = std::make_unique<net::TcpServer>(world.loop(), *service_, connections);
        server_->listen(world.listen());
    }

    net::TcpServer& server() { return *server_; }
    http::AppLoop& loop() { return *loop_; }

  private:
    App app_;
    std::unique_ptr<http::AppLoop> loop_;
    std::unique_ptr<http::Site> site_;
    std::unique_ptr<http::H1Service> service_;
    std::unique_ptr<net::TcpServer> server_;
};

std::string get(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
std::string post(const std::string& target, const std::string& type, const std::string& body) {
    return "POST " + target + " HTTP/1.1\r\nHost: a\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string part(const std::string& name, const std::string& value) {
    return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}

std::vector<std::string> all_requests() {
    const std::string json = "application/json";
    const std::string form = "application/x-www-form-urlencoded";
    const std::string parts = "multipart/form-data; boundary=XX";
    const std::string large(body_bytes_max + 1, 'x');
    std::string fields = "item=a&count=1";
    for (int i = 0; i < 5'000; ++i) fields += "&b";
    return {
        get("/text"),
        get("/throw"),
        get("/late"),
        get("/throw-late"),
        get("/never"),
        get("/race"),
        get("/awaits"),
        get("/parent"),
        get("/detached"),
        get("/blocks"),
        get("/pieces"),
        get("/breaks"),
        get("/events"),
        get("/self"),
        get("/nothing"),
        get("/cookies", "Cookie: b=2; a=1\r\n"),
        get("/cookies", "Cookie: " + std::string(2'000, ';') + " =; a=\"; a=1,2; \xC3=1\r\n"),
        get("/behind/rule"),
        post("/json", json, R"({"item":"tea","count":2})"),
        post("/json", json, R"({"item":"tea","count":2,"count":3})"),
        post("/json", json, R"({"item":"\ud800","count":2})"),
        post("/json", json, std::string(10'000, '[')),
        post("/json", "text/plain", "{}"),
        post("/form", form, "item=tea&count=2"),
        post("/form", form, fields),
        post("/body", "text/plain", std::string(3'000, 'x')),
        post("/stream", "text/plain", std::string(body_bytes_max, 'x')),
        post("/parts", parts, part("a", "1") + part("b", std::string(900, 'x')) + "--XX--\r\n"),
        post("/parts", parts, part("a", "1") + "--XX\r\nno end"),
        post("/behind/body", "text/plain", "behind a rule"),
        // Readers that are sent more than they take.
        post("/json", json, large),
        post("/form", form, large),
        post("/body", "text/plain", large),
        post("/stream", "text/plain", large),
        post("/parts", parts, part("a", large)),
        post("/behind/body", "text/plain", large),
    };
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
    std::string answer = broken.substr(0, broken.find("\r\n\r\n") + 4);
    for (int i = 0; i < pieces_before_break; ++i) answer += piece(i);
    return answer;
}

// What each request is answered with where nothing fails.
const std::vector<Asked>& all_asked_of_the_app() {
    static const std::vector<Asked> all = [] {
        std::vector<Asked> made;
        for (const std::string& request : all_requests()) {
            FakeWorld world;
            AppSite site(world, {}, {});
            const auto peer = world.connect();
            peer->say(request);
            world.advance(5s);
            std::string answer = plain(peer->heard());
            if (request.starts_with("GET /breaks")) answer = all_pieces_of(answer);
            made.push_back({request, answer, peer->over()});
            peer->reset();
            world.settle();
        }
        return made;
    }();
    return all;
}

// Whether its answer, or the connection's fate after it, depends on how much of it has arrived.
bool varies(const Asked& asked) {
    return asked.answer.starts_with("HTTP/1.1 413") || asked.request.starts_with("GET /breaks");
}

void handlers(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    std::vector<AskingTalk> clients(1 + random.below(4));
    AppSite site(world, random_h1_options(random, quiet), random_connections(random, quiet));
    for (AskingTalk& client : clients) {
        choose_requests(random, client, all_asked_of_the_app(), 5, varies);
        begin_talk(world, random, client);
    }
    const bool early =
        serve_and_drain(world, random, site.server(), [&] { return all_done(clients); });
    EXPECT_EQ(Alive::count, 1) << "the background task alone";
    bool drained = false;
    site.loop().drain(world.loop().now() + 5s, [&] { drained = true; });
    EXPECT_TRUE(world.run_until([&] { return drained; }));
    EXPECT_EQ(Alive::count, 0);
    world.advance(1s);
    EXPECT_EQ(Detached::count, 0);
    for (const AskingTalk& client : clients) {
        const bool whole =
            is_owed_all(client, quiet && !early) &&
            std::ranges::none_of(client.asked, [](auto* one) { return varies(*one); });
        EXPECT_EQ(fault_in(plain(client.peer->heard()), client.asked, whole), "");
    }
}

TEST(AppSeeds, HandlersOfEveryKind) {
    run_seeds(handlers, {.one_in = 2, .one_in_sanitized = 2});
}

TEST(AppSeeds, ATemplateThatIncludesItselfIsNotShown) {
    const auto& all = all_asked_of_the_app();
    const auto self = std::ranges::find_if(
        all, [](const Asked& one) { return one.request.starts_with("GET /self"); });
    ASSERT_NE(self, all.end());
    EXPECT_TRUE(self->answer.ends_with("<p>tide</p>")) << self->answer;
}

TEST(AppSeeds, EveryRequestHasTheStatusThatIsItsDue) {
    std::vector<std::string> statuses;
    for (const Asked& one : all_asked_of_the_app()) {
        ASSERT_TRUE(one.answer.starts_with("HTTP/1.1 ")) << one.request.substr(0, 200);
        statuses.push_back(one.answer.substr(9, 3));
    }
    EXPECT_EQ(statuses, (std::vector<std::string>{
                            "200", "500", "200", "500", "503", "200", "200", "200", "200",
                            "200", "200", "200", "200", "200", "404", "200", "200", "200",  //
                            "200", "422", "400", "400", "415",                              // JSON
                            "200", "422", "200", "200", "200", "400", "200",  // other bodies
                            "413", "413", "413", "413", "413", "413"}));
}

}  // namespace
}  // namespace tiderace::testing
