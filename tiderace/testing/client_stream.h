// Internal. Stream: one request of a testing::Client whose answer is read piece by piece.
//
//   auto ticks = client.open("/ticks");
//   client.advance(1s);
//   EXPECT_EQ(ticks.next_event()->data, "1");
//
// It receives only while it is read, so that the server sees a slow client. No call lets time pass.
// Ending it closes its connection, as a client that goes away.
//
// Owner    The test; before the Client.
// Thread   The test's.
// Errors   fault(): why the answer will not be whole.
// Limits   read_bytes_max for one read().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/http/client/headers.h"

namespace tiderace::testing {

class ClientStage;
class ClientExchange;

// One event of an event stream, as a browser's EventSource would report it.
struct StreamEvent {
    std::string data;
    std::string event = "message";
    std::string id;  // the last one that the stream named
};

class Stream {
  public:
    static constexpr std::size_t read_bytes_max = 256 * 1024;

    Stream(ClientStage& stage, std::unique_ptr<ClientExchange> exchange);
    ~Stream();
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;

    // 0 and nothing until the head is there.
    int status();
    const http::Headers& headers();
    std::string_view header(std::string_view name) { return headers().find(name); }

    // The bytes of the body since the last read; "": none now.
    std::string read();
    // The next event of a body that is an event stream; none: no whole one is there, now.
    std::optional<StreamEvent> next_event();
    // The answer is whole, and all of it was read.
    bool ended();
    // Why it will not become whole; "": it may.
    const std::string& fault();

    // After open_upload(): a piece of the request's body, and its end.
    void write(ByteView bytes);
    void finish();

    // The client goes away.
    void close();

  private:
    void look(std::size_t bytes_max);

    ClientStage* stage_;
    std::unique_ptr<ClientExchange> exchange_;
    std::string unparsed_;  // of events
    std::string last_id_;
};

}  // namespace tiderace::testing
