// The cost of a template: a page of 4 KB with 20 values, one with a loop of a hundred rows, and
// compiling one. Run it pinned and with --benchmark_repetitions; read the smallest figure.
#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/template.h"

namespace tiderace::text {
namespace {

struct Author {
    std::string name = "Ada Lovelace";
    std::string site = "https://example.org/~ada?tab=notes&page=2";
};
struct Post {
    std::string title = "On tides & the \"moon\"";
    std::string text = "The sea rises twice a day, and it's never at the same hour <as yesterday>.";
    int likes = 1'234;
    bool pinned = true;
    std::optional<Author> author = Author();
};
struct Page {
    std::string title = "Tidepool";
    std::string user = "grace";
    double ratio = 97.25;
    Post post;
    std::vector<Post> posts;
};

// Twenty values between enough literal text to make 4 KB.
std::string page_source() {
    constexpr std::string_view values[] = {"<h1>{{ title }}</h1>",
                                           "<p>{{ user }}</p>",
                                           "<p>{{ ratio }}</p>",
                                           "<p>{{ post.title }}</p>",
                                           "<p>{{ post.text }}</p>",
                                           "<p>{{ post.likes }}</p>",
                                           "<p>{{ post.pinned }}</p>",
                                           "<a href=\"{{ post.author.site }}\">a</a>",
                                           "<i>{{ post.author.name }}</i>",
                                           "<a href=\"/u/{{ user }}\">a</a>"};
    std::string source;
    for (int i = 0; i < 20; ++i) {
        source += values[i % 10];
        source += "<p class=\"card\">" + std::string(165, 'a') + "</p>\n";
    }
    return source;
}

Template compiled(const std::string& source) {
    auto made = Template::compile("page", source);
    TR_CHECK(made.has_value());
    return std::move(*made);
}

void render_twenty_values(benchmark::State& state) {
    const Template page = compiled(page_source());
    const Page value;
    std::string out;
    for (auto _ : state) {
        out.clear();
        benchmark::DoNotOptimize(page.render(out, value));
    }
    state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(render_twenty_values);

void render_a_hundred_rows(benchmark::State& state) {
    const Template page = compiled(
        "{% for post in posts %}<li>{{ loop.index }} <a href=\"/p/{{ post.likes }}\">{{ post.title "
        "}}</a>{% if post.pinned and post.likes > 3 %} by {{ post.author.name }}{% endif %}</li>\n"
        "{% endfor %}");
    Page value;
    value.posts.resize(100);
    std::string out;
    for (auto _ : state) {
        out.clear();
        benchmark::DoNotOptimize(page.render(out, value));
    }
}
BENCHMARK(render_a_hundred_rows);

void compile_and_check(benchmark::State& state) {
    const std::string source = page_source();
    for (auto _ : state) {
        Template page = compiled(source);
        benchmark::DoNotOptimize(page.check<Page>());
    }
}
BENCHMARK(compile_and_check);

}  // namespace
}  // namespace tiderace::text
