// What tests/test_metrics.py counts: routes that answer, wait, refuse and throw.
#include <tiderace/app.h>

#include <optional>
#include <stdexcept>
#include <string>

using namespace tiderace;
using namespace tiderace::http;

int main(int argc, char** argv) {
    App app;
    metrics::Registry& metrics = app.metrics("/metrics");
    metrics::Counter& sold =
        metrics.counter("shop_sold_total", "Items sold.", {{"kind", "a \"book\"\n\\"}});
    metrics::Gauge& queue = metrics.gauge("shop_queue", "Orders that wait.");
    metrics::Histogram& prices = metrics.histogram("shop_price_euros", "Prices.", {1, 2.5});
    app.get<"/users/{id}">([](int id) -> std::optional<std::string> {
        if (id == 0) return std::nullopt;
        return "ann\n";
    });
    app.post<"/buy">([&](Body) {
        sold.add();
        queue.set(3);
        prices.observe(2);
        return "sold\n";
    });
    app.get<"/throws">([]() -> std::string { throw std::runtime_error("no stock"); });
    app.get<"/late">([]() -> Task<std::string> {
        co_await sleep(std::chrono::milliseconds(5));
        co_return "late\n";
    });
    return app.serve({.listen = argc > 1 ? argv[1] : ":8080", .threads = 2});
}
