#include "tiderace/json/fault.h"

#include <gtest/gtest.h>

namespace tiderace::json {
namespace {

TEST(JsonFault, SaysWhereWhatAndWhatWasFound) {
    EXPECT_EQ((Fault{"items[3].price", "expected a number", "a string", 17}).message(),
              "items[3].price: expected a number, found a string (byte 17)");
    EXPECT_EQ((Fault{"", "expected a value", "", 0}).message(), "expected a value (byte 0)");
}

TEST(JsonFault, AreJoinedToOneMessage) {
    const Error error(Error::Kind::content,
                      {{"a", "is required", "", 1}, {"b", "is required", "", 1}});
    EXPECT_EQ(error.message(), "a: is required (byte 1); b: is required (byte 1)");
    EXPECT_EQ(to_string(error.kind()), "content");
    EXPECT_EQ(to_string(Error::Kind::too_deep), "too_deep");
}

}  // namespace
}  // namespace tiderace::json
