#include "tiderace/resp/fault.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

namespace tiderace::resp {
namespace {

TEST(Fault, EachHasATextOfItsOwn) {
    std::set<std::string_view> texts;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Fault::count_); ++i) {
        const std::string_view text = to_string(static_cast<Fault>(i));
        EXPECT_FALSE(text.empty());
        EXPECT_TRUE(texts.insert(text).second) << text;
    }
}

}  // namespace
}  // namespace tiderace::resp
