#include "server/live/reloader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tiderace/net/tcp_server.h"
#include "tiderace/testing/temporary_folder.h"
#include "tiderace/testing/world.h"

namespace tiderace::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReloaderTest : public ::testing::Test {
  protected:
    ReloaderTest() {
        for (const char* name : {"a", "b"}) {
            folder_.make_folder(name);
            folder_.write(std::string(name) + "/index.html", name);
        }
        parts_.options = &options_;
        parts_.generation = *make(wanted("a"), nullptr);
        worker_ = std::move(*Worker::create(world_->loop(), parts_));
        server_.emplace(world_->loop(), worker_->sessions(0), net::TcpServerOptions{});
        server_->listen(world_->listen());
        reloader_.emplace(Reloader::Parts{
            .read =
                [this] {
                    ++readings_;
                    return read_ ? read_() : Reading{};
                },
            .make = [this](Wanted next,
                           const Generation& before) -> std::expected<Reloader::Next, std::string> {
                auto made = make(std::move(next), &before);
                if (!made) return std::unexpected(made.error().message() + "\n");
                Reloader::Next made_next{.generation = std::move(*made)};
                if (change_) change_(made_next);
                return made_next;
            },
            .tidy = [this](const Generation&) { ++tidied_; },
            .workers = {worker_.get()},
            .now = parts_.generation});
    }
    ~ReloaderTest() override { reloader_.reset(); }

    Wanted wanted(const std::string& folder) {
        Wanted made{.options = options_, .sites = {{.options = options_}}};
        made.sites[0].options.root = folder_.path_of(folder);
        made.sites[0].options.listen_is_default = false;
        return made;
    }
    Result<std::shared_ptr<const Generation>> make(Wanted next, const Generation* before) {
        if (auto done = settle(next); !done) return fail(done.error());
        return make_generation(std::move(next), before, {.password_pool = &pool_});
    }
    void request() {
        reloader_->request([this](bool done, const std::string& text) {
            EXPECT_EQ(text.contains("was read again"), done);
            answers_.push_back(text);
        });
    }
    void wait(std::size_t answers) {
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 100s;
             answers_.size() < answers && clock.now() < end;) {
            world_->settle();
        }
    }
    std::string page() {
        const auto peer = world_->connect();
        peer->say("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        const core::SystemClock clock;
        for (const Instant end = clock.now() + 100s; !peer->over() && clock.now() < end;) {
            world_->settle();
        }
        return peer->heard().substr(peer->heard().rfind('\n') + 1);
    }

    testing::TemporaryFolder folder_;
    ServeOptions options_;
    SharedParts parts_;
    core::WorkerPool pool_{1, 1};
    std::unique_ptr<testing::World> world_ = testing::make_world(testing::main_world_names()[0]);
    std::unique_ptr<Worker> worker_;
    std::optional<net::TcpServer> server_;
    std::optional<Reloader> reloader_;
    std::function<Reading()> read_;
    std::function<void(Reloader::Next&)> change_;
    int tidied_ = 0;
    std::atomic<int> readings_ = 0;
    std::vector<std::string> answers_;
};

TEST_F(ReloaderTest, AnotherReadingIsServedAndTheOneBeforeEnds) {
    EXPECT_EQ(page(), "a");
    read_ = [this] { return Reading{wanted("b"), "a warning\n"}; };
    request();
    wait(1);
    EXPECT_THAT(answers_,
                ElementsAre("a warning\nthe configuration was read again: generation 2\n"));
    EXPECT_EQ(page(), "b");
    EXPECT_EQ(reloader_->now().number, 2u);
    ASSERT_TRUE(reloader_->last());
    EXPECT_TRUE(reloader_->last()->done);
    EXPECT_EQ(reloader_->last()->problems, "a warning\n");
    EXPECT_EQ(reloader_->counts().done, 1u);
    EXPECT_EQ(reloader_->counts().done_at, reloader_->last()->at);
    parts_.generation.reset();
    world_->settle();
    EXPECT_EQ(reloader_->generations_alive(), 1u);
}

