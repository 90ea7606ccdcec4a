#include "server/config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/keys.h"

namespace tiderace::server::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// tests/test_config_tools.py gives it to a validator.
TEST(Schema, HasTheKeysThatWorkWithTypeUnitAndDefault) {
    const std::string text = schema();
    EXPECT_THAT(text, HasSubstr(R"("header_timeout": {"description": "for a whole request head", )"
                                R"("$ref": "#/$defs/time", "default": "10s", )"
                                R"("examples": ["10s"], "$comment": "nginx: )"
                                R"(client_header_timeout; Caddy: read_header; )"
                                R"(flag: --header-timeout"})"));
    EXPECT_THAT(text, HasSubstr(R"("format": {"description": "format of these lines", "anyOf": )"
                                R"([{"enum": ["common", "combined", "json"]}, )"
                                R"({"$ref": "#/$defs/variable"}], "default": "combined", )"));
    EXPECT_THAT(text, HasSubstr(R"("minimum": 1, "maximum": 65535)"));
    for (const Key& key : keys()) {
        if (!key.later.empty()) continue;
        EXPECT_THAT(text, HasSubstr("\"" + std::string(key.name) + "\": {")) << key.name;
    }
}

TEST(Schema, LeavesOutWhatIsRefused) {
    const std::string text = schema();
    const std::string preset = text.substr(text.find("\"preset\": {\n"));
    EXPECT_THAT(preset, HasSubstr("\"cors\": {"));
    for (const char* const condition : {"path", "method", "remote", "priority", "hosts", "use"}) {
        EXPECT_THAT(preset, Not(HasSubstr("\"" + std::string(condition) + "\": {"))) << condition;
    }
    EXPECT_THAT(schema(), Not(HasSubstr("\"upstream\"")));
}

}  // namespace
}  // namespace tiderace::server::config
