// Assembly, while it serves: what another reading of the configuration changes.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/assemble.h"
#include "server/config/keys.h"
#include "server/config/restart.h"
#include "tiderace/core/kernel.h"

namespace tiderace::server {

// What another reading brings, opened and not used yet. What is not taken ends with it.
struct Assembly::Opened {
    std::shared_ptr<const Generation> generation = {};
    std::vector<net::Listening::Wanted> addresses = {};
    std::vector<net::Listening::Bound> added = {};  // of these
    std::shared_ptr<MetricsPage::Bound> page = {};
    std::shared_ptr<AdminSocket::Bound> admin = {};
    // nullopt: compressed files stay where they are.
    std::optional<std::shared_ptr<http::files::VariantFiles>> variants = {};

    ~Opened() { net::Listening::drop(added); }
};

// Of another thread, while `before` is served.
std::expected<Reloader::Next, std::string> Assembly::make_next(Wanted wanted,
                                                               const Generation& before) {
    std::string problems;
    const auto opened = std::make_shared<Opened>();
    const auto holds = [&](const Result<>& done) {
        if (!done) problems += config::in_words_of_the_file(done.error().message()) + "\n";
        return done.has_value();
    };
    const auto take = [&](auto&& made, auto& into) {
        if (holds(made ? Result<>() : Result<>(fail(made.error())))) into = std::move(*made);
    };
    const ServeOptions& options = wanted.options;
    for (const std::string& each : config::changes_that_need_a_restart(before.options, options)) {
        problems += each + "\n";
    }
    holds(find_certificates(wanted.options.tls));
    const bool is_settled = holds(settle(wanted));
    for (const std::string& log : access_logs(wanted.sites)) holds(logs_->open(log));
    holds(check_descriptors(wanted));
    opened->addresses = addresses_of(options);
    for (const Error& each : listening_->bind_more(opened->addresses, opened->added)) {
        holds(fail(each));
    }
    take(MetricsPage::bind(options.metrics, before.options.metrics), opened->page);
    take(AdminSocket::bind(options, before.options.admin_socket), opened->admin);
    if (options.compress.folder != before.options.compress.folder) {
        take(open_variant_files(options.compress), opened->variants);
    }
    if (is_settled) {
        const GenerationParts parts = generation_parts(wanted);
        take(make_generation(std::move(wanted), &before, parts), opened->generation);
    }
    if (!problems.empty()) return std::unexpected(std::move(problems));
    return Reloader::Next{.generation = opened->generation,
                          .settle = [this, opened] { return settle_on(*opened); },
                          .published = [this, opened] { take_on(*opened); }};
}

// The last that may fail, and so in an order in which nothing is changed where it does.
Result<> Assembly::settle_on(Opened& opened) {
    const auto backlog = static_cast<int>(opened.generation->options.backlog);
    if (auto listens = listening_->listen(opened.added, backlog); !listens) return listens;
    if (auto listens = MetricsPage::listen(*opened.page); !listens) return listens;
    return admin_->listen(*opened.admin);
}

bool Assembly::opens_as_root(const std::string& path, RootFiles::Use use) const {
    if (root_files_ == nullptr) return false;
    const core::Descriptor opened(core::system_kernel(), root_files_->open(path, use));
    return static_cast<bool>(opened);
}

// What the loops share, and may change.
void Assembly::take_on(Opened& opened) {
    const Generation& generation = *opened.generation;
    const ServeOptions& options = generation.options;
    log_level_ = options.log_level;
    logs_->set_rotation(options.log_rotate_bytes, options.log_files_kept);
    logs_->writer().set_flush_interval(options.log_flush_interval);
    serving_->set_drain_timeout(options.timeouts.drain_or_never());
    parts_.places->set_places_max(options.cgi.programs_max);
    if (opened.variants) variants_->set_files(std::move(*opened.variants));
    if (room_ != nullptr) room_->set_connections_max(generation.shares.connections_max_of_all);
    warn_of_fewer_connections(generation);
    metrics_->take(*opened.page);
    admin_->take(std::move(opened.admin));
    listening_->change(opened.addresses, std::move(opened.added));
}

// In the order of the start: the addresses of the sites come first.
std::vector<net::Listening::Wanted> Assembly::addresses_of(const ServeOptions& options) const {
    std::vector<net::Listening::Wanted> all;
    for (const std::string& each : options.listen) all.push_back({each, 0});
    for (const std::string& each : options.tls.https_redirect) {
        all.push_back({each, options_.listen.size()});
    }
    return all;
}

}  // namespace tiderace::server
