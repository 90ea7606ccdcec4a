#include "tiderace/http/site_loop.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tiderace/core/contain.h"
#include "tiderace/http/exchange_registry.h"
#include "tiderace/http/request_metrics.h"
#include "tiderace/http/site_chains.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::http {
namespace {

bool is_websocket_request(const Request& request) {
    return request.method() == wire::Method::connect && request.protocol == "websocket";
}

// A WebSocket's endpoint is a GET, over HTTP/2 too, where CONNECT asks for one (RFC 8441).
wire::Method method_of(const Request& request) {
    return is_websocket_request(request) ? wire::Method::get : request.method();
}

}  // namespace

// What a loop has made of a site. Each exchange holds the one that it was matched in.
class SiteLoop::Tree final : public core::Shared {
  public:
    explicit Tree(Handler& handler) : only_(&handler) {
        chains_.push_back(std::make_unique<Chain>());
    }
    Tree(std::shared_ptr<const Site> site, LayerPlace& place);

    const Chain& chain(std::uint32_t scope) const { return *chains_[scope]; }
    const Chain& chain_of(const Request& request, SiteLoop& loop);
    const Chain& chain_of_missing(ByteView path) const;
    void match(Exchange& exchange, SiteLoop& loop);
    // Whether one of its requests may be logged.
    bool find_logs(Change& log);
    void change(Change& change);
    std::string methods_for(const Request& preflight) const;
    void drop_handlers() { targets_.clear(); }
    bool has_logs = false;  // found by make_ready()
    void count_in(LoopMetrics& metrics);
    void end_counting(LoopMetrics& metrics) { metrics.forget(series_); }

  private:
    struct Target;
    // What one set of routes makes of an endpoint.
    struct Selection final : core::Shared {
        Chain chain;
        const Target* target = nullptr;  // what answers
    };
    struct ListHash {
        std::size_t operator()(const SiteRoutes::List& list) const {
            return std::hash<std::string_view>()(
                {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(list[0])});
        }
    };
    // Made when they are first needed.
    struct Selections {
        std::vector<core::Ref<Selection>> of_lists;
        // With conditions or patterns: a client may choose which of them hold, so there is a bound.
        std::unordered_map<SiteRoutes::List, core::Ref<Selection>, ListHash> of_requests;
        SiteRoutes::List found;
    };
    static constexpr std::size_t selections_max = 1'024;

    // Answers what no endpoint does.
    class Refusal final : public Handler {
      public:
        explicit Refusal(const Site& site) : site_(&site) {}
        void handle(Exchange& exchange) override;

      private:
        const Site* site_;
    };
    // Answers where an expression gave up.
    class Failure final : public Handler {
        void handle(Exchange& exchange) override { exchange.respond_status(500); }
    };
    // An endpoint on this loop.
    struct Target {
        Matched matched;
        std::shared_ptr<Handler> handler;
        const Chain* chain;
        bool is_websocket;
        std::unique_ptr<Selections> selections = {};  // where routes are inside it
    };
    // The chain of a path without an endpoint: the rules of the outermost scope, and the error
    // pages of the scope that the path lies in.
    struct Missing {
        std::string_view prefix;
        Chain chain;
    };

    void make_missing_chains();
    const Chain& chain_of_refused(const Request& request, const route::Found& found) const;
    route::Found find_asked(const Request& preflight) const;
    // Null: SiteRoutes::gave_up.
    core::Ref<Selection> select(std::uint32_t endpoint, const Request& request, SiteLoop& loop);
    void give_up(Exchange& exchange, std::uint32_t endpoint, SiteLoop& loop);
    core::Ref<Selection> make_selection(std::uint32_t endpoint, std::span<const std::uint32_t> list,
                                        SiteLoop& loop) const;

    std::shared_ptr<const Site> site_;  // nullptr: one endpoint
    std::optional<SiteChains> layers_;
    std::vector<std::unique_ptr<Chain>> chains_;  // by scope; nullptr: of routes
    std::vector<Missing> missing_;                // the longest prefix first
    std::vector<Target> targets_;                 // by endpoint
    std::vector<std::uint32_t> series_;           // of LoopMetrics, by endpoint
    Handler* only_ = nullptr;                     // where there is no tree
    std::optional<Refusal> refusal_;
    Failure failure_;
};

// --- made ------------------------------------------------------------------------------------

