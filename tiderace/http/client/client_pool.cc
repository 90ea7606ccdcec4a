#include "tiderace/http/client/client_pool.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/client/tunnel.h"

namespace tiderace::http {
namespace {

std::unexpected<ClientFault> refuse(ClientFault::Kind kind, std::string why) {
    return std::unexpected(ClientFault(kind, std::move(why)));
}

}  // namespace

// In the queue. One that was woken and ends before it looked lets the next one look.
class ClientPool::Waiting final : private task::Waiter {
  public:
    Waiting(ClientPool& pool, const std::string& key, bool first)
        : pool_(&pool), key_(&key), first_(first) {}
    ~Waiting() {
        std::erase(pool_->waiting_, this);
        if (std::exchange(woken_, false)) pool_->wake_next();
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        Waiter::suspend(handle);
        auto& queue = pool_->waiting_;
        queue.insert(first_ ? queue.begin() : queue.end(), this);
    }
    void await_resume() noexcept { woken_ = false; }

    const std::string& key() const { return *key_; }
    void wake() {
        woken_ = true;
        std::erase(pool_->waiting_, this);
        Waiter::wake();
    }

  private:
    ClientPool* pool_;
    const std::string* key_;
    bool first_;
    bool woken_ = false;
};

// The place of a connection that is being made; given back unless it is made.
class ClientPool::Place final {
  public:
    Place(ClientPool& pool, const std::string& key) : pool_(&pool), key_(&key) {
        ++pool_->open_;
        ++pool_->hosts_[key].open;
    }
    ~Place() {
        if (pool_ != nullptr) pool_->gave_up_place(*key_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void keep() { pool_ = nullptr; }

  private:
    ClientPool* pool_;
    const std::string* key_;
};

ClientPool::ClientPool(task::Runner& runner, const PoolLimits& limits,
                       const tcp::ClientSecurity* security)
    : runner_(&runner), all_(ClientConnections::of(runner)), limits_(limits), security_(security) {}

ClientPool::~ClientPool() {
    TR_CHECK(waiting_.empty(), "a client ended while requests wait for it");
    if (const auto all = all_.lock()) all->forget(*this);
}

ClientConnection* ClientPool::take_idle(const std::string& key) {
    const auto host = hosts_.find(key);
    if (host == hosts_.end() || host->second.idle.empty()) return nullptr;
    ClientConnection* const taken = host->second.idle.back();
    host->second.idle.pop_back();
    return taken;
}

bool ClientPool::may_open(const std::string& key) const {
    const auto host = hosts_.find(key);
    const std::size_t open = host == hosts_.end() ? 0 : host->second.open;
    if (open >= limits_.connections_per_host_max) return false;
    return open_ < limits_.connections_max || idle() > 0;
}

std::size_t ClientPool::idle() const {
    std::size_t count = 0;
    for (const auto& [key, host] : hosts_) count += host.idle.size();
    return count;
}

// The one that lies idle for the longest of its host; false: none does.
bool ClientPool::evict_idle() {
    for (auto& [key, host] : hosts_) {
        if (host.idle.empty()) continue;
        host.idle.front()->retire();  // on_gone takes it out
        return true;
    }
    return false;
}

void ClientPool::close_idle() {
    while (evict_idle()) {
    }
}

task::Task<ClientResult<ClientConnection*>> ClientPool::take(Url url, const Proxy* proxy,
                                                             bool fresh) {
    std::string key = url.secure ? "https://" : "http://";
    key += url.place();
    for (bool waited = false;; waited = true) {
        if (!fresh) {
            if (ClientConnection* const idle = take_idle(key)) {
                ++counters_.reused;
                co_return idle;
            }
        }
        if (may_open(key)) co_return co_await open(key, std::move(url), proxy);
        if (waiting_.size() >= limits_.waiting_max) {
            co_return std::unexpected(
                ClientFault(ClientFault::Kind::busy, key + ": too many requests wait for it"));
        }
        if (!waited) ++counters_.waited;
        Waiting turn(*this, key, waited);
        co_await turn;
    }
}

task::Task<ClientResult<ClientConnection*>> ClientPool::open(std::string key, Url url,
                                                             const Proxy* proxy) {
    std::shared_ptr<tcp::ClientLayer> layer;
    if (url.secure && security_ == nullptr) {
        co_return refuse(ClientFault::Kind::tls, key + ": no TLS here");
    }
    if (url.secure) {  // before anything is opened for it
        auto made = security_->layer(*runner_);
        if (!made) co_return refuse(ClientFault::Kind::tls, made.error().message());
        layer = std::move(*made);
    }
    if (proxy != nullptr && proxy->place.empty()) {
        co_return refuse(ClientFault::Kind::connect, key + ": its proxy is no http URL");
    }
    if (open_ >= limits_.connections_max) evict_idle();
    Place place(*this, key);
    tcp::ConnectOptions options;
    options.timeout = limits_.connect_timeout;
    const std::string to = proxy != nullptr ? proxy->place : url.place();
    auto dialed = co_await tcp::dial(to, options);
    if (!dialed) co_return refuse(ClientFault::Kind::connect, dialed.error().message());
    std::shared_ptr<std::string> refusal;
    if (layer != nullptr && proxy != nullptr) {
        refusal = std::make_shared<std::string>();
        dialed->transport = make_tunnel(runner_->loop().blocks(), std::move(dialed->transport),
                                        {url.place(), proxy->authorization, refusal});
    }
    if (layer != nullptr) {
        dialed->transport = layer->wrap(std::move(dialed->transport), url.name());
        dialed->layer = std::move(layer);
        if (dialed->transport == nullptr) {
            co_return refuse(ClientFault::Kind::tls, key + ": no certificate can be for this name");
        }
    }
    place.keep();
    ++counters_.opened;
    ClientConnection& made =
        ClientConnections::of(*runner_)->add(std::move(*dialed), url.secure, std::move(key));
    made.set_refusal(std::move(refusal));
    made.set_observer(this);
    co_return &made;
}

void ClientPool::on_idle(ClientConnection& connection) {
    connection.close_at(runner_->loop().now() + limits_.idle);
    hosts_[connection.place()].idle.push_back(&connection);
    wake_next();
}

void ClientPool::on_gone(ClientConnection& connection) {
    connection.set_observer(nullptr);
    std::erase(hosts_[connection.place()].idle, &connection);
    gave_up_place(connection.place());
}

void ClientPool::gave_up_place(const std::string& key) {
    --open_;
    const auto host = hosts_.find(key);
    if (--host->second.open == 0) hosts_.erase(host);
    wake_next();
}

// The first that could go on now.
void ClientPool::wake_next() {
    for (Waiting* each : waiting_) {
        const auto host = hosts_.find(each->key());
        const bool idle = host != hosts_.end() && !host->second.idle.empty();
        if (!idle && !may_open(each->key())) continue;
        each->wake();
        return;
    }
}

}  // namespace tiderace::http
