// H1Connection: HTTP/1.0 and HTTP/1.1 on one connection (RFC 9110, RFC 9112).
//
//   bytes -> wire::parse_request_head -> wire::frame_request -> Site -> Response -> the
//   connection's queue
//
//   fresh --part of a head--> head --the rest--> (the handler is called)
//     |                        ^                    |
//     |                 part of a head              +-- body <-----> answer --+
//     |                        |                    |     |                   |
//     +--a whole head--+     idle <--answered, kept-+-----+-------------------+
//                      +--> (the handler is called)
//   any --last answer, fault, deadline, the peer's end--> closing
//
// A request that is answered while its head is read skips the states of body and answer.
//
// Requests are served in order. One that is answered inside its handler costs no allocation: its
// exchange is the loop's spare one. One that is answered later keeps its exchange and a copy of its
// head. Requests pipelined behind it wait unread.
//
// Owner    Itself, from its making until on_close.
// Thread   The loop's.
// Errors   Every doubtful frame is answered with its status, and the connection closes so that the
//          peer can read that answer (a lingering close).
// Memory   Idle: this object, about 60 bytes.
// Keywords: keep-alive, pipelining, 408, HTTP/1.1, slowloris, upgrade
#pragma once

#include "tiderace/http/h1/exchange.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class H1Connection final : public net::Session {
  public:
    H1Connection(H1Service& service, net::Connection& connection);

    net::Connection& connection() { return *connection_; }
    // Whether the connection can carry another request after the present one.
    bool may_keep_alive() const;

    // Called by the current exchange. --------------------------------------------------------
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
        fresh,    // no bytes received yet
        idle,     // between requests
        head,     // part of a head was received
        body,     // the request's body is coming
        answer,   // the handler works on the answer
        closing,  // the last answer is queued; further bytes are dropped
    };

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override;
    void on_drained(net::Connection& connection) TR_ON_LOOP override;
    void on_peer_finished(net::Connection& connection) TR_ON_LOOP override;
    void on_deadline(net::Connection& connection) TR_ON_LOOP override;
    void on_drain(net::Connection& connection) TR_ON_LOOP override;
    bool is_idle() const override { return !exchange_; }
    void on_close(net::Connection& connection, net::CloseReason reason) override;

    std::size_t consume(ByteView data) TR_ON_LOOP;
    std::size_t start_request(ByteView data) TR_ON_LOOP;
    bool begins_http2(ByteView data) const;
    [[gnu::cold]] void become_http2() TR_ON_LOOP;
    std::size_t wait_for_head(ByteView data) TR_ON_LOOP;
    void run(H1Exchange& exchange) TR_ON_LOOP;
    [[gnu::cold]] void refuse(wire::Refusal refusal) TR_ON_LOOP;
    void settle() TR_ON_LOOP;
    void settle_unless_consuming() TR_ON_LOOP;
    void request_done() TR_ON_LOOP;
    void complete_exchange();
    void resume_reading() TR_ON_LOOP;
    void end_of_input(bool unread) TR_ON_LOOP;
    void end_connection(bool input_is_clean) TR_ON_LOOP;
    static bool may_follow(Phase from, Phase to);
    void enter(Phase next) TR_ON_LOOP;
    void check_body_progress() TR_ON_LOOP;
    void check_half_closed() TR_ON_LOOP;
    void log_answer();
    void write_log(const H1Exchange& exchange);
    void log_large_answer();

    H1Service* service_;
    net::Connection* connection_;
    core::Ref<H1Exchange> exchange_;  // the current request, from its head to its answer's end
    core::Ref<H1Exchange> unlogged_;  // the last answer, too large to count as sent when queued
    std::uint32_t requests_ = 0;
    // bytes of a partial head that were searched for a line's end
    std::uint32_t head_bytes_seen_ = 0;
    Phase phase_ = Phase::fresh;
    bool draining_ : 1 = false;
    bool peer_finished_ : 1 = false;
    bool consuming_ : 1 = false;  // on_data is on the stack
    bool handed_over_ : 1 = false;
};

}  // namespace tiderace::http
