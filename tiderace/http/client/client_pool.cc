#include "tiderace/http/client/client_pool.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/http/client/tunnel.h"

namespace tiderace::http {
namespace {

std::string place_of(const Url& url) {
    const std::string_view scheme = url.secure ? "https://" : "http://";
    std::string text;
    text.reserve(scheme.size() + url.host.size() + sizeof ":65535");
    text = scheme;
    url.append_place(text);
    return text;
}

task::Task<> wait_for_change(ClientHandshake& handshake) {
    co_await handshake.changed();
}

}  // namespace

// In the queue. One that was woken and ends before it looked lets the next one look.
class ClientPool::Waiting final : private task::Waiter {
  public:
    Waiting(ClientPool& pool, const ClientRoute& route, Host& host, bool first)
        : pool_(&pool), route_(&route), host_(&host), first_(first) {}
    ~Waiting() {
        // The task may end at any await (a time-out, a cancel), woken or not.
        if (host_ != nullptr) leave();
        pool_->forget_if_unused(*route_);
        if (std::exchange(woken_, false)) pool_->wake_next();
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        Waiter::suspend(handle);
        auto& queue = pool_->waiting_;
        queue.insert(first_ ? queue.begin() : queue.end(), this);
        ++host_->waiting;
        waits_ = true;
        pool_->count_places();
    }
    void await_resume() noexcept { woken_ = false; }

    // Known to the pool while it waits.
    const Host& host() const { return *host_; }
    void wake() {
        woken_ = true;
        leave();
        Waiter::wake();
    }

  private:
    void leave() {
        std::erase(pool_->waiting_, this);
        if (std::exchange(waits_, false)) --host_->waiting;
        pool_->count_places();
        host_ = nullptr;
    }

