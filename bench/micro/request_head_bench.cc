// The cost of one request head: parsed and framed, and one answered. Run it pinned and with
// --benchmark_repetitions; read the smallest figure, since other work on the machine only adds.
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "tiderace/http/wire/chunked.h"
#include "tiderace/http/wire/framing.h"
#include "tiderace/http/wire/request_head.h"
#include "tiderace/http/wire/response_head.h"
#include "tiderace/http/wire/scan.h"

namespace tiderace::http::wire {
namespace {

const std::string load_generator = "GET /1k.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

const std::string browser =
    "GET /articles/2026/tides.html?from=front HTTP/1.1\r\n"
    "Host: www.example.com\r\n"
    "Connection: keep-alive\r\n"
    "sec-ch-ua: \"Chromium\";v=\"142\", \"Not?A_Brand\";v=\"99\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "sec-ch-ua-platform: \"Linux\"\r\n"
    "Upgrade-Insecure-Requests: 1\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
    "\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Referer: https://www.example.com/\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9\r\n\r\n";

void parse_and_frame(benchmark::State& state, const std::string& bytes) {
    RequestHead head;
    const HeadLimits limits;
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(bytes.data());
        const HeadParse parse = parse_request_head(bytes, limits, head);
        const RequestFraming framing = frame_request(head);
        if (parse.status != ParseStatus::complete || !framing.keep_alive) {
            state.SkipWithError("refused");
            break;
        }
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK_CAPTURE(parse_and_frame, load_generator, load_generator);
BENCHMARK_CAPTURE(parse_and_frame, browser, browser);

template <std::size_t Find(ByteView, std::size_t)>
void scan_values(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        std::size_t lines = 0;
        for (std::size_t at = 0; at < browser.size(); at = Find(browser, at) + 1) ++lines;
        benchmark::DoNotOptimize(lines);
    }
}
BENCHMARK(scan_values<scan::find_first<scan::ValueEnd>>)->Name("scan_values/blocks");
BENCHMARK(scan_values<scan::find_first_portable<scan::ValueEnd>>)->Name("scan_values/portable");

void write_response_head(benchmark::State& state) {
    std::array<char, 1024> space;
    for ([[maybe_unused]] auto _ : state) {
        ResponseHeadWriter writer(space);
        writer.status(200);
        writer.lines("Server: tiderace\r\n");
        writer.date("Sun, 06 Nov 1994 08:49:37 GMT");
        writer.field(FieldName::content_type, "text/html; charset=utf-8");
        writer.number(FieldName::content_length, 1024);
        writer.field(FieldName::etag, "\"5f3a-1a2b3c4d\"");
        writer.end();
        benchmark::DoNotOptimize(writer.written());
        benchmark::ClobberMemory();
    }
}
BENCHMARK(write_response_head);

void decode_chunks(benchmark::State& state) {
    std::string bytes;
    for (int chunk = 0; chunk < 16; ++chunk) bytes += "400\r\n" + std::string(1024, 'x') + "\r\n";
    bytes += last_chunk;
    for ([[maybe_unused]] auto _ : state) {
        ChunkedDecoder decoder;
        ByteView rest = bytes;
        ChunkedDecoder::Step step;
        do {
            step = decoder.step(rest);
            rest.remove_prefix(step.used);
        } while (step.status == ChunkedDecoder::Status::data);
        benchmark::DoNotOptimize(step.status);
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(decode_chunks);

}  // namespace
}  // namespace tiderace::http::wire
