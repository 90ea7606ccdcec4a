#include "server/nginx/reader.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::server::nginx {
namespace {

// Files that need not be read: their content is built in.
constexpr std::string_view built_in[] = {"mime.types", "fastcgi_params", "fastcgi.conf",
                                         "fastcgi-php.conf"};

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

bool needs_quotes(std::string_view word) {
    return word.empty() || word.find_first_of(" \t\r\n;{}\"'#") != word.npos;
}

}  // namespace

std::string Directive::text() const {
    std::string text = name;
    for (const std::string& word : words) {
        text += ' ';
        if (!needs_quotes(word)) {
            text += word;
            continue;
        }
        text += '"';
        for (const char c : word) {
            if (c == '"' || c == '\\') text += '\\';
            text += c;
        }
        text += '"';
    }
    return text;
}

// The words of one file.
class Reader::FileReader {
  public:
    FileReader(Reader& reader, std::string path, std::string_view text, std::size_t depth)
        : reader_(reader), path_(std::move(path)), rest_(text), depth_(depth) {}

    std::expected<std::vector<Directive>, Fault> read_block(std::size_t blocks) {
        std::vector<Directive> all;
        while (true) {
            const auto end = skip_blanks();
            if (end == '\0' || end == '}') {
                if ((end == '}') == (blocks > 0)) return all;
                return fault(end == '}' ? "\"}\" closes nothing" : "a \"}\" is missing");
            }
            if (++reader_.directives_ > directives_max) return fault("too many directives");
            Directive directive{.name = {}, .words = {}, .file = path_, .line = line_};
            if (auto read = read_directive(directive, blocks); !read) {
                return std::unexpected(std::move(read.error()));
            }
            if (directive.name == "include" && directive.words.size() == 1) {
                auto included = reader_.include(all, std::move(directive), depth_);
                if (!included) return std::unexpected(std::move(included.error()));
            } else {
                all.push_back(std::move(directive));
            }
        }
    }

  private:
    std::unexpected<Fault> fault(std::string_view what) const {
        return std::unexpected(
            Fault{path_ + ":" + std::to_string(line_) + ": " + std::string(what)});
    }

    void skip(std::size_t count) {
        line_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, count), '\n'));
        rest_.remove_prefix(count);
    }

    // What comes next; '\0' at the end.
    char skip_blanks() {
        while (!rest_.empty()) {
            if (rest_[0] == '#') {
                skip(std::min(rest_.find('\n'), rest_.size()));
            } else if (is_space(rest_[0])) {
                skip(1);
            } else {
                return rest_[0] == '\0' ? ' ' : rest_[0];
            }
        }
        return '\0';
    }

    // To its ";" or the end of its block.
    std::expected<void, Fault> read_directive(Directive& directive, std::size_t blocks) {
        bool is_first = true;
        while (true) {
            const char next = skip_blanks();
            if (next == '\0') return fault("a \";\" is missing");
            if (next == '}') return fault("a \";\" is missing before \"}\"");
            if ((next == ';' || next == '{') && is_first) {
                return fault("a name is missing before \"" + std::string(1, next) + "\"");
            }
            if (next == ';') {
                skip(1);
                return {};
            }
            if (next == '{') {
                skip(1);
                return read_inner(directive, blocks);
            }
            auto word = read_word();
            if (!word) return std::unexpected(std::move(word.error()));
            if (is_first) {
                directive.name = std::move(*word);
            } else {
                directive.words.push_back(std::move(*word));
            }
            is_first = false;
        }
    }

    std::expected<void, Fault> read_inner(Directive& directive, std::size_t blocks) {
        if (blocks >= depth_max) return fault("blocks lie too deep in one another");
        auto block = read_block(blocks + 1);
        if (!block) return std::unexpected(std::move(block.error()));
        skip(1);
        directive.has_block = true;
        directive.block = std::move(*block);
        return {};
    }

    // A backslash stays, but before a quote, a backslash and what it makes a blank.
    void add_escaped(std::string& word) {
        const char c = rest_.size() > 1 ? rest_[1] : '\0';
        constexpr std::string_view names = "\"'\\tnr", are = "\"'\\\t\n\r";
        const std::size_t at = c == '\0' ? names.npos : names.find(c);
        if (at == names.npos) word += '\\';
        word += at == names.npos ? c : are[at];
        skip(std::min<std::size_t>(2, rest_.size()));
    }

    std::expected<std::string, Fault> read_word() {
        std::string word;
        const char quote = rest_[0] == '"' || rest_[0] == '\'' ? rest_[0] : '\0';
        const std::size_t begun = line_;
        if (quote != '\0') skip(1);
        while (!rest_.empty()) {
            const char c = rest_[0];
            if (c == '\\') {
                add_escaped(word);
            } else if (quote != '\0' && c == quote) {
                skip(1);
                const bool ends = rest_.empty() || is_space(rest_[0]) ||
                                  std::string_view(";{)").contains(rest_[0]);
                if (!ends) return fault("a blank is missing behind a quote");
                return word;
            } else if (quote == '\0' && c == '$' && rest_.starts_with("${")) {
                word += "${";
                skip(2);
            } else if (quote == '\0' && (is_space(c) || c == ';' || c == '{')) {
                return word;
            } else {
                word += c;
                skip(1);
            }
        }
        if (quote == '\0') return word;
        line_ = begun;
        return fault("a quote is not closed");
    }

    Reader& reader_;
    std::string path_;
    std::string_view rest_;
    std::size_t depth_;
    std::size_t line_ = 1;
};

std::expected<std::vector<Directive>, Fault> Reader::read(const std::string& path) {
    folder_ = path.substr(0, path.rfind('/') + 1);
    return read_at_depth(path, 0);
}

std::expected<std::vector<Directive>, Fault> Reader::read_at_depth(const std::string& path,
                                                                   std::size_t depth) {
    if (++files_ > config::DocumentReader::files_max)
        return std::unexpected(Fault{"too many files"});
    const auto text = world_.read(path, config::DocumentReader::file_bytes_max);
    if (!text) return std::unexpected(Fault{"cannot " + text.error().message(), false});
    return FileReader(*this, path, *text, depth).read_block(0);
}

std::expected<void, Fault> Reader::include(std::vector<Directive>& into, Directive&& directive,
                                           std::size_t depth) {
    const std::string& pattern = directive.words[0];
    const bool is_built_in = std::ranges::find(built_in, file_name(pattern)) != std::end(built_in);
    const std::string whole = pattern.starts_with('/') ? pattern : folder_ + pattern;
    std::vector<std::string> files{whole};
    if (config::is_pattern(whole)) files = config::files_of(whole);
    if (is_built_in || depth >= depth_max) {
        into.push_back(std::move(directive));
        return {};
    }
    for (const std::string& each : files) {
        auto inner = read_at_depth(each, depth + 1);
        if (inner) {
            std::ranges::move(*inner, std::back_inserter(into));
        } else if (inner.error().is_syntax) {
            return std::unexpected(std::move(inner.error()));
        } else {
            into.push_back(directive);
        }
    }
    return {};
}

}  // namespace tiderace::server::nginx
