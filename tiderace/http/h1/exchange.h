// Internal. H1Exchange: one HTTP/1 request and its answer.
//
//   body    awaits_continue --100 Continue--> coming --its end--> complete
//                 |                              +--refused--> cut
//                 +--its end, or refused without it--> complete, cut
//   answer  awaited --send()--> begun --the source's last byte--> complete
//             |                             +--the source fails: complete, and the connection ends
//             +--upgrade()--> upgrading --101--> complete;  --500 in its place--> begun
//
// Owner    Its H1Connection, and every handler that deferred it. Reused for the next request when
//          no other reference exists.
// Thread   The loop's.
// Memory   Under 1 KiB: the loop's spare ones, and one for each request that is not answered at
//          once, which has its head besides (request_buffer.h).
// Keywords: keep-alive, Connection: close, 100-continue, chunked
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tiderace/http/exchange.h"
#include "tiderace/http/request_buffer.h"
#include "tiderace/http/stages.h"
#include "tiderace/http/wire/chunked.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/refusal.h"
#include "tiderace/http/wire/request_head.h"
#include "tiderace/http/wire/response_head.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class H1Connection;
class H1Service;

class H1Exchange final : public Exchange {
  public:
    explicit H1Exchange(H1Service& service) : service_(&service) {}
    ~H1Exchange() override;

    core::EventLoop& loop() override;
    bool has_body() const override { return framing_.body != wire::RequestFraming::Body::none; }
    void set_body_reading(bool on) TR_ON_LOOP override;
    void body_ready() TR_ON_LOOP override;
    bool upgrade(Response& response,
                 unique_function<net::Session&(net::Connection&)> make) TR_ON_LOOP override;

    // For H1Connection. -----------------------------------------------------------------------

    // Parses a head from the front of `data`.
    wire::HeadParse parse(ByteView data, const wire::HeadLimits& limits);
    // The head is complete: takes framing, target and path from it.
    wire::Refusal begin(H1Connection& connection, ByteView head_bytes);
    // No usable head: only an answer will follow, without a body if `is_head`.
    [[gnu::cold]] void begin_refused(H1Connection& connection, bool is_head);
    // Answers a request that was not accepted. Does nothing if it was answered before.
    [[gnu::cold]] void refuse(wire::Refusal refusal);
    [[gnu::cold]] void refuse(int status, std::string_view sentence);
    // Gives body bytes to the receiver. Returns the number used; 0: it waits.
    std::size_t feed_body(ByteView data) TR_ON_LOOP;
    // Appends the source's bytes to the queue while there is room.
    void pump() TR_ON_LOOP;
    void pin() override;
    // The connection ends, with the request or its answer incomplete: observers are notified.
    void disconnect();
    // After the answer; a remaining reference can no longer reach the connection.
    void complete();
    void recycle();

    // The body's bytes, or then the answer's, at the start of the present period; H1Connection
    // keeps it here.
    std::uint64_t body_mark = 0;

    // Nothing more of it will be read.
    bool body_complete() const { return body_ == Body::complete || body_ == Body::cut; }
    bool body_paused() const { return body_paused_; }
    // A receiver takes the body, or it will be dropped. Until that is decided it waits.
    bool body_flows() const { return !body_complete() && (responded_ || receiver_ != nullptr); }
    bool must_answer() const { return waits_for_handler(); }
    bool answer_complete() const { return answer_ == Answer::complete; }
    // A part of the answer is queued, and only the connection's end will end it: an orderly end now
    // would make the part look like all of it.
    bool would_look_whole() const {
        return answer_ == Answer::begun && answer_body_ == AnswerBody::until_close;
    }
    bool keep_alive() const { return keep_alive_; }
    // The peer announced that no request follows this one, and all of it came.
    bool was_last_word() const { return !framing_.keep_alive && body_ != Body::cut; }
    std::uint64_t body_bytes() const { return body_bytes_; }
    std::uint64_t answer_bytes() const { return answer_bytes_; }
    AccessRecord record(std::uint64_t unsent_bytes) const;
    // The head is queued and the end is not sent. The real clock, as for the end (record()).
    void head_left() {
        if (head_at_ == Instant{}) head_at_ = loop().clock().now();
    }

  private:
    // The request's.
    enum class Body : std::uint8_t {
        awaits_continue,  // the peer may wait for "100 Continue"
        coming,
        complete,
        cut,  // refused in its middle: more of it may come
    };
    enum class Answer : std::uint8_t {
        awaited,
        upgrading,  // upgrade() is on the stack
        begun,      // its head is queued
        complete,
    };
    enum class AnswerBody : std::uint8_t { none, length, chunked, until_close };

    void enter(Body next);
    void enter(Answer next);
    void send(Response& response) TR_ON_LOOP override;
    void break_off() TR_ON_LOOP override;
    [[gnu::cold]] void break_connection() TR_ON_LOOP override;
    void start_body() TR_ON_LOOP override;
    void know_peer(const net::Connection& connection);
    wire::Refusal take_target();
    void decide_framing(const Response& response);
    bool may_keep_request_alive() const;
    void render_head(wire::ResponseHeadWriter& writer, const Response& response) const;
    bool write_head(const Response& response);
    bool has_room_for(const core::SendQueue& more) const;
    void write_body(Response& response) TR_ON_LOOP;
    bool pump_once() TR_ON_LOOP;
    [[gnu::cold]] bool cut_answer() TR_ON_LOOP;  // false
    void append_pulled(core::SendQueue&& pulled);
    void send_continue() TR_ON_LOOP;
    std::size_t feed_length(ByteView data) TR_ON_LOOP;
    std::size_t feed_chunked(ByteView data) TR_ON_LOOP;
    bool take_body(ByteView bytes) TR_ON_LOOP;
    void stop_discarding_if_too_much(std::uint64_t coming) TR_ON_LOOP;
    void end_body() TR_ON_LOOP;
    [[gnu::cold]] void refuse_body(wire::Refusal refusal) TR_ON_LOOP;

    H1Service* service_;
    H1Connection* connection_ = nullptr;
    std::unique_ptr<RequestBuffer> buffer_;  // from the parsing until the answer or pin()
    PinnedRequest pinned_;
    wire::RequestHead head_{std::span<wire::Field>()};
    wire::RequestFraming framing_;
    wire::ChunkedDecoder decoder_;
    std::unique_ptr<std::string> head_copy_;  // where old views are poisoned
    std::uint64_t body_bytes_ = 0;            // received
    std::unique_ptr<BodySource> source_;
    std::optional<std::uint64_t> source_left_;
    std::uint64_t answer_bytes_ = 0;  // body bytes queued
    int status_ = 0;
    AnswerBody answer_body_ = AnswerBody::none;
    bool keep_alive_ = false;
    Body body_ = Body::complete;
    Answer answer_ = Answer::awaited;
    bool body_paused_ = false;  // set_body_reading(false)
};

}  // namespace tiderace::http
