#include "load/plan.h"

#include <gtest/gtest.h>

namespace tiderace::load {
namespace {

TEST(LoadPlan, ConnectionsComeFromAsManyAddressesAsTheyNeed) {
    const struct {
        LoadOptions options;
        std::size_t sources;
    } cases[] = {
        {{.url = "http://127.0.0.1:81/"}, 0},
        {{.url = "http://127.0.0.1:81/", .connections = 10'000}, 0},
        {{.url = "http://127.0.0.1:81/", .connections = 18'000}, 2},
        {{.url = "http://127.0.0.1:81/", .connections = 40'000}, 4},
        {{.url = "http://127.0.0.1:81/", .close = true}, 16},
        {{.url = "http://127.0.0.1:81/", .close = true, .source_addresses = 2}, 2},
        {{.url = "http://127.0.0.1:81/", .source_addresses = 300}, 300},
        {{.url = "http://[::1]:81/", .connections = 40'000}, 0},
        {{.url = "http://192.0.2.1:81/", .connections = 40'000, .i_own_this_host = true}, 0},
    };
    for (const auto& each : cases) {
        const auto plan = plan_load(each.options);
        ASSERT_TRUE(plan) << plan.error();
        EXPECT_EQ(plan->sources.size(), each.sources) << each.options.url;
        for (const core::Address& source : plan->sources) EXPECT_TRUE(source.is_loopback());
    }
}

TEST(LoadPlan, WhatCannotBeTogetherIsRefused) {
    const struct {
        LoadOptions options;
        std::string said;
    } cases[] = {
        {{.url = "nonsense://"}, "expects http://"},
        {{.url = "http://192.0.2.1/"}, "--i-own-this-host"},
        {{.url = "http://127.0.0.1/", .http = LoadHttp::v2, .pipeline = 2}, "--streams"},
        {{.url = "http://127.0.0.1/", .streams = 2}, "--http 2"},
        {{.url = "http://127.0.0.1/", .http = LoadHttp::v1_0, .pipeline = 2}, "not pipelined"},
        {{.url = "http://127.0.0.1/", .close = true, .pipeline = 2}, "leave out --pipeline"},
        {{.url = "http://127.0.0.1/", .http = LoadHttp::v2, .close = true, .streams = 2},
         "leave out --streams"},
        {{.url = "http://127.0.0.1/", .timeout = 0s}, "--timeout 0"},
        {{.url = "echo://127.0.0.1:7"}, "--body-size"},
        {{.url = "echo://127.0.0.1:7", .http = LoadHttp::v2, .body_bytes = 1}, "no HTTP"},
        {{.url = "echo://127.0.0.1:7", .method = "HEAD", .body_bytes = 1}, "no HTTP"},
        {{.url = "echo://127.0.0.1:7/path", .body_bytes = 1}, "expects"},
        {{.url = "echo://127.0.0.1", .body_bytes = 1}, "expects"},
        {{.url = "http://127.0.0.1/", .insecure = true}, "https://"},
        {{.url = "http://127.0.0.1/", .slow_readers = 51, .slow_senders = 50}, "100 percent"},
        {{.url = "http://127.0.0.1/", .slow_senders = 1, .slow_drips = LoadSlowPart::body},
         "--body-size"},
    };
    for (const auto& each : cases) {
        const auto plan = plan_load(each.options);
        ASSERT_FALSE(plan) << each.said;
        EXPECT_NE(plan.error().find(each.said), std::string::npos) << plan.error();
    }
}

}  // namespace
}  // namespace tiderace::load
