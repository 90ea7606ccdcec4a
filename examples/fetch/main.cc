// fetch: bodies of URLs to standard output, one after another, over connections that are kept.
//
//   fetch [--ca FILE] [--post TEXT] [--form NAME=VALUE|NAME=@FILE]… [--save FILE] [--retries N]
//         [--to PLACE] [--http 1.1|2] [--times N] URL…
//
// --http allows one version only: also HTTP/2 in clear text. With --times each URL is requested N
// times at once, and its bodies are counted instead of written. With --save the body of the one URL
// becomes that file. --to is where to connect whatever the URL's host is: unix:/run/docker.sock.
//
// Each answer gives a line on standard error: its version, status and length, or what is wrong.
// Exit status 0: all were answered with 2xx.
#include <tiderace/client.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using tiderace::Task;
using tiderace::http::Client;
using tiderace::http::ClientOptions;
using tiderace::http::ClientRequest;
using tiderace::http::ClientResponseStream;
using tiderace::http::ClientVersions;
using tiderace::http::MultipartForm;

struct Wanted {
    ClientOptions options;
    std::string post;
    std::vector<std::pair<std::string, std::string>> form;  // a file's value begins with '@'
    std::string save;
    std::vector<std::string> urls;
    int times = 0;
};

ClientRequest request_for(const Wanted& wanted, const std::string& url) {
    ClientRequest request(wanted.post.empty() && wanted.form.empty() ? "GET" : "POST", url);
    if (!wanted.post.empty()) request.content(wanted.post);
    if (wanted.form.empty()) return request;
    MultipartForm form;
    for (const auto& [name, value] : wanted.form) {
        value.starts_with('@') ? form.file(name, value.substr(1)) : form.field(name, value);
    }
    request.multipart(std::move(form));
    return request;
}

Task<bool> save(ClientResponseStream& answer, const std::string& path) {
    const auto saved = co_await answer.save(path);
    if (!saved) {
        std::fprintf(stderr, "%s\n", saved.error().message.c_str());
        co_return false;
    }
    std::fprintf(stderr, "%s: %ju bytes\n", path.c_str(), std::uintmax_t{*saved});
    co_return answer.status() / 100 == 2;
}

// Writes each piece as it comes, so that a body of any size takes little memory.
Task<bool> fetch(Client& client, const Wanted& wanted, const std::string& url) {
    auto answer = co_await client.open(request_for(wanted, url));
    if (!answer) {
        std::fprintf(stderr, "%s\n", answer.error().message.c_str());
        co_return false;
    }
    if (!wanted.save.empty()) co_return co_await save(*answer, wanted.save);
    std::size_t bytes = 0;
    while (true) {
        auto piece = co_await answer->read();
        if (!piece) {
            std::fprintf(stderr, "%s\n", piece.error().message.c_str());
            co_return false;
        }
        if (piece->empty()) break;
        if (wanted.times == 0) std::fwrite(piece->data(), 1, piece->size(), stdout);
        bytes += piece->size();
    }
    const std::string version(to_string(answer->version()));
    std::fprintf(stderr, "%s: %s %d, %zu bytes\n", answer->url().text().c_str(), version.c_str(),
                 answer->status(), bytes);
    co_return answer->status() / 100 == 2;
}

Task<int> fetch_all(const Wanted& wanted) {
    Client client(wanted.options);
    bool all = true;
    for (const std::string& url : wanted.urls) {
        std::vector<Task<bool>> at_once;
        for (int i = 0; i < std::max(wanted.times, 1); ++i) {
            at_once.push_back(fetch(client, wanted, url));
        }
        const auto done = co_await tiderace::when_all(std::move(at_once));
        all = all && std::ranges::all_of(done, [](bool each) { return each; });
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
        } else if (word == "--form" && i + 1 < argc) {
            const std::string pair = argv[++i];
            const std::size_t equals = pair.find('=');
            const bool has_value = equals != std::string::npos;
            wanted.form.emplace_back(pair.substr(0, equals),
                                     has_value ? pair.substr(equals + 1) : std::string());
        } else if (word == "--save" && i + 1 < argc) {
            wanted.save = argv[++i];
        } else if (word == "--to" && i + 1 < argc) {
            wanted.options.connect_to = argv[++i];
        } else if (word == "--retries" && i + 1 < argc) {
            wanted.options.retry.attempts_max = 1 + static_cast<unsigned>(std::atoi(argv[++i]));
        } else if (word == "--http" && i + 1 < argc) {
            const bool two = std::string_view(argv[++i]) == "2";
            wanted.options.versions = two ? ClientVersions::http_2 : ClientVersions::http_1_1;
        } else if (word == "--times" && i + 1 < argc) {
            wanted.times = std::atoi(argv[++i]);
        } else {
            wanted.urls.emplace_back(word);
        }
    }
    if (wanted.urls.empty()) {
        std::fputs(
            "usage: fetch [--ca FILE] [--post TEXT] [--form NAME=VALUE|NAME=@FILE]... [--save "
            "FILE]\n"
            "             [--retries N] [--to PLACE] [--http 1.1|2] [--times N] URL...\n",
            stderr);
        return 2;
    }
    return tiderace::run(fetch_all(wanted));
}
