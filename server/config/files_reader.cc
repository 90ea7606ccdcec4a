#include "server/config/files_reader.h"

#include <algorithm>

#include "server/config/route_reader.h"
#include "server/site/variables.h"
#include "tiderace/http/wire/canonical_path.h"

namespace tiderace::server::config {
namespace {

constexpr std::string_view switches[] = {"listing", "fallback", "clean_urls", "hidden"};

bool is_path(std::string_view text) {
    return text.starts_with('/') && !text.contains("//") &&
           !(std::string(text) + "/").contains("/../");
}

}  // namespace

bool FilesReader::read(TableKind kind, const Member& member, Route& route, ServeOptions& options) {
    const std::string& key = member.key;
    const bool is_switch = std::ranges::find(switches, key) != std::end(switches);
    if (key == "root") {
        read_root(member, kind, route, options);
    } else if (key == "try" || key == "rewrite") {
        read_tries(member, route);
    } else if (key == "strip" || key == "prefix") {
        read_path(member, route);
    } else if (key == "index" && kind == TableKind::site) {
        read_index(member, options);
    } else if (key == "index") {
        ServeOptions read;
        read_index(member, read);
        route.files.index = read.index;
    } else if (is_switch && kind == TableKind::route) {
        ServeOptions read;
        if (!read_key(*find_key(TableKind::site, key), member.value, read, reading_)) return true;
        if (key == "listing") route.files.listing = read.listing;
        if (key == "fallback") route.files.fallback = read.spa_file;
        if (key == "clean_urls") route.files.clean_urls = read.clean_urls;
        if (key == "hidden") route.files.hidden = read.hidden_files;
    } else {
        return false;
    }
    return true;
}

// "/srv/sites/{host.1}": the folder before the first part that changes with the request, and that
// part before each path.
void FilesReader::read_root(const Member& member, TableKind kind, Route& route,
                            ServeOptions& options) {
    const auto* const text = member.value.get<std::string>();
    if (text == nullptr || text->empty()) {
        reading_.problems.error(member.value.at, "root expects the name of a folder");
        return;
    }
    std::string folder = *text;
    // A variable of the environment that is not set, which is a problem already.
    if (folder.contains("${")) return;
    if (const std::size_t brace = folder.find_first_of("{}"); brace != folder.npos) {
        if (!has_sound_variables(folder, route.match, member.value.at, reading_)) return;
        const std::size_t slash = folder.rfind('/', brace);
        if (slash == folder.npos || has_path_variable(folder)) {
            reading_.problems.error(member.value.at, "a root changes with the host alone",
                                    "root = \"/srv/sites/{host.1}\"");
            return;
        }
        route.files.prefix = folder.substr(slash);
        folder.resize(std::max<std::size_t>(slash, 1));
    }
    folder = reading_.path_of(folder, member.value.at, FileKind::folder);
    if (kind == TableKind::route) {
        route.files.root = std::move(folder);
    } else {
        options.root = std::move(folder);
    }
}

void FilesReader::read_index(const Member& member, ServeOptions& options) {
    const Array* const names = member.value.get<Array>();
    std::string joined;
    bool are_texts = names != nullptr;
    for (const Value& each : names != nullptr ? *names : Array{}) {
        const auto* const name = each.get<std::string>();
        are_texts = are_texts && name != nullptr;
        if (name != nullptr) joined += (joined.empty() ? "" : ",") + *name;
    }
    if (!are_texts) {
        reading_.problems.error(member.value.at,
                                type_fault("index", "a list of file names", member.value),
                                "index = [\"index.html\"], or [] for none");
        return;
    }
    read_flag_text("index", names->empty() ? "none" : joined, member.value.at, options,
                   reading_.problems);
}

void FilesReader::read_path(const Member& member, Route& route) {
    const auto* const text = member.value.get<std::string>();
    const bool is_strip = member.key == "strip";
    std::string path = text != nullptr ? *text : "";
    while (path.ends_with('/')) path.pop_back();
    if (!is_path(path)) {
        reading_.problems.error(member.value.at, member.key + " expects a path",
                                member.key + " = \"/static\"");
    } else if (!is_strip) {
        if (has_sound_variables(path, route.match, member.value.at, reading_))
            route.files.prefix = std::move(path);
    } else if (path.contains('{') || (route.match.kind() != http::RouteMatch::Kind::pattern &&
                                      !route.match.path.empty() &&
                                      !http::wire::is_below(route.match.plain_path(), path))) {
        reading_.problems.error(member.value.at, "no path of this route begins with that",
                                "strip is the route's path, or the front of it");
    } else {
        route.files.strip = std::move(path);
    }
}

// A rewrite is a try of one name: the last is taken whether it is there or not.
void FilesReader::read_tries(const Member& member, Route& route) {
    const bool is_rewrite = member.key == "rewrite";
    const Array one{member.value};
    const Array* const names = is_rewrite ? &one : member.value.get<Array>();
    if (names == nullptr || names->empty()) {
        reading_.problems.error(member.value.at, "try expects a list of names",
                                "try = [\"{path}\", \"{path}/\", \"/index.html\"], or with a "
                                "status at the end");
        return;
    }
    route.files.tries.clear();
    route.files.or_status = 0;
    for (const Value& each : *names) {
        const auto* const text = each.get<std::string>();
        const auto* const status = each.get<std::int64_t>();
        const bool is_last = &each == &names->back();
        if (status != nullptr && is_last && !is_rewrite && *status >= 400 && *status <= 599) {
            route.files.or_status = static_cast<int>(*status);
        } else if (text == nullptr || !(is_path(*text) || text->starts_with("{path}"))) {
            reading_.problems.error(
                each.at,
                member.key +
                    " expects paths, such as \"{path}\" or "
                    "\"/index.html\"",
                is_rewrite ? "rewrite = \"/new{rest}\"" : "a status, 400 to 599, may be the last");
        } else if (has_sound_variables(*text, route.match, each.at, reading_)) {
            route.files.tries.push_back(*text);
        }
    }
}

bool has_sound_variables(std::string_view text, const http::RouteMatch& match, Place at,
                         const Reading& reading) {
    const std::string fault = variable_fault(text, match);
    if (fault.empty()) return true;
    reading.problems.error(at, fault,
                           match.regex != nullptr
                               ? "{path}, {1} for a first group, {name} for (?<name>…), {host}, "
                                 "{host.1} for a first label"
                               : "{path}, {rest} behind the route's, {1} for a first star, {host}, "
                                 "{host.1} for a first label");
    return false;
}

void FilesReader::check(const Table& table, const Route& route) {
    const auto refuse_beside = [&](std::string_view one, std::string_view other) {
        const Member* const at = table.find(one);
        if (at == nullptr || table.find(other) == nullptr) return;
        reading_.problems.error(
            at->at, "\"" + std::string(one) + "\" stands beside \"" + std::string(other) + "\"",
            "both say what stands for a missing file: leave one of them out");
    };
    refuse_beside("try", "fallback");
    refuse_beside("rewrite", "fallback");
    refuse_beside("rewrite", "try");
    for (const std::string_view key :
         {"strip", "prefix", "rewrite", "try", "index", "listing", "fallback", "clean_urls"}) {
        const Member* const at = table.find(key);
        if (at == nullptr || !route.answers_itself()) continue;
        reading_.problems.error(at->at, "\"" + std::string(key) +
                                            "\" is about files, and this does not answer with "
                                            "files");
    }
}

}  // namespace tiderace::server::config
