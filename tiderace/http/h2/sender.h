// H2Sender: the sending side of an HTTP/2 connection, and its order. It knows bytes, windows and
// priorities; H2Connection decides what a stream's end means.
//
//   control frames, HEADERS -------------------------> the connection's queue -> the peer
//   streams with output -> H2Scheduler -> DATA --------^    while is_full() is false
//
// Owner    Its H2Connection; borrows the net::Connection below it.
// Thread   The loop's.
// Limits   queue_bytes_wanted in the queue before DATA waits, and H2FileFrames::frames_max of them
//          with bytes of files.
// Memory   520 bytes from the first file that is sent. The encoder has no dynamic table: fields
//          that all connections share are rendered once, and those cannot refer to a table.
// Keywords: flow control, multiplexing, priority, DATA
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tiderace/http/h2/exchange.h"
#include "tiderace/http/h2/file_frames.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/h2/scheduler.h"
#include "tiderace/http/wire/h2/window.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class H2Sender {
  public:
    // Beyond this, a scheduled stream waits for the queue to fall again.
    static constexpr std::uint64_t queue_bytes_wanted = 128_KiB;
    // A DATA frame with its header fills a TLS record.
    static constexpr std::uint32_t data_bytes_max = 16_KiB - wire::h2_frame_header_bytes;

    explicit H2Sender(net::Connection& connection) : connection_(&connection), encoder_(0) {}

    net::Connection& connection() { return *connection_; }

    // ---- frames; nothing is written once the connection ends --------------------------------
    void write(ByteView frame) TR_ON_LOOP;
    void window_update(std::uint32_t stream, std::uint32_t increment) TR_ON_LOOP;  // 0: no frame
    void reset(std::uint32_t stream, wire::H2Error error) TR_ON_LOOP;
    void ping(const wire::H2PingData& data, bool ack) TR_ON_LOOP;
    void acknowledge_settings() TR_ON_LOOP;
    void go_away(std::uint32_t last_stream, wire::H2Error error) TR_ON_LOOP;

    // ---- whole frames that exchanges put into the queue themselves ------------------------------
    wire::HpackEncoder& encoder() { return encoder_; }
    void queued(std::uint64_t bytes) { queued_ += bytes; }
    // A DATA frame of so many bytes; its header is counted here.
    void queued_data(std::size_t bytes);
    // The DATA frame that ends the queue holds bytes of a file.
    void queued_file(std::uint32_t stream, std::uint32_t bytes);
    std::uint64_t data_sent() const { return data_sent_; }  // bytes, of all streams

    // ---- the order of streams -------------------------------------------------------------------
    wire::H2Scheduler<H2Exchange>& scheduler() { return scheduler_; }
    wire::H2SendWindow& window() { return window_; }  // the connection's
    const wire::H2SendWindow& window() const { return window_; }
    // No stream waits, and the windows and the queue have room for `bytes` now.
    bool may_send_at_once(const wire::H2SendWindow& stream_window, std::size_t bytes);
    // No more DATA until on_drained.
    bool is_full() const;

    // ---- files that become shorter ----------------------------------------------------------
    struct Mended {
        std::uint32_t stream = 0;
        bool was_reset = false;   // its RST_STREAM is in the queue already
        bool window_fits = true;  // false: the peer's WINDOW_UPDATEs were too large
    };
    // The front of the queue lacks bytes of a file. The length of its frame was sent, so zeros
    // complete it, and later DATA of its stream is dropped; the caller resets that stream. No DATA
    // with bytes of a file has END_STREAM, so the peer cannot have taken the stream for ended.
    // Empty: the front is no such frame.
    std::optional<Mended> mend_short_file() TR_ON_LOOP;

  private:
    bool is_over() const { return connection_->finishing() || connection_->closing(); }
    std::uint64_t queue_begin() const { return queued_ - connection_->queue_bytes(); }
    void drop_queued_data(Mended& mended) TR_ON_LOOP;

    net::Connection* connection_;
    wire::HpackEncoder encoder_;
    wire::H2SendWindow window_;
    wire::H2Scheduler<H2Exchange> scheduler_;
    std::uint64_t data_sent_ = 0;
    std::uint64_t queued_ = 0;  // bytes queued since the start: where the queue ends
    std::unique_ptr<H2FileFrames> file_frames_;
};

}  // namespace tiderace::http
