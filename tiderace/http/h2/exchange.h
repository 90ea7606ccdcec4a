// Internal. H2Exchange: one HTTP/2 stream: a request and its answer.
//
//   field block -> RequestHead -> Site -> Response -> HEADERS at once, and
//   body -> out -> DATA, a frame at a time, in the order of the connection's scheduler
//
//   body    awaits_continue --receive_body()--> coming --END_STREAM--> arrived
//   answer  awaited --HEADERS--> begun --the source's end--> ended --END_STREAM--> complete
//             +--upgrade()--> upgrading --200--> begun, its body is the tunnel's
//
// Owner    Its H2Connection while the stream is open, and every handler that deferred it. Reused
//          for another request when no other reference exists.
// Thread   The loop's.
// Limits   Untaken bytes of a request's body: at most its receive window.
// Memory   Under 1 KiB, and for a request that is not answered at once a copy of its head
//          (request_buffer.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/exchange.h"
#include "tiderace/http/h2/stream_notes.h"
#include "tiderace/http/request_buffer.h"
#include "tiderace/http/stages.h"
#include "tiderace/http/wire/h2/frame.h"
#include "tiderace/http/wire/h2/request.h"
#include "tiderace/http/wire/h2/scheduler.h"
#include "tiderace/http/wire/h2/stream.h"
#include "tiderace/http/wire/h2/window.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http {

class H2Connection;
class H2Service;
class H2StreamTransport;

