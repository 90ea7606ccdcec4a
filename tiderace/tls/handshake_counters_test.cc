#include "tiderace/tls/handshake_counters.h"

#include <gtest/gtest.h>

#include <set>

namespace tiderace::tls {
namespace {

TEST(HandshakeCounters, EveryFailureHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (int i = 0; i < static_cast<int>(HandshakeFailure::count_); ++i) {
        names.insert(to_string(static_cast<HandshakeFailure>(i)));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(HandshakeFailure::count_));
    EXPECT_FALSE(names.contains(""));
}

}  // namespace
}  // namespace tiderace::tls