SiteLoop::Tree::Tree(std::shared_ptr<const Site> site, LayerPlace& place)
    : site_(std::move(site)), layers_(std::in_place, *site_, place), refusal_(*site_) {
    for (std::uint32_t scope = 0; scope < site_->scopes().size(); ++scope) {
        const bool is_of_routes = site_->scopes()[scope].is_of_routes;
        chains_.push_back(is_of_routes ? nullptr
                                       : std::make_unique<Chain>(layers_->chain_of(scope)));
    }
    make_missing_chains();
    for (const Site::Endpoint& endpoint : site_->endpoints()) {
        place.pattern = endpoint.pattern;
        const std::string& name = site_->host_name(site_->scopes()[endpoint.scope].host);
        Target& target = targets_.emplace_back(
            Matched{.pattern = endpoint.pattern, .site = name, .methods = endpoint.methods},
            endpoint.make(place), chains_[endpoint.scope].get(), endpoint.is_websocket);
        if (endpoint.routes == nullptr) continue;
        target.selections = std::make_unique<Selections>();
        target.selections->of_lists.resize(endpoint.routes->lists().size());
    }
}

void SiteLoop::Tree::make_missing_chains() {
    for (std::size_t i = 0; i < chains_.size(); ++i) {
        const Site::Scope& scope = site_->scopes()[i];
        if (chains_[i] == nullptr) continue;
        const Chain& own = *chains_[i];
        const Chain& outermost = *chains_[0];
        // A prefix with parameters claims no path.
        if (scope.prefix.empty() || own.error_pages == outermost.error_pages) continue;
        Missing missing{scope.prefix, outermost};
        std::vector<ResponseFilter*>& filters = missing.chain.filters;
        filters.erase(filters.begin(), filters.begin() + missing.chain.error_pages);
        filters.insert(filters.begin(), own.filters.begin(), own.filters.begin() + own.error_pages);
        missing.chain.error_pages = own.error_pages;
        missing_.push_back(std::move(missing));
    }
    std::ranges::stable_sort(missing_, std::ranges::greater(),
                             [](const Missing& one) { return one.prefix.size(); });
}

void SiteLoop::Tree::change(Change& change) {
    for (const auto& chain : chains_) {
        if (chain != nullptr) change(*chain);
    }
    for (Missing& missing : missing_) change(missing.chain);
    for (Target& target : targets_) {
        if (target.selections == nullptr) continue;
        for (const auto& selection : target.selections->of_lists) {
            if (selection) change(selection->chain);
        }
        for (const auto& [list, selection] : target.selections->of_requests) {
            change(selection->chain);
        }
    }
}

void SiteLoop::Tree::count_in(LoopMetrics& metrics) {
    if (site_ == nullptr) return;
    series_ = metrics.learn(*site_);
    for (std::size_t i = 0; i < targets_.size(); ++i) targets_[i].matched.series = series_[i];
}

// Their chains are made when a request needs them, and a log cannot be opened then.
bool SiteLoop::Tree::find_logs(Change& log) {
    bool found = std::ranges::any_of(chains_, [](const auto& chain) {
        return chain != nullptr && (chain->log != nullptr || chain->slow > Duration::zero());
    });
    if (site_ == nullptr) return found;
    for (const Site::Scope& scope : site_->scopes()) {
        for (const Setting& setting : scope.settings) {
            if (!scope.is_of_routes) continue;
            found |= setting.slow.value_or(Duration::zero()) > Duration::zero();
            if (setting.access_log == nullptr) continue;
            Chain probe;
            probe.target = setting.access_log.get();
            log(probe);
            found |= probe.log != nullptr;
        }
    }
    return found;
}

// --- a request -------------------------------------------------------------------------------

void SiteLoop::Tree::match(Exchange& exchange, SiteLoop& loop) {
    exchange.tree_ = core::Ref<core::Shared>(this);
    if (site_ == nullptr) {
        exchange.chain_ = chains_[0].get();
        exchange.handler_ = only_;
        return;
    }
    if (site_->before_match) site_->before_match(exchange);
    const Request& request = exchange.request();
    const route::Found found =
        site_->find(request.authority, method_of(request), request.path, exchange.parameters_);
    if (found.kind != route::Found::Kind::route) {
        exchange.chain_ = &chain_of_refused(request, found);
        exchange.handler_ = &*refusal_;
        return;
    }
    const Target* target = &targets_[found.route];
    exchange.chain_ = target->chain;
    if (target->selections != nullptr) {
        auto selection = select(found.route, request, loop);
        if (!selection) return give_up(exchange, found.route, loop);
        exchange.chain_ = &selection->chain;
        target = selection->target;
        exchange.selection_ = std::move(selection);
    }
    const bool is_tunnel = request.method() == wire::Method::connect && !target->is_websocket;
    exchange.matched_ = is_tunnel ? nullptr : &target->matched;
    exchange.handler_ = is_tunnel ? &*refusal_ : target->handler.get();
}

