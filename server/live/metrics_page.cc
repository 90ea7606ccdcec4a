#include "server/live/metrics_page.h"

#include <algorithm>
#include <utility>

#include "tiderace/core/address.h"
#include "tiderace/core/kernel.h"
#include "tiderace/http/exchange.h"
#include "tiderace/net/listener.h"
#include "tiderace/tls/library.h"

namespace tiderace::server {

Result<std::shared_ptr<MetricsPage::Bound>> MetricsPage::bind(const MetricsOptions& wanted,
                                                              const MetricsOptions& now) {
    auto bound = std::make_shared<Bound>(wanted);
    if (wanted.listen.empty() || wanted.listen == now.listen) return bound;
    const auto address = core::Address::parse(wanted.listen);
    if (!address) return fail(address.error());
    auto socket = net::bind_listener(core::system_kernel(), *address, {.in_use_retry = 100ms});
    if (!socket) return fail(socket.error());
    bound->socket = std::move(*socket);
    return bound;
}

MetricsPage::MetricsPage(Parts parts)
    : parts_(std::move(parts)), server_(parts_.workers.front()->loop(), *this) {}

Result<> MetricsPage::change(Bound& bound) {
    if (bound.socket) {
        std::string address = net::local_address(core::system_kernel(), bound.socket).to_string();
        if (auto listens = server_.listen(std::move(bound.socket)); !listens) return listens;
        address_ = std::move(address);
    } else if (bound.options.listen.empty()) {
        server_.stop_listening();
        address_.clear();
    }
    options_ = bound.options;
    return {};
}

void MetricsPage::handle(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    const bool may = options_.remote.empty() || net::any_contains(options_.remote, *request.peer);
    if (!may) return exchange.respond_status(403);
    if (request.path != "/metrics") return exchange.respond_status(404);
    show(exchange);
}

void MetricsPage::show(http::Exchange& exchange) const {
    const http::Request& request = exchange.request();
    if (!request.is_get_or_head()) return refuse_method(exchange, "GET, HEAD");
    const auto format = metrics::page_format(request.header(http::wire::FieldName::accept));
    metrics::Page page(format);
    parts_.metrics->add_to(
        page, {{"engine", parts_.engine}, {"tls", tls::is_built_in() ? "openssl" : "none"}});
    add_reloads(page);
    add_certificates(page);
    add_log(page);
    answer(exchange, 200, metrics::media_type(format), std::move(page).take());
}

void MetricsPage::add_reloads(metrics::Page& page) const {
    using metrics::Type;
    const Reloader::Counts& counts = parts_.reloader->counts();
    const auto& last = parts_.reloader->last();
    page.begin(Type::gauge, "tiderace_config_last_reload_successful",
               "Whether the last reading of the configuration is served.");
    page.value({}, std::uint64_t{!last || last->done});
    page.begin(Type::gauge, "tiderace_config_last_reload_success_timestamp_seconds",
               "When the configuration that is served was read.");
    page.value({}, static_cast<std::uint64_t>(std::max<UnixSeconds>(counts.done_at, 0)));
    page.begin(Type::counter, "tiderace_config_reloads_total",
               "Readings of the configuration while it was served.");
    page.value({{"result", "done"}}, counts.done);
    page.value({{"result", "refused"}}, counts.refused);
    page.begin(Type::gauge, "tiderace_config_generations_alive",
               "Readings of the configuration that still have requests.");
    page.value({}, std::uint64_t{parts_.reloader->generations_alive()});
}

void MetricsPage::add_certificates(metrics::Page& page) const {
    tls::ServerContext* const tls = parts_.workers.front()->encryption();
    if (tls == nullptr) return;
    page.begin(metrics::Type::gauge, "tiderace_tls_certificate_not_after_timestamp_seconds",
               "When a certificate ends.");
    for (const tls::CertificateEnd& each : tls->certificate_ends()) {
        page.value({{"name", each.file}}, static_cast<double>(each.ends));
    }
}

void MetricsPage::add_log(metrics::Page& page) const {
    const log::Writer::Losses losses = parts_.log->losses();
    page.begin(metrics::Type::counter, "tiderace_log_lines_dropped_total",
               "Lines for which a log had no room.");
    page.value({}, losses.lines_dropped);
    page.begin(metrics::Type::counter, "tiderace_log_write_errors_total",
               "Writes of a log that failed.");
    page.value({}, losses.write_errors);
}

}  // namespace tiderace::server
