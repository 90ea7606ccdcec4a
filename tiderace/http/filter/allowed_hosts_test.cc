#include "tiderace/http/filter/allowed_hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiderace/http/site_loop.h"
#include "tiderace/testing/recorded_exchange.h"

namespace tiderace::http::filter {
namespace {

class AllowedHostsTest : public ::testing::Test, public Handler {
  protected:
    std::string answer(const std::vector<std::string>& names, const std::string& host) {
        AllowedHosts rule(names);
        SiteLoop site(*this);
        site.add(rule);
        auto exchange = core::make_ref<testing::RecordedExchange>(
            *loop_, "GET", "/", testing::RecordedExchange::Fields{});
        exchange->set_authority(host);
        site.serve(*exchange);
        return std::to_string(exchange->status()) + " " + exchange->body();
    }

  private:
    void handle(Exchange& exchange) override {
        Response response;
        response.set_body("private");
        exchange.respond(response);
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
};

TEST_F(AllowedHostsTest, NamesThatNoOneCanPointElsewhereAreAllowed) {
    for (const char* const host :
         {"localhost", "LOCALHOST:8080", "localhost.", "a.localhost:1", "127.0.0.1",
          "127.0.0.1:8080", "192.0.2.7:80", "[::1]", "[::1]:8080", "[2001:db8::7]:80"}) {
        EXPECT_EQ(answer({}, host), "200 private") << host;
    }
}

TEST_F(AllowedHostsTest, ItsOwnNamesAreAllowed) {
    const std::vector<std::string> names{"Files.example.org:80", "nas", "*.example.net"};
    for (const char* const host :
         {"files.example.org", "files.EXAMPLE.org.:8443", "nas.:1", "a.b.Example.net"}) {
        EXPECT_EQ(answer(names, host), "200 private") << host;
        EXPECT_EQ(answer({}, host), "421 This server has another name.\n") << host;
    }
}

TEST_F(AllowedHostsTest, OthersAreRefused) {
    for (const char* const host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                                   "xlocalhost", "", "127.0.0.1.evil.example", "1.example", "127.1",
                                   "[::1].evil.example", "example.net", ".example.net", "unix"}) {
        EXPECT_EQ(answer({"*.example.net"}, host), "421 This server has another name.\n") << host;
    }
}

}  // namespace
}  // namespace tiderace::http::filter
