#include "tiderace/core/resolver.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/check.h"

namespace tiderace::core {
namespace {

constexpr Duration pause_before_another_start = 1ms;  // the pool is full of other loops' work
constexpr std::size_t host_bytes_max = 253;           // RFC 1035 section 2.3.4, as text

Error bad_host(std::string_view host, std::string_view why) {
    return Error(0, "look up", host, why);
}

std::string_view explain(int outcome) {
    switch (outcome) {
        case EAI_NONAME:
            return "there is no such host";
        case EAI_AGAIN:
            return "no name server answers; try again later";
        case EAI_FAIL:
            return "the name server refuses to answer";
        case EAI_MEMORY:
            return "there is no memory for it";
        default:
            return ::gai_strerror(outcome);
    }
}

bool is_host_name(std::string_view host) {
    return !host.empty() && host.size() <= host_bytes_max &&
           std::ranges::all_of(host, [](char c) { return c > ' ' && c < 0x7f && c != '/'; });
}

}  // namespace

// ---- names --------------------------------------------------------------------------------------

Result<HostPort> HostPort::parse(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return fail(Error(0, "address", '"' + std::string(text) + '"', why));
    };
    // A path may hold colons, so it is not split at one.
    if (text.starts_with("unix:")) {
        if (auto path = Address::parse(text); !path) return fail(path.error());
        return HostPort{.host = std::string(text), .port = 0};
    }
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return refuse("write a port behind it, as in host:80");
    std::string_view host = text.substr(0, colon);
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port || *port == 0) return refuse("the port is a number from 1 to 65535");
    if (host.starts_with('[') && host.ends_with(']')) {
        if (auto address = Address::parse(text); !address) return fail(address.error());
        host = host.substr(1, host.size() - 2);
    } else if (host.contains(':')) {
        return refuse("write an IPv6 address in brackets, as in [::1]:80");
    } else if (!is_host_name(host)) {
        return refuse("write a host name or an IP address before the port");
    }
    return HostPort{.host = std::string(host), .port = *port};
}

std::vector<Address> HostPort::literal() const {
    // Never looked up: a name server could send it elsewhere (RFC 6761, 6.3).
    if (host == "localhost") {
        return {Address::loopback(port), Address::parse("[::1]:0").value().with_port(port)};
    }
    if (host.starts_with("unix:")) return {Address::parse(host).value()};
    const bool ip6 = host.contains(':');
    const auto address = Address::parse(ip6 ? '[' + host + "]:0" : host + ":0");
    if (!address) return {};
    return {address->with_port(port)};
}

std::vector<Address> addresses_in(const addrinfo* list) {
    std::vector<Address> addresses;
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        // A name server may send hundreds, each of which a connect would try.
        if (addresses.size() == Resolver::addresses_max) break;
        const auto address = Address::from_sockaddr(each->ai_addr, each->ai_addrlen);
        if (address && std::ranges::find(addresses, *address) == addresses.end()) {
            addresses.push_back(*address);
        }
    }
    return addresses;
}

Result<std::vector<Address>> look_up(const std::string& host) {
    if (!is_host_name(host)) return fail(bad_host(host, "this is no host name"));
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    // With 0 each address would come once for every type: stream, datagram, raw.
    wanted.ai_socktype = SOCK_STREAM;
    // No IPv6 addresses on a machine without IPv6: connecting to them could only fail.
    wanted.ai_flags = AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    const int outcome = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
    if (outcome == EAI_SYSTEM) return fail(Error::last("look up", host));
    if (outcome != 0) return fail(bad_host(host, explain(outcome)));
    std::vector<Address> addresses = addresses_in(found);
    ::freeaddrinfo(found);
    if (addresses.empty()) return fail(bad_host(host, "it has no IPv4 or IPv6 address"));
    return addresses;
}

// ---- lookups ------------------------------------------------------------------------------------

// A host that queries wait for, before and while it is looked up.
struct Resolver::Host {
    explicit Host(std::string n) : name(std::move(n)) {}

    std::string name;
    bool out = false;  // a thread has it
    IntrusiveList<Query> queries;
};

//
//   Host:  waiting --start_lookups()--> out (a thread has it) --finish()--> gone, queries answered
//             `-- all its queries withdrawn: dropped at the next add() or start
//
// A withdrawn query leaves its host. A host that is out stays until its thread comes back: nothing
// can interrupt getaddrinfo(), and its place counts towards lookups_max meanwhile.
class Resolver::Lookup final : public BlockingJob {
  public:
    Lookup(Resolver& resolver, Host& host)
        : resolver_(&resolver),
          host_(&host),
          name_(host.name),
          look_up_(resolver.options_.look_up) {}

