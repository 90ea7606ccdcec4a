// The cost of inflating a WebSocket message of permessage-deflate: 512 KiB of blocks that call
// themselves the last one, which is the most work that a peer can ask for, and text. Run it pinned
// and with --benchmark_repetitions; read the smallest processor time.
#include <benchmark/benchmark.h>

#include <string>

#include "tiderace/base/units.h"
#include "tiderace/http/wire/websocket/deflate.h"

namespace tiderace::http::wire {
namespace {

void inflate(benchmark::State& state, const std::string& payload, bool keep_context) {
    WebSocketInflater inflater;
    // A whole window, which must not be copied for each block.
    std::string before, out;
    WebSocketDeflater(15, 6).compress(std::string(40'000, 'w'), keep_context, before);
    if (inflater.decompress(before, keep_context, 1_MiB, out) !=
        WebSocketInflater::Outcome::whole) {
        state.SkipWithError("malformed");
    }
    for ([[maybe_unused]] auto _ : state) {
        out.clear();
        const auto outcome = inflater.decompress(payload, keep_context, 64_MiB, out);
        if (outcome != WebSocketInflater::Outcome::whole) state.SkipWithError("malformed");
        benchmark::DoNotOptimize(out.data());
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(payload.size()));
}

std::string repeated(std::string_view block) {
    std::string all;
    while (all.size() < 512_KiB) all += block;
    all += '\0';  // RFC 7692, 7.2.3.4: begins the block that the tail completes
    return all;
}

std::string plain_text() {
    std::string text, compressed;
    for (unsigned word = 1; text.size() < 2_MiB; word = word * 1'664'525 + 1'013'904'223) {
        text += std::to_string(word) + " of the tide, ";
    }
    WebSocketDeflater(15, 6).compress(text, false, compressed);
    return compressed;
}

using namespace std::string_view_literals;
BENCHMARK_CAPTURE(inflate, empty_fixed, repeated("\x03\x00"sv), false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(inflate, empty_fixed_kept, repeated("\x03\x00"sv), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(inflate, empty_stored, repeated("\x01\x00\x00\xff\xff"sv), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(inflate, a_letter_each, repeated("\x4b\x04\x00"sv), true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(inflate, text, plain_text(), true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tiderace::http::wire
