// LoadDialogue: how one connection of the load sends requests and reads answers, in one version of
// HTTP, or in none.
//
//   LoadConnection   connects, paces, judges, counts       (the same for all versions)
//        |  ask, hear            ^  say, answered, failed, give_back, leave
//   LoadDialogue     LoadH1, LoadH2, LoadEcho: bytes
//
// Owner    A LoadConnection, which is its Client; reused for each of its connections in turn.
// Thread   The worker's loop.
// Errors   Everything the server does wrong goes to the Client, once per request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "load/request.h"
#include "load/tally.h"
#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"

namespace tiderace::load {

struct LoadAnswer {
    std::uint16_t status = 0;
    std::uint64_t length = 0;  // of its body
    std::uint32_t hash = 0;    // of its body, if hashes are wanted
};

class LoadDialogue {
  public:
    enum class Part : std::uint8_t { head, body, control };

    // The connection that speaks it.
    class Client {
      public:
        // Copies; lend() borrows bytes that live as long as the run.
        virtual void say(ByteView bytes, Part part) = 0;
        virtual void lend(ByteView bytes, Part part) = 0;
        // About how many bytes of say() are not sent yet.
        virtual std::size_t unsent() const = 0;
        // A request that was under way came to its end: so, or with an error, or unread.
        virtual void answered(const LoadAnswer& answer, Instant intended) = 0;
        virtual void failed(LoadError error, Instant intended) = 0;
        virtual void give_back(Instant intended) = 0;
        // Nothing could be sent: one that is due fails here.
        virtual void failed_waiting(LoadError error) = 0;
        // An error that is no request's own.
        virtual void failed_besides(LoadError error) = 0;
        // The rule that the server broke, for the report; the text must have static lifetime.
        virtual void found(std::string_view fault) = 0;
        // No further request on this connection; it ends when none is in flight.
        virtual void leave() = 0;
        // There may be room now where there was none.
        virtual void room_changed() = 0;

      protected:
        ~Client() = default;
    };

    struct Rules {
        const LoadRequest* request;
        std::uint64_t depth = 1;  // requests under way at most
        bool close = false;       // one request for each connection
        bool hash = false;
        bool http_1_0 = false;
        bool parts = false;            // heads and bodies are passed separately, for slow senders
        std::string* arena = nullptr;  // the worker's, for HTTP/2: room for an answer's fields
        // HTTP/2: the last that a connection may have (RFC 9113, 5.1.1); a test has fewer.
        std::uint32_t last_stream = 0x7fff'ffff;
    };

    virtual ~LoadDialogue() = default;

    // A new connection; nothing is under way.
    virtual void begin() = 0;
    // How many requests may be added.
    virtual std::size_t room() const = 0;
    virtual std::size_t under_way() const = 0;
    // Adds one, of at most room(); asked() follows the last of several.
    virtual void ask(Instant intended) = 0;
    virtual void asked() = 0;
    // Returns how much of `data` was used; after leave() all of it.
    virtual std::size_t hear(ByteView data) = 0;
    // Changes with each step towards an answer: a part of the request was sent, or of the answer
    // received. A PING or a 1xx is none, so a server cannot keep a run alive with it.
    std::uint64_t progress() const { return progress_; }
    // Looked at some ten times a second. `since`: the last step of any request, or the first one's
    // beginning; `resumed`: the end of the client's last pause. True: the connection is given up,
    // and so is what is under way. What takes its own steps (HTTP/2) has its own time, and fails
    // here.
    virtual bool is_late(Instant now, Instant since, Instant /*resumed*/, Duration timeout) {
        return under_way() > 0 && now - since >= timeout;
    }
    // The bytes of say() are sent, or nearly.
    virtual void drained() {}
    // The server ended its direction. `unread`: within something.
    virtual void ended(bool unread) = 0;
    // All that is under way failed.
    virtual void fail_all(LoadError error) = 0;
    // Forgets what is under way, untold. Returns how many there were.
    virtual std::size_t drop_all() = 0;

  protected:
    std::uint64_t progress_ = 0;
};

std::unique_ptr<LoadDialogue> make_load_h1(LoadDialogue::Client& client,
                                           const LoadDialogue::Rules& rules);
// Bare TCP: the request's body goes, and has to come back.
std::unique_ptr<LoadDialogue> make_load_echo(LoadDialogue::Client& client,
                                             const LoadDialogue::Rules& rules);
std::unique_ptr<LoadDialogue> make_load_h2(LoadDialogue::Client& client,
                                           const LoadDialogue::Rules& rules);

}  // namespace tiderace::load
