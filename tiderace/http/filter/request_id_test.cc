#include "tiderace/http/filter/request_id.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tiderace/http/filter/filter_fixture.h"

namespace tiderace::http::filter {
namespace {

class RequestIdTest : public FilterTest {};

TEST_F(RequestIdTest, EachAnswerHasANameOfItsOwn) {
    RequestId ids;
    std::set<std::string> seen;
    for (int i = 0; i < 1'000; ++i) {
        const std::string id = ask(ids, "GET", {{"X-Request-Id", "mine"}}).header("X-Request-Id");
        EXPECT_EQ(id.size(), 32u);
        EXPECT_TRUE(seen.insert(id).second) << id;
    }
}

TEST_F(RequestIdTest, AClientsOwnIsKeptOnlyWhereItIsTrusted) {
    RequestId ids(true);
    EXPECT_EQ(ask(ids, "GET", {{"X-Request-Id", "a-B_9."}}).header("X-Request-Id"), "a-B_9.");
    const std::string longest(Request::id_bytes_max, 'x');
    EXPECT_EQ(ask(ids, "GET", {{"X-Request-Id", longest}}).header("X-Request-Id"), longest);
    for (const std::string& bad :
         {std::string(""), std::string("a b"), std::string("a\"b"), longest + "x"}) {
        EXPECT_EQ(ask(ids, "GET", {{"X-Request-Id", bad}}).header("X-Request-Id").size(), 32u)
            << bad;
    }
}

}  // namespace
}  // namespace tiderace::http::filter
