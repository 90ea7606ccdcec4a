#include "server/config/restart.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "server/config/keys.h"

namespace tiderace::server::config {
namespace {

// By the tables that set what is made once. What the others set, each loop takes on.
struct ServerTable {
    TableKind kind;
    std::string_view name;
};
constexpr std::array tables{ServerTable{TableKind::server, "server"},
                            ServerTable{TableKind::file_cache, "server.file_cache"},
                            ServerTable{TableKind::tls, "tls"}, ServerTable{TableKind::log, "log"},
                            ServerTable{TableKind::cgi, "cgi"}};
constexpr std::array live = std::to_array<std::string_view>(
    {"about", "no-server-header", "drain-timeout", "access-log", "log-format", "log-level",
     "log-rotate", "log-keep", "cgi-timeout", "cgi-memory", "https-port", "tls-client-auth",
     "tls-client-ca"});

struct Differs {
    const ServeOptions& before;
    const ServeOptions& now;

    bool operator()(const NoField&) const { return false; }
    bool operator()(const ServeFlag::Choice& field) const {
        return field.get(before) != field.get(now);
    }
    // Those among the server's keys.
    bool operator()(const ServeFlag::Text&) const { return false; }
    template <typename Field>
    bool operator()(const Field& field) const {
        ServeOptions old = before;
        ServeOptions next = now;
        return std::visit([&](auto of) { return of(old) != of(next); }, field.of);
    }
};

bool differs(const Key& key, const ServeOptions& before, const ServeOptions& now) {
    if (key.flag == "user") return before.user != now.user;
    if (key.flag == "compress-cache") return before.compress.folder != now.compress.folder;
    return std::visit(Differs{before, now}, flag_of(key).field);
}

}  // namespace

std::vector<std::string> changes_that_need_a_restart(const ServeOptions& before,
                                                     const ServeOptions& now) {
    std::vector<std::string> all;
    const auto add = [&](std::string_view key) {
        all.push_back(std::string(key) + " has another value: it needs a restart");
    };
    for (const ServerTable& table : tables) {
        for (const Key& key : keys()) {
            if (key.in != table.kind || key.flag.empty()) continue;
            if (std::ranges::find(live, key.flag) != live.end()) continue;
            if (differs(key, before, now)) {
                add(std::string(table.name) + "." + std::string(key.name));
            }
        }
    }
    // Its sockets are not the loops' own.
    if (now.accept == AcceptMode::queue && before.backlog != now.backlog) add("listen.backlog");
    if (before.admin_socket != now.admin_socket) add("admin.socket");
    if (before.admin_mode != now.admin_mode) add("admin.mode");
    const bool has_key =
        std::ranges::any_of(all, [](const std::string& each) { return each.starts_with("tls."); });
    if (before.tls.on() != now.tls.on() && !has_key) add("[tls], on or off,");
    return all;
}

}  // namespace tiderace::server::config
