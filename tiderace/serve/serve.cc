#include "tiderace/serve/serve.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "tiderace/core/worker_pool.h"
#include "tiderace/http/access_log.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/site.h"
#include "tiderace/log/console_sink.h"
#include "tiderace/log/file_sink.h"
#include "tiderace/log/writer.h"
#include "tiderace/net/serving.h"
#include "tiderace/serve/watchdog.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::http {
namespace {

// The logs of a served App: what goes wrong to standard error, requests where they are wanted.
class Logs {
  public:
    static Result<std::unique_ptr<Logs>> open(const ServeOptions& options) {
        auto logs = std::make_unique<Logs>();
        if (!options.access_log.empty()) {
            auto sink = access_sink(options.access_log);
            if (!sink) return fail(sink.error());
            logs->access_ = &logs->writer_.add_stream("access", std::move(*sink));
        }
        if (auto started = logs->writer_.start(); !started) return fail(started.error());
        return logs;
    }

    std::unique_ptr<log::Logger> make_logger() {
        return std::make_unique<log::Logger>(diagnostics_->add_ring(64_KiB), time_);
    }
    // nullptr: not wanted.
    std::unique_ptr<RingAccessLog> make_access_log() {
        if (access_ == nullptr) return nullptr;
        return std::make_unique<RingAccessLog>(access_->add_ring(256_KiB),
                                               AccessLogFormat::combined);
    }

  private:
    static Result<std::unique_ptr<log::Sink>> access_sink(const std::string& where) {
        if (where == "-") return std::make_unique<log::ConsoleSink>(STDOUT_FILENO);
        auto file = log::FileSink::open({.path = where});
        if (!file) return fail(file.error());
        return std::move(*file);
    }

    log::SystemTime time_;
    log::Writer writer_{time_};
    log::Stream* diagnostics_ =
        &writer_.add_stream("diagnostics", std::make_unique<log::ConsoleSink>(STDERR_FILENO));
    log::Stream* access_ = nullptr;
};

tls::ServerOptions tls_options(const ServeOptions& options, bool first) {
    tls::ServerOptions made;
    for (const TlsFiles& files : options.tls)
        made.certificates.push_back({files.certificate, files.key});
    made.says_reloads = first;
    return made;
}

// Where to listen, and with what.
struct Places {
    std::vector<std::string> addresses;
    std::vector<bool> secure;
};

Result<Places> find_places(const ServeOptions& options) {
    Places places;
    const bool certified = !options.tls.empty();
    for (const std::string& text : options.listen.addresses) {
        const bool says_plain = text.starts_with("http://");
        const bool says_tls = text.starts_with("https://");
        if (says_tls && !certified) {
            return fail(Error(EINVAL, "listen on", text, "set ServeOptions::tls"));
        }
        const std::string address = text.substr(says_plain ? 7 : says_tls ? 8 : 0);
        places.secure.push_back(says_tls ||
                                (certified && !says_plain && !address.starts_with("unix:")));
        places.addresses.push_back(address);
    }
    return places;
}

// What one loop serves with. Declared in the order in which one needs the other.
class AppService final : public net::LoopService, private AccessLog {
  public:
    AppService(core::EventLoop& loop, const App& app, core::WorkerPool& pool, Logs& logs,
               const ServeOptions& options, const Places& places)
        : places_(&places),
          logger_(logs.make_logger()),
          access_log_(logs.make_access_log()),
          app_(loop, app, &pool),
          site_(app_),
          http1_(loop, site_, {.server_name = options.server_name}),
          http2_(loop, site_,
                 {.head = {.extended_connect = app_.takes_websockets()},
                  .server_name = options.server_name}) {
        loop.set_log(logger_.get());
        http1_.set_http2(http2_);
        site_.add(error_pages_);
        site_.set_log(*this);
        if (access_log_ == nullptr) return;
        loop.every_turn_end([log = access_log_.get()] { log->publish(); });
    }

    Result<> add_tls(core::EventLoop& loop, const ServeOptions& options, bool first) {
        auto context = tls::ServerContext::create(loop, tls_options(options, first));
        if (!context) return fail(context.error());
        tls_ = std::move(*context);
        return {};
    }

    void watch(core::EventLoop& loop, serve::Watchdog& watchdog) { post_.emplace(watchdog, loop); }

  private:
    void write(const AccessRecord& record) override {
        if (access_log_ != nullptr) access_log_->write(record);
        app_.write(record);
    }
    net::SessionFactory& sessions(std::size_t) override { return http1_; }
    net::TransportLayer* layer(std::size_t place) override {
        return places_->secure[place] ? tls_.get() : nullptr;
    }
    void drain(Instant deadline, unique_function<void()> done) override {
        app_.drain(deadline, std::move(done));
    }

    const Places* places_;
    std::unique_ptr<log::Logger> logger_;
    std::unique_ptr<RingAccessLog> access_log_;
    std::unique_ptr<tls::ServerContext> tls_;
    AppLoop app_;
    filter::ErrorPages error_pages_;
    Site site_;
    H1Service http1_;
    H2Service http2_;
    std::optional<serve::Watchdog::Post> post_;
};

void print_where(const std::vector<core::Address>& addresses, const std::vector<bool>& secure) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const std::string text = addresses[i].to_string();
        if (text.starts_with("unix:")) {
            std::printf("listening on %s\n", text.c_str());
        } else {
            std::printf("listening on %s://%s/\n", secure[i] ? "https" : "http", text.c_str());
        }
    }
    std::fflush(stdout);
}

int refuse(const std::string& sentence) {
    std::fprintf(stderr, "app: %s\n", sentence.c_str());
    return 1;
}

}  // namespace

int App::serve(const ServeOptions& options) {
    const auto places = find_places(options);
    if (!places) return refuse(places.error().message());
    const std::shared_ptr<app::Life> life = life_;
    std::optional<net::Serving> serving;
    serving.emplace(net::ServingOptions{
        .program = "app",
        .listen = places->addresses,
        .threads = options.threads,
        .engine = options.engine,
        .drain_timeout = options.drain,
        .drain_notice = options.drain_notice,
        .on_listening =
            [&](const std::vector<core::Address>& addresses) {
                life->attach([&] { serving->stop(); });
                if (options.on_listening) return options.on_listening(addresses);
                print_where(addresses, places->secure);
            },
        .on_drain = [&] { life->begin(); },
    });
    if (!fault().empty()) return refuse(fault());
    auto logs = Logs::open(options);
    if (!logs) return refuse(logs.error().message());
    std::optional<serve::Watchdog> watchdog;
    if (options.watchdog > Duration::zero()) {
        watchdog.emplace(options.watchdog, (*logs)->make_logger());
    }
    core::WorkerPool pool(options_.pool_threads_max, options_.pool_queue_max);
    bool first = true;
    const int status =
        serving->run([&](core::EventLoop& loop) -> Result<std::unique_ptr<net::LoopService>> {
            auto service =
                std::make_unique<AppService>(loop, *this, pool, **logs, options, *places);
            if (!options.tls.empty()) {
                auto added = service->add_tls(loop, options, std::exchange(first, false));
                if (!added) return fail(added.error());
            }
            if (watchdog) service->watch(loop, *watchdog);
            return service;
        });
    life->detach();
    return status;
}

}  // namespace tiderace::http
