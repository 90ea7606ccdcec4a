// files FOLDER [ADDRESS [CERTIFICATE KEY]]
//
// FILES_MAX and FILES_ALL_MAX bound one file and all of them, such as 2GiB. FILES_HOSTS names the
// server besides its IP addresses and localhost: "files.example.org,nas".
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "examples/files/site.h"

namespace {

// False: the variable holds something else.
bool read_bytes(const char* variable, std::uint64_t& bytes) {
    const char* const text = std::getenv(variable);
    if (text == nullptr) return true;
    const auto given = tiderace::parse_bytes(text);
    if (!given || *given == 0) {
        std::fprintf(stderr, "files: %s=%s: expected a size such as 500MiB\n", variable, text);
        return false;
    }
    bytes = *given;
    return true;
}

std::vector<std::string> names_in(std::string_view list) {
    std::vector<std::string> names;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (comma > 0) names.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return names;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2 || argc == 4 || argc > 5) {
        std::fputs("usage: files FOLDER [ADDRESS [CERTIFICATE KEY]]\n", stderr);
        return 2;
    }
    UploadLimits limits;
    if (!read_bytes("FILES_MAX", limits.file_bytes_max)) return 2;
    if (!read_bytes("FILES_ALL_MAX", limits.all_bytes_max)) return 2;
    const char* const hosts = std::getenv("FILES_HOSTS");
    try {
        const auto uploads = std::make_shared<Uploads>(
            argv[1], limits, std::time(nullptr),
            [](const std::string& line) { std::fprintf(stderr, "files: %s\n", line.c_str()); });
        auto app = make_files(uploads, names_in(hosts != nullptr ? hosts : ""));
        tiderace::http::ServeOptions options{.listen = argc > 2 ? argv[2] : "127.0.0.1:8080"};
        if (argc > 4) options.tls.certificates = {{argv[3], argv[4]}};
        return app.serve(options);
    } catch (const std::exception& fault) {
        std::fprintf(stderr, "files: %s\n", fault.what());
        return 1;
    }
}
