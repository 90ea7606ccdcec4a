#include "tiderace/log/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace tiderace::log {
namespace {

const std::string own = "0123456789abcdef0123456789abcdef";
const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string parent = "00f067aa0ba902b7";

TEST(TraceContext, ATraceThatBeginsHereHasNoParent) {
    const TraceContext context(own);
    EXPECT_EQ(context.trace_id(), own);
    EXPECT_EQ(context.parent_id(), "");
    EXPECT_EQ(context.traceparent(), "00-" + own + "-0123456789abcdef-00");
}

TEST(TraceContext, APartOfATraceHasASpanOfItsOwn) {
    TraceContext context(own);
    ASSERT_TRUE(context.continue_trace("00-" + trace + "-" + parent + "-01"));
    EXPECT_EQ(context.trace_id(), trace);
    EXPECT_EQ(context.parent_id(), parent);
    EXPECT_TRUE(context.sampled());
    EXPECT_EQ(context.traceparent(), "00-" + trace + "-0123456789abcdef-01");
}

TEST(TraceContext, WhatIsMalformedContinuesNothing) {
    const std::string good = "00-" + trace + "-" + parent + "-01";
    for (std::string bad :
         {std::string(), good.substr(0, 54), good + "-more", good + "x", "ff" + good.substr(2),
          "0x" + good.substr(2), "00-" + std::string(32, '0') + "-" + parent + "-01",
          "00-" + trace + "-" + std::string(16, '0') + "-01", "00_" + good.substr(3),
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01", good.substr(0, 53) + "0g",
          "01" + good.substr(2) + "x"}) {
        TraceContext context(own);
        EXPECT_FALSE(context.continue_trace(bad)) << bad;
        EXPECT_EQ(context.trace_id(), own) << bad;
        EXPECT_EQ(context.parent_id(), "") << bad;
    }
    TraceContext later(own);
    EXPECT_TRUE(later.continue_trace("01" + good.substr(2) + "-more"));
    EXPECT_EQ(later.trace_id(), trace);
}

TEST(TraceContext, AStateIsPassedOnAsItIsOrNotAtAll) {
    TraceContext context(own);
    EXPECT_TRUE(context.add_state("a=1"));
    EXPECT_TRUE(context.add_state("b=2"));
    EXPECT_EQ(context.tracestate(), "a=1,b=2");
    EXPECT_FALSE(context.add_state("c=\x80"));
    EXPECT_EQ(context.tracestate(), "");
    EXPECT_TRUE(context.add_state(std::string(TraceContext::state_bytes_max, 'x')));
    EXPECT_FALSE(context.add_state("y"));
}

}  // namespace
}  // namespace tiderace::log
