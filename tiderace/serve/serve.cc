#include "tiderace/serve/serve.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "tiderace/core/worker_pool.h"
#include "tiderace/http/app/app.h"
#include "tiderace/http/app/app_loop.h"
#include "tiderace/http/app/life/life.h"
#include "tiderace/http/filter/error_pages.h"
#include "tiderace/http/site.h"
#include "tiderace/net/serving.h"
#include "tiderace/serve/http_loop.h"
#include "tiderace/serve/log_files.h"
#include "tiderace/serve/server_tls_options.h"
#include "tiderace/serve/tcp_service.h"
#include "tiderace/serve/watchdog.h"
#include "tiderace/tcp/serve.h"
#include "tiderace/tls/ticket_keys.h"

namespace tiderace::http {
namespace {

// Where to listen, and with what.
struct Places {
    std::vector<std::string> addresses;
    std::vector<bool> secure;
    std::size_t http_count = 0;  // the others are from ServeOptions::tcp
};

// A Unix socket is plain unless "https://" stands before it: a proxy of this machine connects there,
// and it has ended TLS itself.
Result<Places> find_places(const ServeOptions& options) {
    Places places;
    const bool certified = !options.tls.certificates.empty();
    if (!certified && !options.tls.client_ca.empty()) {
        return fail(Error(EINVAL, "verify clients by", options.tls.client_ca,
                          "set ServeOptions::tls.certificates"));
    }
    for (const std::string& text : options.listen.addresses) {
        const bool says_plain = text.starts_with("http://");
        const bool says_tls = text.starts_with("https://");
        if (says_tls && !certified) {
            return fail(Error(EINVAL, "listen on", text, "set ServeOptions::tls.certificates"));
        }
        const std::string address = text.substr(says_plain ? 7 : says_tls ? 8 : 0);
        places.secure.push_back(says_tls ||
                                (certified && !says_plain && !address.starts_with("unix:")));
        places.addresses.push_back(address);
    }
    places.http_count = places.addresses.size();
    for (const auto& service : options.tcp) {
        places.addresses.push_back(service->address());
        places.secure.push_back(service->options().security != nullptr);
    }
    return places;
}

net::ConnectionLimits connection_limits(const ServeOptions& options) {
    return {.send_bytes_per_second_min = options.bytes_per_second_min};
}

// What one loop serves with. Declared in the order in which one needs the other.
class AppService final : public net::LoopService {
  public:
    AppService(core::EventLoop& loop, const App& app, core::WorkerPool& pool, serve::LogFiles& logs,
               const ServeOptions& options, const Places& places)
        : places_(&places),
          logger_(logs.make_logger()),
          app_(loop, app, &pool),
          http_(loop, app_.site(),
                {.message = {.receive_bytes_per_second_min = options.bytes_per_second_min,
                             .server_name = options.server_name},
                 .connection = connection_limits(options),
                 .takes_websockets = app_.takes_websockets()}) {
        loop.set_log(logger_.get());
        app_.site().add_error_pages(error_pages_);
        const AccessLogTarget usual{.path = options.access_log};
        http_.log_to(logs, options.access_log.empty() ? nullptr : &usual);
    }

    const std::optional<Error>& fault() const { return app_.fault(); }
    serve::HttpLoop& http() { return http_; }

    Result<> add_tcp(core::EventLoop& loop, const TcpService& service) {
        auto handler = service.bind(app_.states());
        if (!handler) {
            return fail(Error(EINVAL, "serve", service.address(),
                              "its handler takes a state that the App does not have"));
        }
        beside_.push_back(
            std::make_unique<Beside>(app_.runner(), std::move(*handler), service.options()));
        if (service.options().security == nullptr) return {};
        auto layer = service.options().security->layer(loop);
        if (!layer) return fail(layer.error());
        beside_.back()->layer = std::move(*layer);
        return {};
    }

    void watch(core::EventLoop& loop, serve::Watchdog& watchdog) {
        post_.emplace(watchdog, loop, &app_.running());
    }

  private:
    // A protocol beside HTTP.
    struct Beside {
        Beside(task::Runner& runner, tcp::Handler served, const TcpServiceOptions& options)
            : tasks(runner, std::move(served),
                    {.stream = options.stream,
                     .socket = options.socket,
                     .security = options.security}) {}
        std::shared_ptr<net::TransportLayer> layer;  // nullptr: in clear text
        tcp::Tasks tasks;
    };

    net::SessionFactory& sessions(std::size_t place) override {
        if (place >= places_->http_count) return beside_[place - places_->http_count]->tasks;
        return http_.sessions();
    }
    net::TransportLayer* layer(std::size_t place) override {
        if (place >= places_->http_count) return beside_[place - places_->http_count]->layer.get();
        return places_->secure[place] ? http_.encryption() : nullptr;
    }
    void served_by(net::TcpServer& server) override {
        app_.count_connections(server.shared_counters());
    }
    void drain(Instant deadline, unique_function<void()> done) override {
        app_.drain(deadline, std::move(done));
    }

