#include "server/config/document.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "server/config/keys.h"
#include "server/config/toml.h"
#include "server/file_or_pipe.h"
#include "tiderace/base/utf8.h"

namespace tiderace::server::config {
namespace {

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// The same for all names of one file.
std::string identity_of(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return path;
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

Result<std::string> read_from_disk(const std::string& path, std::size_t bytes_max) {
    return read_file_or_pipe(path, bytes_max);
}

// As the user that opens it at the start: access(2) does not look at whom ActingAs made us.
Result<> look_at_log_on_disk(const std::string& path) {
    struct stat status{};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    const auto refuse = [&](int code, std::string_view advice = {}) {
        return fail(Error(code, "open access log", path, advice));
    };
    if (is_there && S_ISDIR(status.st_mode)) return refuse(EISDIR);
    if (is_there && ::access(path.c_str(), W_OK) == 0) return {};
    if (is_there || errno != ENOENT) return refuse(errno);
    const std::string folder = folder_of(path);
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) return {};
    return refuse(errno, errno == ENOENT ? "its folder must exist" : "");
}

Result<> look_at_disk(const std::string& path, FileKind kind) {
    if (kind == FileKind::log || kind == FileKind::rotated_log) return look_at_log_on_disk(path);
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return fail(Error::last("read", path));
    const bool is_folder = S_ISDIR(status.st_mode);
    if (kind == FileKind::folder && !is_folder) return fail(Error(ENOTDIR, "read", path));
    if (kind == FileKind::file && is_folder) return fail(Error(EISDIR, "read", path));
    const int rights = is_folder ? R_OK | X_OK : R_OK;
    const bool may = ::faccessat(AT_FDCWD, path.c_str(), rights, AT_EACCESS) == 0;
    return may ? Result<>() : fail(Error::last("read", path));
}

// The pattern of this name alone.
std::string without_marks(std::string_view name) {
    std::string pattern;
    for (const char c : name) {
        if (std::string_view("*?[\\").contains(c)) pattern += '\\';
        pattern += c;
    }
    return pattern;
}

}  // namespace

std::vector<std::string> files_of(const std::string& pattern) {
    glob_t found{};
    std::vector<std::string> files;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
    return files;
}

bool is_pattern(std::string_view path) {
    return path.find_first_of("*?[") != path.npos;
}

const Member* Table::find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &Member::key);
    return found != members.end() ? &*found : nullptr;
}

Member* Table::find(std::string_view key) {
    return const_cast<Member*>(std::as_const(*this).find(key));
}

std::string_view Value::noun() const {
    static constexpr std::string_view nouns[] = {
        "true or false", "a whole number", "a fraction", "a string", "a date", "a list", "a table"};
    return nouns[content.index()];
}

DocumentWorld this_world() {
    const auto variable = [](const std::string& name) {
        const char* const value = std::getenv(name.c_str());
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    };
    return {
        .read = read_from_disk, .variable = variable, .look = look_at_disk, .looks_closely = true};
}

std::string Reading::path_of(const std::string& text, Place at) const {
    return text.starts_with('/') ? text : folder_of(sources.file(at.file).name) + text;
}

std::string Reading::path_of(const std::string& text, Place at, FileKind kind) const {
    std::string path = path_of(text, at);
    if (text.contains("${")) return path;  // a variable of it is a problem already
    if (auto found = world.look(path, kind); !found) {
        problems.error(at, "cannot " + in_words_of_the_file(found.error().message()));
    }
    return path;
}

Place Reading::place_in(const Value& text, std::size_t byte) const {
    Place at = text.at;
    std::string_view line = sources.line_of(at);
    for (std::uint32_t column = 1; column < at.column && !line.empty(); ++column) {
        line.remove_prefix(first_utf8_char(line).size);
    }
    const std::string quote(line.substr(0, 1));
    const bool is_shown = (quote == "\"" || quote == "'") && !line.starts_with(quote + quote) &&
                          text.variables.empty() && !text.is_secret;
    if (!is_shown) return at;
    at.width = 1;
    ++at.column;
    line.remove_prefix(1);
    for (std::size_t seen = 0; seen < byte && !line.empty();) {
        const bool is_escape = quote == "\"" && line.starts_with('\\') && line.size() > 1;
        const std::size_t digits = !is_escape ? 0 : line[1] == 'u' ? 4 : line[1] == 'U' ? 8 : 0;
        std::uint32_t code = 0;
        if (digits > 0) {
            const std::string_view hex = line.substr(2, digits);
            std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
        }
        const std::size_t size = is_escape ? 2 + digits : first_utf8_char(line).size;
        // In the text, an escape is the bytes of its character.
        seen += !is_escape ? size : code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        at.column += static_cast<std::uint32_t>(is_escape ? size : 1);
        line.remove_prefix(std::min(size, line.size()));
    }
    return at;
}

void Reading::look_at_log(const Value& value, const ServeOptions& server) const {
    const auto* const text = value.get<std::string>();
    if (!world.looks_closely || text == nullptr || *text == "-" || *text == "off") return;
    path_of(*text, value.at, server.log_rotate_bytes > 0 ? FileKind::rotated_log : FileKind::log);
}