core::Ref<SiteLoop::Tree::Selection> SiteLoop::Tree::select(std::uint32_t endpoint,
                                                            const Request& request,
                                                            SiteLoop& loop) {
    const SiteRoutes& routes = *site_->endpoints()[endpoint].routes;
    Selections& all = *targets_[endpoint].selections;
    const std::uint32_t list = routes.find(request, all.found);
    if (list == SiteRoutes::gave_up) return {};
    if (list != SiteRoutes::none) {
        core::Ref<Selection>& known = all.of_lists[list];
        if (!known) known = make_selection(endpoint, routes.lists()[list], loop);
        return known;
    }
    if (const auto known = all.of_requests.find(all.found); known != all.of_requests.end()) {
        return known->second;
    }
    auto made = make_selection(endpoint, all.found, loop);
    // Requests under way keep the ones that they have.
    if (all.of_requests.size() >= selections_max) all.of_requests.clear();
    all.of_requests.emplace(all.found, made);
    return made;
}

// The rules of the site run all the same: they bound how often a client may try this.
void SiteLoop::Tree::give_up(Exchange& exchange, std::uint32_t endpoint, SiteLoop& loop) {
    const Target& target = targets_[endpoint];
    exchange.chain_ = target.chain;
    exchange.handler_ = &failure_;
    const SiteRoutes& routes = *site_->endpoints()[endpoint].routes;
    const SiteRoutes::Route& route = routes.routes()[target.selections->found.front()];
    if (exchange.loop().log() == nullptr) return;
    loop.gave_up_.write(exchange.loop(),
                        "a regular expression took too many steps; the answer is 500",
                        {{"route", route.match.path}, {"site", std::string(target.matched.site)}},
                        {log::field("request_id", exchange.request().id())});
}

core::Ref<SiteLoop::Tree::Selection> SiteLoop::Tree::make_selection(
    std::uint32_t endpoint, std::span<const std::uint32_t> list, SiteLoop& loop) const {
    const Site::Endpoint& base = site_->endpoints()[endpoint];
    const std::vector<SiteRoutes::Route>& routes = base.routes->routes();
    const SiteRoutes::Route* const answering = base.routes->answering(list);
    const SiteRoutes::Route* const refining = base.routes->refining(list, answering);
    const SiteRoutes::Route* const answers = refining != nullptr ? refining : answering;
    std::vector<std::uint32_t> scopes;
    for (const std::uint32_t number : list | std::views::reverse) {
        scopes.push_back(routes[number].scope);
    }
    auto made = core::make_ref<Selection>();
    made->chain = layers_->chain_of(base.scope, scopes);
    made->target = &targets_[answers != nullptr ? answers->endpoint : endpoint];
    loop.finish(made->chain);
    return made;
}

// A known path passes the rules of its scope even with a wrong method: a log-in comes before any
// answer about the path. A preflight passes the rules of the endpoint that it asks about.
const Chain& SiteLoop::Tree::chain_of_refused(const Request& request,
                                              const route::Found& found) const {
    if (found.kind == route::Found::Kind::nothing) return chain_of_missing(request.path);
    std::uint32_t endpoint = found.route;
    if (request.method() == wire::Method::options) {
        const route::Found asked = find_asked(request);
        if (asked.kind == route::Found::Kind::route) endpoint = asked.route;
    }
    return *targets_[endpoint].chain;
}

route::Found SiteLoop::Tree::find_asked(const Request& preflight) const {
    const ByteView method = preflight.header(wire::FieldName::access_control_request_method);
    route::Parameters unused;
    return site_->find(preflight.authority, wire::parse_method(method), preflight.path, unused);
}

std::string SiteLoop::Tree::methods_for(const Request& preflight) const {
    const std::string asked(preflight.header(wire::FieldName::access_control_request_method));
    if (site_ == nullptr) return asked;
    const route::Found found = find_asked(preflight);
    const bool is_for_all = found.kind == route::Found::Kind::route &&
                            site_->endpoints()[found.route].method == wire::Method::other;
    return is_for_all ? asked : std::string(found.allow);
}

const Chain& SiteLoop::Tree::chain_of_missing(ByteView path) const {
    for (const Missing& missing : missing_) {
        if (wire::is_below(path, missing.prefix)) return missing.chain;
    }
    return *chains_[0];
}

