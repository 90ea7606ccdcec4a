// H1Connection: HTTP/1.0 and HTTP/1.1 on one connection (RFC 9110, RFC 9112).
//
//   bytes -> wire::parse_request_head -> wire::frame_request -> Site -> Response -> the
//   connection's queue
//
// Requests are served in order. One that is answered inside its handler costs no allocation: its
// exchange is the loop's spare one. One that is answered later keeps its exchange and a copy of its
// head. What was pipelined behind it waits unread.
//
// Owner    Itself, from its making until on_close.
// Thread   The loop's.
// Errors   Every doubtful frame is answered with its status and closes; the peer is given the
//          chance to read that answer (a lingering close).
// Memory   Idle: this object, about 60 bytes.
#pragma once

#include "tiderace/http/h1_exchange.h"
#include "tiderace/http/h1_service.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class H1Connection final : public net::Session {
  public:
    H1Connection(H1Service& service, net::Connection& connection);

    net::Connection& connection() { return *connection_; }
    // Whether the connection can carry another request after the present one.
    bool may_keep_alive() const;

    // Told by the exchange in hand. -----------------------------------------------------------
    void on_answered(H1Exchange& exchange)
        TR_ON_LOOP;  // all of the answer, or all but its source's bytes
    void on_body_wanted() TR_ON_LOOP;
    void on_body_end(H1Exchange& exchange) TR_ON_LOOP;  // or it will never be whole
    void set_body_reading(bool on) TR_ON_LOOP;
    void pump(H1Exchange& exchange) TR_ON_LOOP;
    void stop_discarding() TR_ON_LOOP;
    void hand_over(unique_function<net::Session&(net::Connection&)> make) TR_ON_LOOP;

  private:
    enum class Phase : std::uint8_t {
        fresh,    // nothing came yet
        idle,     // between requests
        head,     // part of a head is here
        body,     // the request's body is coming
        answer,   // the answer is being made
        closing,  // the last answer is queued; what still comes is dropped
    };

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override;
    void on_drained(net::Connection& connection) TR_ON_LOOP override;
    void on_peer_finished(net::Connection& connection) TR_ON_LOOP override;
    void on_deadline(net::Connection& connection) TR_ON_LOOP override;
    void on_drain(net::Connection& connection) TR_ON_LOOP override;
    void on_close(net::Connection& connection, net::CloseReason reason) override;

    std::size_t consume(ByteView data) TR_ON_LOOP;
    std::size_t start_request(ByteView data) TR_ON_LOOP;
    bool begins_http2(ByteView data) const;
    void become_http2() TR_ON_LOOP;
    std::size_t wait_for_head(ByteView data) TR_ON_LOOP;
    void run(H1Exchange& exchange) TR_ON_LOOP;
    void refuse(wire::Refusal refusal) TR_ON_LOOP;
    void settle() TR_ON_LOOP;
    void settle_unless_consuming() TR_ON_LOOP;
    void request_done() TR_ON_LOOP;
    void let_go_of_exchange();
    void resume_reading() TR_ON_LOOP;
    void end_of_input(bool unread) TR_ON_LOOP;
    void end_connection(bool input_is_clean) TR_ON_LOOP;
    void enter(Phase phase) TR_ON_LOOP;
    void check_body_progress() TR_ON_LOOP;
    void check_half_closed() TR_ON_LOOP;
    void log_answer();
    void log_large_answer();

    H1Service* service_;
    net::Connection* connection_;
    core::Ref<H1Exchange> exchange_;  // the request in hand, from its head to its answer's end
    core::Ref<H1Exchange> unlogged_;  // the last answer, too large to be called sent when queued
    std::uint32_t requests_ = 0;
    std::uint32_t head_bytes_seen_ = 0;  // of a head's beginning, looked through for a line's end
    Phase phase_ = Phase::fresh;
    bool draining_ : 1 = false;
    bool peer_finished_ : 1 = false;
    bool consuming_ : 1 = false;  // on_data is on the stack
    bool handed_over_ : 1 = false;
};

}  // namespace tiderace::http
