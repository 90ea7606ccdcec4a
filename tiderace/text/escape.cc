#include "tiderace/text/escape.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/byte_block.h"

namespace tiderace::text {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::array<bool, 256> marks(std::string_view characters) {
    std::array<bool, 256> table{};
    for (const char c : characters) table[static_cast<unsigned char>(c)] = true;
    return table;
}
constexpr std::array<bool, 256> all_but(std::array<bool, 256> table) {
    for (bool& marked : table) marked = !marked;
    return table;
}
constexpr auto alphanumeric =
    marks("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

// What cannot stay as it is in each place: a table, and the same for sixteen bytes at once.
struct HtmlMarks {
    // The backtick, because old versions of Internet Explorer took it for a quote of attributes;
    // NUL, because HTML parsers drop or replace it (HTML 13.2.5).
    static constexpr auto table = marks(std::string_view("&<>\"'`\0", 7));
    static auto bits(auto block) {
        return (block.with_bits(1).equal('\'') |  // and &
                block.with_bits(2).equal('>') |   // and <
                block.equal('"') | block.equal('`') | block.equal('\0'))
            .bits();
    }
};
struct JsMarks {
    // 0xE2 begins U+2028 and U+2029, which end a line of JavaScript.
    static constexpr auto table = [] {
        auto all = marks("\"'`<>&/\\\xE2");
        for (std::size_t control = 0; control < 0x20; ++control) all[control] = true;
        return all;
    }();
    static auto bits(auto block) {
        return (block.at_most(0x1F) | block.with_bits(1).equal('\'') |
                block.with_bits(2).equal('>') | block.equal('"') | block.equal('`') |
                block.equal('/') | block.equal('\\') | block.equal(0xE2))
            .bits();
    }
};
// RFC 3986, 2.3.
struct UrlPartMarks {
    static constexpr auto table = [] {
        auto kept = alphanumeric;
        for (const char c : std::string_view("-._~")) kept[static_cast<unsigned char>(c)] = true;
        return all_but(kept);
    }();
};
// RFC 3986, 2.2 and 2.3, without the apostrophe, which would end an attribute in single quotes, and
// without the ampersand, which begins a character reference.
struct UrlMarks {
    static constexpr auto table = [] {
        auto kept = alphanumeric;
        for (const char c : std::string_view("-._~:/?#[]@!$()*+,;=")) {
            kept[static_cast<unsigned char>(c)] = true;
        }
        return all_but(kept);
    }();
};

// The first marked character at or after `from`; text.size(): none.
template <typename Marks>
std::size_t find_mark(std::string_view text, std::size_t from) {
#if TR_HAS_BYTE_BLOCK
    if constexpr (requires(ByteBlock block) { Marks::bits(block); }) {
        for (; from + ByteBlock::width <= text.size(); from += ByteBlock::width) {
            const std::uint64_t found = Marks::bits(ByteBlock::load(text.data() + from));
            if (found == 0) continue;
            return from + static_cast<unsigned>(std::countr_zero(found)) / ByteBlock::bits_per_byte;
        }
        const std::size_t left = text.size() - from;
        if (left == 0 || Marks::bits(block_of_short(text.data() + from, left)) == 0) {
            return text.size();
        }
    }
#endif
    while (from < text.size() && !Marks::table[static_cast<unsigned char>(text[from])]) ++from;
    return from;
}

template <typename Marks>
bool has_no_mark(std::string_view text) {
    return find_mark<Marks>(text, 0) == text.size();
}

// Appends runs of unmarked characters whole, and calls `replace(at)` for each marked one, which
// returns how many bytes it stands for.
template <typename Marks, typename Replace>
void append_runs(std::string& out, std::string_view text, Replace replace) {
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t at = find_mark<Marks>(text, from);
        out.append(text, from, at - from);
        from = at < text.size() ? at + replace(at) : at;
    }
}

void append_html(std::string& out, std::string_view text) {
    append_runs<HtmlMarks>(out, text, [&](std::size_t at) {
        const char c = text[at];
        if (c == '&') out += "&amp;";
        if (c == '<') out += "&lt;";
        if (c == '>') out += "&gt;";
        if (c == '"') out += "&#34;";
        if (c == '\'') out += "&#39;";
        if (c == '`') out += "&#96;";
        if (c == '\0') out += replacement;
        return std::size_t{1};
    });
}

void append_url_part(std::string& out, std::string_view text) {
    append_runs<UrlPartMarks>(out, text, [&](std::size_t at) {
        append_percent_escape(out, text[at]);
        return std::size_t{1};
    });
}

bool has_safe_scheme(std::string_view url) {
    // Only a ':' before the path, query or fragment ends a scheme (RFC 3986, 3.1 and 4.2). Control
    // characters inside, which browsers drop, make it none of the three below.
    const std::size_t mark = url.find_first_of(":/?#");
    if (mark == url.npos || url[mark] != ':') return true;
    const std::string_view scheme = url.substr(0, mark);
    for (const std::string_view safe : {"http", "https", "mailto"}) {
        if (equals_ignoring_case(scheme, safe)) return true;
    }
    return false;
}

void append_url(std::string& out, std::string_view url) {
    // Browsers drop these blanks, so " https:" is also https to them.
    const std::size_t first = url.find_first_not_of(" \t\r\n\f");
    url.remove_prefix(first == url.npos ? url.size() : first);
    if (!has_safe_scheme(url)) {
        out += blocked_url;
        return;
    }
    append_runs<UrlMarks>(out, url, [&](std::size_t at) {
        const char c = url[at];
        if (c == '&') {
            out += "&amp;";
        } else if (c == '%' && at + 2 < url.size() && hex_value(url[at + 1]) >= 0 &&
                   hex_value(url[at + 2]) >= 0) {
            // The value is a whole URL, which may be encoded already: %20 stays %20.
            out += c;
        } else {
            append_percent_escape(out, c);
        }
        return std::size_t{1};
    });
}

void append_js_string(std::string& out, std::string_view text) {
    append_runs<JsMarks>(out, text, [&](std::size_t at) {
        const char c = text[at];
        const auto byte = static_cast<unsigned char>(c);
        if (byte != 0xE2) {  // also a backslash, so that one before the value cannot pair with it
            out += "\\u00";
            out += capital_hex_digits[byte >> 4];
            out += capital_hex_digits[byte & 15];
        } else if (text.substr(at, 3) == "\xE2\x80\xA8" || text.substr(at, 3) == "\xE2\x80\xA9") {
            out += text[at + 2] == '\xA8' ? "\\u2028" : "\\u2029";
            return std::size_t{3};
        } else {
            out += c;
        }
        return std::size_t{1};
    });
}

struct JsWriter {
    std::string& out;
    std::size_t end;  // of `out`, at most

