#include "tiderace/http/client/client_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tiderace/http/client/client_h2_fixture.h"

namespace tiderace::http {
namespace {

class ClientProtocolTest : public ClientTest {
  protected:
    static constexpr ClientVersions all[] = {ClientVersions::any, ClientVersions::http_1_1,
                                             ClientVersions::http_2};
};

TEST_F(ClientProtocolTest, InClearTextHttp2NeedsToBeAskedFor) {
    ClientTestServer first(world);
    first.say(ok("first"));
    H2TestServer second(world);
    second.on_request = [&](std::uint32_t stream, const std::string&) {
        second.answer(stream, "second");
    };
    for (const ClientVersions versions : all) {
        make({.timeout = 1s, .versions = versions});
        const bool h2 = versions == ClientVersions::http_2;
        EXPECT_EQ(get(h2 ? second.url : first.url), h2 ? "200 second" : "200 first");
        // A server of the other version does not take it for its own.
        EXPECT_THAT(get(h2 ? first.url : second.url), ::testing::StartsWith("! "));
    }
}

TEST_F(ClientProtocolTest, AProxyIsAskedInHttp1) {
    ClientTestServer proxy(world);
    proxy.say(ok("by proxy"));
    make({.versions = ClientVersions::http_2})
        .set_proxies(Proxies::from([&](const char* name) -> const char* {
            return std::string_view(name) == "http_proxy" ? proxy.url.c_str() : nullptr;
        }));
    EXPECT_EQ(get("http://a.example/x"), "200 by proxy");
}

}  // namespace
}  // namespace tiderace::http
