// Internal. ClientExchange: one request on its way, and what has come of its answer. The connection
// writes into it, tasks wait on its signals.
//
// Owner    A task of the client's user, by OwnedExchange: its end gives the exchange up: the
//          connection with HTTP/1.1, its stream with HTTP/2.
// Thread   The loop's.
// Limits   buffer_bytes_high of unread bytes with HTTP/1.1, a stream's window with HTTP/2
//          (client_h2.h): above it the server is held back. With HTTP/2, receive_budget.h for all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/content.h"
#include "tiderace/http/client/headers.h"
#include "tiderace/http/client/receive_budget.h"
#include "tiderace/http/client/signal.h"
#include "tiderace/http/client/url.h"
#include "tiderace/http/wire/method.h"
#include "tiderace/net/connection.h"
#include "tiderace/task/frame_pool.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class ClientConnection;

// The head of a request, in any version; views for the call that sends it.
struct ClientHead {
    ByteView method;
    bool secure = false;
    ByteView authority;  // "example.org:8080"
    ByteView target;     // "/path?query"; the whole URL for a proxy
    const Headers& fields;
};

// What an exchange has of its connection, until the answer's end: all of it with HTTP/1.1, one
// stream of it with HTTP/2. The protocol owns it.
class ClientLink {
  public:
    // The next piece of the request's body, copied; `last`: the request is complete. `high`: wait
    // until has_backlog() is false. The exchange's on_writable() reports when to check again.
    virtual net::Backlog write(ByteView piece, bool last) TR_ON_LOOP = 0;
    virtual bool has_backlog() const = 0;
    // The exchange holds so many bytes that were not read.
    virtual void kept(std::size_t unread) TR_ON_LOOP = 0;
    // So many of them were read: the server may send more.
    virtual void taken(std::size_t bytes) TR_ON_LOOP = 0;
    // The answer is not wanted any more.
    virtual void give_up() TR_ON_LOOP = 0;

  protected:
    ~ClientLink() = default;
};

class ClientExchange final : private task::Root {
  public:
    static constexpr std::size_t buffer_bytes_high = 128 * 1024;

    // How far an exchange came before it failed.
    enum class Progress : std::uint8_t {
        unprocessed,        // the server reported that it did not process it
        http_1_1_required,  // and that it would over HTTP/1.1
        unsent,             // no byte of the request left
        untouched,          // nothing of an answer came
        touched,
    };

    ClientExchange() = default;
    // One comes and goes with each request.
    static void* operator new(std::size_t bytes) { return task::FramePool::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept {
        task::FramePool::free(block, bytes);
    }

    // The request.
    Url url;                                  // of the one that was answered, after all redirects
    std::shared_ptr<const std::string> body;  // nullptr: none
    task::Generator<std::string> pieces;      // instead of `body`
    std::optional<std::uint64_t> piece_bytes_left;  // of pieces; nothing: unknown

    std::function<Headers()> make_trailers;  // behind `pieces`; {}: none
    Headers request_trailers;                // of these, once made: the body ends with them

    // Once it is sent.
    bool to_head() const { return to_head_; }
    bool has_body() const { return pieces || (body != nullptr && !body->empty()); }
    bool unknown_length() const { return pieces_ && !piece_bytes_left; }

    // Sends it all on a connection that has room.
    void send(task::Runner& runner, ClientConnection& connection, const ClientHead& head);

    // Called by the protocol.
    void hold(ReceiveShare share) { share_ = std::move(share); }
    ReceiveShare& share() { return share_; }
    // With its fields in fields(); those behind the body come into trailers().
    void on_head(HttpVersion version, int status);
    void on_data(ByteView bytes);
    void on_end();
    void on_failed(ClientFault fault, Progress progress);
    void on_writable() { writable_.wake_all(); }
    // All of the answer is here, while the request is still under way.
    void on_answer_end() { answer_ended_ = true; }

    // The exchange waits for the generator of the request's body, not for the server.
    bool awaits_our_body() const TR_ON_LOOP {
        return answer_ended_ && (link_ == nullptr || !link_->has_backlog());
    }
    HttpVersion version() const { return version_; }
    int status() const { return status_; }
    Headers& fields() { return fields_; }
    Headers& trailers() { return trailers_; }
    bool ended() const { return ended_; }
    const std::optional<ClientFault>& fault() const { return fault_; }
    bool over() const { return ended_ || fault_.has_value(); }
    Progress progress() const { return progress_; }
    std::string take_buffer();
    // Its answer ended well, and take_buffer() gave all of it.
    bool all_taken() const { return ended_ && buffer_.empty() && !fault_; }
    Signal::Wait changed() { return changed_.wait(); }
    Signal::TimedWait changed_until(Instant due) { return changed_.wait_until(due); }

  private:
    friend struct EndExchange;

    ~ClientExchange() override;
    task::Task<> upload();
    task::Task<bool> upload_piece(ByteView piece, bool last);
    void on_done(std::exception_ptr failure) override;
    void leave();

    ClientLink* link_ = nullptr;
    Signal changed_;
    Signal writable_;
    int status_ = 0;
    HttpVersion version_ = HttpVersion::http_1_1;
    Progress progress_ = Progress::untouched;
    Headers fields_;
    Headers trailers_;
    std::string buffer_;
    ReceiveShare share_;  // of HTTP/2: its window, then what is unread of the whole answer
    std::optional<ClientFault> fault_;
    bool to_head_ = false;
    bool pieces_ = false;  // the body is a generator
    bool answer_ended_ = false;
    bool ended_ = false;
};

// At once; or, if what makes the body is what ends it, once that has returned.
struct EndExchange {
    void operator()(ClientExchange* exchange) const;
};
using OwnedExchange = std::unique_ptr<ClientExchange, EndExchange>;

}  // namespace tiderace::http
