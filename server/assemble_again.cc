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

// Of another thread, while `before` is served.
std::expected<Reloader::Next, std::string> Assembly::make_next(Wanted wanted,
                                                               const Generation& before) {
    std::string problems;
    const auto holds = [&](const auto& done) {
        if (!done) problems += config::in_words_of_the_file(done.error().message()) + "\n";
        return done.has_value();
    };
    for (const std::string& each :
         config::changes_that_need_a_restart(before.options, wanted.options)) {
        problems += each + "\n";
    }
    // The self-signed certificates were made at the start.
    if (self_signed_) wanted.options.tls.certificates = options_.tls.certificates;
    const bool is_settled = holds(settle(wanted));
    for (const std::string& log : access_logs(wanted.sites)) holds(logs_->open(log));
    holds(check_descriptors(parts_.loops, wanted.sites));
    const std::vector<net::Listening::Wanted> addresses = addresses_of(wanted.options);
    const auto added = std::make_shared<std::vector<net::Listening::Bound>>();
    for (const Error& each : listening_->bind_more(addresses, *added)) holds(Result<>(fail(each)));
    const auto page = MetricsPage::bind(wanted.options.metrics, before.options.metrics);
    holds(page);
    std::shared_ptr<const Generation> generation;
    if (is_settled) {
        const std::uint16_t port = encrypted_port(wanted.options);
        auto made = make_generation(std::move(wanted), &before, generation_parts(port));
        if (holds(made)) generation = std::move(*made);
    }
    const auto drop = [added] { net::Listening::drop(*added); };
    if (!problems.empty()) {
        drop();
        return std::unexpected(std::move(problems));
    }
    return Reloader::Next{.generation = generation,
                          .settle = [this, added, generation, page]() -> Result<> {
                              auto listens = listening_->listen(
                                  *added, static_cast<int>(generation->options.backlog));
                              return listens ? metrics_->change(**page) : listens;
                          },
                          .published =
                              [this, added, addresses, generation] {
                                  take_on(generation->options);
                                  listening_->change(addresses, std::move(*added));
                              },
                          .dropped = drop};
}

bool Assembly::opens_as_root(const std::string& path, RootFiles::Use use) const {
    if (root_files_ == nullptr) return false;
    const core::Descriptor opened(core::system_kernel(), root_files_->open(path, use));
    return static_cast<bool>(opened);
}

// What the loops share of the options, and may change.
void Assembly::take_on(const ServeOptions& options) {
    log_level_ = options.log_level;
    logs_->set_rotation(options.log_rotate_bytes, options.log_files_kept);
    serving_->set_drain_timeout(options.timeouts.drain_or_never());
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
