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

Result<> MetricsPage::listen(const Bound& bound) {
    return bound.socket ? SideServer::start(bound.socket) : Result<>();
}

void MetricsPage::take(Bound& bound) {
    if (bound.socket) {
        address_ = net::local_address(core::system_kernel(), bound.socket).to_string();
        server_.listen(std::move(bound.socket));
    } else if (bound.options.listen.empty()) {
        server_.stop_listening();
        address_.clear();
    }
    options_ = bound.options;
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
    answer(exchange, 200, metrics::media_type(format), text(format));
}

std::string MetricsPage::text(metrics::PageFormat format) const {
    metrics::Page page(format);
    parts_.metrics->add_to(
        page, {{"engine", parts_.engine}, {"tls", tls::is_built_in() ? "openssl" : "none"}});
    add_reloads(page);
    add_encryption(page);
    add_log(page);
    add_loops(page);
    return std::move(page).take();
}

void MetricsRoute::handle(http::Exchange& exchange) {
    const http::Request& request = exchange.request();
    if (!request.is_get_or_head()) return refuse_method(exchange, "GET, HEAD");
    const auto format = metrics::page_format(request.header(http::wire::FieldName::accept));
    const bool comes =
        page_ != nullptr && first_loop_->post([page = page_, format, handle = exchange.handle()] {
            handle.post([format, text = page->text(format)](http::Exchange& asked) mutable {
                answer(asked, 200, metrics::media_type(format), std::move(text));
            });
        });
    if (!comes) return exchange.respond_status(503);
    // The way back may be full.
    exchange.set_deadline(exchange.loop().now() + answer_wait);
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

void MetricsPage::add_encryption(metrics::Page& page) const {
    tls::ServerContext* const tls = parts_.workers.front()->encryption();
    if (tls == nullptr) return;
    std::vector<const tls::HandshakeCounters*> loops;
    for (Worker* const worker : parts_.workers) loops.push_back(&worker->encryption()->counters());
    tls::add_handshakes(page, loops);
    page.begin(metrics::Type::gauge, "tiderace_tls_certificate_not_after_timestamp_seconds",
               "When a certificate ends.");
    for (const tls::CertificateEnd& each : tls->certificate_ends()) {
        page.value({{"name", each.file}}, static_cast<double>(each.ends));
    }
}

void MetricsPage::add_loops(metrics::Page& page) const {
    using http::wire::ContentCoding;
    using metrics::Type;
    const auto sum_of = [this](auto number_of) {
        std::uint64_t sum = 0;
        for (Worker* const worker : parts_.workers) sum += number_of(*worker);
        return sum;
    };
    page.begin(Type::gauge, "tiderace_http2_streams_open", "Streams of HTTP/2 that are open.");
    page.value(
        {}, sum_of([](Worker& one) { return std::uint64_t{one.http2_counters().streams_open}; }));
    page.begin(Type::counter, "tiderace_http2_budget_exhausted_total",
               "Connections of HTTP/2 that ended because their peer cost too much.");
    page.value({}, sum_of([](Worker& one) { return std::uint64_t{one.http2_counters().calmed}; }));
    page.begin(Type::counter, "tiderace_file_cache_requests_total",
               "Look-ups of files, by whether the disk was read.");
    const auto add = [&](const char* result, LoopCount http::files::FileCacheCounters::* count) {
        page.value({{"result", result}},
                   sum_of([&](Worker& one) { return std::uint64_t{one.file_counters().*count}; }));
    };
    add("hit", &http::files::FileCacheCounters::hits);
    add("miss", &http::files::FileCacheCounters::misses);
    add("revalidated", &http::files::FileCacheCounters::revalidated);
    page.begin(Type::counter, "tiderace_compressed_bytes_total",
               "Bytes of answers that were compressed while they were sent.");
    for (const auto coding : {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
        page.value({{"coding", std::string(http::wire::coding_name(coding))}},
                   sum_of([&](Worker& one) { return one.encoders().bytes_made(coding); }));
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
