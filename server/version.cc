#include "server/version.h"

#include <algorithm>

#include "server/build_facts.h"
#include "server/commit.h"
#include "tiderace/http/coding/content_encoder.h"
#include "tiderace/http/listing/readme.h"
#include "tiderace/http/route/regex.h"
#include "tiderace/tls/library.h"
#include "tiderace/version.h"

namespace tiderace::server {
namespace {

void add_line(std::string& text, std::string_view label, std::string_view value) {
    // Made without it: outside a repository there is no commit, and most builds have no sanitizer.
    if (value.empty()) return;
    text.append(label).append(12 - label.size(), ' ').append(value).append("\n");
}

std::string engines() {
    std::string names;
    for (const std::string_view name : engine_choices) {
        // A choice, and no engine.
        if (name == "auto") continue;
        if (!names.empty()) names += ", ";
        names += name;
    }
    return names;
}

std::string compression() {
    std::string names;
    for (const auto coding : {http::wire::ContentCoding::br, http::wire::ContentCoding::zstd,
                              http::wire::ContentCoding::gzip}) {
        const ByteView recipe = http::coding::recipe_of(coding);
        if (recipe.empty()) continue;
        if (!names.empty()) names += ", ";
        // "zlib 1.2.13": what follows is about levels
        names.append(recipe.substr(0, recipe.find(' ', recipe.find(' ') + 1)));
    }
    return names.empty() ? "none" : names;
}

std::string features() {
    std::string names;
    if (TIDERACE_HAVE_CRYPT) names += "basic-auth";
    if (TIDERACE_HAVE_QRENCODE) names += names.empty() ? "qr-code" : ", qr-code";
    if (http::listing::readme_renders_markdown())
        names += names.empty() ? "markdown" : ", markdown";
    if (http::route::has_regexes())
        names += (names.empty() ? "" : ", ") + http::route::regex_library_text();
    return names.empty() ? "none" : names;
}

}  // namespace

std::string_view systems_of_engine(std::string_view engine) {
    // This build has it.
    if (std::ranges::find(engine_choices, engine) != engine_choices.end()) return "";
    if (engine == "kqueue") return "BSD and macOS";
    return engine == "io_uring" || engine == "epoll" ? "Linux" : "";
}

std::string_view version() {
    return TIDERACE_VERSION_TEXT;
}

std::string version_line() {
    return "tiderace " TIDERACE_VERSION_TEXT "\n";
}

std::string version_and_commit() {
    const std::string commit = TIDERACE_COMMIT;
    return TIDERACE_VERSION_TEXT + (commit.empty() ? "" : " (" + commit + ")");
}

std::string build_text() {
    return std::string(TIDERACE_COMPILER) + ", " + TIDERACE_BUILD_TYPE;
}

std::string version_details() {
    std::string text = version_line();
    add_line(text, "commit", TIDERACE_COMMIT);
    add_line(text, "compiler", TIDERACE_COMPILER);
    add_line(text, "build", TIDERACE_BUILD_TYPE);
    add_line(text, "sanitizers", TIDERACE_SANITIZERS);
    add_line(text, "engines", engines());
    add_line(text, "compression", compression());
    add_line(text, "features", features());
    add_line(text, "tls", tls::library_text());
    return text;
}

}  // namespace tiderace::server
