// Exchange: one request and its answer, the same for every version of HTTP.
//
// A handler gets it, and answers now (respond) or keeps a Ref (defer) and answers later. If the
// peer goes away meanwhile the exchange is abandoned, and answering it does nothing.
//
// Owner    The connection, and whoever deferred it.
// Thread   The loop's. From elsewhere: post to loop() with the Ref moved along and used there only.
// Errors   A handler that returns without having answered, deferred or asked for the body: 500.
#pragma once

#include <cstdint>

#include "tiderace/base/unique_function.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/request.h"
#include "tiderace/http/response.h"
#include "tiderace/net/connection.h"

namespace tiderace::http {

class Exchange;
class Site;

// Given a request's body as it arrives.
class BodyReceiver {
  public:
    // Bytes, gone on return; never empty.
    virtual void on_body(Exchange& exchange, ByteView bytes) = 0;
    // A trailer field, after the last byte. Never merged into the head.
    virtual void on_trailer(Exchange&, ByteView /*name*/, ByteView /*value*/) {}
    // All of it was given.
    virtual void on_body_end(Exchange& exchange) = 0;
    // It will not be completed: the peer is gone, too slow, or broke the framing. An answer is
    // under way where one can still be given; respond() does nothing any more.
    virtual void on_body_failed(Exchange& exchange) = 0;

  protected:
    ~BodyReceiver() = default;
};

class Exchange : public core::Shared {
  public:
    const Request& request() const { return request_; }
    virtual core::EventLoop& loop() = 0;

    // Answers. Once. Runs the site's filters, then the connection's own writer.
    void respond(Response& response);
    void respond(Response&& response) { respond(response); }
    // An answer without a body of its own; the site's error pages give it one.
    void respond_status(int status);

    // Says that the answer comes later; keep the Ref until then. The request stays readable.
    core::Ref<Exchange> defer();
    bool responded() const { return responded_; }
    // The peer is gone, or was answered over our head (a deadline, a body too large).
    bool abandoned() const { return abandoned_; }
    void on_abandoned(unique_function<void()> callback) { when_abandoned_ = std::move(callback); }

    // Asks for the body, at most `bytes_max` of it (413 above). Sends "100 Continue" where the peer
    // waits for it. A body nobody asks for is read and dropped, or the connection is closed.
    virtual void receive_body(BodyReceiver& receiver, std::uint64_t bytes_max) = 0;
    // Push back on the peer, and go on.
    virtual void set_body_reading(bool on) = 0;
    // A BodySource that said `wait` has more.
    virtual void body_ready() = 0;

    // Answers 101 and hands the connection, with what was received beyond the request, to the
    // Session that `make` returns. HTTP/1.1 only; false where it cannot be.
    virtual bool upgrade(Response& response,
                         unique_function<net::Session&(net::Connection&)> make) = 0;

    // Where the request stands in the site's stages (site.h).
    void set_site(Site& site) { site_ = &site; }
    std::size_t access_done = 0;

  protected:
    // Answers a request that was not taken, with a sentence about why; error pages make it theirs.
    void respond_refused(int status, ByteView sentence);
    // Writes the answer; responded() is true by then.
    virtual void send(Response& response) = 0;
    void abandon();
    void reset_answer();

    Request request_;
    Site* site_ = nullptr;
    bool responded_ = false;
    bool deferred_ = false;
    bool abandoned_ = false;
    unique_function<void()> when_abandoned_;
};

}  // namespace tiderace::http
