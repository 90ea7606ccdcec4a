#include "tiderace/http/route/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::http::route {
namespace {

static_assert(check_pattern("/users/{id}/posts/{slug}") == PatternFault::none);
static_assert(check_pattern("/users/{id") == PatternFault::brace_in_literal);
static_assert(count_parameters("/{a}/{b...}") == 2);

TEST(Pattern, FaultsAreNamed) {
    struct Row {
        std::string pattern;
        PatternFault fault;
    };
    const Row rows[] = {
        {"/", PatternFault::none},
        {"/a/", PatternFault::none},
        {"/a/b-c.d/~e", PatternFault::none},
        {"/{id}", PatternFault::none},
        {"/{a}/{b}/{rest...}", PatternFault::none},
        {"", PatternFault::no_slash},
        {"users", PatternFault::no_slash},
        {"*", PatternFault::no_slash},
        {"//", PatternFault::empty_segment},
        {"/a//b", PatternFault::empty_segment},
        {"/x{id}", PatternFault::brace_in_literal},
        {"/{id}x", PatternFault::brace_in_literal},
        {"/{", PatternFault::brace_in_literal},
        {"/}", PatternFault::brace_in_literal},
        {"/{}", PatternFault::empty_name},
        {"/{...}", PatternFault::empty_name},
        {"/{a b}", PatternFault::bad_name},
        {"/{{a}}", PatternFault::bad_name},
        {"/{a}/{a}", PatternFault::same_name},
        {"/{a}/b/{a...}", PatternFault::same_name},
        {"/{rest...}/x", PatternFault::rest_not_last},
        {"/{rest...}/", PatternFault::rest_not_last},
        {"/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}", PatternFault::none},
        {"/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}/{q}",
         PatternFault::too_many},
        {"/" + std::string(pattern_bytes_max - 1, 'a'), PatternFault::none},
        {"/" + std::string(pattern_bytes_max, 'a'), PatternFault::too_long},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(check_pattern(row.pattern), row.fault) << row.pattern;
        EXPECT_EQ(to_string(check_pattern(row.pattern)).empty(), row.fault == PatternFault::none);
    }
}

TEST(Pattern, SegmentsComeInOrder) {
    std::vector<std::string> got;
    for (Segments segments("/a/{b}/c/{d...}"); !segments.done();) {
        const Segment segment = segments.next();
        got.push_back(std::to_string(static_cast<int>(segment.kind)) + std::string(segment.text));
    }
    EXPECT_EQ(got, (std::vector<std::string>{"0a", "1b", "0c", "2d"}));
}

}  // namespace
}  // namespace tiderace::http::route
