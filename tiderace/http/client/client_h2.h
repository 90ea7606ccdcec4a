// ClientH2: HTTP/2 (RFC 9113) from the client's side: many exchanges on one connection.
//
//   exchanges -> HEADERS, and DATA in turns as the windows allow -> the connection's queue
//   bytes -> wire::H2FrameReader -> streams -> exchanges
//
// Bytes that a reader has not taken count against its stream's window alone: one that does not read
// holds back its own server, and no other stream.
//
// A request that is given up is reset (CANCEL), and the connection goes on. If nothing at all came
// since it began, a PING checks whether the server is there; until it answers, no request begins.
//
// Owner    Its ClientConnection. A stream is borrowed by its exchange.
// Thread   The loop's.
// Errors   RFC 9113's: RST_STREAM for a fault of one answer, GOAWAY and the end for the
//          connection's; the exchanges get a ClientFault. What the server reports as unprocessed
//          (REFUSED_STREAM, GOAWAY) is ClientExchange::Progress::unprocessed, or
//          http_1_1_required (RFC 9113, 7).
// Limits   Those below; wire::H2Budget for all that a server can make us do without a use.
// Memory   A stream about 200 bytes, what its reader has not taken (its window at most), and one
//          piece of a request's body. The windows of all streams on a loop: receive_budget.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/http/client/client_protocol.h"
#include "tiderace/http/client/receive_budget.h"
#include "tiderace/http/wire/h2/budget.h"
#include "tiderace/http/wire/h2/closed_streams.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/hpack_decoder.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/h2/request.h"
#include "tiderace/http/wire/h2/response.h"
#include "tiderace/http/wire/h2/scheduler.h"
#include "tiderace/http/wire/h2/settings.h"
#include "tiderace/http/wire/h2/window.h"
#include "tiderace/http/wire/response_reader.h"

namespace tiderace::http {

class ClientH2;

class ClientH2Stream final : public ClientLink, public wire::H2Scheduled {
  public:
    static constexpr std::uint32_t first_window_bytes = ReceiveBudget::first_bytes;
    static constexpr std::uint32_t window_bytes = 256_KiB;  // of a long answer

    ClientH2Stream(ClientH2& connection, ClientExchange& exchange, std::uint32_t id,
                   std::uint32_t send_window_bytes)
        : connection_(&connection), exchange_(&exchange), id_(id), send_(send_window_bytes) {}

  private:
    friend class ClientH2;

    net::Backlog write(ByteView piece, bool last) override;
    bool has_backlog() const override { return unsent_bytes() > 0; }
    void kept(std::size_t) override {}
    void taken(std::size_t bytes) override;
    void give_up() override;

    std::size_t unsent_bytes() const { return unsent_.size() - unsent_begin_; }

    ClientH2* connection_;
    ClientExchange* exchange_;
    std::uint32_t id_;
    wire::H2SendWindow send_;
    wire::H2ReceiveWindow receive_{first_window_bytes};
    wire::H2BodyLength length_;
    std::string unsent_;  // of the request's body
    std::size_t unsent_begin_ = 0;
    std::uint64_t heard_before_ = 0;  // ClientH2::heard_ when it began
    std::uint64_t mark_ = 0;          // where its head begins (ClientConnection::mark)
    std::uint8_t interim_ = 0;        // heads of 1xx
    bool last_ = false;               // unsent_ ends the request
    bool request_ended_ = false;      // END_STREAM was sent
    bool answer_ended_ = false;       // END_STREAM came
    bool has_head_ = false;
    bool without_body_ = false;  // the answer, by its status or the request's method
    bool touched_ = false;
};

class ClientH2 final : public ClientProtocol {
  public:
    // Until its SETTINGS are here; more could be refused.
    static constexpr std::uint32_t streams_before_settings_max = 16;
    static constexpr std::uint32_t streams_max = 100;  // at a time; fewer, if the server sets fewer
    static constexpr std::uint64_t queue_bytes_wanted = 128_KiB;  // then bodies wait
    // Heads of 1xx before an answer.
    static constexpr std::uint8_t interim_max = wire::ResponseLimits{}.interim_max;
    static constexpr Duration ping_timeout = 5s;
    static constexpr wire::H2ResponseLimits head_limits{};

