#include "tiderace/http/listing/readme.h"

#include <algorithm>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/text/html_escape.h"

namespace tiderace::http::listing {
namespace {

// How far ahead we search for the end of an emphasis or a link, so that a text of openings without
// ends costs at most its length times this.
constexpr std::size_t span_bytes_max = 512;

// Keeps line breaks and tabs: they are layout here, and not part of a name.
std::string escape(ByteView text) {
    std::string out(text.size() * wire::html_growth_max, '\0');
    wire::BoundedText bounded(out);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("\n\t\r"), text.size());
        wire::append_html(bounded, text.substr(0, end));
        if (end < text.size() && text[end] != '\r') bounded.append(text[end]);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    out.resize(bounded.size());
    return out;
}

bool is_harmless(ByteView address) {
    // The allowed schemes are listed, not the forbidden ones: "javascript:" has many spellings.
    for (const ByteView scheme : {"http://", "https://", "mailto:"}) {
        if (wire::equals_ignoring_case(address.substr(0, scheme.size()), scheme)) return true;
    }
    // Relative: no colon before the first character that ends a scheme.
    const std::size_t colon = address.find(':');
    return colon == ByteView::npos || address.find_first_of("/?#") < colon;
}

// One paragraph's text: code, emphasis, links. Everything else is escaped as it is.
class Inline {
  public:
    explicit Inline(ByteView text) : rest_(text) {}

    std::string html() {
        std::size_t plain = 0;  // bytes before the front that nothing has claimed
        const char* begin = rest_.data();
        while (!rest_.empty()) {
            const std::string element = take_element();
            if (element.empty()) {
                rest_.remove_prefix(1);
                ++plain;
                continue;
            }
            out_ += escape({begin, plain}) + element;
            begin = rest_.data();
            plain = 0;
        }
        return out_ + escape({begin, plain});
    }

  private:
    std::string take_element() {
        if (rest_.starts_with('`')) return take_between("`", "code");
        if (rest_.starts_with("**")) return take_between("**", "strong");
        if (rest_.starts_with('*')) return take_between("*", "em");
        if (rest_.starts_with("![")) return take_link(2);
        if (rest_.starts_with('[')) return take_link(1);
        return {};
    }

    std::string take_between(ByteView mark, const char* tag) {
        const ByteView window = rest_.substr(mark.size(), span_bytes_max);
        const std::size_t end = window.find(mark);
        if (end == ByteView::npos || end == 0 || window.front() == ' ') return {};
        const std::string inside = escape(window.substr(0, end));
        rest_.remove_prefix(end + 2 * mark.size());
        return std::string("<") + tag + ">" + inside + "</" + tag + ">";
    }

    // [text](address); a picture becomes a link to it.
    std::string take_link(std::size_t opening) {
        const ByteView window = rest_.substr(opening, span_bytes_max);
        const std::size_t middle = window.find("](");
        if (middle == ByteView::npos) return {};
        const std::size_t end = window.find(')', middle);
        if (end == ByteView::npos) return {};
        const ByteView text = window.substr(0, middle);
        const ByteView address = window.substr(middle + 2, end - middle - 2);
        if (text.empty() || !is_harmless(address)) return {};
        rest_.remove_prefix(opening + end + 1);
        return "<a rel=\"nofollow noopener\" href=\"" + escape(address) + "\">" + escape(text) +
               "</a>";
    }

    ByteView rest_;
    std::string out_;
};

ByteView trim(ByteView line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
        line.remove_suffix(1);
    }
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    return line;
}

// Line by line; an open block (paragraph, list, quote, code) ends when another kind of line comes.
class Blocks {
  public:
    void add(ByteView line) {
        const ByteView text = trim(line);
        // Inside code no line has a meaning but the one that ends it.
        if (block_ == Block::code) return text.starts_with("```") ? end_block() : add_code(line);
        if (text.starts_with("```")) return begin(Block::code);
        if (text.empty()) return end_block();
        const std::size_t level = std::min(text.find_first_not_of('#'), text.size());
        if (level > 0 && level <= 6 && level < text.size() && text[level] == ' ') {
            return add_heading(level, trim(text.substr(level)));
        }
        if (text.size() >= 3 && text.find_first_not_of('-') == ByteView::npos) {
            end_block();
            out_ += "<hr>\n";
            return;
        }
        if (text.starts_with("> ") || text == ">") return add_text(Block::quote, text.substr(1));
        if (text.starts_with("- ") || text.starts_with("* ") || text.starts_with("+ ")) {
            return add_item(Block::bullets, text.substr(2));
        }
        const std::size_t digits = text.find_first_not_of("0123456789");
        if (digits > 0 && digits <= 3 && text.substr(digits).starts_with(". ")) {
            return add_item(Block::numbers, text.substr(digits + 2));
        }
        const bool goes_on =
            block_ == Block::bullets || block_ == Block::numbers || block_ == Block::quote;
        add_text(goes_on ? block_ : Block::paragraph, text);
    }

    std::string html() {
        end_block();
        return std::move(out_);
    }

  private:
    enum class Block : std::uint8_t { none, paragraph, bullets, numbers, quote, code };

    void add_heading(std::size_t level, ByteView text) {
        end_block();
        // The page has its own <h1>.
        const std::string tag = "h" + std::to_string(std::min<std::size_t>(level + 1, 6));
        out_ += "<" + tag + ">" + Inline(text).html() + "</" + tag + ">\n";
    }
    void add_code(ByteView line) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        text_.append(line).append("\n");
    }
    void add_text(Block block, ByteView text) {
        if (block_ != block) begin(block);
        if (!text_.empty()) text_ += ' ';
        text_ += trim(text);
    }
    void add_item(Block block, ByteView text) {
        if (block_ != block) begin(block);
        end_item();
        text_ = trim(text);
    }
    void end_item() {
        if (!text_.empty()) out_ += "<li>" + Inline(text_).html() + "</li>\n";
        text_.clear();
    }
    void begin(Block block) {
        end_block();
        block_ = block;
        if (block == Block::bullets) out_ += "<ul>\n";
        if (block == Block::numbers) out_ += "<ol>\n";
    }
    void end_block() {
        switch (block_) {
            case Block::none:
                break;
            case Block::paragraph:
                out_ += "<p>" + Inline(text_).html() + "</p>\n";
                break;
            case Block::quote:
                out_ += "<blockquote>" + Inline(text_).html() + "</blockquote>\n";
                break;
            case Block::code:
                out_ += "<pre tabindex=\"0\"><code>" + escape(text_) + "</code></pre>\n";
                break;
            case Block::bullets:
                end_item();
                out_ += "</ul>\n";
                break;
            case Block::numbers:
                end_item();
                out_ += "</ol>\n";
                break;
        }
        block_ = Block::none;
        text_.clear();
    }

    Block block_ = Block::none;
    std::string text_;
    std::string out_;
};

std::string markdown(ByteView text) {
    Blocks blocks;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        blocks.add(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return blocks.html();
}

}  // namespace

std::string readme_html(ByteView name, ByteView text) {
    if (name.ends_with(".md")) return markdown(text);
    return "<pre class=\"plain\">" + escape(text) + "</pre>\n";
}

}  // namespace tiderace::http::listing
