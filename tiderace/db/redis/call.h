// Internal. Call: a command on its way: in a queue for a connection, then sent and not answered.
//
//   submitted -> waiting -> sent -> on_reply() or on_failed(), once
//
// Owner    The frame that awaits it, or a Pipeline. Destroying it cancels it: the connection reads
//          its reply and drops it, so that no other call gets it.
// Thread   The loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"
#include "tiderace/db/error.h"
#include "tiderace/db/redis/command.h"
#include "tiderace/resp/reply.h"

namespace tiderace::db::redis {

class Link;

class Call : private ListHook {
  public:
    explicit Call(Command command) : command_(std::move(command)) {}
    // Until it is submitted.
    Call(Call&& other) noexcept : ListHook(), command_(std::move(other.command_)) {
        TR_CHECK(other.link_ == nullptr && other.counter_ == nullptr, "moved while it waits");
    }
    virtual ~Call() { leave(); }

    const Command& command() const { return command_; }
    // It leaves everything that knows it, and its result is called.
    void finish(resp::Reply reply) {
        leave();
        try {
            on_reply(reply);
        } catch (const std::bad_alloc&) {
            // Nothing else knows it any more: its task would wait for ever.
            on_failed(Error(Fault::row, "there is no memory for the reply"));
        }
    }
    void fail(const Error& error) {
        leave();
        on_failed(error);
    }

  protected:
    // The reply may be an error; it is a view of the connection's memory.
    virtual void on_reply(resp::Reply reply) = 0;
    virtual void on_failed(const Error& error) = 0;
    void leave();

  private:
    friend class Link;
    friend class Hub;
    friend struct EndLink;
    friend class Node;
    template <typename T>
    friend class tiderace::IntrusiveList;

    void wait(std::size_t& bytes) {
        waiting_bytes_ = &bytes;
        bytes += command_.bytes.size();
    }
    void stop_waiting() {
        if (waiting_bytes_ == nullptr) return;
        *std::exchange(waiting_bytes_, nullptr) -= command_.bytes.size();
    }

    Command command_;
    Link* link_ = nullptr;                  // that it was sent on
    std::size_t* counter_ = nullptr;        // that it counts in
    std::size_t* waiting_bytes_ = nullptr;  // that it counts in while it waits for a connection
    std::uint64_t place_ = 0;               // among all that were sent on the link
    Instant due_{};                         // while it waits
    std::uint8_t redirects_ = 0;
    std::uint8_t resends_ = 0;
    bool asking_ = false;
};

// What becomes of a call that was sent when its connection is lost: one that only reads was not
// done; for the others it is unknown.
Error outcome_of(const Call& call, const Error& why);

}  // namespace tiderace::db::redis
