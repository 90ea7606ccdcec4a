#include "tiderace/http/client/client_metrics.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "tiderace/http/client/client.h"
#include "tiderace/metrics/metrics.h"

namespace tiderace::http {

using metrics::Page;
using metrics::Type;

struct ClientMetrics::Known {
    // By the upstream's name.
    std::map<std::string, std::vector<std::shared_ptr<const ClientCounts>>> clients;
    mutable std::mutex lock;

    void add_to(Page& page) const {
        const std::lock_guard held(lock);
        if (clients.empty()) return;
        const auto add = [&](Type type, std::string_view name, std::string_view help,
                             LoopCount ClientCounts::* member) {
            page.family(type, name, help, "upstream", clients, [&](const auto& all) {
                std::uint64_t sum = 0;
                for (const auto& one : all) sum += (*one).*member;
                return sum;
            });
        };
        add(Type::gauge, "tiderace_upstream_connections_open",
            "Connections to servers that are open.", &ClientCounts::open);
        add(Type::gauge, "tiderace_upstream_queue_length", "Requests that wait for a connection.",
            &ClientCounts::waiting);
        add(Type::counter, "tiderace_upstream_connections_opened_total",
            "Connections to servers that were opened.", &ClientCounts::opened);
        add(Type::counter, "tiderace_upstream_connections_reused_total",
            "Requests that found an open connection.", &ClientCounts::reused);
        add(Type::counter, "tiderace_upstream_retries_total",
            "Requests that were sent again by the retry policy.", &ClientCounts::retries);
        add(Type::counter, "tiderace_upstream_retry_budget_exhausted_total",
            "Requests that were not, because the budget was used up.", &ClientCounts::exhausted);
    }
};

ClientMetrics::ClientMetrics(metrics::Registry& registry) : known_(std::make_shared<Known>()) {
    registry.add_source([known = known_](Page& page) { known->add_to(page); });
}

void ClientMetrics::add(std::string upstream, const Client& client) const {
    const std::lock_guard held(known_->lock);
    known_->clients[std::move(upstream)].push_back(client.counts());
}

}  // namespace tiderace::http