    ClientPool* pool_;
    const ClientRoute* route_;
    Host* host_;  // nullptr: it has left
    bool first_;
    bool waits_ = false;
    bool woken_ = false;
};

// The place of a connection that is being made; given back unless it is made.
class ClientPool::Place final {
  public:
    Place(ClientPool& pool, Host& host) : pool_(&pool), host_(&host) {
        ++pool_->open_;
        ++host_->open;
        ++host_->making;
        pool_->count_places();
    }
    ~Place() {
        --host_->making;
        // It failed, so nothing will show whether the server speaks HTTP/2: the others need not
        // wait for that.
        if (!made_) host_->one_by_one = false;
        if (!connected_) {
            --pool_->open_;
            --host_->open;
            pool_->count_places();
        }
        pool_->forget_if_unused(*host_->route);
        pool_->wake_next();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // The place is the connection's now.
    void connected() { connected_ = true; }
    void made(const ClientConnection& connection) {
        made_ = true;
        host_->one_by_one = connection.multiplexes();
    }

  private:
    ClientPool* pool_;
    Host* host_;
    bool connected_ = false;
    bool made_ = false;
};

ClientPool::ClientPool(task::Runner& runner, const PoolLimits& limits, Security security,
                       ClientVersions versions, std::string to,
                       std::shared_ptr<ClientCounts> counts)
    : runner_(&runner),
      all_(ClientConnections::of(runner)),
      limits_(limits),
      security_(security),
      versions_(versions),
      to_(std::move(to)),
      counts_(std::move(counts)) {}

ClientPool::~ClientPool() {
    TR_CHECK(waiting_.empty(), "a client ended while requests wait for it");
    const auto all = all_.lock();
    if (all == nullptr) return;
    for (const auto& [route, host] : hosts_) all->forget(host);
    counts_->open = 0;
}

ClientPool::Host* ClientPool::find(ClientRouteView route) {
    if (last_found_ != nullptr && ClientRouteView(*last_found_->route) == route) return last_found_;
    const auto found = hosts_.find(route);
    if (found == hosts_.end()) return nullptr;
    last_found_ = &found->second;
    return last_found_;
}

// An idle one leaves the list; one of HTTP/2 stays until it is gone.
ClientConnection* ClientPool::take_ready(ClientRouteView route, std::uint64_t stale) {
    Host* const host = find(route);
    if (host == nullptr) return nullptr;
    auto& ready = host->ready;
    // From the back: the connection that was used last is the most likely to be open still, and the
    // others may expire.
    for (std::size_t i = ready.size(); i-- > 0;) {
        ClientConnection* const each = ready[i];
        // After a failure on a kept connection, every other that was kept as long may have been
        // closed by the server, too.
        const bool may_be_stale = each->multiplexes() ? each->number() <= stale : stale != 0;
        if (may_be_stale || each->room() == 0) continue;
        if (each->multiplexes() && has_fallen_back(route)) continue;
        if (!each->multiplexes()) ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(i));
        return each;
    }
    return nullptr;
}

ClientPool::Host& ClientPool::known(const ClientRoute& route, const Url& url, const Proxy* proxy) {
    const auto [at, is_new] = hosts_.try_emplace(route, *this);
    if (is_new) {
        at->second.route = &at->first;
        at->second.one_by_one = may_be_h2(route, url, proxy);
    }
    return at->second;
}

bool ClientPool::has_ready(const Host& host) const {
    return std::ranges::any_of(host.ready, [&](const ClientConnection* each) {
        return each->room() > 0 && !(each->multiplexes() && has_fallen_back(*host.route));
    });
}

// nullptr: a server that is not known yet.
bool ClientPool::may_open(const Host* host) const {
    if (host != nullptr && host->open > 0) {
        if (host->open >= limits_.connections_per_host_max) return false;
        const bool grows = std::ranges::any_of(host->ready, &ClientConnection::may_grow);
        const bool h2 = host->one_by_one && !has_fallen_back(*host->route);
        // A new connection would not bring room for unread bytes.
        if (h2 && ClientConnections::of(*runner_)->receive_budget()->shares_left() == 0)
            return false;
        if (h2 && (host->making > 0 || grows)) return false;
    }
    return open_ < limits_.connections_max || idle() > 0;
}

// nullptr: another request may wait.
const char* ClientPool::refusal(const Host& host) const {
    if (host.waiting >= limits_.waiting_per_host_max) {
        return ": too many requests wait for it (waiting_per_host_max)";
    }
    if (waiting_.size() >= limits_.waiting_max) {
        return ": too many requests of this client wait (waiting_max)";
    }
    return nullptr;
}

bool ClientPool::may_be_h2(ClientRouteView route, const Url& url, const Proxy* proxy) const {
    // In clear text nothing negotiates HTTP/2, and a proxy for http URLs speaks HTTP/1.1.
    if (versions_ == ClientVersions::http_1_1 || has_fallen_back(route)) return false;
    return url.secure || (versions_ == ClientVersions::http_2 && proxy == nullptr);
}

std::size_t ClientPool::idle() const {
    std::size_t count = 0;
    for (const auto& [route, host] : hosts_) {
        count +=
            static_cast<std::size_t>(std::ranges::count_if(host.ready, &ClientConnection::unused));
    }
    return count;
}

// The one that lies idle for the longest of its host; false: none does.
bool ClientPool::evict_idle() {
    for (const auto& [route, host] : hosts_) {
        if (evict_idle_of(route)) return true;  // which may have taken the host out
    }
    return false;
}

bool ClientPool::evict_idle_of(ClientRouteView route) {
    const auto host = hosts_.find(route);
    if (host == hosts_.end()) return false;
    const auto found = std::ranges::find_if(host->second.ready, &ClientConnection::unused);
    if (found == host->second.ready.end()) return false;
    (*found)->retire();  // on_gone takes it out
    return true;
}

bool ClientPool::fall_back(const Url& url, const Proxy* proxy) {
    if (versions_ != ClientVersions::any || !url.secure || security_.http_1_1 == nullptr) {
        return false;
    }
    const ClientRoute route(url, proxy);
    // A server that is forgotten resets one more request, which teaches it again. An order of age
    // is not worth its memory.
    if (fallen_back_.size() >= fallen_back_max) fallen_back_.clear();
    fallen_back_.insert(route);
    // A busy connection of HTTP/2 ends after its requests, and its idle time.
    const auto idle_h2 = [](const ClientConnection* each) {
        return each->multiplexes() && each->unused();
    };
    for (auto host = hosts_.find(route); host != hosts_.end(); host = hosts_.find(route)) {
        const auto found = std::ranges::find_if(host->second.ready, idle_h2);
        if (found == host->second.ready.end()) break;
        (*found)->retire();  // on_gone takes it out, and perhaps its host
    }
    wake_next();
    return true;
}

void ClientPool::close_idle() {
    while (evict_idle()) {
    }
}

ClientConnection* ClientPool::take_at_once(ClientRouteView route, std::uint64_t stale) {
    ClientConnection* const ready = take_ready(route, stale);
    if (ready == nullptr) return nullptr;
    ++counts_->reused;
    wake_next();  // there may be room for more
    return ready;
}

ClientConnection* ClientPool::take_at_once(const Url& url, const Proxy* proxy,
                                           std::uint64_t stale) {
    return take_at_once(ClientRouteView(url, proxy), stale);
}

task::Task<ClientResult<ClientConnection*>> ClientPool::take(const Url& url, const Proxy* proxy,
                                                             std::uint64_t stale) {
    const ClientRoute route(url, proxy);
    unsigned without_room = 0;
    for (bool waited = false;; waited = true) {
        if (ClientConnection* const ready = take_at_once(route, stale)) co_return ready;
        // It would wait for a place that a connection holds which it does not take.
        if (stale != 0 && !may_open(find(route))) evict_idle_of(route);
        if (may_open(find(route))) {
            auto made = co_await open(route, url, proxy);
            // Opened, and without room: a server that accepts and at once refuses all streams would
            // have us open connections for ever.
            if (!made || *made != nullptr) co_return made;
            if (++without_room < opened_without_room_max) continue;
            co_return std::unexpected(
                ClientFault(ClientFault::Kind::busy,
                            place_of(url) + ": it refuses requests on new connections"));
        }
        Waiting turn(*this, route, known(route, url, proxy), waited);
        // One that was woken for nothing has its place still, though a later one may have filled
        // the queue.
        if (const char* const why = waited ? nullptr : refusal(turn.host())) {
            co_return std::unexpected(ClientFault(ClientFault::Kind::busy, place_of(url) + why));
        }
        if (!waited) ++counts_->waited;
        co_await turn;
    }
}

// nullptr: its room was taken by others, or the server takes it back, since it was settled.
task::Task<ClientResult<ClientConnection*>> ClientPool::open(const ClientRoute& route,
                                                             const Url& url, const Proxy* proxy) {
    if (open_ >= limits_.connections_max) evict_idle();
    Host& host = known(route, url, proxy);
    // Counted before the first await, so that tasks that open at once respect the limits together.
    Place place(*this, host);
    wake_next();  // others that may open, too
    const bool plain_proxy = proxy != nullptr && !url.secure;
    ServerWay way{.secure = url.secure,
                  .host = url.name(),
                  .place = url.place(),
                  .to = to_,
                  .proxy = proxy,
                  .tunnels = url.secure,
                  .security = has_fallen_back(route) ? security_.http_1_1 : security_.any,
                  .timeout = limits_.connect_timeout};
    ClientConnection::Setup setup{.place = place_of(url),
                                  .authority = url.authority(),
                                  .secure = url.secure,
                                  .versions = plain_proxy ? ClientVersions::http_1_1 : versions_,
                                  .refusal = way.refusal};
    auto dialed = co_await dial_server(*runner_, std::move(way));
    if (!dialed) co_return std::unexpected(std::move(dialed.error()));
    place.connected();
    ++counts_->opened;
    ClientConnection& opened =
        ClientConnections::of(*runner_)->add(std::move(*dialed), std::move(setup));
    opened.set_observer(&host);
    ClientHandshake handshake(opened, moment_after(runner_->loop().now(), limits_.connect_timeout));
    while (!handshake.over()) co_await wait_for_change(handshake);
    ClientConnection* const made = handshake.take();
    // The connection has left by itself: on_gone() gave its place back.
    if (made == nullptr) co_return std::unexpected(handshake.fault());
    place.made(*made);
    if (made->multiplexes() && !made->gone()) on_ready(host, *made);
    co_return made->room() > 0 ? made : nullptr;
}

void ClientPool::on_ready(Host& host, ClientConnection& connection) {
    // A connection with requests under way is never idle, however long they take.
    if (connection.unused())
        connection.idle_until(moment_after(runner_->loop().now(), limits_.idle));
    auto& ready = host.ready;
    if (std::ranges::find(ready, &connection) == ready.end()) ready.push_back(&connection);
    wake_next();
}

void ClientPool::on_gone(Host& host, ClientConnection& connection) {
    connection.set_observer(nullptr);
    std::erase(host.ready, &connection);
    --open_;
    --host.open;
    count_places();
    forget_if_unused(*host.route);
    wake_next();
}

void ClientPool::forget_if_unused(const ClientRoute& route) {
    const auto host = hosts_.find(route);
    if (host == hosts_.end() || host->second.open > 0 || host->second.making > 0) return;
    if (host->second.waiting > 0) return;
    if (last_found_ == &host->second) last_found_ = nullptr;
    hosts_.erase(host);
}

// The first that could go on now.
void ClientPool::wake_first() {
    const Host* last = nullptr;  // which could not: a slow server's requests are many in a row
    for (Waiting* each : waiting_) {
        const Host* const host = &each->host();
        if (host == last) continue;
        if (has_ready(*host) || may_open(host)) return each->wake();
        last = host;
    }
}

}  // namespace tiderace::http
