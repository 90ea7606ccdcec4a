// INFO.
#include <unistd.h>

#include <chrono>
#include <string>

#include "examples/kv/commands.h"
#include "examples/kv/memory_used.h"
#include "examples/kv/server.h"

namespace kv {
namespace {

void add(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(":").append(value).append("\r\n");
}
void add(std::string& out, std::string_view name, std::uint64_t value) {
    add(out, name, std::to_string(value));
}

void add_server(Server& server, std::string& out) {
    out += "# Server\r\n";
    // Clients choose what they may send by this number.
    add(out, "redis_version", "7.0.0");
    add(out, "redis_mode", "standalone");
    add(out, "arch_bits", 8 * sizeof(void*));
    add(out, "process_id", static_cast<std::uint64_t>(::getpid()));
    const auto up =
        std::chrono::duration_cast<std::chrono::seconds>(server.loop().now() - server.started());
    add(out, "uptime_in_seconds", static_cast<std::uint64_t>(up.count()));
    out += "\r\n# Clients\r\n";
    add(out, "connected_clients", server.clients().size());
    add(out, "blocked_clients", server.blocked().size());
}

void add_memory(Server& server, std::string& out) {
    out += "\r\n# Memory\r\n";
    add(out, "used_memory", memory_used());
    add(out, "maxmemory", server.options().memory_max);
    add(out, "maxmemory_policy", to_string(server.options().eviction));
}

void add_persistence(Server& server, std::string& out) {
    out += "\r\n# Persistence\r\n";
    add(out, "loading", 0);
    add(out, "rdb_bgsave_in_progress", server.snapshots().running() ? 1 : 0);
    add(out, "rdb_last_save_time", static_cast<std::uint64_t>(server.snapshots().last_save()));
    add(out, "rdb_last_bgsave_status", server.snapshots().last_succeeded() ? "ok" : "err");
    add(out, "aof_enabled", server.log().is_open() ? 1 : 0);
    add(out, "aof_rewrite_in_progress", server.snapshots().running() ? 1 : 0);
    add(out, "aof_last_write_status", server.log().failed() ? "err" : "ok");
    add(out, "aof_current_size", server.log().bytes());
}

void add_stats(Server& server, std::string& out) {
    const Counters& counters = server.counters();
    out += "\r\n# Stats\r\n";
    add(out, "total_connections_received", counters.connections);
    add(out, "total_commands_processed", counters.commands);
    add(out, "expired_keys", counters.expired);
    add(out, "evicted_keys", counters.evicted);
    add(out, "keyspace_hits", counters.hits);
    add(out, "keyspace_misses", counters.misses);
    add(out, "pubsub_channels", server.pubsub().channels.size());
    add(out, "pubsub_patterns", server.pubsub().patterns.size());
    out += "\r\n# Replication\r\n";
    add(out, "role", "master");
    add(out, "connected_slaves", 0);
    out += "\r\n# Cluster\r\n";
    add(out, "cluster_enabled", 0);
    out += "\r\n# Keyspace\r\n";
    if (server.keys().size() == 0) return;
    add(out, "db0",
        "keys=" + std::to_string(server.keys().size()) +
            ",expires=" + std::to_string(server.keys().with_expiry()) + ",avg_ttl=0");
}

void info(Call& call) {
    std::string text;
    add_server(call.server, text);
    add_memory(call.server, text);
    add_persistence(call.server, text);
    add_stats(call.server, text);
    call.reply.verbatim("txt", text);
}

}  // namespace

Commands info_commands() {
    static constexpr Command commands[] = {{"info", info, -1, 0}};
    return commands;
}

}  // namespace kv
