// A configuration of nginx as a tree of directives, includes in their places.
//
//   server { listen 80; }    {"server", {}, block {{"listen", {"80"}}}}
//
// Thread   One; blocks on the disk.
// Errors   Of syntax the first, with its place, in nginx's sense.
// Limits   depth_max blocks and includes in one another, directives_max; files as DocumentReader.
// Keywords: crossplane
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "server/config/document.h"

namespace tiderace::server::nginx {

struct Directive {
    std::string name;
    std::vector<std::string> words;  // behind the name, without their quotes
    std::string file;
    std::size_t line = 0;
    bool has_block = false;
    std::vector<Directive> block;

    // "nginx.conf:12"
    std::string place() const { return file + ":" + std::to_string(line); }
    // "return 301 https://$host", as it may be written.
    std::string text() const;
};

struct Fault {
    std::string sentence;  // with its place
    bool is_syntax = true;
};

class Reader {
  public:
    static constexpr std::size_t depth_max = 32;
    static constexpr std::size_t directives_max = 100'000;

    explicit Reader(const config::DocumentWorld& world) : world_(world) {}

    // What the file of an `include` cannot give stays an `include`.
    std::expected<std::vector<Directive>, Fault> read(const std::string& path);

  private:
    class FileReader;

    std::expected<std::vector<Directive>, Fault> read_at_depth(const std::string& path,
                                                               std::size_t depth);
    std::expected<void, Fault> include(std::vector<Directive>& into, Directive&& directive,
                                       std::size_t depth);

    const config::DocumentWorld& world_;
    std::string folder_;  // of the first file: names are relative to it
    std::size_t directives_ = 0;
    std::size_t files_ = 0;
};

}  // namespace tiderace::server::nginx