    explicit ClientH2(ClientConnection& connection);

    ClientLink* begin(ClientExchange& exchange, const ClientHead& head) override;
    std::size_t room() const override;
    std::size_t exchanges() const override { return streams_.size(); }
    bool multiplexes() const override { return true; }
    bool may_grow() const override { return !over_ && !reader_.settled(); }

    std::size_t on_data(ByteView data) override;
    void on_drained() override { fill(); }
    void on_peer_finished() override;
    void on_deadline() override;
    void on_closed(ClientFault::Kind kind, std::string_view why) override;
    void idle_until(Instant when) override;
    bool say_end() override;

    // Called by its streams.
    net::Backlog write(ClientH2Stream& stream, ByteView piece, bool last);
    void taken(ClientH2Stream& stream, std::size_t bytes);
    void give_up(ClientH2Stream& stream);

  private:
    using Stream = ClientH2Stream;
    using Progress = ClientExchange::Progress;
    static constexpr std::uint32_t data_bytes_max = 16_KiB - wire::h2_frame_header_bytes;
    static constexpr std::uint32_t all_windows_bytes = streams_max * Stream::window_bytes;

    // Sending, in client_h2.cc.
    void say(ByteView frames);
    void say_settings();
    void say_head(std::uint32_t stream, ByteView block, bool end_stream);
    void say_trailers(const Stream& stream);
    void update_window(std::uint32_t stream, std::uint32_t increment);
    void reset(std::uint32_t stream, wire::H2Error error);
    void fill();
    bool send_piece(Stream& stream);

    // Streams.
    Stream* find(std::uint32_t id);
    ClientExchange& close(Stream& stream, wire::H2StreamState how);
    void after_close();
    void finish_if_done(Stream& stream);
    void fail_stream(Stream& stream, wire::H2Error error, std::string_view why);
    void fail_exchange(Stream& stream, wire::H2StreamState how, std::string_view why,
                       Progress progress);

    // The connection.
    bool charge(wire::H2Act act, std::uint32_t times = 1);
    void fail(wire::H2Error error);
    void arm();

    // Frames, in client_h2_frames.cc.
    void on_fault(const wire::H2Fault& fault);
    void on_frame(const wire::H2Data& frame);
    void on_frame(const wire::H2Headers& frame);
    void on_frame(const wire::H2PriorityFrame&) { charge(wire::H2Act::priority); }
    void on_frame(const wire::H2RstStream& frame);
    void on_frame(const wire::H2SettingsFrame& frame);
    void on_frame(const wire::H2Ping& frame);
    void on_frame(const wire::H2Goaway& frame);
    void on_frame(const wire::H2WindowUpdate& frame);
    void on_frame(const wire::H2PriorityUpdate&) {}  // the reader refuses it
    void on_frame(const wire::H2UnknownFrame&) { charge(wire::H2Act::unknown_frame); }
    bool take_late(std::uint32_t stream, wire::H2Act act, bool carries_content);
    void take_head(Stream& stream, const wire::H2ResponseParse& parse, Headers fields,
                   bool end_stream);
    void widen(Stream& stream);
    void take_data(Stream& stream, const wire::H2Data& frame);

    ClientConnection* connection_;
    wire::H2FrameReader reader_{{}, wire::H2Peer::server};
    wire::HpackDecoder decoder_;
    wire::HpackEncoder encoder_;
    wire::H2Settings peer_;
    wire::H2SendWindow send_;
    wire::H2ReceiveWindow receive_;
    wire::H2Budget budget_;
    wire::H2ClosedStreams closed_;
    wire::H2Scheduler<Stream> scheduler_;
    std::vector<std::unique_ptr<Stream>> streams_;  // by number
    std::uint32_t next_id_ = 1;
    std::uint32_t goaway_last_ = wire::h2_stream_max;
    std::uint64_t heard_ = 0;  // receives
    Instant idle_due_ = Instant::max();
    Instant ping_due_ = Instant::max();  // the answer to ours
    bool going_away_ = false;            // no new streams
    bool over_ = false;                  // nothing more is sent or read
};

}  // namespace tiderace::http
