// Internal. Exchange: one request and its answer, the same for every version of HTTP. The seam that
// applications stand on.
//
//   handle(exchange) -> respond()                            now
//                    -> defer(), keep the Ref -> respond()    later, on this loop
//                    -> handle(), give it away -> post()      later, from any thread
//                    -> receive_body() -> on_body_end -> respond(), or one of these
//
// Later      The exchange may be kept past the handler's return. The views of request() are then
//            others: ask again, or pin() first, and they stay as long as the exchange.
// Abandoned  If the client goes away meanwhile (closes, resets, ends the stream, does not read) or
//            is answered over our head (a deadline, a body too large), every observer is notified
//            once, and answering does nothing. An observer unhooks when it dies.
// Deadline   set_deadline(): answers 503, or the given status, by itself.
// Bodies     In: receive_body(). Out: a BodySource, pulled while there is room.
// Errors     What throws (a handler, rule, filter, source, receiver, observer) is logged in one
//            line. 500 is answered where no answer began; otherwise the exchange breaks off, so
//            that the client sees it. A handler that neither answers, defers nor asks for the body
//            is answered 500. Misuse, as a second answer, is logged and ignored.
//
// Owner    The connection, and every handler that deferred it.
// Thread   The loop's. Other threads have an ExchangeHandle.
#pragma once

#include <cstdint>
#include <memory>

#include "tiderace/base/loop_count.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/contain.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/abandon_observer.h"
#include "tiderace/http/attachment.h"
#include "tiderace/http/body_receiver.h"
#include "tiderace/http/exchange_handle.h"
#include "tiderace/http/request.h"
#include "tiderace/http/request_origin.h"
#include "tiderace/http/response.h"
#include "tiderace/http/route/pattern.h"
#include "tiderace/net/session.h"

namespace tiderace::task {
class Runner;
}

namespace tiderace::http {

struct Chain;
class Handler;
struct Matched;
class SiteLoop;

class Exchange : public core::Shared {
  public:
    ~Exchange() override;
    const Request& request() const { return request_; }
    virtual core::EventLoop& loop() = 0;
    // Answers. Once. Runs the filters of its scope, then the connection's own writer.
    void respond(Response& response);
    void respond(Response&& response) { respond(response); }
    void respond_status(int status);  // without a body; the site's error pages give it one
    core::Ref<Exchange> defer();      // answered later: keep the Ref until then
    ExchangeHandle handle();          // answered by another thread, which keeps no Ref
    // From here on the views of request() live as long as the exchange; older ones do not.
    virtual void pin() = 0;
    Instant started() const { return started_; }  // when its head was there
    bool responded() const { return responded_; }
    bool abandoned() const { return abandoned_; }  // gone, or answered over our head
    // False: it is abandoned or answered already, and `observer` will not be called.
    bool observe(AbandonObserver& observer);
    void on_abandoned(unique_function<void()> callback);  // the same, until the answer
    // Answers `status` by itself if no answer came by then, and abandons. The last call counts;
    // Instant::max() for none.
    void set_deadline(Instant when, int status = 503);
    void outlive_connection() { origin_.keep(request_); }  // copies the views that it needs

    // False: the request came without one, and a receiver would learn nothing but its end.
    virtual bool has_body() const { return true; }
    // Asks for the body, at most `bytes_max` of it (413 above). Sends "100 Continue" where the peer
    // waits for it. A body without a receiver is read and dropped, or the connection is closed. The
    // receiver of an abandoned one gets on_failed.
    void receive_body(std::unique_ptr<BodyReceiver> receiver, std::uint64_t bytes_max);
    // Destroys the receiver without another call, and drops the rest. Another one may follow.
    void withdraw_body();
    virtual void set_body_reading(bool on) = 0;  // push back on the peer, and go on
    virtual void body_ready() = 0;               // a BodySource that said `wait` has more

    // Answers 101 and hands the connection, with what was received beyond the request, to the
    // Session that `make` returns. HTTP/1.1 only; false where it cannot be.
    virtual bool upgrade(Response& response,
                         unique_function<net::Session&(net::Connection&)> make) = 0;

    // Runs code of the application on this exchange: the one place where exceptions end.
    template <typename Code>
    void run(Code&& code) {
        if (!contain("a handler", std::forward<Code>(code))) fail();
    }

    void trust_request_id() { request_.trusts_id = true; }         // that it was sent with
    void set_client(const core::Address& client, bool is_secure);  // as a trusted proxy reports it

