// Document: a TOML configuration as a tree in which each key and value knows its place.
//
//   include = ["sites/*.toml"]     relative to the including file, sorted, at most 8 deep
//   "${NAME}", "${NAME:-default}"  the environment, once, when the file is read
//   "${file:/run/secrets/x}"       a file without its last line end; dump does not show it
//
// Of files that are included, arrays append and tables join; one value set twice is an error.
//
// Thread   One; blocks on the disk.
// Errors   Problems, with their places. TOML's own syntax stops at the first of a file.
// Limits   files_max files of file_bytes_max; secrets of secret_bytes_max.
// Keywords: toml, include, environment
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/account.h"
#include "server/config/problems.h"
#include "server/options.h"
#include "tiderace/base/result.h"

namespace tiderace::server::config {

struct Value;
struct Member;

using Array = std::vector<Value>;

struct Table {
    std::vector<Member> members;  // in the order of the file

    const Member* find(std::string_view key) const;
    Member* find(std::string_view key);
};

struct Date {};  // TOML's dates and times, which no key takes

struct Value {
    Place at;
    std::variant<bool, std::int64_t, double, std::string, Date, Array, Table> content;
    bool is_secret = false;      // it has the content of a file that ${file:…} names
    std::string variables = {};  // of the environment, that it has: "NAME", "A, B"

    template <typename T>
    const T* get() const {
        return std::get_if<T>(&content);
    }
    // The kind of this value as a noun for a sentence: "a string", "a table".
    std::string_view noun() const;
};

struct Member {
    std::string key;
    Place at;
    Value value;
};

enum class FileKind : std::uint8_t {
    file,
    folder,
    log,          // appended to, or made in its folder, by the user that starts the server
    rotated_log,  // and made anew by the user that serves
};

std::vector<std::string> files_of(const std::string& pattern);

// Where files and variables come from.
struct DocumentWorld {
    std::function<Result<std::string>(const std::string& path, std::size_t bytes_max)> read;
    std::function<std::optional<std::string>(const std::string& name)> variable;
    // Whether the file, or the folder, is there and may be used.
    std::function<Result<>(const std::string& path, FileKind kind)> look;
    // What sites name is read by the user that will serve them, whose name this gets. nullptr: by
    // the one that we are.
    std::function<Result<std::unique_ptr<ActingAs>>(const std::string& user)> act = {};
    // The files that a pattern of glob(3) matches, sorted.
    std::function<std::vector<std::string>(const std::string& pattern)> list = files_of;
    // Looks at logs, at password files, and whether a source of a program would be sent.
    bool looks_closely = false;
};
// The disk's and the environment's.
DocumentWorld this_world();

// Whether it has * ? or [, which glob(3) takes for patterns.
bool is_pattern(std::string_view path);

// What reading a configuration needs: its files, its problems, the world around it.
struct Reading {
    Sources& sources;
    Problems& problems;
    const DocumentWorld& world;

    // A path as the file has it, which is relative to the file.
    std::string path_of(const std::string& text, Place at) const;
    // The same, and a problem where there is no such thing.
    std::string path_of(const std::string& text, Place at, FileKind kind) const;
    // Where this byte of a text stands; the place of the text where its file does not show it.
    Place place_in(const Value& text, std::size_t byte) const;
    // The name of an access log.
    void look_at_log(const Value& value, const ServeOptions& server) const;
};

class DocumentReader {
  public:
    static constexpr std::size_t file_bytes_max = 16u << 20;
    static constexpr std::size_t secret_bytes_max = 64u << 10;
    static constexpr std::size_t files_max = 10'000;
    static constexpr std::size_t depth_max = 8;

    explicit DocumentReader(const Reading& reading) : reading_(reading) {}

    // All of the configuration; what could not be read is a problem and left out.
    Table read(const std::string& path);

  private:
    Table read_file(const std::string& path, const Place* named_at, std::size_t depth);
    void add_included(Table& into, std::size_t depth);
    void include(Table& into, const Value& pattern, std::size_t depth);
    void replace_in(Value& value);
    void replace_in(Table& table);
    std::string replaced(const std::string& text, Value& value);
    std::optional<std::string> variable(const std::string& inner, Value& value);

    Reading reading_;
    std::vector<std::string> open_;  // files that include the one that is read
};

// Arrays append, tables join; the same value twice is an error that names both places.
void join(Table& into, Table&& from, const Sources& sources, Problems& problems);

}  // namespace tiderace::server::config