    void work() override { found_ = look_up_(name_); }
    void done() override { resolver_->finish(*host_, std::move(found_)); }

  private:
    Resolver* resolver_;
    Host* host_;  // the loop's alone
    std::string name_;
    decltype(ResolverOptions::look_up) look_up_;
    Result<std::vector<Address>> found_ = fail(Error(ECANCELED, "look up", ""));
};

Resolver::Resolver(EventLoop& loop, WorkerPool& pool, ResolverOptions options)
    : loop_(&loop), options_(std::move(options)), jobs_(loop, pool, options_.lookups_max) {}

Resolver::~Resolver() {
    for (const auto& host : hosts_) {
        host->queries.for_each([](Query& query) { query.reset(); });
    }
}

bool Resolver::add(Query& query) {
    // Queries for one host share a lookup.
    auto host = std::ranges::find(hosts_, query.host_, [](const auto& one) { return one->name; });
    if (host == hosts_.end()) {
        // Hosts whose queries were all withdrawn give up their lookup and their place.
        std::erase_if(hosts_, [](const auto& one) { return !one->out && one->queries.empty(); });
        // A name server that is down must not let the queue grow for ever.
        if (waiting() >= options_.waiting_max) return false;
        host = hosts_.insert(hosts_.end(), std::make_unique<Host>(query.host_));
    }
    (*host)->queries.push_back(query);
    start_lookups();
    return true;
}

void Resolver::start_lookups() {
    loop_->assert_on_loop();
    std::erase_if(hosts_, [](const auto& one) { return !one->out && one->queries.empty(); });
    for (const auto& host : hosts_) {
        if (host->out) continue;
        std::unique_ptr<BlockingJob> job = std::make_unique<Lookup>(*this, *host);
        if (!jobs_.start(job)) {
            // With none of ours running, no end of a lookup will start the next, so a timer does.
            if (jobs_.out() == 0) loop_->arm(retry_, loop_->now() + pause_before_another_start);
            return;
        }
        host->out = true;
    }
}

void Resolver::finish(Host& host, Result<std::vector<Address>> found) {
    const auto place = std::ranges::find(hosts_, &host, [](const auto& one) { return one.get(); });
    TR_CHECK(place != hosts_.end());
    const std::unique_ptr<Host> ended = std::move(*place);
    // Before the callbacks, which may destroy this resolver.
    hosts_.erase(place);
    start_lookups();
    // The callback of a query may destroy other queries, which leave the list.
    while (!ended->queries.empty()) {
        Query& query = ended->queries.front();
        query.reset();
        // By value: each query gets a list of its own.
        query.on_resolved(found);
    }
}

// ---- queries ------------------------------------------------------------------------------------

Resolver::Query::~Query() {
    reset();
}

void Resolver::Query::reset() {
    if (resolver_ == nullptr) return;
    EventLoop& loop = *std::exchange(resolver_, nullptr)->loop_;
    loop.assert_on_loop();
    loop.cancel(deadline_);
    ListHook::unlink();
}

void Resolver::Query::resolve(Resolver& resolver, std::string_view host, Instant deadline) {
    EventLoop& loop = *resolver.loop_;
    loop.assert_on_loop();
    reset();
    resolver_ = &resolver;
    host_ = host;
    refused_ = !resolver.add(*this);
    had_more_ = false;
    // A refusal expires at once: on_resolved() never runs inside resolve().
    until_ = refused_ ? loop.now() : std::max(deadline, loop.now());
    loop.arm(deadline_, until_);
}

void Resolver::Query::expire() {
    EventLoop& loop = *resolver_->loop_;
    loop.assert_on_loop();
    const Duration late = loop.now() - until_;
    if (!refused_ && late >= EventLoop::late_min && !std::exchange(had_more_, true)) {
        return loop.arm(deadline_, loop.now() + std::min(late, EventLoop::timers_late_max));
    }
    reset();
    if (refused_) {
        on_resolved(fail(Error(EBUSY, "look up", host_, "too many names are being looked up")));
    } else {
        on_resolved(fail(Error(ETIMEDOUT, "look up", host_, "the name server does not answer")));
    }
}

}  // namespace tiderace::core
