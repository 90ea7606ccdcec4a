#include "tiderace/http/filter/basic_credentials.h"

#include <gtest/gtest.h>

namespace tiderace::http::filter {
namespace {

TEST(BasicCredentials, AreReadFromTheField) {
    struct Case {
        const char* field;
        const char* user;
        const char* password;
    };
    const Case cases[] = {
        {"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"},
        {"basic YTpi", "a", "b"},
        {"Basic YTpiOmM=", "a", "b:c"},
        {"Basic Og==", "", ""},
        {"Basic dGVzdDoxMjPCow==", "test", "123\xC2\xA3"},
    };
    for (const Case& c : cases) {
        const auto credentials = parse_basic_credentials(c.field);
        ASSERT_TRUE(credentials) << c.field;
        EXPECT_EQ(credentials->user, c.user);
        EXPECT_EQ(credentials->password, c.password);
    }
}

TEST(BasicCredentials, AnythingElseIsNone) {
    for (const char* field :
         {"", "Basic", "Basic ", "Bearer YTpi", "Basic YTp", "Basic YTpi=", "Basic Y=Rp",
          "Basic YTpi YTpi", "Basic YWI=",  // no colon
          "Basic YTpj\x01", "Basic AAA6", "Basic YTpiOn==" /* spare bits */, "BasicYTpi"}) {
        EXPECT_FALSE(parse_basic_credentials(field)) << field;
    }
    EXPECT_FALSE(parse_basic_credentials("Basic " + std::string(4096, 'A')));
}

}  // namespace
}  // namespace tiderace::http::filter
