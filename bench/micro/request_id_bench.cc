// The id of a request, made and asked for again.
#include <benchmark/benchmark.h>

#include "tiderace/http/request.h"

namespace {

void make_id(benchmark::State& state) {
    for (auto _ : state) {
        tiderace::http::MadeId id;
        benchmark::DoNotOptimize(id.text().data());
    }
}
BENCHMARK(make_id);

}  // namespace
