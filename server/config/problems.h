// What is wrong with a configuration, and where: all of it at once.
//
//   site.toml:12:1: error: [[site]] has no key "indx"
//    12 | indx = ["index.html"]
//       | ^^^^
//       = did you mean "index"?
//
// Thread   One.
// Limits   problems_max are kept; the rest is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiderace::server::config {

// Where something stands. Lines and columns count from 1, columns in characters; line 0: the whole
// file.
struct Place {
    std::uint32_t file = 0;  // of Sources
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t width = 1;  // characters to mark
};

struct SourceFile {
    std::string name;  // as a person would type it
    std::string text;
};

// The files of one configuration, in the order in which they were opened.
class Sources {
  public:
    std::uint32_t add(SourceFile file);
    const SourceFile& file(std::uint32_t number) const { return files_[number]; }
    std::size_t count() const { return files_.size(); }
    // "site.toml:12:1"
    std::string name_of(Place at) const;
    // Without its end; "" where there is no such line.
    std::string_view line_of(Place at) const;

  private:
    struct Lines {
        std::vector<std::size_t> begins;
    };
    std::vector<SourceFile> files_;
    std::vector<Lines> lines_;
};

enum class Severity : std::uint8_t { error, warning };

struct Problem {
    Severity severity = Severity::error;
    Place at;
    std::string what;    // one sentence, without a final stop
    std::string advice;  // what to do; "": `what` says it
};

class Problems {
  public:
    static constexpr std::size_t problems_max = 100;

    void error(Place at, std::string what, std::string advice = {}) {
        add({Severity::error, at, std::move(what), std::move(advice)});
    }
    void warning(Place at, std::string what, std::string advice = {}) {
        add({Severity::warning, at, std::move(what), std::move(advice)});
    }

    std::size_t errors() const { return errors_; }
    std::size_t warnings() const { return warnings_; }
    // In the order of the files and their lines.
    std::vector<Problem> sorted() const;
    // All of them as a person reads them; the last line counts. "" without one.
    std::string text(const Sources& sources) const;

  private:
    void add(Problem problem);

    std::vector<Problem> kept_;
    std::size_t errors_ = 0;
    std::size_t warnings_ = 0;
};

}  // namespace tiderace::server::config
