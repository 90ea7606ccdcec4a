// The cost of HTTP/2 for one request: frame and field block read, answer written. Run it pinned and
// with --benchmark_repetitions; read the smallest figure: other work on the machine only adds.
#include <benchmark/benchmark.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/h2/huffman.h"
#include "tiderace/http/wire/h2/request.h"

namespace tiderace::http::wire {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

const Fields load_generator = {{":method", "GET"},
                               {":scheme", "http"},
                               {":authority", "127.0.0.1:8080"},
                               {":path", "/1k.html"},
                               {"user-agent", "h2load nghttp2/1.52.0"}};

const Fields browser = {
    {":method", "GET"},
    {":scheme", "https"},
    {":authority", "www.example.com"},
    {":path", "/articles/2026/tides.html?from=front"},
    {"sec-ch-ua", "\"Chromium\";v=\"142\", \"Not?A_Brand\";v=\"99\""},
    {"sec-ch-ua-mobile", "?0"},
    {"sec-ch-ua-platform", "\"Linux\""},
    {"upgrade-insecure-requests", "1"},
    {"user-agent",
     "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
     "Safari/537.36"},
    {"accept",
     "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
    {"sec-fetch-site", "same-origin"},
    {"referer", "https://www.example.com/"},
    {"accept-encoding", "gzip, deflate, br, zstd"},
    {"accept-language", "en-GB,en;q=0.9"}};

// As browsers and h2load send them: Huffman's code, everything into the table.
std::string text(ByteView plain) {
    std::string code(huffman::encoded_bytes(plain), '\0');
    huffman::encode(plain, code);
    return static_cast<char>(0x80 | code.size()) + code;  // all of them are below 127 bytes
}
std::string first_block(const Fields& fields) {
    std::string block;
    for (const auto& [name, value] : fields) block += '\x40' + text(name) + text(value);
    return block;
}
// All of it by reference. The newest entry is 62.
std::string hot_block(const Fields& fields) {
    std::string block;
    for (std::size_t i = fields.size(); i > 0; --i) block += static_cast<char>(0x80 + 61 + i);
    return block;
}

// As nghttp2 does it: all by reference, but the path never goes into the table.
std::string path_as_text(const Fields& fields) {
    std::string block;
    for (std::size_t i = fields.size(); i > 0; --i) {
        const auto& [name, value] = fields[fields.size() - i];
        if (name == ":path") {
            block += '\x04' + text(value);
        } else {
            block += static_cast<char>(0x80 + 61 + i);
        }
    }
    return block;
}

void read_request(benchmark::State& state, const Fields& fields,
                  std::string (*block_of)(const Fields&)) {
    const H2RequestLimits limits;
    HpackDecoder decoder;
    RequestHead head;
    std::vector<char> arena(h2_arena_bytes(limits, decoder));
    const std::string first = first_block(fields);
    parse_h2_request(decoder, first, arena, limits, head);
    const std::string block = block_of(fields);
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(block.data());
        const H2RequestParse parse = parse_h2_request(decoder, block, arena, limits, head);
        if (parse.status != H2RequestParse::Status::complete) {
            state.SkipWithError("refused");
            break;
        }
        benchmark::ClobberMemory();
    }
}
BENCHMARK_CAPTURE(read_request, load_generator_hot, load_generator, hot_block);
BENCHMARK_CAPTURE(read_request, load_generator_path_as_text, load_generator, path_as_text);
BENCHMARK_CAPTURE(read_request, browser_hot, browser, hot_block);
BENCHMARK_CAPTURE(read_request, browser_first, browser, first_block);

void read_frame(benchmark::State& state) {
    std::string bytes(h2_frame_header_bytes, '\0');
    const std::string block = hot_block(load_generator);
    write_h2_frame_header(bytes, {.length = static_cast<std::uint32_t>(block.size()),
                                  .type = H2FrameType::headers,
                                  .flags = h2_flag::end_headers | h2_flag::end_stream,
                                  .stream = 1});
    bytes += block;
    H2FrameReader reader;
    std::string opening(h2_preface);
    opening.resize(opening.size() + h2_frame_header_bytes);
    write_h2_frame_header(std::span(opening).subspan(h2_preface.size()),
                          {.type = H2FrameType::settings});
    reader.next(opening);
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(bytes.data());
        H2FrameReader::Step step = reader.next(bytes);
        benchmark::DoNotOptimize(step);
    }
}
BENCHMARK(read_frame);

constexpr ByteView date = "Sun, 06 Nov 1994 08:49:37 GMT";

// A cached file: its own fields rendered beforehand.
void write_answer_rendered(benchmark::State& state) {
    std::string file;
    append_hpack_field(file, FieldName::content_type, "text/html; charset=utf-8");
    append_hpack_field(file, FieldName::last_modified, date);
    append_hpack_field(file, FieldName::etag, "\"18a3c5f2e1b0-400\"");
    append_hpack_field(file, FieldName::accept_ranges, "bytes");
    HpackEncoder encoder;
    std::array<char, 1024> out;
    for ([[maybe_unused]] auto _ : state) {
        HpackEncoder::Block block(encoder, out);
        block.status(200);
        block.field(FieldName::server, "tiderace");
        block.field(FieldName::date, date);
        block.rendered(file);
        block.number(FieldName::content_length, 1024);
        ByteView bytes = block.finish();
        benchmark::DoNotOptimize(bytes);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(write_answer_rendered);

void write_answer_fields(benchmark::State& state) {
    HpackEncoder encoder;
    std::array<char, 1024> out;
    for ([[maybe_unused]] auto _ : state) {
        HpackEncoder::Block block(encoder, out);
        block.status(200);
        block.field(FieldName::server, "tiderace");
        block.field(FieldName::date, date);
        block.field(FieldName::content_type, "text/html; charset=utf-8");
        block.field(FieldName::cache_control, "max-age=3600");
        block.field(FieldName::vary, "accept-encoding");
        block.field(FieldName::etag, "\"18a3c5f2e1b0-400\"");
        block.number(FieldName::content_length, 1024);
        ByteView bytes = block.finish();
        benchmark::DoNotOptimize(bytes);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(write_answer_fields);

void decode_huffman(benchmark::State& state) {
    const std::string& plain = browser[8].second;
    std::string code(huffman::encoded_bytes(plain), '\0');
    huffman::encode(plain, code);
    std::array<char, 256> out;
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(code.data());
        huffman::Decoded decoded = huffman::decode(code, out);
        benchmark::DoNotOptimize(decoded);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(plain.size()));
}
BENCHMARK(decode_huffman);

void encode_huffman(benchmark::State& state) {
    const std::string& plain = browser[8].second;
    std::array<char, 256> out;
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(plain.data());
        std::size_t bytes = huffman::encode(plain, out);
        benchmark::DoNotOptimize(bytes);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(plain.size()));
}
BENCHMARK(encode_huffman);

}  // namespace
}  // namespace tiderace::http::wire
