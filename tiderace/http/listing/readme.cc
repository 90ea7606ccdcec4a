#include "tiderace/http/listing/readme.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/bounded_text.h"
#include "tiderace/http/wire/text/html_escape.h"

#if TIDERACE_HAVE_MD4C
#include <md4c.h>
#endif

namespace tiderace::http::listing {
namespace {

// Keeps line breaks and tabs: they are layout here, and not part of a name.
bool append_text(wire::BoundedText& out, ByteView text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of("\n\t\r"), text.size());
        if (!wire::append_html(out, text.substr(0, end))) return false;
        if (end < text.size() && text[end] != '\r' && !out.append(text[end])) return false;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return true;
}

std::string as_it_is(ByteView text) {
    std::string html = "<pre class=\"plain\">";
    wire::append_bounded(html, text.size() * wire::html_growth_max,
                         [&](wire::BoundedText& out) { append_text(out, text); });
    return html + "</pre>\n";
}

#if TIDERACE_HAVE_MD4C

bool is_harmless(ByteView address) {
    // The allowed schemes are listed, not the forbidden ones: "javascript:" has many spellings.
    for (const ByteView scheme : {"http://", "https://", "mailto:"}) {
        if (starts_with_ignoring_case(address, scheme)) return true;
    }
    // Relative: no colon before the first character that ends a scheme.
    const std::size_t colon = address.find(':');
    return colon == ByteView::npos || address.find_first_of("/?#") < colon;
}

// By MD_BLOCKTYPE and MD_SPANTYPE. Null: none, or it is more than a tag.
constexpr const char* block_tags[] = {nullptr, "blockquote", "ul",    "ol", "li",    nullptr,
                                      nullptr, nullptr,      nullptr, "p",  "table", "thead",
                                      "tbody", "tr",         "th",    "td"};
constexpr const char* span_tags[] = {"em", "strong", nullptr, nullptr, "code"};
static_assert(std::size(block_tags) == MD_BLOCK_TD + 1 && std::size(span_tags) == MD_SPAN_CODE + 1);

// The functions that md4c calls for each block, span and text. It is C, which no exception may
// cross, so nothing here allocates.
class Markdown {
  public:
    explicit Markdown(wire::BoundedText& out) : out_(out) {}

