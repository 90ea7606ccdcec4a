#include "server/live/admin_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/exchange.h"
#include "tiderace/net/listener.h"

namespace tiderace::server {
namespace {

constexpr UnixSeconds seconds_per_day = 86'400;

// A link in the place of the socket is not followed.
Result<> set_mode(const std::string& path, std::uint32_t mode) {
    const int done =
        ::fchmodat(AT_FDCWD, path.c_str(), static_cast<mode_t>(mode), AT_SYMLINK_NOFOLLOW);
    if (done == 0) return {};
    const int code = errno;
    return fail(Error(code, "change the permissions of", path,
                      code == EPERM ? "root made it; a restart changes them" : ""));
}

// One that its server has left there would be replaced, and may be anybody's trap.
Result<> refuse_others_socket(const std::string& path) {
    struct stat there;
    if (::lstat(path.c_str(), &there) != 0 || !S_ISSOCK(there.st_mode)) return {};
    if (there.st_uid == ::geteuid()) return {};
    return fail(Error(EEXIST, "bind", path,
                      "a socket of another user is there; remove it, or choose another name"));
}

}  // namespace

void AdminSocket::Bound::remove_name() {
    if (const auto old = std::exchange(name, std::nullopt)) old->remove(where_we_may_not);
}

Result<std::shared_ptr<AdminSocket::Bound>> AdminSocket::bind(const ServeOptions& wanted,
                                                              const std::string& now,
                                                              net::SocketName::Remover remover) {
    auto bound = std::make_shared<Bound>();
    bound->path = wanted.admin_socket;
    bound->mode = wanted.admin_mode;
    bound->where_we_may_not = std::move(remover);
    const std::string& path = bound->path;
    if (path.empty() || path == now) return bound;
    const auto address = core::Address::parse("unix:" + path);
    if (!address) return fail(address.error());
    if (auto ours = refuse_others_socket(path); !ours) return fail(ours.error());
    auto socket = net::bind_listener(core::system_kernel(), *address, {.in_use_retry = 100ms});
    if (!socket) return fail(socket.error());
    bound->socket = std::move(*socket);
    bound->name = net::SocketName::of(*address);
    if (auto done = set_mode(path, bound->mode); !done) return fail(done.error());
    return bound;
}

AdminSocket::AdminSocket(Parts parts)
    : parts_(std::move(parts)),
      started_(parts_.workers.front()->loop().clock().now()),
      server_(parts_.workers.front()->loop(), static_cast<http::Handler&>(*this)) {}

Result<> AdminSocket::listen(const Bound& next) const {
    if (next.socket) return SideServer::start(next.socket);
    if (next.path.empty() || next.mode == bound_->mode) return {};
    return set_mode(next.path, next.mode);
}

// A name goes first: from then on no client connects to its socket.
void AdminSocket::take(std::shared_ptr<Bound> next) {
    if (next->socket) {
        bound_->remove_name();
        server_.listen(std::move(next->socket));
    } else if (next->path.empty()) {
        bound_->remove_name();
        server_.stop_listening();
    } else {
        std::swap(next->name, bound_->name);
        next->where_we_may_not = bound_->where_we_may_not;
    }
    bound_ = std::move(next);
}

void AdminSocket::drain(Instant deadline, unique_function<void()> done) {
    bound_->remove_name();
    server_.drain(deadline, std::move(done));
}

void AdminSocket::handle(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    const bool is_json = request.path == "/status";
    if (is_json || request.path == "/status.txt") {
        if (!request.is_get_or_head()) return refuse_method(exchange, "GET, HEAD");
        if (is_json) return answer(exchange, 200, "application/json", status_json(status()));
        return answer(exchange, 200, "text/plain; charset=utf-8", status_lines(status()));
    }
    if (request.path == "/top") {
        if (!request.is_get_or_head()) return refuse_method(exchange, "GET, HEAD");
        const ServerStatus now = status();
        return answer(exchange, 200, "text/plain; charset=utf-8",
                      status_numbers(now) + "\n" + status_lines(now));
    }
    if (request.path == "/metrics" && parts_.metrics->is_on())
        return parts_.metrics->show(exchange);
    if (request.path != "/reload") return exchange.respond_status(404);
    if (request.method() != http::wire::Method::post) return refuse_method(exchange, "POST");
    reload(exchange);
}

// Where its client has left meanwhile, the answer does nothing.
void AdminSocket::reload(http::Exchange& exchange) {
    if (reloads_waiting_ >= reloads_waiting_max) return exchange.respond_status(503);
    ++reloads_waiting_;
    parts_.reloader->request([this, asker = exchange.defer()](bool done, const std::string& text) {
        --reloads_waiting_;
        asker->run([&] { answer(*asker, done ? 200 : 409, "text/plain; charset=utf-8", text); });
    });
}

ServerStatus AdminSocket::status() const {
    core::EventLoop& loop = parts_.workers.front()->loop();
    const Generation& now = parts_.reloader->now();
    ServerStatus status{.uptime = loop.clock().now() - started_,
                        .loops = parts_.workers.size(),
                        .generation = now.number,
                        .generations_alive = parts_.reloader->generations_alive(),
                        .last_reload = parts_.reloader->last()};
    for (const ServedSite& site : now.sites) {
        if (site.hosts.empty() && !site.has_files() && now.sites.size() > 1) continue;
        status.sites.push_back(site.name());
    }
    for (const core::Address& address : parts_.listening->addresses()) {
        status.listeners.push_back(address.to_string());
    }
    for (const Worker* const worker : parts_.workers) status.connections += worker->connections();
    if (parts_.metrics->is_on()) {
        status.requests = parts_.metrics->metrics().site().requests();
        status.metrics = parts_.metrics->address();
    }
    if (const tls::ServerContext* const tls = parts_.workers.front()->encryption()) {
        for (const tls::CertificateEnd& each : tls->certificate_ends()) {
            const UnixSeconds left = each.ends - loop.unix_now();
            // Rounded down: a certificate that ended an hour ago has ended.
            const UnixSeconds days =
                (left >= 0 ? left : left - seconds_per_day + 1) / seconds_per_day;
            status.certificates.push_back({each.file, days});
        }
    }
    return status;
}

}  // namespace tiderace::server
