#include "tiderace/http/exchange_handle.h"

#include <gtest/gtest.h>

#include <memory>

namespace tiderace::http {
namespace {

TEST(ExchangeHandle, OneThatNamesNoneDropsTheCall) {
    const ExchangeHandle none;
    auto held = std::make_shared<int>(1);
    EXPECT_FALSE(none.post([held](Exchange&) { ADD_FAILURE() << "there is no exchange"; }));
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tiderace::http
