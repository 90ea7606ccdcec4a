#include "tests/seeds/app_site.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/app/body_stream.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/http/app/form.h"
#include "tiderace/http/app/multipart.h"
#include "tiderace/http/app/pages/page.h"
#include "tiderace/http/app/ready_middleware.h"
#include "tiderace/http/app/stream.h"
#include "tiderace/task.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::testing {
namespace {

using http::App;
using task::Generator;
using task::Task;

constexpr std::size_t body_bytes_max = 12'000;
constexpr int pieces_before_break = 9;

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
Task<std::string> many_awaits(int count) {
    const Alive here;
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await ready(1);
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

Task<bool> comes(std::shared_ptr<task::Channel<int>> answer) {
    const Alive here;
    const auto value = co_await answer->receive();
    co_return value.has_value();
}

// Asks another loop, which may have ended; then no answer comes.
Task<std::string> ask_elsewhere(OtherLoop& other, core::EventLoop& home) {
    const Alive here;
    const auto answer = std::make_shared<task::Channel<int>>(1);
    other.post([answer, &home] { home.post([answer] { answer->try_send(1); }); });
    co_await within(50ms, comes(answer));
    co_return "asked";
}

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
    app.get<"/awaits">([] { return many_awaits(5'000); });
    app.get<"/million">([] { return many_awaits(1'000'000); });
    app.get<"/parent">([] { return parent_that_ends(); });
    app.get<"/detached">([](task::Runner& runner) -> Task<std::string> {
        const Alive here;
        runner.spawn(detached());
        co_await sleep(10ms);
        co_return "begun";
    });
    app.get<"/elsewhere">(
        [](OtherLoop& other, task::Runner& runner) { return ask_elsewhere(other, runner.loop()); });
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
    const auto item = [](http::Form<Order> order) { return order->item; };
    app.post<"/form">(item).post<"/large-form">(item, http::body_limit(1_MiB));
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

std::string part(const std::string& name, const std::string& value) {
    return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}

AppQuestion get(std::string path, std::string cookie = "") {
    return {.method = "GET", .path = std::move(path), .cookie = std::move(cookie)};
}
AppQuestion post(std::string path, std::string type, std::string body) {
    return {.method = "POST",
            .path = std::move(path),
            .type = std::move(type),
            .body = std::move(body)};
}

}  // namespace

AppSite::AppSite(FakeWorld& world, http::H1Options h1, http::H2Options h2,
                 const net::TcpServerOptions& connections)
    : other_loop_(world), app_({.body_bytes_max = body_bytes_max, .handler_timeout = 2s}) {
    app_.state<ManualClock>([&world](core::EventLoop&) {
        return std::shared_ptr<ManualClock>(&world.clock(), [](ManualClock*) {});
    });
    app_.state<OtherLoop>([this](core::EventLoop&) {
        return std::shared_ptr<OtherLoop>(&other_loop_, [](OtherLoop*) {});
    });
    add_page(app_);
    add_answers(app_);
    add_readers(app_);
    add_background(app_);
    EXPECT_EQ(app_.fault(), "");
    loop_ = std::make_unique<http::AppLoop>(world.loop(), app_, nullptr);
    http2_ = std::make_unique<http::H2Service>(world.loop(), loop_->site(), std::move(h2));
    service_ = std::make_unique<http::H1Service>(world.loop(), loop_->site(), std::move(h1));
    service_->set_http2(*http2_);
    server_ = std::make_unique<net::TcpServer>(world.loop(), *service_, connections);
    server_->listen(world.listen());
}

void AppSite::expect_to_end(FakeWorld& world) {
    EXPECT_EQ(Alive::count, 1) << "the background task alone";
    bool drained = false;
    loop_->drain(world.loop().now() + 5s, [&] { drained = true; });
    EXPECT_TRUE(world.run_until([&] { return drained; }));
    EXPECT_EQ(Alive::count, 0);
    world.advance(1s);
    EXPECT_EQ(Detached::count, 0);
    other_loop_.expect_to_end();
}

std::string all_pieces_before_break() {
    std::string all;
    for (int i = 0; i < pieces_before_break; ++i) all += piece(i);
    return all;
}

std::vector<AppQuestion> all_questions() {
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
        get("/elsewhere"),
        get("/blocks"),
        get("/pieces"),
        get("/breaks"),
        get("/events"),
        get("/self"),
        get("/nothing"),
        get("/cookies", "b=2; a=1"),
        get("/cookies", std::string(2'000, ';') + " =; a=\"; a=1,2; \xC3=1"),
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

std::vector<AppQuestion> extreme_questions() {
    std::string fields = "item=a&count=1";
    for (int i = 0; i < 100'000; ++i) fields += "&b";
    return {get("/million"), post("/large-form", "application/x-www-form-urlencoded", fields)};
}

}  // namespace tiderace::testing
