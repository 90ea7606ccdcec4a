#include "tiderace/tcp/run.h"

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "tiderace/core/worker_pool.h"
#include "tiderace/log/console_sink.h"
#include "tiderace/log/logger.h"
#include "tiderace/log/stream.h"
#include "tiderace/log/writer.h"
#include "tiderace/net/serving.h"

namespace tiderace::tcp {
namespace {

// The parts of one loop's service. Declared in the order in which one needs the other.
class LoopProtocol final : public net::LoopService {
  public:
    LoopProtocol(core::EventLoop& loop, core::WorkerPool& pool, log::Stream& log,
                 log::TimeSource& time, const LoopStates& states)
        : logger_(log.add_ring(64_KiB), time), runner_(loop, &pool) {
        loop.set_log(&logger_);
        states.make(loop, states_);
    }

    Result<> make(const MakeProtocol& make, const ServerSecurity* security) {
        auto protocol = make(runner_, states_);
        if (!protocol) return fail(protocol.error());
        protocol_ = std::move(*protocol);
        if (security == nullptr) return {};
        auto layer = security->layer(runner_.loop());
        if (!layer) return fail(layer.error());
        layer_ = std::move(*layer);
        return {};
    }

  private:
    net::SessionFactory& sessions(std::size_t) override { return *protocol_; }
    net::TransportLayer* layer(std::size_t) override { return layer_.get(); }

    log::Logger logger_;
    std::shared_ptr<net::TransportLayer> layer_;
    task::States states_;
    task::Runner runner_;
    std::unique_ptr<Protocol> protocol_;
};

void print_where(const std::vector<core::Address>& addresses) {
    for (const core::Address& address : addresses) {
        std::printf("listening on %s\n", address.to_string().c_str());
    }
    std::fflush(stdout);
}

net::ServingOptions options_of(const ListenOn& listen, const ServeOptions& options) {
    return {.program = options.program,
            .listen = listen.addresses,
            .threads = options.threads,
            .engine = options.engine,
            .connection = options.limits,
            .connections_max = options.connections_max,
            .drain_timeout = options.drain,
            .takes_signals = options.takes_signals};
}

}  // namespace

int run_server(const ListenOn& listen, const ServeOptions& options, const MakeProtocol& make) {
    net::ServingOptions serving_options = options_of(listen, options);
    std::optional<net::Serving> serving;
    std::optional<std::stop_callback<std::function<void()>>> stopping;
    serving_options.on_listening = [&](const std::vector<core::Address>& addresses) {
        // Not before: there are no loops yet. A stop that was requested earlier counts now.
        stopping.emplace(options.stop, [&] { serving->stop(); });
        options.on_listening ? options.on_listening(addresses) : print_where(addresses);
    };
    // A stop that comes when all is over would find no loops.
    serving_options.on_drain = [&] { stopping.reset(); };
    serving.emplace(std::move(serving_options));
    log::SystemTime time;
    log::Writer writer(time);
    log::Stream& log =
        writer.add_stream("diagnostics", std::make_unique<log::ConsoleSink>(STDERR_FILENO));
    if (auto started = writer.start(); !started) {
        std::fprintf(stderr, "%s: %s\n", options.program.c_str(),
                     started.error().message().c_str());
        return 1;
    }
    core::WorkerPool pool;
    return serving->run([&](core::EventLoop& loop) -> Result<std::unique_ptr<net::LoopService>> {
        auto service = std::make_unique<LoopProtocol>(loop, pool, log, time, options.states);
        if (auto made = service->make(make, options.security); !made) return fail(made.error());
        return service;
    });
}

}  // namespace tiderace::tcp