    // Kept until the exchange is answered to its last byte, or abandoned and released.
    void attach(core::Ref<Attachment> one);
    Attachment* attached(const void* key) const;
    // Inside a catch: a line of the log, with type, message and request.
    [[gnu::cold]] void log_exception(std::string_view thrower) noexcept;
    void resume();  // after an access rule that said `later` (stages.h) has let the request pass
    // The stages of its scope; nullptr: it was answered before it had one.
    const Chain* chain() const { return chain_; }
    // The endpoint that its path and method have; nullptr: none, as with 404 and 405.
    const Matched* matched() const { return matched_; }
    task::Runner* runner() const;  // its site's; nullptr: none
    const route::Parameters& parameters() const { return parameters_; }  // of its path
    void set_site(SiteLoop& site) { site_ = &site; }
    const core::Ref<core::Shared>& tree() const { return tree_; }  // that it was matched in

  protected:
    Exchange();
    // As core::contain, with the loop's log. The exchange has to be there when something throws.
    template <typename Code>
    bool contain(std::string_view thrower, Code&& code)
        TR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
        try {
            std::forward<Code>(code)();
            return true;
        } catch (...) {
            log_exception(thrower);
            return false;
        }
    }
    // Something of it threw: 500 where no answer began, otherwise it breaks off.
    [[gnu::cold]] void fail();
    // Answers without the handler, and says why; observers are notified.
    [[gnu::cold]] void answer_over_head(int status, ByteView sentence);
    void abandon();       // the peer is gone: notifies every observer
    void stop_waiting();  // it is answered, or will be reused: cancels all waits
    void reset_answer();
    bool waits_for_handler() const {
        return !responded_ && !deferred_ && !abandoned_ && receiver_ == nullptr;
    }

    virtual void send(Response& response) = 0;  // responded() is true by then
    [[gnu::cold]] void report_unsendable();     // to the log: 500 is answered instead
    // The answer has begun and cannot be completed: the peer sees that. Nothing if it is complete.
    virtual void break_off() = 0;
    // As break_off, where it is unknown what of the answer is in the connection's queue.
    virtual void break_connection() = 0;
    virtual void start_body() = 0;  // there is a receiver now

    // The receiver's calls. It is there. False: it takes no more.
    bool give_body(ByteView bytes);
    void give_trailer(ByteView name, ByteView value);
    void end_receiver();
    void fail_receiver();  // where there is one
    BodySource::State pull(BodySource& source, core::SendQueue& out);

    Request request_;
    RequestOrigin origin_;
    SiteLoop* site_ = nullptr;
    core::Ref<core::Shared> tree_, selection_;  // the second of routes: it has the chain
    core::Ref<Attachment> attachments_;
    std::unique_ptr<BodyReceiver> receiver_;
    std::uint64_t body_bytes_max_ = 0;
    Instant started_{}, head_at_{};  // the second: when the head left, if the end left later
    wire::Refusal refusal_ = wire::Refusal::none;
    wire::TurnedAway turned_away_ = wire::TurnedAway::no;
    bool responded_ = false, deferred_ = false, abandoned_ = false;
    bool over_ = false;             // answered to its last byte
    std::uint8_t empty_pulls_ = 0;  // in a row

  private:
    friend class SiteLoop;
    void leave_flight() {
        if (in_flight_ != nullptr) [[unlikely]]
            end_flight();
    }
    [[gnu::cold]] void end_flight();
    struct Waiting;
    Waiting& waiting();
    void write(Response& response) TR_ON_LOOP;
    void on_deadline(int status);
    void retire(std::unique_ptr<BodyReceiver> receiver);
    void receiver_returned(bool sound);
    [[gnu::cold]] void report_misuse(std::string_view what);
    [[gnu::cold]] void log_cookie_fault(const Response& response);
    static void tell(Waiting* waiting, AbandonObservers& observers, log::Logger* log);

    const Chain* chain_ = nullptr;  // SiteLoop's, as the next four are
    const Matched* matched_ = nullptr;
    Handler* handler_ = nullptr;
    LoopCount* in_flight_ = nullptr;  // counts it (request_metrics.h)
    std::size_t rules_done_ = 0;
    route::Parameters parameters_;
    AbandonObservers observers_;
    std::unique_ptr<Waiting> waiting_;       // for a deadline, a callback or a handle
    std::unique_ptr<BodyReceiver> retired_;  // withdrawn inside its own call
    BodyReceiver* called_ = nullptr;         // on_body or on_trailer of it is on the stack
};

}  // namespace tiderace::http
