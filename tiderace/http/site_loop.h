// Internal. SiteLoop: a site on one loop: matches each request, and runs its stages (stages.h).
//
//   serve(exchange) -> match -> the rules of its scope -> the endpoint's handler
//                  \-> no endpoint: 404, 405 with Allow, 204 for OPTIONS
//   filter(exchange, response)   when it answers          write_log(record)   when that has ended
//   replace(site)                another tree, while requests of the one before go on
//
// Owner    The program; one per loop, ends before the loop and after its connections.
// Thread   The loop's.
// Errors   LayerPlace::fault: a layer or a handler that could not be made; it must not serve then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/base/shared_function.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/access_log.h"
#include "tiderace/http/exception_log.h"
#include "tiderace/http/site.h"

namespace tiderace::http {

class ExchangeRegistry;
class LoopMetrics;

// The stages of a scope and of the scopes around it, laid out flat: a request looks at one chain,
// however deep its scope is.
struct Chain {
    std::vector<AccessRule*> rules;        // from the outside in
    std::vector<ResponseFilter*> filters;  // error pages first, then from the inside out
    std::uint32_t error_pages = 0;         // of the filters, at their beginning
    std::uint32_t adding_filters = 0;      // Setting::adds_up
    std::uint32_t last_filters = 0;        // at their end: Layer::goes_last
    bool authenticates = false;            // Layer::authenticates, of one of the rules
    AccessLog* log = nullptr;
    const AccessLogTarget* target = nullptr;  // nullptr: the log of the server
    Duration slow{};                          // 0: no request is
    std::optional<std::uint64_t> body_bytes_max;
    std::optional<json::Unknown> unknown_members;
    std::optional<Duration> handler_timeout;
};

// An endpoint of the tree, for what is counted and written about its requests.
struct Matched {
    std::string_view pattern;       // of its path: "/users/{id}"
    std::uint32_t series = 0;       // of LoopMetrics; 0: of no endpoint
    std::string_view site = {};     // the name of its host
    std::string_view methods = {};  // Site::Endpoint::methods
};

// The server itself has checked a password (RFC 7617): programs are given the user's name alone
// (RFC 3875, 4.1.18).
inline bool is_authenticated(const Exchange& exchange) {
    return exchange.chain() != nullptr && exchange.chain()->authenticates;
}

class SiteLoop {
  public:
    // A site of one endpoint, which answers every request; it outlives this.
    explicit SiteLoop(Handler& handler);
    // The place's timeout is what functions have in scopes that set none.
    SiteLoop(std::shared_ptr<const Site> site, LayerPlace& place);
    SiteLoop(core::Ref<core::Shared> prepared, task::Runner& runner);
    ~SiteLoop();
    SiteLoop(const SiteLoop&) = delete;
    SiteLoop& operator=(const SiteLoop&) = delete;

    // Requests that begin from now on are of this site. Each earlier one keeps the site that it
    // began with, which ends at the end of the turn that its last request ends in. What add(),
    // set_log(), set_observer() and set_metrics() were given holds on. A layer or a handler could
    // not be made: all stays as it was.
    Result<> replace(std::shared_ptr<const Site> site, LayerPlace& place);
    // The same in three steps: what can fail or throw, which may be left there, and what cannot.
    using Prepared = core::Ref<core::Shared>;
    static Result<Prepared> prepare(std::shared_ptr<const Site> site, LayerPlace& place);
    void make_ready(const Prepared& prepared, core::EventLoop& loop);
    void publish(Prepared prepared) noexcept;

    // In all scopes, as the last rule or filter.
    void add(AccessRule& rule);
    void add(ResponseFilter& filter);
    // In all scopes, behind their own error pages.
    void add_error_pages(ResponseFilter& pages);
    // `otherwise` where a scope names no log; nullptr: none. find() has the log of each target, and
    // is called again for the targets of a site that replaces this one.
    void set_log(AccessLog* otherwise,
                 unique_function<AccessLog*(const AccessLogTarget&)> find = {});
    // Called for each answer that ended.
    void set_observer(shared_function<void(const AccessRecord&)> observer);

    // Counts each request of this loop; it outlives this, and the loop's turns.
    void set_metrics(LoopMetrics& metrics);

    // Runs access and handler. Their exceptions are answered 500.
    void serve(Exchange& exchange);
    // For the answer to its preflight (the Fetch standard): the methods of its endpoint, or of
    // its path's endpoints, or the method in question where an endpoint takes every method.
    static std::string methods_for(const Exchange& preflight);
    // Goes on after a rule that said `later` has decided to let the request pass.
    void resume(Exchange& exchange);
    void filter(Exchange& exchange, Response& response) const;
    // False: write_log() has no effect, and no record needs to be made.
    bool logs() const { return logs_; }
    // What a log throws ends here.
    void write_log(log::Logger* faults, const AccessRecord& record) const;
    // The way back from other threads, made when it is first asked for.
    std::shared_ptr<ExchangeRegistry> registry(core::EventLoop& loop);
    ExceptionLog& exceptions() { return exceptions_; }
    // The place's; nullptr for a site of one endpoint.
    task::Runner* runner() const { return runner_; }
    const Chain& chain_of(std::uint32_t scope) const;
    // What this request would walk through, were its method GET. Of one that routes choose: until
    // the next call.
    const Chain& chain_of(const Request& request);
    // What handlers hold may use what the layers are made of, and ends first. Nothing is served
    // from here on.
    void drop_handlers();

  private:
    class Tree;
    using Change = unique_function<void(Chain&)>;

    void add_change(Change change);
    void finish(Chain& chain);
    void run_stages(Exchange& exchange);

    task::Runner* runner_ = nullptr;
    core::Ref<Tree> tree_;
    // Those before it that have requests; shared with the work at a turn's end.
    struct Before;
    std::shared_ptr<Before> before_;
    std::vector<Change> changes_;  // of every chain, in this order; and then:
    Change log_ = [](Chain&) {};
    bool logs_ = false;
    shared_function<void(const AccessRecord&)> observer_;
    LoopMetrics* metrics_ = nullptr;
    std::shared_ptr<ExchangeRegistry> registry_;
    ExceptionLog exceptions_;
    mutable SlowLog slow_;
    FoldedLog gave_up_{{.level = log::Level::error,
                        .scope = "http",
                        .again = "the same expression took too many steps again",
                        .others = "other expressions took too many steps, which were not logged"}};
};

}  // namespace tiderace::http
