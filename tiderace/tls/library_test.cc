#include "tiderace/tls/library.h"

#include <gtest/gtest.h>

namespace tiderace::tls {
namespace {

TEST(Library, HasANameWithAVersion) {
    EXPECT_TRUE(is_built_in());
    EXPECT_TRUE(library_text().starts_with("OpenSSL ")) << library_text();
}

}  // namespace
}  // namespace tiderace::tls
