#include "load/lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include "load/run.h"

namespace tiderace::load {
namespace {

class Impatient final : public LoadAudience {
  public:
    explicit Impatient(bool ends) : ends_(ends) {}
    bool wants_end() override { return ends_; }

  private:
    bool ends_;
};

const std::vector<core::Address> loopback{core::Address::loopback(0)};

TEST(LoadLookup, GivesWhatWasFound) {
    Impatient patient(false);
    for (LoadAudience* const audience :
         {static_cast<LoadAudience*>(nullptr), static_cast<LoadAudience*>(&patient)}) {
        const auto found =
            look_up_for(audience, "a.example", [](const std::string& host) -> decltype(auto) {
                EXPECT_EQ(host, "a.example");
                return Result<std::vector<core::Address>>(loopback);
            });
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, loopback);
        const auto none = look_up_for(audience, "a.example", [](const std::string& host) {
            return Result<std::vector<core::Address>>(fail(Error(0, "look up", host, "not there")));
        });
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().message(), "look up a.example: not there");
    }
}

// A name server that does not answer keeps getaddrinfo for many seconds.
TEST(LoadLookup, EndsWhenItsAudienceWantsIt) {
    const auto may_end = std::make_shared<std::atomic<bool>>(false);
    Impatient impatient(true);
    const auto found = look_up_for(&impatient, "a.example", [may_end](const std::string&) {
        while (!*may_end) std::this_thread::yield();
        return Result<std::vector<core::Address>>(loopback);
    });
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), ECANCELED);
    EXPECT_FALSE(*may_end) << "the lookup has not returned";
    *may_end = true;
    // The thread's arguments leave with it.
    while (may_end.use_count() > 1) std::this_thread::yield();
}

// The same as a call: nothing is run, and the options were right.
TEST(LoadLookup, ARunThatIsEndedWhileItLooksUpIsNoMistakeOfTheOptions) {
    const auto may_end = std::make_shared<std::atomic<bool>>(false);
    Impatient impatient(true);
    const LoadOutcome outcome =
        run_load({.url = "http://a.example/"}, &impatient, [may_end](const std::string&) {
            while (!*may_end) std::this_thread::yield();
            return Result<std::vector<core::Address>>(loopback);
        });
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.complaint,
              "http://a.example/: look up a.example: operation canceled; ended before an address "
              "was found");
    *may_end = true;
    while (may_end.use_count() > 1) std::this_thread::yield();
}

}  // namespace
}  // namespace tiderace::load
