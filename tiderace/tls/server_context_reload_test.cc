// Certificate files that change while they serve.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "tiderace/log/logger.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/scarce_memory.h"
#include "tiderace/tls/certificate.h"
#include "tiderace/tls/read_file.h"
#include "tiderace/tls/server_fixture.h"

namespace tiderace::tls {
namespace {

TEST_F(ServerTest, NewFilesServeNewConnectionsAndOldOnesKeepTheirs) {
    ServerOptions options = server_options();
    options.certificates = {issue("first", {"a.test"})};
    serve(options);
    const SslContextPtr context = raw_context();
    RawPeer old = raw(context.get());
    ASSERT_TRUE(shakes_hands(old));
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::unchanged);
    issue("second", {"a.test"});
    for (const char* kind : {".pem", ".key"}) {
        std::rename(folder_.path_of(std::string("second") + kind).c_str(),
                    folder_.path_of(std::string("first") + kind).c_str());
    }
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::reloaded);
    EXPECT_EQ(shown("a.test"), "second");
    old.say("still here");
    EXPECT_TRUE(run_until([&] { return old.pump() && old.plain() == "still here"; }));
}

TEST_F(ServerTest, ABrokenNewFileKeepsTheOldOneAndSaysWhyOnce) {
    ServerOptions options = server_options();
    options.certificates = {issue("first", {"a.test"})};
    serve(options);
    folder_.write("first.key", "rubbish");
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::refused);
    EXPECT_NE(context_->last_refusal().find("first.key"), std::string::npos);
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::unchanged);
    EXPECT_EQ(shown("a.test"), "first");
    folder_.remove("first.key");
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::refused);
    EXPECT_EQ(shown("a.test"), "first");
    issue("first", {"b.test"});
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::reloaded);
    EXPECT_EQ(context_->last_refusal(), "");
}

TEST_F(ServerTest, LooksForItselfAndWaitsUntilFilesStandStill) {
    ServerOptions options = server_options();
    options.certificates = {issue("first", {"a.test"})};
    options.reload_check = 2s;
    serve(options);
    world_.advance(1s);
    authority_.issue(folder_, "first", {.names = {"a.test"}, .common_name = "new"});
    world_.advance(2s);  // seen
    EXPECT_EQ(shown("a.test"), "first");
    world_.advance(2s);  // and still the same
    EXPECT_EQ(shown("a.test"), "new");
}

// Any allocation of a look at the files may fail: the certificate in use stays, and the next look
// takes the new one.
TEST_F(ServerTest, WithoutMemoryForAReloadTheNextLookTriesAgain) {
    if (!testing::ScarceMemory::works) GTEST_SKIP() << testing::ScarceMemory::why_not;
    ServerOptions options = server_options();
    options.certificates = {issue("first", {"a.test"})};
    options.reload_check = 2s;
    serve(options);
    std::uint64_t tried = 0;
    for (const bool seen_before : {false, true}) {
        // The first few, then some of the many that the new certificate takes.
        for (std::uint64_t nth = 1; nth < 2'000; nth += nth < 20 ? 1 : 1 + nth / 4) {
            const std::string name = "new" + std::to_string(++tried);
            authority_.issue(folder_, "first", {.names = {"a.test"}, .common_name = name});
            if (seen_before) world_.advance(2s);
            bool failed = false;
            {
                testing::ScarceMemory scarce(nth);
                world_.advance(2s);
                failed = scarce.failed();
            }
            world_.advance(2s);
            world_.advance(2s);
            ASSERT_EQ(shown("a.test"), name) << nth;
            if (!failed) break;
        }
    }
    EXPECT_GT(tried, 6U);
}

class SteadyTime final : public log::TimeSource {
  public:
    std::int64_t unix_ms() override { return 0; }
};

