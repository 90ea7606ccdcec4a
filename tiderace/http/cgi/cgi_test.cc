#include "tiderace/http/cgi/cgi.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tiderace/core/kernel.h"
#include "tiderace/core/watch.h"
#include "tiderace/http/cgi/cgi_fixture.h"
#include "tiderace/log/doorbell.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/fail_nth.h"
#include "tiderace/testing/scarce_memory.h"

namespace tiderace::http::cgi {
namespace {

// With -Wextra, members that a designated initializer leaves out are a warning in a user's program,
// unless they have an initializer of their own.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
[[maybe_unused]] const CgiOptions options_left_out = {.folder = "/srv/cgi-bin"};
#pragma GCC diagnostic pop

using ::testing::HasSubstr;
using ::testing::Not;

class CgiTest : public CgiFixture {};

constexpr std::string_view text_head = "echo 'Content-Type: text/plain'; echo; ";

TEST_F(CgiTest, AnswersWithWhatAProgramWrites) {
    program("hello", "echo 'Content-Type: text/plain'\necho 'X-A: 1'\necho\necho hello");
    const auto answer = get("/cgi-bin/hello");
    EXPECT_EQ(answer->status(), 200);
    EXPECT_EQ(answer->header("Content-Type"), "text/plain");
    EXPECT_EQ(answer->header("X-A"), "1");
    EXPECT_EQ(answer->body(), "hello\n");
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, TellsTheProgramAboutItsRequest) {
    program("env", std::string(text_head) + "env; echo \"at=$(pwd)\"; echo \"self=$0\"");
    const std::string body =
        get("/cgi-bin/env/a/b?x=1", "GET", {{"Proxy", "evil"}, {"X-A", "1"}, {"X_A", "2"}})->body();
    for (const std::string_view line :
         {"PATH_INFO=/a/b\n", "QUERY_STRING=x=1\n", "SCRIPT_NAME=/cgi-bin/env\n",
          "REQUEST_METHOD=GET\n", "HTTP_X_A=1\n", "SERVER_NAME=localhost\n", "self=./env\n"}) {
        EXPECT_THAT(body, HasSubstr(line));
    }
    EXPECT_THAT(body, HasSubstr("at=" + folder_.path() + "\n"));
    EXPECT_THAT(body, Not(HasSubstr("HTTP_PROXY")));
    EXPECT_THAT(body, Not(HasSubstr("HOME=")));  // our environment is not theirs
}

TEST_F(CgiTest, GivesItTheBody) {
    program("echo", std::string(text_head) + "echo \"$CONTENT_LENGTH\"; cat");
    const auto answer = begin("/cgi-bin/echo", "POST", {{"Content-Length", "6"}});
    answer->give("abc");
    answer->give("def");
    answer->end_body();
    finish(*answer);
    EXPECT_EQ(answer->body(), "6\nabcdef");
}

TEST_F(CgiTest, ABodyOfUnknownLengthIsCollectedFirst) {
    options_.rules.unknown_body_bytes_max = 8;
    program("echo", std::string(text_head) + "echo \"$CONTENT_LENGTH\"; cat");
    const auto answer = begin("/cgi-bin/echo", "POST", {{"Transfer-Encoding", "chunked"}});
    answer->give("abc");
    EXPECT_EQ(options_.places, nullptr);
    answer->give("def");
    answer->end_body();
    finish(*answer);
    EXPECT_EQ(answer->body(), "6\nabcdef");
    const auto larger = begin("/cgi-bin/echo", "POST", {{"Transfer-Encoding", "chunked"}});
    larger->give("123456789");
    EXPECT_EQ(larger->status(), 411);
}

TEST_F(CgiTest, WhatACallCollectedEndsWithIt) {
    options_.rules.collected_bytes_max = 8;
    program("echo", std::string(text_head) + "cat");
    program("deaf", std::string(text_head));
    for (int i = 0; i < 3; ++i) {
        const auto gone = begin("/cgi-bin/echo", "POST", {{"Transfer-Encoding", "chunked"}});
        gone->give("12345");
        gone->hang_up();
        for (const std::string name : {"echo", "deaf"}) {
            const auto whole =
                begin("/cgi-bin/" + name, "POST", {{"Transfer-Encoding", "chunked"}});
            ASSERT_TRUE(whole->give("12345")) << "too much is collected";
            whole->end_body();
            finish(*whole);
            ASSERT_EQ(whole->status(), 200) << name;
        }
    }
    const auto first = begin("/cgi-bin/echo", "POST", {{"Transfer-Encoding", "chunked"}});
    first->give("1234");
    const auto second = begin("/cgi-bin/echo", "POST", {{"Transfer-Encoding", "chunked"}});
    second->give("1234");
    EXPECT_FALSE(second->responded());
    second->give("5");
    EXPECT_EQ(second->status(), 503);
    EXPECT_FALSE(first->responded());
}

TEST_F(CgiTest, StatusAndLocationDecide) {
    program("status", "echo 'Status: 418 Teapot'; echo");
    EXPECT_EQ(get("/cgi-bin/status")->status(), 418);
    program("away", "echo 'Location: https://a.example/'; echo");
    const auto away = get("/cgi-bin/away");
    EXPECT_EQ(away->status(), 302);
    EXPECT_EQ(away->header("Location"), "https://a.example/");
    program("near", "echo 'Location: /p?x=1#part'; echo");
    const auto near = get("/cgi-bin/near");
    EXPECT_EQ(near->status(), 302);
    EXPECT_EQ(near->header("Location"), "/p?x=1#part");
}

TEST_F(CgiTest, NphProgramsWriteAWholeAnswer) {
    program("nph-x", "printf 'HTTP/1.1 202 Fine\\r\\nX-A: 1\\r\\n\\r\\nbody'");
    const auto answer = get("/cgi-bin/nph-x");
    EXPECT_EQ(answer->status(), 202);
    EXPECT_EQ(answer->header("X-A"), "1");
    EXPECT_EQ(answer->body(), "body");
    program("x", "printf 'HTTP/1.1 202 Fine\\r\\n\\r\\nbody'");
    EXPECT_EQ(get("/cgi-bin/x")->status(), 502);
}

TEST_F(CgiTest, WhatIsNoProgramIsNotRunOrShown) {
    file("secret.txt", "password", 0644);
    folder_.make_folder("folder");
    program(".hidden", text_head);
    folder_.link("out", "/bin/true");
    EXPECT_EQ(get("/cgi-bin/secret.txt")->status(), 403);
    EXPECT_EQ(get("/cgi-bin/absent")->status(), 404);
    EXPECT_EQ(get("/cgi-bin/folder")->status(), 404);
    EXPECT_EQ(get("/cgi-bin/folder/")->status(), 404);
    EXPECT_EQ(get("/cgi-bin/")->status(), 404);
    EXPECT_EQ(get("/cgi-bin")->status(), 404);
    EXPECT_EQ(get("/cgi-bin/.hidden")->status(), 404);
    EXPECT_EQ(get("/cgi-bin/out")->status(), 404) << "a link that leaves the folder";
    EXPECT_FALSE(cgi().answers("/cgi-binary"));
}

TEST_F(CgiTest, ProgramsThatFailAre502) {
    program("dies", "kill -9 $$");
    program("silent", "exit 0");
    program("garbage", "echo garbage; echo more");
    file("alien", "not an executable", 0755);
    program("half", "printf 'Content-Ty'");
    for (const std::string_view name : {"dies", "silent", "garbage", "alien", "half"}) {
        EXPECT_EQ(get("/cgi-bin/" + std::string(name))->status(), 502) << name;
    }
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, AProgramThatDiesInItsBodyBreaksTheAnswerOff) {
    program("dies", std::string(text_head) + "echo part; kill -9 $$");
    const auto answer = get("/cgi-bin/dies");
    EXPECT_EQ(answer->status(), 200);
    EXPECT_TRUE(answer->broken());
}

TEST_F(CgiTest, ALengthIsKept) {
    program("short", "echo 'Content-Type: a/b'; echo 'Content-Length: 9'; echo; printf abc");
    EXPECT_TRUE(get("/cgi-bin/short")->broken());
    program("long", R"(printf 'Content-Type: a/b\nContent-Length: 2\n\nabc')");
    EXPECT_EQ(get("/cgi-bin/long")->status(), 502);  // nothing is sent yet
    program("right", "echo 'Content-Type: a/b'; echo 'Content-Length: 3'; echo; printf abc");
    const auto right = get("/cgi-bin/right");
    EXPECT_EQ(right->content_length(), 3);
    EXPECT_EQ(right->body(), "abc");
}

TEST_F(CgiTest, AProgramThatHangsIs504AndEnded) {
    options_.rules.timeout = 50ms;
    options_.patience = 50ms;
    program("hangs", "trap '' TERM; sleep 1000 & sleep 1000; sleep 1000; sleep 1000");
    EXPECT_EQ(get("/cgi-bin/hangs")->status(), 504);
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, AnAnswerThatStallsIsBrokenOff) {
    options_.rules.timeout = 1s;
    program("stalls", std::string(text_head) + "echo part; sleep 1000");
    EXPECT_TRUE(get("/cgi-bin/stalls")->broken());
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, AnOutputLimitBreaksTheAnswerOff) {
    options_.rules.output_bytes_max = 1000;
    program("flood", std::string(text_head) + "while :; do echo flood; done");
    const auto answer = get("/cgi-bin/flood");
    EXPECT_TRUE(answer->broken() || answer->status() == 502);  // too much came with the head
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, AProgramEndsWithItsClient) {
    program("slow", std::string(text_head) + "echo begin; sleep 1000");
    const auto gone = begin("/cgi-bin/slow");
    gone->end_body();
    ASSERT_TRUE(until([&] { return gone->responded(); }));
    gone->hang_up();
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, ProcessesThatAreLeftBehindAreEnded) {
    program("forks", std::string(text_head) + "sleep 1000 & echo $!");
    const auto answer = get("/cgi-bin/forks");
    ASSERT_FALSE(answer->broken());
    const pid_t child = std::stoi(answer->body());
    EXPECT_TRUE(until([&] { return ::kill(child, 0) != 0 || ::access("/proc", F_OK) != 0; }));
}

TEST_F(CgiTest, HeadHasNoBodyAndTheProgramRunsToItsEnd) {
    program("marks", std::string(text_head) + "echo body; sleep 0.1; touch mark");
    const auto answer = get("/cgi-bin/marks", "HEAD");
    EXPECT_EQ(answer->status(), 200);
    EXPECT_EQ(answer->body(), "");
    EXPECT_EQ(answer->content_length(), -1);  // GET's, which is unknown
    EXPECT_TRUE(all_gone());
    EXPECT_EQ(::access(folder_.path_of("mark").c_str(), F_OK), 0);
}

TEST_F(CgiTest, HeadHasTheLengthThatTheProgramPromises) {
    program("sized", "echo 'Content-Length: 7'; " + std::string(text_head));
    EXPECT_EQ(get("/cgi-bin/sized", "HEAD")->content_length(), 7);
}

// Its output has no reader, so it does not count as work.
TEST_F(CgiTest, OneThatWritesForEverBehindItsAnswerIsEnded) {
    options_.rules.timeout = 1s;
    program("flood", std::string(text_head) + "while :; do echo flood; done");
    EXPECT_EQ(get("/cgi-bin/flood", "HEAD")->status(), 200);
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, ThoseAboveTheCapWaitAndThenAreRefused) {
    options_.places = std::make_shared<ProgramPlaces>(1, 1);
    program("slow", std::string(text_head) + "sleep 0.2; echo done");
    const auto first = begin("/cgi-bin/slow");
    first->end_body();
    const auto second = begin("/cgi-bin/slow");
    second->end_body();
    const auto third = begin("/cgi-bin/slow");
    third->end_body();
    EXPECT_EQ(third->status(), 503);
    EXPECT_EQ(third->header("Retry-After"), "1");
    EXPECT_FALSE(second->responded());
    finish(*first);
    finish(*second);
    EXPECT_EQ(first->body(), "done\n");
    EXPECT_EQ(second->body(), "done\n");
    EXPECT_TRUE(all_gone());
    EXPECT_EQ(options_.places->taken(), 0U);
}

TEST_F(CgiTest, NoPlaceInTimeIs503) {
    options_.places = std::make_shared<ProgramPlaces>(1, 1);
    options_.rules.waiting_max = 30ms;
    program("slow", std::string(text_head) + "sleep 1000");
    const auto first = begin("/cgi-bin/slow");
    first->end_body();
    EXPECT_EQ(get("/cgi-bin/slow")->status(), 503);
    EXPECT_EQ(options_.places->waiting(), 0U);
    first->hang_up();
    EXPECT_TRUE(all_gone());
}

TEST_F(CgiTest, OneThatClosesItsOutputWorksOn) {
    program("works", std::string(text_head) +
                         "echo done; exec 1>&-; until [ -e go ]; do sleep 0.01; done; touch mark");
    for (const Duration timeout : {Duration(30s), Duration::zero()}) {  // zero: no deadline
        SCOPED_TRACE(timeout.count());
        cgi_.reset();
        options_.rules.timeout = timeout;
        const auto answer = get("/cgi-bin/works");
        EXPECT_EQ(answer->body(), "done\n");
        EXPECT_FALSE(answer->broken());
        ASSERT_EQ(cgi().running(), 1U) << "the answer is whole before the program ends";
        folder_.write("go", "");
        EXPECT_TRUE(all_gone());
        EXPECT_EQ(::access(folder_.path_of("mark").c_str(), F_OK), 0);
        folder_.remove("mark");
        folder_.remove("go");
    }
}

TEST_F(CgiTest, ItsErrorsAreLoggedWheneverItWritesThem) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    log::SystemTime time;
    log::Logger logger(ring, time);
    loop_->set_log(&logger);
    program("errs", "echo first >&2; until [ -e go ]; do sleep 0.01; done; echo second >&2; " +
                        std::string(text_head));
    const auto answer = begin("/cgi-bin/errs");
    answer->end_body();
    std::string logged;
    EXPECT_TRUE(until([&] { return (logged += log::take_all(ring)).contains("first"); }));
    folder_.write("go", "");
    finish(*answer);
    EXPECT_TRUE(all_gone());
    loop_->set_log(nullptr);
    EXPECT_THAT(log::take_all(ring), HasSubstr("second"));
}

TEST_F(CgiTest, ABodyAheadOfItsProgramWaitsAtTheClient) {
    options_.rules.body_bytes_before_start = 1;
    program("count", std::string(text_head) + "until [ -e go ]; do sleep 0.01; done; wc -c");
    const auto answer = begin("/cgi-bin/count", "POST", {{"Content-Length", "400000"}});
    answer->give(std::string(200'000, 'x'));
    EXPECT_FALSE(answer->reads_body());
    folder_.write("go", "");
    ASSERT_TRUE(until([&] { return answer->reads_body(); }));
    answer->give(std::string(200'000, 'x'));
    answer->end_body();
    finish(*answer);
    EXPECT_EQ(answer->body(), "400000\n");
}

TEST_F(CgiTest, AProgramNeedNotReadItsBody) {
    program("deaf", std::string(text_head) + "exec 0<&-; sleep 0.05; echo done");
    const auto answer = begin("/cgi-bin/deaf", "POST", {{"Content-Length", "1000000"}});
    const std::string piece(100'000, 'x');
    for (int i = 0; i < 10 && !answer->responded(); ++i) {
        if (!answer->give(piece)) break;
        loop_->turn(20ms);
    }
    finish(*answer);
    EXPECT_EQ(answer->body(), "done\n");
}

TEST_F(CgiTest, ArgumentsByAmpersand) {
    program("add", std::string(text_head) + "echo $(($1 + $2))");
    EXPECT_EQ(get("/cgi-bin/add&1&2")->status(), 404);
    cgi_.reset();
    options_.arguments_by_ampersand = true;
    EXPECT_EQ(get("/cgi-bin/add&1&2")->body(), "3\n");
}

TEST_F(CgiTest, TheEndOfTheHandlerKillsWhatRuns) {
    program("slow", std::string(text_head) + "trap '' TERM; sleep 1000; sleep 1000");
    const auto answer = begin("/cgi-bin/slow");
    answer->end_body();
    cgi_.reset();
    EXPECT_FALSE(answer->responded());
    answer->hang_up();
}

// It may run out wherever a request is: nothing of it stays, and its place is free again.
TEST_F(CgiTest, WithoutMemoryOneRequestFails) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    program("well.sh", "echo 'Content-Type: text/plain'; echo; echo well");
    options_.places = std::make_shared<ProgramPlaces>(1, 4);
    EXPECT_EQ(get("/cgi-bin/well.sh")->status(), 200);
    const std::uint64_t allocations = testing::fail_each([&](std::uint64_t nth) {
        auto exchange = core::make_ref<Recorded>(*loop_, "GET", "/cgi-bin/well.sh");
        bool failed = false;
        {
            const testing::ScarceMemory scarce(nth);
            exchange->run([&] { cgi().handle(*exchange); });
            if (!exchange->responded() && !exchange->abandoned()) exchange->end_body();
            failed = scarce.failed();
        }
        EXPECT_TRUE(until([&] {
            return exchange->abandoned() ||
                   (exchange->responded() && (exchange->finish(), exchange->complete()));
        })) << nth;
        EXPECT_TRUE(all_gone()) << nth;
        EXPECT_EQ(options_.places->taken(), 0U) << nth;
        EXPECT_EQ(get("/cgi-bin/well.sh")->status(), 200) << nth;
        return failed && !HasFailure();
    });
    EXPECT_GT(allocations, 5U);
}

// A pipe that is full has to be watched. A body must not end there because it cannot be.
TEST_F(CgiTest, WithoutMemoryForItsInputNoBodyLacksAPart) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    program("count.sh",
            "while [ ! -e go ]; do sleep 0.01; done; rm go; " + std::string(text_head) + "wc -c");
    // With three of the program's, the loop's list of four is full.
    struct Ignores final : core::Watch::Receiver {
        void on_ready(core::Watch&, core::Interest) override {}
    } ignores;
    const core::Pipe pipe = std::move(*core::Pipe::open());
    core::Watch spare(*loop_, ignores);
    ASSERT_TRUE(spare.watch(pipe.reading.get(), {.readable = true}));
    const std::string rest(200'000, 'x');
    const std::uint64_t allocations = testing::fail_each([&](std::uint64_t nth) {
        const auto exchange = begin("/cgi-bin/count.sh", "POST", {{"Content-Length", "265536"}});
        exchange->give(std::string(65'536, 'x'));  // it is started
        bool failed = false;
        bool takes_more = true;
        {
            const testing::ScarceMemory scarce(nth);
            takes_more = exchange->give(rest);
            failed = scarce.failed();
        }
        folder_.write("go", "");
        if (takes_more) exchange->end_body();
        finish(*exchange);
        const bool whole = exchange->complete() && exchange->body() == "265536\n";
        EXPECT_TRUE(whole || exchange->broken() || exchange->status() >= 500)
            << nth << ": " << exchange->body();
        EXPECT_TRUE(all_gone()) << nth;
        ::unlink(folder_.path_of("go").c_str());
        return failed && !HasFailure();
    });
    EXPECT_GE(allocations, 2U);
}

// Output that was read and could not be kept is lost: what follows it must not pass for the whole.
TEST_F(CgiTest, WithoutMemoryForItsOutputNoAnswerLacksAPart) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    program("well.sh",
            "echo 'Content-Type: text/plain'; echo; echo well; echo fault >&2; : >written");
    options_.places = std::make_shared<ProgramPlaces>(1, 4);
    const std::uint64_t allocations = testing::fail_each([&](std::uint64_t nth) {
        const auto exchange = begin("/cgi-bin/well.sh");
        exchange->end_body();
        wait_for_file("written");
        const bool failed = turn_without_memory(nth);
        EXPECT_TRUE(until([&] {
            if (exchange->responded()) exchange->finish();
            return exchange->complete() || exchange->broken();
        })) << nth;
        const bool whole = exchange->complete() && exchange->body() == "well\n";
        EXPECT_TRUE(whole || exchange->broken() || exchange->status() >= 500) << nth;
        EXPECT_TRUE(all_gone()) << nth;
        EXPECT_EQ(options_.places->taken(), 0U) << nth;
        return failed && !HasFailure();
    });
    EXPECT_GT(allocations, 2U);
}

}  // namespace
}  // namespace tiderace::http::cgi
