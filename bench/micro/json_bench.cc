// The cost of JSON: a struct of ten members, written and read, and an array of a hundred of them.
// Run it pinned and with --benchmark_repetitions; read the smallest figure.
#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

#include "tiderace/json.h"

namespace tiderace::json {
namespace {

struct User {
    std::uint64_t id;
    std::string name;
    std::string email;
    int age;
    bool active;
    double score;
    std::string city;
    std::vector<std::string> tags;
    std::optional<std::string> note;
    std::int64_t visits;
};

const User user = {1'234'567,
                   "Ada Lovelace",
                   "ada@example.org",
                   36,
                   true,
                   97.25,
                   "London W1K",
                   {"mathematics", "poetry"},
                   "writes programs",
                   128'000};

void write_ten_members(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(write(user));
}
BENCHMARK(write_ten_members);

void append_ten_members(benchmark::State& state) {
    std::string text;
    for (auto _ : state) {
        text.clear();
        benchmark::DoNotOptimize(append(text, user));
    }
}
BENCHMARK(append_ten_members);

void read_ten_members(benchmark::State& state) {
    const std::string text = write(user);
    for (auto _ : state) benchmark::DoNotOptimize(read<User>(text));
}
BENCHMARK(read_ten_members);

void write_a_hundred(benchmark::State& state) {
    const std::vector<User> users(100, user);
    for (auto _ : state) benchmark::DoNotOptimize(write(users));
}
BENCHMARK(write_a_hundred);

void read_a_hundred(benchmark::State& state) {
    const std::string text = write(std::vector<User>(100, user));
    for (auto _ : state) benchmark::DoNotOptimize(read<std::vector<User>>(text));
}
BENCHMARK(read_a_hundred);

void refuse_with_three_faults(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(read<User>(R"({"id":-1,"name":null,"age":"x"})"));
    }
}
BENCHMARK(refuse_with_three_faults);

}  // namespace
}  // namespace tiderace::json
