// Internal. Resolver: the addresses of a host name, found by getaddrinfo on the worker pool, for
// one loop.
//
//   Query::resolve() -> queue -> pool thread: getaddrinfo -> the loop: on_resolved()
//
// Queries for the same host that wait at the same time share one lookup. Nothing is cached: the
// system's own resolver does that, and getaddrinfo does not report how long an answer holds.
//
// Owner    The one that made the loop and the pool; it ends before both, and waits then for the
//          lookups that run. A Query belongs to its caller, whose destructor withdraws it.
// Thread   The loop's; getaddrinfo runs on a thread of the pool.
// Errors   One Result a query, from a later turn: no such host, no answer from the name server,
//          the deadline, a full queue.
// Limits   ResolverOptions. getaddrinfo cannot be interrupted: a lookup whose queries are gone
//          holds its thread until the system gives up, and counts towards lookups_max.
// Keywords: DNS, getaddrinfo
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/core/blocking_jobs.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/core/worker_pool.h"

struct addrinfo;

namespace tiderace::core {

// "example.org:443", "127.0.0.1:80", "[::1]:80", "localhost:80", "unix:/run/x.sock".
struct HostPort {
    // Fails where the text is none of these; nothing is looked up.
    static Result<HostPort> parse(std::string_view text);

    // Addresses without a lookup: IP addresses, Unix paths, and localhost, which is 127.0.0.1
    // and ::1 (RFC 6761 section 6.3). Empty: use a Resolver.
    std::vector<Address> literal() const;

    std::string host;  // without brackets; "unix:/run/x.sock" as a whole
    std::uint16_t port = 0;
};

// The result of getaddrinfo, in the order of RFC 6724, with port 0. Blocks, for many seconds if a
// name server does not answer.
Result<std::vector<Address>> look_up(const std::string& host);
// The addresses that getaddrinfo found: each address once, at most Resolver::addresses_max.
std::vector<Address> addresses_in(const addrinfo* list);

struct ResolverOptions {
    std::size_t lookups_max = 2;    // at a time, so that the pool has threads for other work
    std::size_t waiting_max = 256;  // hosts that wait for one; above it a query fails at once
    std::function<Result<std::vector<Address>>(const std::string&)> look_up = core::look_up;
};

class Resolver final {
  public:
    static constexpr std::size_t addresses_max = 16;  // of one host; the rest is dropped

    Resolver(EventLoop& loop, WorkerPool& pool, ResolverOptions options = {});
    ~Resolver();
    Resolver(const Resolver&) = delete;
    Resolver& operator=(const Resolver&) = delete;

    // Derive. Destroying it, or reset(), withdraws it: on_resolved() is not called any more.
    class Query : private ListHook {
      public:
        Query() = default;
        virtual ~Query();

        // on_resolved() is called once, from a later turn, at `deadline` at the latest. In a loop
        // that is late (its process was stopped) the pool's threads get as long as it is, up to
        // EventLoop::timers_late_max: they were also stopped, and may have the answer.
        void resolve(Resolver& resolver, std::string_view host, Instant deadline);
        void reset();

      protected:
        // The addresses have port 0. The query may be destroyed or used again in here.
        virtual void on_resolved(Result<std::vector<Address>> found) = 0;

      private:
        friend class Resolver;
        template <typename T>
        friend class tiderace::IntrusiveList;

        struct Deadline final : Timer {
            explicit Deadline(Query& q) : query(&q) {}
            void on_expired() override { query->expire(); }
            Query* query;
        };

        void expire();

        Instant until_{};
        Deadline deadline_{*this};
        Resolver* resolver_ = nullptr;  // while it waits
        std::string host_;
        bool refused_ = false;   // the queue was full
        bool had_more_ = false;  // time, in a late loop
    };

    std::size_t lookups() const { return jobs_.out(); }
    std::size_t waiting() const { return hosts_.size() - jobs_.out(); }

  private:
    struct Host;
    class Lookup;
    struct Retry final : Timer {
        explicit Retry(Resolver& r) : resolver(&r) {}
        void on_expired() override { resolver->start_lookups(); }
        Resolver* resolver;
    };

    bool add(Query& query);
    void start_lookups();
    void finish(Host& host, Result<std::vector<Address>> found);

    EventLoop* loop_;
    ResolverOptions options_;
    std::vector<std::unique_ptr<Host>> hosts_;  // in the order of their first query
    Retry retry_{*this};
    BlockingJobs jobs_;
};

}  // namespace tiderace::core
