// The programs at the top of tcp.h, and the lines that a first program consists of, compiled and
// run.
#include "tiderace/tcp.h"

#define main tcp_example_main
#include "tcp_example.h"
#undef main

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace tiderace {
namespace {

// Runs a client on a thread of its own against a server on this one; its SIGTERM ends the server.
template <typename Client>
auto then_end(std::thread& thread, Client client) {
    return [&thread, client](const std::vector<core::Address>& at) {
        thread = std::thread([at = at[0].to_string(), client] {
            run(client(at));
            ::kill(::getpid(), SIGTERM);
        });
    };
}

Task<> expect_answer(std::string at, std::string say, std::string answer) {
    auto stream = co_await tcp::connect(at);
    EXPECT_TRUE(stream.has_value());
    if (!stream) co_return;
    co_await stream->write(say);
    const auto heard = co_await stream->read_exactly(answer.size());
    EXPECT_EQ(std::string(heard.value_or("")), answer);
}

TEST(TcpHeader, ItsExampleAnswers) {
    std::thread client;
    const auto ask = [](std::string at) {
        return expect_answer(at, "hello\r\nyou\n", "hello!\nyou!\n");
    };
    EXPECT_EQ(
        tcp::serve("127.0.0.1:0", session, {.threads = 2, .on_listening = then_end(client, ask)}),
        0);
    client.join();
}

TEST(TcpHeader, AnEchoInALine) {
    std::thread client;
    const auto ask = [](std::string at) { return expect_answer(at, "hello", "hello"); };
    const tcp::ServeOptions options{.threads = 2, .on_listening = then_end(client, ask)};
    EXPECT_EQ(tcp::serve(
                  "127.0.0.1:0",
                  [](tcp::Stream s) -> Task<> {
                      while (auto bytes = co_await s.read()) co_await s.write(*bytes);
                  },
                  options),
              0);
    client.join();
    EXPECT_EQ(tcp::Server("127.0.0.1:0", {.threads = 2, .on_listening = then_end(client, ask)})
                  .on_data([](tcp::Peer& peer, ByteView in) {
                      peer.write(in);
                      return in.size();
                  })
                  .run(),
              0);
    client.join();
}

}  // namespace
}  // namespace tiderace
