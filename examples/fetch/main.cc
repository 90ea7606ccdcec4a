// fetch: bodies of URLs to standard output, one after another, over connections that are kept.
//
//   fetch [--ca FILE] [--post TEXT] URL…
//
// Each URL gives a line on standard error: its status and length, or what is wrong. Exit status 0:
// all were answered with 2xx.
#include <tiderace/client.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using tiderace::Task;
using tiderace::http::AnswerStream;
using tiderace::http::Client;
using tiderace::http::ClientOptions;
using tiderace::http::ClientRequest;

struct Wanted {
    ClientOptions options;
    std::string post;
    std::vector<std::string> urls;
};

// Writes each piece as it comes, so that a body of any size takes little memory.
Task<bool> fetch(Client& client, const std::string& post, const std::string& url) {
    ClientRequest request(post.empty() ? "GET" : "POST", url);
    if (!post.empty()) request.content(post);
    auto answer = co_await client.open(std::move(request));
    if (!answer) {
        std::fprintf(stderr, "%s\n", answer.error().message.c_str());
        co_return false;
    }
    std::size_t bytes = 0;
    while (true) {
        auto piece = co_await answer->read();
        if (!piece) {
            std::fprintf(stderr, "%s\n", piece.error().message.c_str());
            co_return false;
        }
        if (piece->empty()) break;
        std::fwrite(piece->data(), 1, piece->size(), stdout);
        bytes += piece->size();
    }
    std::fprintf(stderr, "%s: %d, %zu bytes\n", answer->url().text().c_str(), answer->status(),
                 bytes);
    co_return answer->status() / 100 == 2;
}

Task<int> fetch_all(const Wanted& wanted) {
    Client client(wanted.options);
    bool all = true;
    for (const std::string& url : wanted.urls) {
        const bool done = co_await fetch(client, wanted.post, url);
        all = all && done;
    }
    const std::uintmax_t opened = client.pool() != nullptr ? client.pool()->counters().opened : 0;
    std::fprintf(stderr, "%ju connections\n", opened);
    co_return all ? 0 : 1;
}

int main(int argc, char** argv) {
    Wanted wanted;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--ca" && i + 1 < argc) {
            wanted.options.tls.ca = argv[++i];
        } else if (word == "--post" && i + 1 < argc) {
            wanted.post = argv[++i];
        } else {
            wanted.urls.emplace_back(word);
        }
    }
    if (wanted.urls.empty()) {
        std::fputs("usage: fetch [--ca FILE] [--post TEXT] URL...\n", stderr);
        return 2;
    }
    return tiderace::run(fetch_all(wanted));
}
