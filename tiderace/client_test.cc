#include "tiderace/client.h"

// The example of the header, which includes what it needs.
#define main client_example_main
#include "client_example.h"
#undef main

#include <gtest/gtest.h>

namespace tiderace {
namespace {

TEST(ClientHeader, ItsExampleRuns) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(client_example_main(), 1);  // nothing listens there
    EXPECT_EQ(::testing::internal::GetCapturedStdout(),
              "connect to 127.0.0.1:1: connection refused; nothing listens there\n");
}

task::Task<> ask_with_bad_roots(std::string& told) {
    http::ClientOptions options;
    options.tls.ca = "/nonexistent/ca.pem";
    options.proxy_from_environment = false;
    http::Client client(options);
    const auto answer = co_await client.get("https://127.0.0.1:1/");
    told = answer ? "?" : answer.error().message;
}

TEST(ClientHeader, RootsThatCannotBeReadAreAFault) {
    std::string told;
    run(ask_with_bad_roots(told));
    EXPECT_NE(told.find("/nonexistent/ca.pem"), std::string::npos) << told;
}

}  // namespace
}  // namespace tiderace
