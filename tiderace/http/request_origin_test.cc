#include "tiderace/http/request_origin.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tiderace/net/transport.h"

namespace tiderace::http {
namespace {

TEST(RequestOrigin, KeepsWhatTheConnectionKnew) {
    RequestOrigin origin;
    Request request;
    {
        const auto peer = std::make_unique<core::Address>(core::Address::loopback(1234));
        const auto text = std::make_unique<std::string>("a protocol that is longer than a word");
        const auto security = std::make_unique<net::TransportSecurity>(
            net::TransportSecurity{.protocol = *text,
                                   .version = std::string_view(*text).substr(2),
                                   .cipher = std::string_view(*text).substr(4),
                                   .server_name = "a.example",
                                   .client = "CN=a client with a long name",
                                   .resumed = true});
        request.peer = peer.get();
        request.security = security.get();
        origin.keep(request);
        origin.keep(request);
    }
    EXPECT_EQ(request.peer->to_string(), "127.0.0.1:1234");
    EXPECT_EQ(request.security->protocol, "a protocol that is longer than a word");
    EXPECT_EQ(request.security->version, "protocol that is longer than a word");
    EXPECT_EQ(request.security->cipher, "otocol that is longer than a word");
    EXPECT_EQ(request.security->server_name, "a.example");
    EXPECT_EQ(request.security->client, "CN=a client with a long name");
    EXPECT_TRUE(request.security->resumed);
}

TEST(RequestOrigin, KeepsAnotherAfterTheFirst) {
    RequestOrigin origin;
    for (const std::uint16_t port : {1, 2}) {
        const core::Address peer = core::Address::loopback(port);
        const net::TransportSecurity security{.server_name = std::to_string(port)};
        Request request;
        request.peer = &peer;
        request.security = &security;
        origin.keep(request);
        EXPECT_EQ(*request.peer, peer);
        EXPECT_EQ(request.security->server_name, security.server_name);
        origin.clear();
    }
}

TEST(RequestOrigin, KeepsNothingOfARequestInClear) {
    RequestOrigin origin;
    Request request;
    origin.keep(request);
    EXPECT_EQ(request.peer, nullptr);
    EXPECT_EQ(request.security, nullptr);
}

}  // namespace
}  // namespace tiderace::http
