// What `tiderace serve` was given for a path and all below it (--path-auth and its like), and the
// parts of it that the whole site may have as well. site.h applies it.
//
// A prefix is as canonical paths are (http/wire/canonical_path.h), without a '/' at its end:
// "/api"; "" for all paths, "=/api" for that path alone. It names what a client requests, not
// files: a link beneath another path leads around it.
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

// Whether a rule holds where the rules of `path` do. "=/a" is the path "/a" alone, without what is
// below it.
inline bool holds_at(std::string_view path, std::string_view rule) {
    if (rule.starts_with('=')) return path == rule;
    if (path.starts_with('=')) path.remove_prefix(1);
    return is_below(path, rule);
}

// The nearest rule that holds at the path; of one prefix's, the last. nullptr: none.
template <typename Rule>
const Rule* nearest(const std::vector<Rule>& rules, std::string_view path) {
    const Rule* found = nullptr;
    for (const Rule& rule : rules) {
        const bool is_longer = found == nullptr || rule.prefix.size() >= found->prefix.size();
        if (is_longer && holds_at(path, rule.prefix)) found = &rule;
    }
    return found;
}

struct ErrorPage {
    std::uint16_t code = 0;  // 400..599
    std::string file;        // as given, relative to the root
    bool operator==(const ErrorPage&) const = default;
};

struct AddedHeader {
    std::string name;  // a token; never one of the fields that the server itself must decide
    std::string value;
    bool operator==(const AddedHeader&) const = default;
};

struct PathAuth {
    std::string prefix;
    std::string source;  // USER:PASSWORD or a file of such; "off": open
    bool operator==(const PathAuth&) const = default;
};

struct PathCors {
    std::string prefix;
    std::optional<std::string> origin;  // "*" or one origin; unset: no CORS
    bool operator==(const PathCors&) const = default;
};

struct PathRate {
    std::string prefix;
    std::optional<http::filter::RateLimitOptions> limit;  // unset: not limited
    bool operator==(const PathRate&) const = default;
};

struct PathHeader {
    std::string prefix;
    AddedHeader field;
    bool operator==(const PathHeader&) const = default;
};

struct PathErrorPage {
    std::string prefix;
    ErrorPage page;
    bool operator==(const PathErrorPage&) const = default;
};

// What is answered in the place of files: a redirect, a text, or an error.
struct PathAnswer {
    std::string prefix;
    std::string target = {};  // "/new" or "https://…", without a query; "": no redirect
    int status = 308;
    bool keeps_rest = true;  // what follows the path follows the target, and so does the query
    std::string text = {};   // of an answer that is no redirect; "": the status's own page

    std::string_view path() const {
        return std::string_view(prefix).substr(prefix.starts_with('=') ? 1 : 0);
    }
    // The files of the site are back.
    bool is_off() const { return target.empty() && status == 308; }
    bool operator==(const PathAnswer&) const = default;
};

struct PathCompress {
    std::string prefix;
    http::wire::AvailableCodings codings;  // none: off
    bool operator==(const PathCompress&) const = default;
};

struct PathLog {
    std::string prefix;
    std::string file;  // "off", "-" for standard output, or a file
    bool operator==(const PathLog&) const = default;
};

// Each in the place of what the site has; headers beside it.
struct PathOptions {
    static constexpr std::size_t rules_max = 1'000;  // of each kind
    static constexpr std::size_t logs_max = 16;      // each has a descriptor

    std::vector<PathAuth> auth;
    std::vector<PathCors> cors;
    std::vector<PathRate> rates;
    std::vector<PathHeader> headers;
    std::vector<PathErrorPage> error_pages;
    std::vector<PathAnswer> answers;
    std::vector<PathCompress> compress;
    std::vector<PathLog> logs;
    bool operator==(const PathOptions&) const = default;
};

}  // namespace tiderace::server