void join(Table& into, Table&& from, const Sources& sources, Problems& problems) {
    for (Member& each : from.members) {
        Member* const known = into.find(each.key);
        if (known == nullptr) {
            into.members.push_back(std::move(each));
            continue;
        }
        auto* const known_array = std::get_if<Array>(&known->value.content);
        auto* const array = std::get_if<Array>(&each.value.content);
        auto* const known_table = std::get_if<Table>(&known->value.content);
        auto* const table = std::get_if<Table>(&each.value.content);
        if (known_array != nullptr && array != nullptr) {
            std::ranges::move(*array, std::back_inserter(*known_array));
        } else if (known_table != nullptr && table != nullptr) {
            join(*known_table, std::move(*table), sources, problems);
        } else {
            problems.error(
                each.at, "\"" + each.key + "\" is set twice",
                "it is set at " + sources.name_of(known->at) + ", too: keep one of both");
        }
    }
}

Table DocumentReader::read(const std::string& path) {
    return read_file(path, nullptr, 0);
}

// `named_at` is where an include names the file.
Table DocumentReader::read_file(const std::string& path, const Place* named_at, std::size_t depth) {
    std::string identity = identity_of(path);
    if (std::ranges::find(open_, identity) != open_.end()) {
        reading_.problems.error(*named_at, path + " includes itself", "leave this include out");
        return {};
    }
    auto text = reading_.world.read(path, file_bytes_max);
    if (!text) {
        if (named_at != nullptr) {
            reading_.problems.error(*named_at, "cannot " + text.error().message());
            return {};
        }
        reading_.problems.error({.file = reading_.sources.add({path, ""})},
                                "cannot " + text.error().message());
        return {};
    }
    if (reading_.sources.count() >= files_max) {
        reading_.problems.error(*named_at, "more than " + std::to_string(files_max) + " files");
        return {};
    }
    const std::uint32_t file = reading_.sources.add({path, std::move(*text)});
    Table table = parse_toml(reading_.sources, file, reading_.problems);
    replace_in(table);
    open_.push_back(std::move(identity));
    add_included(table, depth);
    open_.pop_back();
    return table;
}

void DocumentReader::add_included(Table& into, std::size_t depth) {
    const auto found = std::ranges::find(into.members, "include", &Member::key);
    if (found == into.members.end()) return;
    const Member include_key = std::move(*found);
    into.members.erase(found);
    const Array* const patterns = include_key.value.get<Array>();
    if (patterns == nullptr) {
        reading_.problems.error(include_key.value.at, "include expects a list of files",
                                "include = [\"sites/*.toml\"]");
        return;
    }
    if (depth >= depth_max) {
        reading_.problems.error(include_key.at, "files include one another more than " +
                                                    std::to_string(depth_max) + " deep");
        return;
    }
    for (const Value& pattern : *patterns) include(into, pattern, depth);
}

void DocumentReader::include(Table& into, const Value& pattern, std::size_t depth) {
    const std::string* const text = pattern.get<std::string>();
    if (text == nullptr || text->empty()) {
        reading_.problems.error(pattern.at, "include expects the names of files");
        return;
    }
    std::vector<std::string> files{reading_.path_of(*text, pattern.at)};
    if (is_pattern(*text)) {
        const std::string& whole = files.front();
        // The folder of the file is no pattern, whatever its name.
        const std::string_view folder =
            std::string_view(whole).substr(0, whole.size() - text->size());
        files = reading_.world.list(without_marks(folder) + *text);
    }
    if (files.empty()) reading_.problems.warning(pattern.at, "no file is called " + *text);
    for (const std::string& each : files) {
        join(into, read_file(each, &pattern.at, depth + 1), reading_.sources, reading_.problems);
    }
}

void DocumentReader::replace_in(Table& table) {
    for (Member& each : table.members) replace_in(each.value);
}

void DocumentReader::replace_in(Value& value) {
    if (auto* const text = std::get_if<std::string>(&value.content)) {
        if (text->contains("${")) *text = replaced(*text, value);
    } else if (auto* const array = std::get_if<Array>(&value.content)) {
        for (Value& each : *array) replace_in(each);
    } else if (auto* const table = std::get_if<Table>(&value.content)) {
        replace_in(*table);
    }
}

// The text of a variable is not searched for variables.
std::string DocumentReader::replaced(const std::string& text, Value& value) {
    std::string whole;
    std::size_t done = 0;
    for (std::size_t begin = text.find("${"); begin != std::string::npos;
         begin = text.find("${", done)) {
        const std::size_t end = text.find('}', begin);
        if (end == std::string::npos) {
            reading_.problems.error(value.at, "\"${\" has no \"}\"",
                                    "${NAME}, ${NAME:-default} or ${file:PATH}");
            return text;
        }
        whole.append(text, done, begin - done);
        const auto put = variable(text.substr(begin + 2, end - begin - 2), value);
        if (!put) return text;
        whole += *put;
        done = end + 1;
    }
    return whole.append(text, done);
}

std::optional<std::string> DocumentReader::variable(const std::string& inner, Value& value) {
    if (inner.starts_with("file:")) {
        value.is_secret = true;
        const std::string path = reading_.path_of(inner.substr(5), value.at);
        auto text = reading_.world.read(path, secret_bytes_max);
        if (!text) {
            reading_.problems.error(value.at, "cannot " + text.error().message());
            return std::nullopt;
        }
        if (text->ends_with('\n')) text->pop_back();
        if (text->ends_with('\r')) text->pop_back();
        return std::move(*text);
    }
    const std::size_t mark = inner.find(":-");
    const std::string name = inner.substr(0, mark);
    if (auto found = reading_.world.variable(name)) {
        value.variables.append(value.variables.empty() ? "" : ", ").append(name);
        return found;
    }
    if (mark != std::string::npos) return inner.substr(mark + 2);
    reading_.problems.error(value.at, "the variable " + name + " is not set",
                            "set it, or write ${" + name + ":-default}");
    return std::nullopt;
}

}  // namespace tiderace::server::config