TEST_F(ServerTest, TellsOnceThatACertificateEndedWhileItServed) {
    log::Doorbell bell;
    ASSERT_TRUE(bell.open());
    log::Ring ring(16_KiB, bell);
    SteadyTime time;
    log::Logger logger(ring, time);
    const auto told = [&] { return log::take_all(ring); };
    world_.loop().set_log(&logger);
    const long until = world_.loop().unix_now() + 10 - std::time(nullptr);
    ServerOptions options = server_options();
    options.certificates = {
        authority_.issue(folder_, "ends", {.valid_from = until - 1'000, .valid_until = until})};
    options.reload_check = 2s;
    serve(options);
    world_.advance(5s);
    EXPECT_EQ(told(), "");
    world_.advance(10s);
    const std::string said = told();
    EXPECT_NE(said.find("warning tls: " + folder_.path_of("ends.pem") + " expired on "),
              std::string::npos)
        << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    world_.advance(60s);
    EXPECT_EQ(told(), "");
    world_.loop().set_log(nullptr);
}

// Certificates that begin and end at times of the loop's clock, which the test owns.
class ValidityTest : public ServerTest {
  protected:
    void SetUp() override {
        ASSERT_TRUE(bell_.open());
        world_.loop().set_log(&logger_);
    }
    ~ValidityTest() override { world_.loop().set_log(nullptr); }
    // In the file's place, valid from then to then, in seconds of the loop from its start.
    CertificateFiles issue_valid(const std::string& name, long from, long until,
                                 const std::string& file = "site") {
        const long offset = start_ - std::time(nullptr);
        return authority_.issue(folder_, file,
                                {.names = {"a.test"},
                                 .common_name = name,
                                 .valid_from = offset + from,
                                 .valid_until = offset + until});
    }
    std::string told() { return log::take_all(ring_); }

    const long start_ = world_.loop().unix_now();
    log::Doorbell bell_;
    log::Ring ring_{16_KiB, bell_};
    SteadyTime time_;
    log::Logger logger_{ring_, time_};
};

TEST_F(ValidityTest, AnExpiredNewCertificateDoesNotReplaceAValidOne) {
    ServerOptions options = server_options();
    options.certificates = {issue_valid("good", -100, 10'000)};
    serve(options);
    issue_valid("expired", -200, -100);
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::reloaded);
    EXPECT_EQ(shown("a.test"), "good");
    const std::string said = told();
    EXPECT_NE(said.find("site.pem expired on "), std::string::npos) << said;
    EXPECT_NE(said.find("stays, valid until "), std::string::npos) << said;
    ASSERT_EQ(context_->warnings().size(), 1u);
    // Also the second time, and until there is a better one.
    issue_valid("expired again", -200, 0);
    context_->reload_if_changed();
    EXPECT_EQ(shown("a.test"), "good");
    issue_valid("new", -200, 20'000);
    context_->reload_if_changed();
    EXPECT_EQ(shown("a.test"), "new");
    EXPECT_TRUE(context_->warnings().empty() ||
                context_->warnings()[0].find("stays") == std::string::npos);
    // Between two that are expired the new one serves: it is what its owner wants.
    world_.advance(30'000s);
    issue_valid("late", -200, 25'000);
    context_->reload_if_changed();
    EXPECT_EQ(shown("a.test"), "late");
}

TEST_F(ValidityTest, ACertificateThatIsNotValidYetWaitsForItsTime) {
    ServerOptions options = server_options();
    options.certificates = {issue_valid("good", -100, 10'000)};
    options.reload_check = 2s;
    serve(options);
    issue_valid("early", 1'000, 20'000);
    world_.advance(10s);
    EXPECT_EQ(shown("a.test"), "good");
    EXPECT_NE(told().find("site.pem is not valid before "), std::string::npos);
    world_.advance(900s);
    EXPECT_EQ(told(), "");  // logged once
    EXPECT_EQ(shown("a.test"), "good");
    world_.advance(100s);
    EXPECT_EQ(shown("a.test"), "early");
}

TEST_F(ValidityTest, AnEarlyCertificateServesFromItsFirstSecondOn) {
    ServerOptions options = server_options();
    options.certificates = {issue_valid("good", -100, 10'000)};
    serve(options);
    const auto early = tls::Certificate::load(issue_valid("early", 1'000, 20'000));
    ASSERT_TRUE(early);
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::reloaded);
    const auto seconds_left = [&] { return early->begins - world_.loop().unix_now(); };
    world_.advance(std::chrono::seconds(seconds_left() - 1));
    ASSERT_EQ(seconds_left(), 1);
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::unchanged);
    EXPECT_EQ(shown("a.test"), "good");
    world_.advance(std::chrono::seconds(seconds_left()));
    ASSERT_EQ(seconds_left(), 0);
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::reloaded);
    EXPECT_EQ(shown("a.test"), "early");
    EXPECT_EQ(context_->reload_if_changed(), ServerContext::Reload::unchanged) << "and once";
}

TEST_F(ValidityTest, ABrokenFileIsReportedOnceAlsoWhenAnEarlyOneWouldHaveItsTime) {
    ServerOptions options = server_options();
    options.certificates = {issue_valid("good", -100, 10'000)};
    options.reload_check = 2s;
    serve(options);
    issue_valid("early", 1'000, 20'000);
    world_.advance(10s);
    folder_.write("site.key", "rubbish");
    world_.advance(10s);
    const std::string said = told();
    EXPECT_NE(said.find("not usable"), std::string::npos) << said;
    world_.advance(2'000s);
    EXPECT_EQ(told(), "");
    EXPECT_EQ(shown("a.test"), "good");
    issue_valid("new", -200, 20'000);
    world_.advance(10s);
    EXPECT_EQ(shown("a.test"), "new");
}

// Connections may hold all descriptors when the certificate is renewed: its files stay as they are,
// and are good.
TEST_F(ValidityTest, FilesThatCannotBeOpenedForNowAreReadLater) {
    ServerOptions options = server_options();
    options.certificates = {issue_valid("good", -100, 10'000)};
    options.reload_check = 2s;
    serve(options);
    issue_valid("new", -200, 20'000);
    for (const int lacking : {EMFILE, ENFILE, ENOMEM}) {
        set_file_opener([lacking](const std::string&) {
            errno = lacking;
            return -1;
        });
        world_.advance(20s);
        const std::string said = told();
        EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
        EXPECT_EQ(shown("a.test"), "good");
    }
    set_file_opener({});
    world_.advance(4s);
    EXPECT_EQ(shown("a.test"), "new");
}

TEST_F(ValidityTest, OneOfSeveralIsKeptAndTheOthersAreReplaced) {
    ServerOptions options = server_options();
    const auto for_b = [&](const std::string& name) {
        return authority_.issue(folder_, "other", {.names = {"b.test"}, .common_name = name});
    };
    options.certificates = {issue_valid("good", -100, 10'000), for_b("first")};
    serve(options);
    issue_valid("expired", -200, -100);
    for_b("second");
    context_->reload_if_changed();
    EXPECT_EQ(shown("a.test"), "good");
    EXPECT_EQ(shown("b.test"), "second");
}

}  // namespace
}  // namespace tiderace::tls
