#include "tiderace/tls/library.h"

#include <gtest/gtest.h>

namespace tiderace::tls {
namespace {

TEST(Library, HasANameAndSaysWhatTheKernelDoes) {
    EXPECT_TRUE(is_built_in());
    EXPECT_TRUE(library_text().starts_with("OpenSSL ")) << library_text();
    EXPECT_NE(library_text().find("; kTLS: no ("), std::string::npos) << library_text();
}

}  // namespace
}  // namespace tiderace::tls
