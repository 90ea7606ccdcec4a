#include "tiderace/db/lookup.h"

#include <gtest/gtest.h>

#include "tiderace/db/database_fixture.h"

namespace tiderace::db {
namespace {

TEST(Lookup, AddressesNeedNoNameServer) {
    task::run([]() -> Task<> {
        const auto four = co_await addresses_of("192.0.2.7", Instant::max());
        EXPECT_EQ(four, std::vector<std::string>{"192.0.2.7"});
        const auto six = co_await addresses_of("2001:db8::7", Instant::max());
        EXPECT_EQ(six, std::vector<std::string>{"2001:db8::7"});
        const auto local = co_await addresses_of("localhost", Instant::max());
        EXPECT_EQ(local, (std::vector<std::string>{"127.0.0.1", "::1"}));
    }());
}

TEST(Lookup, ANameThatIsNoneIsAnError) {
    task::run([]() -> Task<> {
        EXPECT_EQ(co_await fault_of(addresses_of("no such host", Instant::max())),
                  Fault::connection_lost);
    }());
}

}  // namespace
}  // namespace tiderace::db