    // False: it does not fit, is nested too deeply, or there is no memory.
    bool write(ByteView text) {
        MD_PARSER parser{};
        parser.flags = MD_FLAG_TABLES | MD_FLAG_NOHTML;
        parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
            return go_on(self, [&](Markdown& to) { return to.begin(type, detail); });
        };
        parser.leave_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
            return go_on(self, [&](Markdown& to) { return to.end(type, detail); });
        };
        parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
            return go_on(self, [&](Markdown& to) { return to.begin(type, detail); });
        };
        parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
            return go_on(self, [&](Markdown& to) { return to.end(type); });
        };
        parser.text = [](MD_TEXTTYPE type, const MD_CHAR* at, MD_SIZE size, void* self) {
            return go_on(self, [&](Markdown& to) { return to.add(type, {at, size}); });
        };
        return md_parse(text.data(), static_cast<MD_SIZE>(text.size()), &parser, this) == 0 &&
               fits_;
    }

  private:
    // md4c 0.4.8 goes on after some ends of blocks that failed, so a failure stays one.
    static int go_on(void* self, auto&& step) {
        auto& to = *static_cast<Markdown*>(self);
        to.fits_ = to.fits_ && step(to);
        return to.fits_ ? 0 : 1;
    }

    bool begin(MD_BLOCKTYPE type, const void* detail) {
        if (++depth_ > readme_nesting_max) return false;
        if (type == MD_BLOCK_HR) return out_.append("<hr>\n");
        if (type == MD_BLOCK_CODE) return out_.append("<pre tabindex=\"0\"><code>");
        if (type == MD_BLOCK_H) return heading("<h", detail) && out_.append('>');
        // A wide one is scrolled, as code is, also with the keys.
        if (type == MD_BLOCK_TABLE) return out_.append("<div tabindex=\"0\"><table>");
        const char* const tag = block_tags[type];
        if (tag == nullptr) return true;
        if (!out_.append('<') || !out_.append(tag)) return false;
        if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) {
            const MD_ALIGN align = static_cast<const MD_BLOCK_TD_DETAIL*>(detail)->align;
            if (align == MD_ALIGN_CENTER) return out_.append(" class=\"c\">");
            if (align == MD_ALIGN_RIGHT) return out_.append(" class=\"r\">");
        }
        const unsigned start =
            type == MD_BLOCK_OL ? static_cast<const MD_BLOCK_OL_DETAIL*>(detail)->start : 1;
        if (start != 1) {
            if (!out_.append(" start=\"") || !out_.append_number(start) || !out_.append('"')) {
                return false;
            }
        }
        return out_.append('>');
    }
    bool end(MD_BLOCKTYPE type, const void* detail) {
        --depth_;
        if (type == MD_BLOCK_CODE) return out_.append("</code></pre>\n");
        if (type == MD_BLOCK_H) return heading("</h", detail) && out_.append(">\n");
        if (type == MD_BLOCK_TABLE) return out_.append("</table></div>\n");
        const char* const tag = block_tags[type];
        return tag == nullptr || (out_.append("</") && out_.append(tag) && out_.append(">\n"));
    }
    // The page has its own <h1>.
    bool heading(const char* opening, const void* detail) {
        const unsigned level = static_cast<const MD_BLOCK_H_DETAIL*>(detail)->level;
        return out_.append(opening) && out_.append_number(std::min(level + 1, 6U));
    }

    bool begin(MD_SPANTYPE type, const void* detail) {
        if (++depth_ > readme_nesting_max) return false;
        if (type == MD_SPAN_A) {
            return begin_link(static_cast<const MD_SPAN_A_DETAIL*>(detail)->href);
        }
        if (type == MD_SPAN_IMG) {
            return begin_link(static_cast<const MD_SPAN_IMG_DETAIL*>(detail)->src);
        }
        const char* const tag = span_tags[type];
        return tag == nullptr || (out_.append('<') && out_.append(tag) && out_.append('>'));
    }
    bool end(MD_SPANTYPE type) {
        const bool is_linked = depth_-- == linked_at_;
        if (is_linked) linked_at_ = 0;
        if (type == MD_SPAN_A || type == MD_SPAN_IMG) return !is_linked || out_.append("</a>");
        const char* const tag = span_tags[type];
        return tag == nullptr || (out_.append("</") && out_.append(tag) && out_.append('>'));
    }
    // A picture may stand in a link, and a link in a picture's text; of these the outer one is the
    // link, because HTML has none within another.
    bool begin_link(const MD_ATTRIBUTE& address) {
        if (linked_at_ > 0 || !is_harmless({address.text, address.size})) return true;
        linked_at_ = depth_;
        return out_.append("<a rel=\"nofollow noopener\" href=\"") && append_address(address) &&
               out_.append("\">");
    }
    // "&amp;" is the one entity that addresses need; the others stay as they are written, so that
    // the browser reads exactly the checked text.
    bool append_address(const MD_ATTRIBUTE& address) {
        for (unsigned i = 0; address.substr_offsets[i] < address.size; ++i) {
            const unsigned from = address.substr_offsets[i];
            const ByteView part(address.text + from, address.substr_offsets[i + 1] - from);
            if (!(part == "&amp;" ? out_.append(part) : append_text(out_, part))) return false;
        }
        return true;
    }

    bool add(MD_TEXTTYPE type, ByteView text) {
        if (type == MD_TEXT_BR) return out_.append("<br>\n");
        if (type == MD_TEXT_SOFTBR) return out_.append('\n');
        // "&nbsp;". A number could be a character that append_text would show.
        if (type == MD_TEXT_ENTITY && !text.starts_with("&#")) return out_.append(text);
        return append_text(out_, text);
    }

    wire::BoundedText& out_;
    std::size_t depth_ = 0;      // blocks and spans around the text
    std::size_t linked_at_ = 0;  // the depth of the link around it; 0: none
    bool fits_ = true;
};

// nullopt: it is shown as it is.
std::optional<std::string> markdown(ByteView text) {
    std::string room(readme_html_bytes_max, '\0');
    wire::BoundedText out(room);
    if (!Markdown(out).write(text)) return std::nullopt;
    room.resize(out.size());
    return room;
}

#else

std::optional<std::string> markdown(ByteView) {
    return std::nullopt;
}

#endif

}  // namespace

std::string readme_html(ByteView name, ByteView text) {
    text = text.substr(0, readme_bytes_max);
    constexpr ByteView byte_order_mark = "\xEF\xBB\xBF";  // as some editors begin every file
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    if (name.ends_with(".md")) {
        if (auto html = markdown(text)) return std::move(*html);
    }
    return as_it_is(text);
}

bool readme_renders_markdown() {
    return markdown("").has_value();
}

}  // namespace tiderace::http::listing
