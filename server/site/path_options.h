// What `tiderace serve` was given for a path and all below it (--path-auth and its like), and the
// parts of it that the whole site may have as well. site.h applies it.
//
// A prefix is as canonical paths are (http/wire/canonical_path.h), without a '/' at its end:
// "/api"; "" for all paths. It names what a client requests, not files: a link beneath another path
// leads around it.
//
// Thread   Plain data: written before the loops start, read-only after.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/http/filter/rate_limit.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::server {

using http::wire::is_below;

// The rule of the longest prefix that the path is below; of one prefix's, the last. nullptr: none.
template <typename Rule>
const Rule* nearest(const std::vector<Rule>& rules, std::string_view path) {
    const Rule* found = nullptr;
    for (const Rule& rule : rules) {
        const bool is_longer = found == nullptr || rule.prefix.size() >= found->prefix.size();
        if (is_longer && is_below(path, rule.prefix)) found = &rule;
    }
    return found;
}

struct ErrorPage {
    std::uint16_t code = 0;  // 400..599
    std::string file;        // as given, relative to the root
};

struct AddedHeader {
    std::string name;  // a token; never one of the fields that the server itself must decide
    std::string value;
};

struct PathAuth {
    std::string prefix;
    std::string source;  // USER:PASSWORD or a file of such; "off": open
};

struct PathCors {
    std::string prefix;
    std::optional<std::string> origin;  // "*" or one origin; unset: no CORS
};

struct PathRate {
    std::string prefix;
    std::optional<http::filter::RateLimitOptions> limit;  // unset: not limited
};

struct PathHeader {
    std::string prefix;
    AddedHeader field;
};

struct PathErrorPage {
    std::string prefix;
    ErrorPage page;
};

struct PathRedirection {
    std::string prefix;
    std::string target;  // "/new" or "https://…", without a query; "": stays
};

struct PathCompress {
    std::string prefix;
    http::wire::AvailableCodings codings;  // none: off
};

struct PathLog {
    std::string prefix;
    std::string file;  // "off", "-" for standard output, or a file
};

// Each in the place of what the site has; headers beside it.
struct PathOptions {
    static constexpr std::size_t rules_max = 64;  // of each kind
    static constexpr std::size_t logs_max = 16;   // each has a descriptor

    std::vector<PathAuth> auth;
    std::vector<PathCors> cors;
    std::vector<PathRate> rates;
    std::vector<PathHeader> headers;
    std::vector<PathErrorPage> error_pages;
    std::vector<PathRedirection> redirects;
    std::vector<PathCompress> compress;
    std::vector<PathLog> logs;
};

}  // namespace tiderace::server
