// EventReader: the events of an answer of text/event-stream (WHATWG HTML, 9.2), one by one.
//
//   auto answer = co_await client.open(ClientRequest("GET", url)
//                                          .header("Accept", "text/event-stream")
//                                          .header("Last-Event-ID", id));
//   if (!answer || answer->status() != 200) …          // 204: do not come again
//   EventReader events(std::move(*answer));
//   while (true) {
//       auto event = co_await events.next();
//       if (!event || !*event) break;                  // a fault, or the end
//       use((*event)->data);
//   }
//   id = events.last_id();                             // to come again: after events.retry()
//
//   pieces -> EventParser (lines, whichever way they end and are cut) -> event
//
// Whether and when to connect again is the caller's choice.
//
// Owner    The task.
// Thread   The loop's.
// Errors   next(): a ClientFault of the stream; too_large. An event that the end cuts off is none.
// Limits   event_bytes_max for a line, and for the data of an event. ClientOptions::read_timeout
//          for each wait: a server that has nothing to say sends a comment in time.
// Memory   A line and an event.
// Keywords: server-sent events, EventSource, SSE
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/client/client_response_stream.h"

namespace tiderace::http {

struct ReceivedEvent {
    std::string type = "message";
    std::string data;  // lines have "\n" between them
};

// Bytes in, events out; no system.
class EventParser {
  public:
    explicit EventParser(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

    // Reads up to the end of an event, and removes what it read from `bytes`. Nothing: it needs
    // more, or overflowed() is true.
    std::optional<ReceivedEvent> take(ByteView& bytes);
    bool overflowed() const { return overflowed_; }
    const std::string& last_id() const { return last_id_; }
    std::optional<Duration> retry() const { return retry_; }

  private:
    // True: an empty line, which ends the event.
    bool take_line(ByteView line);

    std::size_t event_bytes_max_;
    std::string line_;  // what came of it so far
    ReceivedEvent event_ = {.type = "", .data = ""};
    std::string id_;  // becomes last_id_ at the end of its event
    std::string last_id_;
    std::optional<Duration> retry_;
    bool is_first_ = true;   // line: a byte order mark may stand before it
    bool after_cr_ = false;  // a LF ends no other line
    bool overflowed_ = false;
};

class EventReader final {
  public:
    static constexpr std::size_t event_bytes_max = 1024 * 1024;

    explicit EventReader(ClientResponseStream stream, std::size_t bytes_max = event_bytes_max)
        : stream_(std::move(stream)), parser_(bytes_max) {}

    // The next event; nothing: the server ended the stream.
    task::Task<ClientResult<std::optional<ReceivedEvent>>> next();
    // What to send as Last-Event-ID when coming again; "": no event had one.
    const std::string& last_id() const { return parser_.last_id(); }
    // How long the server wants a client to wait before it comes again.
    std::optional<Duration> retry() const { return parser_.retry(); }

  private:
    ClientResponseStream stream_;
    EventParser parser_;
    std::string piece_;
    std::size_t read_ = 0;  // of piece_
};

}  // namespace tiderace::http
