#include "tiderace/log/type_name.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tiderace::log {
namespace {

TEST(TypeName, IsWhatAPersonWrote) {
    EXPECT_EQ(demangled("_ZN4shop4sellEv"), "shop::sell()");
    EXPECT_EQ(demangled("main"), "main");
    EXPECT_EQ(demangled(""), "");
}

TEST(TypeName, OfAnExceptionIsThatOfTheObject) {
    try {
        throw std::out_of_range("x");
    } catch (const std::exception&) {
        EXPECT_EQ(current_exception_type(), "std::out_of_range");
    }
    try {
        throw 7;
    } catch (...) {
        EXPECT_EQ(current_exception_type(), "int");
    }
    EXPECT_EQ(current_exception_type(), "none");
}

}  // namespace
}  // namespace tiderace::log
