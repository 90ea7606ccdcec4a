#include "server/site/variables.h"

#include <gtest/gtest.h>

namespace tiderace::server {
namespace {

TEST(Variables, AreKnownByName) {
    for (const char* const sound : {"", "/a", "{path}", "{host}/{host.9}{rest}", "{1}{2}"}) {
        EXPECT_EQ(variable_fault(sound, "/*/**"), "") << sound;
    }
    for (const char* const wrong :
         {"{", "}", "{a", "{}", "{host.0}", "{host.10}", "{3}", "{0}", "{10}", "{{path}}"}) {
        EXPECT_NE(variable_fault(wrong, "/*/**"), "") << wrong;
    }
    EXPECT_EQ(variable_fault("{1}", "/a"), "{1} stands for a star, and the path has 0");
}

TEST(Variables, ArePutInOnce) {
    const VariableValues values{
        .authority = "a.example", .path = "/x/{2}/{host}", .route = "/x/*/*"};
    EXPECT_EQ(path_with_variables("/{1}/{2}", values, ""), "/{2}/{host}");
    EXPECT_EQ(location_with_variables("/{1}/{2}", values), "/%7B2%7D/%7Bhost%7D");
    EXPECT_TRUE(has_path_variable("/{host}/{1}") && !has_path_variable("/{host}{host.1}"));
}

}  // namespace
}  // namespace tiderace::server
