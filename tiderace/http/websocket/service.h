// WebSocketService: what the WebSockets of one loop share: options, compressors, scratch memory,
// counters. An idle socket has no buffer and no window because they are here.
//
// Owner    The program; one per loop, outlives the loop's sockets.
// Thread   The loop's.
// Limits   WebSocketOptions. Sockets with a window of their own: context_sockets_max.
// Memory   24 bytes a socket. Scratch of two receive blocks, what the largest recent message
//          inflated to (given back above scratch_bytes_kept), and, once used, 44 KiB to inflate and
//          264 KiB to deflate.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/slot_map.h"
#include "tiderace/core/budget.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/request.h"
#include "tiderace/http/wire/websocket/deflate.h"
#include "tiderace/http/wire/websocket/frame.h"
#include "tiderace/task/topic_listener.h"

namespace tiderace::http {

// The fate of a message for a peer that takes too little.
enum class SlowReceiver : std::uint8_t {
    drop,   // what would pass queue_bytes_max is left out, and counted
    close,  // passing queue_bytes_max ends the socket: 1008, close_timeout to read what is queued
    wait,   // as close; and publishers to its topics have to wait above the connection's mark
};

struct WebSocketOptions {
    std::vector<std::string> subprotocols = {};  // ours, the one we like best first
    // Origins that may open a socket from a page ("https://a.example"); "*" is all of them. Empty:
    // only the origin of the same authority. Without an Origin it is no browser, and is let in.
    std::vector<std::string> origins = {};
    // Instead of the list.
    std::function<bool(ByteView origin, const Request& request)> origin_allowed = {};

    // For a message, inflated; above: 1009.
    std::size_t message_bytes_max = wire::WebSocketReaderOptions{}.message_bytes_max;
    // For one frame; above: 1009.
    std::uint64_t frame_bytes_max = wire::WebSocketReaderOptions{}.frame_bytes_max;
    // For all messages that wait, for their rest or for the task that receives them; at least
    // message_bytes_max and 128 KiB. Above half of it no socket is read while a message of it waits
    // for its task; above: sockets with the larger ones are closed with 1008, and those dropped.
    std::size_t waiting_bytes_max = 64_MiB;
    bool fragments = false;  // on_fragment instead of on_message

    std::uint64_t queue_bytes_max = 2_MiB;  // unsent; a message that finds less than it may pass it
    SlowReceiver slow_receiver = SlowReceiver::close;

    Duration ping_interval = 30s;  // of silence, until a ping; Duration::max(): never
    Duration pong_timeout = 20s;   // of silence after that
    Duration close_timeout = 5s;   // for the peer's close frame, and for its end after that

    bool compression = true;                // permessage-deflate, where the peer offers it
    wire::DeflateWishes deflate = {};       // context takeover off: no window per socket
    std::size_t context_sockets_max = 256;  // with context takeover; above: without it
    int deflate_level = 5;                  // 1 to 9
    std::size_t deflate_bytes_min = 256;    // smaller messages are not worth it
};

struct WebSocketCounters {
    std::uint64_t opened = 0;
    std::uint64_t closed = 0;
    std::uint64_t messages_in = 0;
    std::uint64_t messages_out = 0;
    std::uint64_t dropped = 0;     // SlowReceiver::drop
    std::uint64_t overflowed = 0;  // SlowReceiver::close and wait; waiting_bytes_max
    std::uint64_t faults = 0;      // of peers
    std::uint64_t failed = 0;      // a handler threw
    std::uint64_t timed_out = 0;   // no pong, or no close
};

class WebSocketConnection;

// Names one socket of one service, for other threads and late events to hold; never reused while
// held. It is not the connection's id: over HTTP/2 a socket's connection is a stream, and
// a look-up of its id with a TcpServer would find another connection.
struct WebSocketId {
    SlotId slot;

    bool operator==(const WebSocketId&) const = default;
    explicit operator bool() const { return static_cast<bool>(slot); }
};

class WebSocketService final : private task::TopicUser {
  public:
    WebSocketService(core::EventLoop& loop, WebSocketOptions options);
    ~WebSocketService();

    core::EventLoop& loop() { return *loop_; }
    const WebSocketOptions& options() const { return options_; }
    WebSocketCounters& counters() { return counters_; }

    // nullptr once the socket is closed.
    WebSocketConnection* find(WebSocketId id) TR_ON_LOOP {
        Entry* entry = sockets_.find(id.slot);
        return entry != nullptr ? entry->socket : nullptr;
    }
    std::size_t size() const { return sockets_.size(); }

    // Its sockets may be members of these, which have the same loop.
    void attach(Topics& topics);
    using TopicUser::topics;

    // For WebSocketConnection and its makers. ---------------------------------------------------

    static constexpr std::size_t scratch_bytes_kept = 1_MiB;

    WebSocketId add(WebSocketConnection& socket) { return {sockets_.emplace(&socket).id}; }
    void remove(WebSocketId id) { sockets_.erase(id.slot); }

    // The application tried what the protocol forbids: it is logged, at most once a
    // second, and the socket goes on.
    void report_misuse(std::string_view what, std::string_view instead);

    // At least `bytes` of memory, until the next call.
    char* unmask_scratch(std::size_t bytes);
    // Empty strings to fill, until the next call of the same.
    std::string& inflate_scratch();
    std::string& deflate_scratch();
    // Streams for messages that stand alone.
    wire::WebSocketDeflater& deflater(int window_bits);
    wire::WebSocketInflater& inflater();
    // A key that cannot be guessed (RFC 6455, 10.3).
    wire::WebSocketMask random_mask();

    const core::Ref<core::Budget>& waiting() const { return waiting_; }

    // The right to keep windows; nullptr: context_sockets_max have it.
    class Context {
      public:
        explicit Context(WebSocketService& service) : service_(&service) { ++service.contexts_; }
        Context(const Context&) = delete;
        Context& operator=(const Context&) = delete;
        ~Context() { --service_->contexts_; }

        std::unique_ptr<wire::WebSocketDeflater> deflater;  // made when first needed
        std::unique_ptr<wire::WebSocketInflater> inflater;

      private:
        WebSocketService* service_;
    };
    std::unique_ptr<Context> take_context();

  private:
    struct Entry {
        Entry(SlotId slot, WebSocketConnection* made) : id(slot), socket(made) {}
        SlotId id;
        WebSocketConnection* socket;
    };

    core::EventLoop* loop_;
    WebSocketOptions options_;
    WebSocketCounters counters_;
    core::Ref<core::Budget> waiting_;
    SlotMap<Entry> sockets_;
    std::vector<char> unmasked_;
    std::string inflated_;
    std::string deflated_;
    std::array<std::unique_ptr<wire::WebSocketDeflater>, 7> deflaters_;  // for windows of 9 to 15
    std::unique_ptr<wire::WebSocketInflater> inflater_;
    std::array<unsigned char, 256> random_;
    std::size_t random_used_;
    std::size_t contexts_ = 0;
    UnixSeconds misuse_second_ = 0;  // of the last line
};

}  // namespace tiderace::http