TEST_F(ReloaderTest, WhatCannotBeUsedChangesNothing) {
    read_ = [] { return Reading{std::nullopt, "line 3\nline 5\n"}; };
    request();
    wait(1);
    read_ = [this] { return Reading{wanted("missing"), ""}; };
    request();
    wait(2);
    // Each loop reads it.
    read_ = [this] {
        Reading made{wanted("b"), ""};
        made.wanted->sites[0].options.error_pages = {{404, "missing.html"}};
        return made;
    };
    request();
    wait(3);
    read_ = []() -> Reading { throw std::bad_alloc(); };
    request();
    wait(4);
    EXPECT_THAT(answers_, ElementsAre("line 3\nline 5\nthe configuration was refused: all is "
                                      "served as before\n",
                                      HasSubstr("missing"), HasSubstr("missing.html"),
                                      HasSubstr("bad_alloc")));
    EXPECT_EQ(page(), "a");
    EXPECT_EQ(reloader_->now().number, 1u);
    EXPECT_FALSE(reloader_->last()->done);
    EXPECT_EQ(reloader_->counts().done, 0u);
    EXPECT_EQ(reloader_->counts().refused, 4u);
}

TEST_F(ReloaderTest, RequestsThatComeMeanwhileAreAnsweredByTheNextReading) {
    read_ = [this] { return Reading{wanted(readings_ == 1 ? "missing" : "b"), ""}; };
    for (int i = 0; i < 5; ++i) request();
    wait(5);
    const std::string again = "the configuration was read again: generation 2\n";
    EXPECT_EQ(readings_, 2);
    EXPECT_THAT(answers_, ElementsAre(HasSubstr("missing"), again, again, again, again));
    EXPECT_EQ(page(), "b");
}

TEST_F(ReloaderTest, WhateverIsThrownIsAnsweredAndAnotherReadingIsTaken) {
    const auto throws = [] { throw std::bad_alloc(); };
    const std::vector<std::function<void(Reloader::Next&)>> changes{
        [&](Reloader::Next& next) {
            next.settle = [=]() -> Result<> {
                throws();
                return {};
            };
        },
        [&](Reloader::Next& next) {
            next.settle = [] { return fail(Error(EADDRINUSE, "listen on", "a socket")); };
        },
        [&](Reloader::Next& next) { next.published = throws; }};
    const std::vector<const char*> told{"bad_alloc", "listen on a socket", "bad_alloc"};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        SCOPED_TRACE(i);
        answers_.clear();
        read_ = [this] { return Reading{wanted("b"), ""}; };
        change_ = changes[i];
        request();
        wait(1);
        ASSERT_THAT(answers_, ElementsAre(HasSubstr(told[i])));
        EXPECT_FALSE(reloader_->last()->done);
        change_ = {};
        read_ = [this] { return Reading{wanted("a"), ""}; };
        request();
        wait(2);
        EXPECT_EQ(page(), "a");
        EXPECT_TRUE(reloader_->last()->done);
    }
    // The callback of a request may throw as well.
    reloader_->request([&](bool, const std::string&) { throws(); });
    request();
    wait(3);
    EXPECT_EQ(answers_.size(), 3u);
    static_assert(noexcept(worker_->publish()));
}

TEST_F(ReloaderTest, LogsOfARefusedFileAreClosedAsThoseOfAnEarlierOne) {
    read_ = [] { return Reading{std::nullopt, "line 3\n"}; };
    request();
    wait(1);
    EXPECT_EQ(tidied_, 0);
    world_->advance(1s);
    EXPECT_EQ(tidied_, 1);
    world_->advance(10s);
    EXPECT_EQ(tidied_, 1);
}

TEST_F(ReloaderTest, AServerThatStopsTakesNothing) {
    reloader_->stop();
    request();
    wait(1);
    EXPECT_THAT(answers_, ElementsAre(HasSubstr("the server is stopping\n")));
    EXPECT_EQ(readings_, 0);
}

}  // namespace
}  // namespace tiderace::server
