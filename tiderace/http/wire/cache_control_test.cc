#include "tiderace/http/wire/cache_control.h"

#include <gtest/gtest.h>

namespace tiderace::http::wire {
namespace {

TEST(ForbidsTransform, OnlyTheDirectiveItself) {
    for (const ByteView value : {"no-transform", "No-Transform", "max-age=60, no-transform",
                                 "no-transform,public", " ,no-transform , "}) {
        EXPECT_TRUE(forbids_transform(value)) << value;
    }
    for (const ByteView value : {"", "public", "no-transformation", "x=\"no-transform\"",
                                 "x=\", no-transform, \"", "no-transform=1"}) {
        EXPECT_FALSE(forbids_transform(value)) << value;
    }
}

}  // namespace
}  // namespace tiderace::http::wire
