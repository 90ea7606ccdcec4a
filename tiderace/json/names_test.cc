#include "tiderace/json/names.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tiderace/json.h"

namespace tiderace::json {
namespace {

struct AsWritten {
    int retry_count;
};
struct Event {
    std::string event_type;
    int retry_count;
    std::optional<int> _x_2;
    Default<int> ABC = 1;

    static constexpr Case json_case = Case::camel;
    static constexpr Name json_names[] = {{"event_type", "@type"}, {"_x_2", "größe"}};
};
struct Pascal {
    int retry_count;
    int id;
    static constexpr Case json_case = Case::pascal;
};
struct Kebab {
    int retry_count;
    int id;
    static constexpr Case json_case = Case::kebab;
};
struct Swapped {
    int a;
    int b;
    static constexpr Name json_names[] = {{"a", "b"}, {"b", "a"}};
};
struct Old {  // members of these names and other types are JSON as any other
    int json_case;
    std::vector<int> json_names;
};
struct Long {
    int a;
    static constexpr Name json_names[] = {
        {"a",
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
         "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
         "7"},
    };
};

template <typename T>
std::string fault_of_names(std::string_view text) {
    const auto result = read<T>(text);
    return result ? "none" : result.error().message();
}

TEST(JsonNames, AreThoseOfCppUnlessTheStructSaysSo) {
    EXPECT_EQ(json_names<AsWritten>[0], "retry_count");
    EXPECT_EQ(json_names<Event>[0], "@type");
    EXPECT_EQ(json_names<Event>[1], "retryCount");
    EXPECT_EQ(json_names<Event>[2], "größe");
    EXPECT_EQ(json_names<Event>[3], "ABC");
    EXPECT_EQ(json_names<Pascal>[0], "RetryCount");
    EXPECT_EQ(json_names<Pascal>[1], "Id");
    EXPECT_EQ(json_names<Kebab>[0], "retry-count");
    EXPECT_EQ(json_names<Old>[0], "json_case");
    // What is no JSON keeps the names of C++.
    EXPECT_EQ(member_names<Event>[0], "event_type");
}

TEST(JsonNames, AreWrittenAndRead) {
    const std::string_view text = R"({"@type":"push","retryCount":3,"größe":4,"ABC":2})";
    const auto event = read<Event>(text);
    ASSERT_TRUE(event) << event.error().message();
    EXPECT_EQ(event->event_type, "push");
    EXPECT_EQ(event->_x_2, 4);
    EXPECT_EQ(write(*event), text);
    EXPECT_EQ(write(*read<Swapped>(R"({"a":1,"b":2})")), R"({"b":2,"a":1})");
    EXPECT_EQ(read<Swapped>(R"({"a":1,"b":2})")->a, 2);
    EXPECT_EQ(read<Long>(write(Long{7}))->a, 7);
}

TEST(JsonNames, AreWhatMessagesName) {
    EXPECT_EQ(fault_of_names<Event>(R"({"event_type":"push","retryCount":true})"),
              "event_type: is not a known member (byte 14); retryCount: expected an integer from "
              "-2147483648 to 2147483647, found true (byte 34); @type: is required (byte 0)");
    EXPECT_EQ(fault_of_names<Event>(R"({"@type":"a","@type":"b","retryCount":1})"),
              "@type: appears twice (byte 21)");
}

}  // namespace
}  // namespace tiderace::json