class H2Exchange final : public Exchange,
                         public wire::H2Scheduled,
                         public H2StreamNotes,
                         private core::TurnEnd {
  public:
    explicit H2Exchange(H2Service& service) : service_(&service) {}
    ~H2Exchange() override;

    core::EventLoop& loop() override;
    bool has_body() const override {
        return !body_arrived() || length_.received() > 0 || trailers_ != nullptr;
    }
    void set_body_reading(bool on) TR_ON_LOOP override;
    void body_ready() TR_ON_LOOP override;
    bool upgrade(Response& response,
                 unique_function<net::Session&(net::Connection&)> make) TR_ON_LOOP override;

    // For H2Connection. -----------------------------------------------------------------------

    wire::H2RequestParse parse(wire::HpackDecoder& decoder, ByteView block, std::span<char> arena);
    // Becomes a stream of `connection`, with this window for its answer.
    void open(H2Connection& connection, std::uint32_t stream, std::uint32_t window_bytes);
    // The head is complete: takes target, path and body length from it.
    wire::Refusal begin(const wire::H2Headers& headers, const wire::H2RequestParse& parsed);
    // Answers a request that was not accepted, if it was not answered before.
    void refuse(int status, std::string_view sentence);
    void refuse(wire::Refusal refusal);
    void pin() override;
    std::size_t pinned_bytes() const { return pinned_.bytes(); }

    // Bytes of the body, in order. False: more, or less at the end, than content-length announced.
    [[nodiscard]] bool take_body(ByteView bytes, bool end) TR_ON_LOOP;
    void take_trailers(std::span<const wire::Field> trailers);

    // Puts the next DATA frame into the connection's queue. `window` is the connection's.
    enum class Piece : std::uint8_t { sent, ended, blocked, no_window, failed };
    Piece send_piece(core::SendQueue& queue, wire::H2SendWindow& window) TR_ON_LOOP;
    bool has_output() const { return out_.bytes() > 0 || source_ != nullptr || output_ended(); }
    // Part of the answer is ready: it waits for the peer.
    bool waits_to_be_sent() const {
        return out_.bytes() > 0 || output_ended() || (source_ != nullptr && !source_waits_);
    }
    // It has more, and its own window or the connection's is closed.
    bool waits_for(const wire::H2SendWindow& window) const {
        return (out_.bytes() > 0 || (source_ != nullptr && !source_waits_)) &&
               (send_window.available() == 0 || window.available() == 0);
    }

    // The stream ends, with its answer or its body incomplete: observers are notified.
    void disconnect() TR_ON_LOOP;
    // After the answer; a remaining reference can no longer reach the connection.
    void complete() TR_ON_LOOP;
    void recycle();

    std::uint32_t stream() const { return stream_; }
    void set_stream(std::uint32_t stream) { stream_ = stream; }
    bool attached() const { return connection_ != nullptr; }
    bool must_answer() const { return waits_for_handler(); }
    bool answer_complete() const { return answer_ == Answer::complete; }
    // It was answered without a handler, or its body was refused.
    bool was_refused() const { return refused_; }
    // Whether the rest of a body, still coming after the answer's end, is worth reading.
    bool may_drop_rest() const;
    // Bytes of the body that were received and not passed on: they take room in the windows.
    std::size_t held_bytes() const { return held_.size(); }
    AccessRecord record() const;

    // For H2StreamTransport. ------------------------------------------------------------------

    H2Connection* connection() const { return connection_; }
    core::SendQueue& out() { return out_; }
    void end_output() TR_ON_LOOP;
    std::string take_held() { return std::exchange(held_, {}); }
    bool body_arrived() const { return body_ == Body::arrived; }
    void leave_tunnel() { tunnel_ = nullptr, tunnel_connection_ = nullptr; }
    // At the turn's end a tunnel gets a step(); without a tunnel, the held body is delivered.
    void ask_turn_end() TR_ON_LOOP;
    net::Connection* tunnel_connection() const { return tunnel_connection_; }

    std::uint64_t body_bytes() const { return length_.received(); }
    std::uint64_t answer_bytes() const { return answer_bytes_; }
    // More of the body will come, and will be taken or dropped.
    bool body_flows() const {
        return !body_arrived() && !body_paused_ && (responded_ || receiver_ != nullptr);
    }
    bool body_paused() const { return body_paused_; }
    bool source_waits() const { return source_waits_; }

  private:
    enum class Body : std::uint8_t {  // the request's
        awaits_continue,              // the peer may wait for "100 Continue"
        coming,
        arrived,  // all of it was received
    };
    enum class Answer : std::uint8_t {
        awaited,
        upgrading,  // upgrade() is on the stack
        begun,      // its head is queued
        ended,      // nothing follows out_, and END_STREAM was not sent
        complete,   // END_STREAM was sent
    };
    using Trailers = std::vector<std::pair<std::string, std::string>>;

    void enter(Body next);
    void enter(Answer next);
    bool output_ended() const { return answer_ == Answer::ended; }
    void on_turn_end() TR_ON_LOOP override;
    void send(Response& response) TR_ON_LOOP override;
    void break_off() TR_ON_LOOP override;
    void break_connection() TR_ON_LOOP override;
    void start_body() TR_ON_LOOP override;
    wire::Refusal take_target();
    bool write_head(const Response& response, bool end_stream);
    void queue_body(Response& response) TR_ON_LOOP;
    bool send_at_once(ByteView body) TR_ON_LOOP;
    bool pull_more();
    void answer_ended() TR_ON_LOOP;
    void deliver_held() TR_ON_LOOP;
    void deliver(ByteView bytes) TR_ON_LOOP;
    bool is_taken() const { return receiver_ != nullptr && !body_paused_ && !delivering_; }
    void end_body_if_whole();
    void drop_held() TR_ON_LOOP;
    void send_continue() TR_ON_LOOP;
    void refuse_body(wire::Refusal refusal) TR_ON_LOOP;
    void open_tunnel(unique_function<net::Session&(net::Connection&)> make) TR_ON_LOOP;

    H2Service* service_;
    H2Connection* connection_ = nullptr;
    std::uint32_t stream_ = 0;
    int status_ = 0;
    std::unique_ptr<RequestBuffer> buffer_;  // from the parsing until the answer or pin()
    PinnedRequest pinned_;
    wire::RequestHead head_{std::span<wire::Field>()};
    wire::H2BodyLength length_;
    std::optional<std::uint64_t> content_length_;
    std::string held_;  // received, not taken yet
    std::unique_ptr<Trailers> trailers_;
    core::SendQueue out_;  // bytes of the answer's body that are ready and not in a frame yet
    std::unique_ptr<BodySource> source_;
    std::optional<std::uint64_t> source_left_;
    std::uint64_t answer_bytes_ = 0;  // of the answer's body, in frames
    H2StreamTransport* tunnel_ = nullptr;
    net::Connection* tunnel_connection_ = nullptr;  // above tunnel_, while that is there
    core::Ref<H2Exchange> awaits_turn_end_;         // this one
    Body body_ = Body::arrived;
    Answer answer_ = Answer::awaited;
    bool body_paused_ = false;   // set_body_reading(false)
    bool refused_ = false;       // answered without a handler, or its body was
    bool delivering_ = false;    // the receiver's call is on the stack
    bool source_waits_ = false;  // until body_ready()
};

}  // namespace tiderace::http
