#include "tiderace/http/app/app_loop.h"

#include <algorithm>
#include <utility>

#include "tiderace/http/app/life/life.h"
#include "tiderace/http/app/observe/app_metrics.h"
#include "tiderace/http/app/pages/template_folder.h"
#include "tiderace/http/generator_source.h"
#include "tiderace/task/detached.h"

namespace tiderace::http {

AppLoop::AppLoop(core::EventLoop& loop, const App& app, core::WorkerPool* pool)
    : app_(&app), runner_(loop, pool) {
    // Where Page::make() finds them: a handler's return value knows its task's runner only.
    runner_.local<app_parts::LoopPages>().pages = app.pages_.get();
    states_.add({state_key<AppLoop>, this, false});
    states_.add({state_key<Life>, app.life_.get(), true});
    app.states_.make(loop, states_);
    LayerPlace place{loop, pool, runner_, states_, app.options_.handler_timeout};
    site_.emplace(app.site_, place);
    fault_ = std::move(place.fault);
    site_->set_observer(app.on_answer_);
    if (app.metrics_ != nullptr) {
        LoopMetrics& metrics = app.metrics_->add_loop();
        site_->set_metrics(metrics);
        lag_.emplace(loop, metrics);
    }
    bodies_ = core::make_ref<core::Budget>(loop, "request bodies", bodies_bytes_max());
    // A background task without each_loop runs once in the process, on the loop that claims it.
    first_loop_ = app.life_->claim_first_loop();
    background_.emplace(runner_, states_, app.background_, first_loop_);
}

AppLoop::~AppLoop() {
    if (first_loop_) app_->life_->release_first_loop();
    background_.reset();
    // The tasks of the handlers' parts end before the runner does.
    site_->drop_handlers();
}

// Otherwise a route could not use a limit that is larger than the limit of all.
std::size_t AppLoop::bodies_bytes_max() const {
    const std::size_t all = app_->options_.bodies_bytes_max;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < app_->routes_.size(); ++i) {
        const app_parts::Endpoint* const route = app_->routes_[i].get();
        if (route == nullptr || route->kind().body != app_parts::BodyUse::whole) continue;
        const Chain& chain = site_->chain_of(app_->site().endpoints()[i].scope);
        largest = std::max(largest, chain.body_bytes_max.value_or(app_->options_.body_bytes_max));
    }
    if (largest <= all) return all;
    return largest < SIZE_MAX - all ? all + largest : SIZE_MAX;
}

void AppLoop::drain(Instant deadline, unique_function<void()> done) {
    runner_.local<EventStreams>().drain();
    // In this order, because a background task may detach others until it ends.
    background_->drain(deadline, [this, deadline, done = std::move(done)]() mutable {
        runner_.local<task::DetachedTasks>().drain(deadline, std::move(done));
    });
}

void AppLoop::count_connections(std::shared_ptr<const net::TcpServerCounters> counters) {
    if (app_->metrics_ != nullptr) app_->metrics_->add_server(std::move(counters));
}

bool AppLoop::takes_websockets() const {
    return std::ranges::any_of(app_->site().endpoints(), &Site::Endpoint::is_websocket);
}

}  // namespace tiderace::http
