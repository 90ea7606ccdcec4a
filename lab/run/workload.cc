#include "lab/run/workload.h"

#include <algorithm>

namespace tiderace::lab::run {
namespace {

constexpr std::uint64_t slow_rate_bytes = 64'000;  // a second: one middle file takes one

// w0 to w5 repeat the questions of published comparisons (report/published.cc), with their sizes of
// file and numbers of connections; the others fill the gaps.
const std::vector<Workload>& table() {
    static const std::vector<Workload> all{
        {.name = "w0",
         .about = "2,496,629 bytes, kept alive",
         .parts = {{.file = SiteFile::large}},
         .connections = {100},
         .quick_connections = {100}},
        {.name = "w0-close",
         .about = "2,496,629 bytes, a connection for each request",
         .parts = {{.file = SiteFile::large, .close = true}},
         .connections = {100}},
        {.name = "w1",
         .about = "40 bytes, kept alive, all connections open before anything is counted",
         .parts = {{.file = SiteFile::tiny}},
         .connections = {10'000},
         .quick_connections = {10'000}},
        {.name = "w2",
         .about = "57,244 bytes, a connection for each request",
         .parts = {{.file = SiteFile::middle, .close = true}},
         .connections = {100, 10'000},
         .quick_connections = {100}},
        {.name = "w3",
         .about = "a rendered page with a database read",
         .absent = "is not run here, where servers serve files; see ./dev bench data"},
        {.name = "w4",
         .about = "the index page, 3,658 bytes, a connection for each request",
         .parts = {{.file = SiteFile::index, .close = true}},
         .connections = {1'000}},
        {.name = "w5",
         .about = "40 bytes, 16 requests deep",
         .parts = {{.file = SiteFile::tiny, .pipeline = 16}},
         .connections = {100}},
        {.name = "w5-echo",
         .about = "40 bytes that come back as they are, 16 messages deep: no HTTP",
         .parts = {{.file = SiteFile::tiny, .pipeline = 16, .echoes = true}},
         .connections = {100}},
        {.name = "w5-kv",
         .about = "a key-value server, pipelined",
         .absent = "is not run here, where the load is HTTP; see redis-benchmark"},
        {.name = "churn",
         .about = "40 bytes, a connection for each request",
         .parts = {{.file = SiteFile::tiny, .close = true}},
         .connections = {100},
         .quick_connections = {100}},
        {.name = "slow",
         .about = "57,244 bytes, kept alive; one client in ten reads 64 kB a second, and measured "
                  "are the others",
         .parts = {{.file = SiteFile::middle, .slow_readers = 10}},
         .connections = {100}},
        {.name = "mixed",
         .about = "at fixed rates a second: 8,000 tiny, 1,600 index pages that close, 800 middle, "
                  "80 large",
         .parts = {{.file = SiteFile::tiny, .connections = 200, .rate = 8'000},
                   {.file = SiteFile::index, .connections = 60, .close = true, .rate = 1'600},
                   {.file = SiteFile::middle, .connections = 30, .rate = 800},
                   {.file = SiteFile::large, .connections = 10, .rate = 80}},
         .connections = {300}},
        {.name = "idle",
         .about = "what a connection costs in memory that asked once and stands there",
         .parts = {{.file = SiteFile::tiny, .only_once = true}},
         .connections = {10'000},
         .quick_connections = {1'000},
         .measure = "connection_bytes"},
        {.name = "scale",
         .about = "40 bytes, kept alive, at more and more connections",
         .parts = {{.file = SiteFile::tiny}},
         .connections = {1, 10, 100, 1'000},
         .quick_connections = {1, 100}}};
    return all;
}

}  // namespace

std::span<const Workload> workloads() {
    return table();
}

const Workload* find_workload(std::string_view name) {
    const auto found = std::ranges::find(table(), name, &Workload::name);
    return found == table().end() ? nullptr : &*found;
}

load::LoadOptions load_of(const Workload& workload, const LoadPart& part,
                          std::uint64_t connections) {
    load::LoadOptions options;
    options.connections = connections;
    // Its share of them: where the machine allows fewer than the table has, all parts have fewer.
    if (part.connections > 0) {
        options.connections = std::max<std::uint64_t>(
            1, part.connections * connections / workload.connections.back());
    }
    options.close = part.close;
    options.pipeline = part.pipeline;
    options.rate = part.rate;
    options.slow_readers = part.slow_readers;
    options.slow_rate = slow_rate_bytes;
    // Longer than a run: the client sends one request, and its connection then stands idle.
    if (part.only_once) options.think = 1h;
    options.expect_length = facts_of(part.file).bytes;
    if (part.echoes) options.body_bytes = facts_of(part.file).bytes;
    // Loads::start() sets as many as there are CPUs for the load.
    options.threads = 1;
    return options;
}

std::string url_of(const LoadPart& part, const std::string& address) {
    if (part.echoes) return "echo://" + address;
    return "http://" + address + std::string(facts_of(part.file).path);
}

// With all that load_of() sets and no other flag, so that it makes the same load again.
std::string load_command(const Workload& workload) {
    std::string text;
    for (const LoadPart& part : workload.parts) {
        const load::LoadOptions options = load_of(workload, part, workload.connections.back());
        if (!text.empty()) text += " & ";
        text += "tiderace load " + url_of(part, "ADDRESS") + " --connections " +
                std::to_string(options.connections);
        if (part.echoes) text += " --body-size " + std::to_string(options.body_bytes);
        if (options.close) text += " --close";
        if (options.pipeline > 1) text += " --pipeline " + std::to_string(options.pipeline);
        if (options.rate > 0) text += " --rate " + std::to_string(options.rate);
        if (options.slow_readers > 0) {
            text += " --slow-readers " + std::to_string(options.slow_readers) + " --slow-rate " +
                    std::to_string(options.slow_rate);
        }
        if (part.only_once) text += " --think 1h";
        text += " --expect-length " + std::to_string(*options.expect_length);
    }
    return text;
}

}  // namespace tiderace::lab::run