    bool write(Ref value, std::size_t depth);
    bool write_text(std::string_view text) {
        out += '"';
        append_escaped(out, Escape::js_string, text);
        out += '"';
        return out.size() <= end;
    }
    bool write_object(Ref value, std::size_t depth);
    bool write_each(Ref value, std::size_t depth);
};

bool JsWriter::write_object(Ref value, std::size_t depth) {
    out += '{';
    bool is_first = true;
    for (const Member& member : value.type->members) {
        if (!is_first) out += ',';
        is_first = false;
        if (!write_text(member.name)) return false;
        out += ':';
        if (!write({member.type, member.address(value.at)}, depth + 1)) return false;
    }
    out += '}';
    return true;
}

struct JsElements {
    JsWriter& writer;
    const Type* type;
    std::size_t depth;
    bool is_map;
    bool is_first = true;
    bool is_good = true;
};

bool JsWriter::write_each(Ref value, std::size_t depth) {
    const bool is_map = value.type->kind == Kind::map;
    JsElements elements = {*this, value.type->element, depth + 1, is_map};
    out += is_map ? '{' : '[';
    value.type->each(value.at, &elements,
                     [](void* context, std::string_view key, const void* element) {
                         auto& to = *static_cast<JsElements*>(context);
                         if (!to.is_first) to.writer.out += ',';
                         to.is_first = false;
                         if (to.is_map) {
                             to.is_good = to.writer.write_text(key);
                             to.writer.out += ':';
                         }
                         to.is_good = to.is_good && to.writer.write({to.type, element}, to.depth);
                         return to.is_good;
                     });
    out += is_map ? '}' : ']';
    return elements.is_good;
}

bool JsWriter::write(Ref given, std::size_t depth) {
    const Ref value = plain(given);
    // A struct may reach itself through a pointer, so the depth has to be bounded.
    if (depth > json_depth_max || out.size() > end) return false;
    switch (value.type->kind) {
        case Kind::list:
        case Kind::map:
            return write_each(value, depth);
        case Kind::object:
            return write_object(value, depth);
        case Kind::nothing:
            out += "null";
            return true;
        case Kind::boolean:
        case Kind::integer:
        case Kind::number: {
            std::array<char, number_bytes_max> room;
            const std::string_view text = *text_of(value, room);
            // JavaScript would take "inf" and "nan" for names of variables.
            const bool is_finite =
                value.type->kind != Kind::number || std::isfinite(number_of(value));
            if (text.starts_with('-')) out += ' ';  // `a -{{ b }}` is no `a --1`
            out += is_finite ? text : "null";
            return true;
        }
        default: {
            std::array<char, number_bytes_max> room;
            return write_text(*text_of(value, room));
        }
    }
}

}  // namespace

void append_escaped(std::string& out, Escape how, std::string_view text) {
    switch (how) {
        case Escape::none:
            out += text;
            return;
        case Escape::html:
            return append_html(out, text);
        case Escape::url:
            return append_url(out, text);
        case Escape::url_part:
            return append_url_part(out, text);
        case Escape::js_string:
        case Escape::js_value:
            return append_js_string(out, text);
    }
}

bool stays_as_it_is(Escape how, std::string_view text) {
    switch (how) {
        case Escape::none:
            return true;
        case Escape::html:
            return has_no_mark<HtmlMarks>(text);
        case Escape::url:
            return has_no_mark<UrlMarks>(text) && has_safe_scheme(text);
        case Escape::url_part:
            return has_no_mark<UrlPartMarks>(text);
        case Escape::js_string:
        case Escape::js_value:
            return has_no_mark<JsMarks>(text);
    }
    std::unreachable();
}

bool append_js_value(std::string& out, Ref value, std::size_t bytes_max) {
    // SIZE_MAX is no limit.
    JsWriter writer = {out, out.size() + std::min(bytes_max, SIZE_MAX - out.size())};
    return writer.write(value, 0) && out.size() <= writer.end;
}

}  // namespace tiderace::text