const Chain& SiteLoop::Tree::chain_of(const Request& request, SiteLoop& loop) {
    if (site_ == nullptr) return *chains_[0];
    route::Parameters unused;
    const route::Found found =
        site_->find(request.authority, wire::Method::get, request.path, unused);
    if (found.kind != route::Found::Kind::route) return chain_of_missing(request.path);
    const Target& target = targets_[found.route];
    if (target.selections == nullptr) return *target.chain;
    const auto selection = select(found.route, request, loop);
    return selection ? selection->chain : *target.chain;
}

void SiteLoop::Tree::Refusal::handle(Exchange& exchange) {
    const Request& request = exchange.request();
    const bool asks = request.method() == wire::Method::options;
    // "OPTIONS *" asks about the server as a whole (RFC 9110 9.3.7), whatever its endpoints are.
    if (asks && request.path == "*") return exchange.respond_status(204);
    // Tunnels are not offered.
    if (request.method() == wire::Method::connect && !is_websocket_request(request)) {
        return exchange.respond_status(501);
    }
    route::Parameters unused;
    const route::Found found =
        site_->find(request.authority, method_of(request), request.path, unused);
    // match() left the endpoint that it found: it offers no WebSocket, and one was requested.
    if (found.kind == route::Found::Kind::route) return exchange.respond_status(501);
    if (found.kind == route::Found::Kind::nothing) return exchange.respond_status(404);
    // The path exists with other methods: Allow lists them (RFC 9110, 15.5.6), and OPTIONS asks for
    // just that.
    Response response(asks ? 204 : 405);
    response.add(wire::FieldName::allow, found.allow);
    exchange.respond(response);
}

// --- the site of the loop --------------------------------------------------------------------

struct SiteLoop::Before {
    std::vector<core::Ref<Tree>> trees;
    LoopMetrics* metrics = nullptr;

    void end_unused() {
        std::erase_if(trees, [this](const core::Ref<Tree>& tree) {
            if (!tree.only_owner()) return false;
            if (metrics != nullptr) tree->end_counting(*metrics);
            return true;
        });
    }
};

SiteLoop::SiteLoop(Handler& handler) : tree_(core::make_ref<Tree>(handler)) {}

SiteLoop::SiteLoop(std::shared_ptr<const Site> site, LayerPlace& place)
    : runner_(&place.runner), tree_(core::make_ref<Tree>(std::move(site), place)) {}

SiteLoop::SiteLoop(Prepared prepared, task::Runner& runner)
    : runner_(&runner), tree_(static_cast<Tree*>(prepared.get())) {}

SiteLoop::~SiteLoop() {
    if (registry_ != nullptr) registry_->close();
    // A handler's sockets hold the tree that has the handler.
    drop_handlers();
    if (before_ != nullptr) before_->trees.clear();
}

Result<> SiteLoop::replace(std::shared_ptr<const Site> site, LayerPlace& place) {
    auto prepared = prepare(std::move(site), place);
    if (!prepared) return fail(prepared.error());
    make_ready(*prepared, place.loop);
    publish(std::move(*prepared));
    return {};
}

Result<SiteLoop::Prepared> SiteLoop::prepare(std::shared_ptr<const Site> site, LayerPlace& place) {
    auto made = core::make_ref<Tree>(std::move(site), place);
    if (place.fault) return fail(*place.fault);
    return Prepared(std::move(made));
}

void SiteLoop::make_ready(const Prepared& prepared, core::EventLoop& loop) {
    Tree& next = static_cast<Tree&>(*prepared);
    for (Change& change : changes_) next.change(change);
    next.change(log_);
    next.has_logs = next.find_logs(log_);
    if (before_ == nullptr) {
        before_ = std::make_shared<Before>();
        // At the end of a turn, because code of its handlers may be on the stack when the last
        // request of a site ends.
        loop.every_turn_end([before = before_] { before->end_unused(); });
    }
    before_->trees.reserve(before_->trees.size() + 1);
}

void SiteLoop::publish(Prepared prepared) noexcept {
    core::Ref<Tree> next(static_cast<Tree*>(prepared.get()));
    // Without memory for a series, its requests count for no endpoint.
    if (metrics_ != nullptr) {
        core::contain(nullptr, "http", "the count of a site", [&] { next->count_in(*metrics_); });
    }
    logs_ |= next->has_logs;  // requests of the sites before may be logged yet
    before_->metrics = metrics_;
    before_->trees.push_back(std::exchange(tree_, std::move(next)));
}