    const Places* places_;
    std::unique_ptr<log::Logger> logger_;
    AppLoop app_;
    filter::ErrorPages error_pages_;
    serve::HttpLoop http_;
    std::vector<std::unique_ptr<Beside>> beside_;  // their tasks use states of app_
    std::optional<serve::Watchdog::Post> post_;
};

void print_where(const std::vector<core::Address>& addresses, const Places& places,
                 const std::string& authority) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const std::string text = addresses[i].to_string();
        if (text.starts_with("unix:")) {
            std::printf("listening on %s\n", text.c_str());
        } else if (i >= places.http_count) {
            const char* const scheme = places.secure[i] ? "tls" : "tcp";
            std::printf("listening on %s://%s\n", scheme, text.c_str());
        } else {
            const char* const scheme = places.secure[i] ? "https" : "http";
            std::printf("listening on %s://%s/\n", scheme, text.c_str());
        }
    }
    if (!authority.empty()) {
        std::printf("with a development certificate, signed by %s\n", authority.c_str());
    }
    std::fflush(stdout);
}

// The writer's thread is started before there is a loop, so that its refusal is an error of the
// start.
Result<> open_logs(serve::LogFiles& logs, const ServeOptions& options, const Site& site) {
    if (auto opened = logs.open_diagnostics(); !opened) return opened;
    if (!options.access_log.empty()) {
        if (auto opened = logs.open(options.access_log); !opened) return opened;
    }
    for (const AccessLogTarget& target : site.access_logs()) {
        if (auto opened = logs.open(target.path); !opened) return opened;
    }
    return logs.writer().start();
}

int refuse(const std::string& sentence) {
    std::fprintf(stderr, "app: %s\n", sentence.c_str());
    return 1;
}

}  // namespace

// What can be checked without the network comes first. `serving`, `logs`, `watchdog` and `pool` are
// declared before run() makes the services that use them, so they end behind these.
int App::serve(const ServeOptions& options) {
    const auto places = find_places(options);
    if (!places) return refuse(places.error().message());
    std::string authority;  // of a development certificate; "": there is none
    auto tls = tcp::server_tls_options(options.tls, &authority);
    if (!tls) return refuse(tls.error().message());
    const std::shared_ptr<app_parts::Life> life = life_;
    // First, before anything has a thread: threads inherit the signals that it blocks.
    std::optional<net::Serving> serving;
    serving.emplace(net::ServingOptions{
        .program = "app",
        .listen = places->addresses,
        .threads = options.threads,
        .engine = options.engine,
        .connection = connection_limits(options),
        .drain_timeout = options.drain,
        .drain_notice = options.drain_notice,
        .on_listening =
            [&](const std::vector<core::Address>& addresses) {
                // From here on App::drain() may be called by any thread, and life->detach() below
                // waits for such a call.
                life->attach([&] { serving->stop(); });
                if (options.on_listening) return options.on_listening(addresses);
                print_where(addresses, *places, authority);
            },
        .on_drain = [&] { life->begin(); },
    });
    // What the routes of the program got wrong, said before a port is opened for it.
    if (!fault().empty()) return refuse(fault());
    life->set_log_level(options.log.level);
    serve::LogFiles logs({.diagnostics = options.log.path,
                          .format = options.log.format,
                          .level = &life->log_level()});
    if (auto opened = open_logs(logs, options, site()); !opened) {
        return refuse(opened.error().message());
    }
    std::unique_ptr<serve::Watchdog> watchdog;
    if (options.watchdog > Duration::zero()) {
        auto started = serve::Watchdog::start(options.watchdog, logs.make_logger());
        if (!started) return refuse(started.error().message());
        watchdog = std::move(*started);
    }
    // One pool for all loops: what blocks is bounded for the process, not for each loop.
    core::WorkerPool pool(options_.pool_threads_max, options_.pool_queue_max);
    // A session that began on one loop is resumed on any.
    tls->tickets = std::make_shared<tls::TicketShare>();
    const int status =
        serving->run([&](core::EventLoop& loop) -> Result<std::unique_ptr<net::LoopService>> {
            auto service = std::make_unique<AppService>(loop, *this, pool, logs, options, *places);
            if (service->fault()) return fail(*service->fault());
            if (!tls->certificates.empty()) {
                if (auto added = service->http().encrypt(*tls); !added) return fail(added.error());
                tls->says_reloads = false;  // the first loop does
            }
            for (const auto& beside : options.tcp) {
                if (auto added = service->add_tcp(loop, *beside); !added)
                    return fail(added.error());
            }
            if (watchdog) service->watch(loop, *watchdog);
            return service;
        });
    life->detach();
    return status;
}

}  // namespace tiderace::http