void SiteLoop::drop_handlers() {
    if (before_ != nullptr) {
        for (const core::Ref<Tree>& tree : before_->trees) tree->drop_handlers();
    }
    tree_->drop_handlers();
}

void SiteLoop::add_change(Change change) {
    tree_->change(change);
    changes_.push_back(std::move(change));
}

// The log of a chain that is made while requests are served.
void SiteLoop::finish(Chain& chain) {
    for (Change& change : changes_) change(chain);
    log_(chain);
}

void SiteLoop::add(AccessRule& rule) {
    add_change([&rule](Chain& chain) { chain.rules.push_back(&rule); });
}

void SiteLoop::add(ResponseFilter& filter) {
    add_change([&filter](Chain& chain) { chain.filters.push_back(&filter); });
}

void SiteLoop::add_error_pages(ResponseFilter& pages) {
    add_change([&pages](Chain& chain) {
        chain.filters.insert(chain.filters.begin() + chain.error_pages, &pages);
        ++chain.error_pages;
    });
}

void SiteLoop::set_log(AccessLog* otherwise,
                       unique_function<AccessLog*(const AccessLogTarget&)> find) {
    log_ = [otherwise, find = std::move(find)](Chain& chain) mutable {
        chain.log = otherwise;
        if (chain.target == nullptr) return;
        chain.log = chain.target->path == "off" ? nullptr : find(*chain.target);
    };
    tree_->change(log_);
    logs_ = tree_->find_logs(log_) || observer_ || metrics_ != nullptr;
}

void SiteLoop::set_observer(shared_function<void(const AccessRecord&)> observer) {
    observer_ = std::move(observer);
    logs_ |= static_cast<bool>(observer_);
}

void SiteLoop::set_metrics(LoopMetrics& metrics) {
    metrics_ = &metrics;
    tree_->count_in(metrics);
    logs_ = true;
}

std::shared_ptr<ExchangeRegistry> SiteLoop::registry(core::EventLoop& loop) {
    if (registry_ == nullptr) registry_ = std::make_shared<ExchangeRegistry>(loop);
    return registry_;
}

const Chain& SiteLoop::chain_of(std::uint32_t scope) const {
    return tree_->chain(scope);
}

const Chain& SiteLoop::chain_of(const Request& request) {
    return tree_->chain_of(request, *this);
}

void SiteLoop::serve(Exchange& exchange) {
    exchange.set_site(*this);
    exchange.run([&] {
        tree_->match(exchange, *this);
        if (metrics_ != nullptr) {
            exchange.in_flight_ = &metrics_->in_flight(exchange.matched_);
            ++*exchange.in_flight_;
        }
        run_stages(exchange);
    });
}

std::string SiteLoop::methods_for(const Exchange& preflight) {
    const Matched* const matched = preflight.matched_;
    if (matched != nullptr && !matched->methods.empty()) return std::string(matched->methods);
    return static_cast<const Tree&>(*preflight.tree_).methods_for(preflight.request());
}

void SiteLoop::resume(Exchange& exchange) {
    exchange.run([&] { run_stages(exchange); });
}

// The count of passed rules is kept in the exchange, so that a rule that decides later goes on
// where it stopped.
void SiteLoop::run_stages(Exchange& exchange) {
    const std::vector<AccessRule*>& rules = exchange.chain_->rules;
    while (exchange.rules_done_ < rules.size()) {
        AccessRule& rule = *rules[exchange.rules_done_++];
        // It refused and answered, or it decides later and then calls resume(), which goes on
        // behind it.
        if (rule.check(exchange) != AccessRule::Verdict::pass) return;
    }
    exchange.handler_->handle(exchange);
}

void SiteLoop::filter(Exchange& exchange, Response& response) const {
    // A request that could not be read has no scope; what is known of its path decides.
    const Chain& chain = exchange.chain_ != nullptr
                             ? *exchange.chain_
                             : tree_->chain_of_missing(exchange.request().path);
    for (ResponseFilter* filter : chain.filters) filter->filter(exchange, response);
}

void SiteLoop::write_log(log::Logger* faults, const AccessRecord& record) const {
    if (metrics_ != nullptr) metrics_->count(record);
    const Chain& chain = record.chain != nullptr ? *record.chain : tree_->chain(0);
    if (chain.slow > Duration::zero() && record.duration >= chain.slow) [[unlikely]] {
        slow_.write(faults, record);
    }
    core::contain(faults, "http", "the access log", [&] {
        if (chain.log != nullptr) chain.log->write(record);
        if (observer_) observer_(record);
    });
}

}  // namespace tiderace::http
