#include "tiderace/text/html_names.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace tiderace::text {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

// Whatever any element or any version of HTML and SVG takes for a URL, obsolete names included: a
// browser may still follow it, and an attribute that is none loses little by the escaping.
bool is_url(std::string_view name) {
    return is_one_of(name,
                     {"href",    "src",        "action",   "formaction", "cite",       "data",
                      "poster",  "background", "longdesc", "manifest",   "xlink:href", "icon",
                      "profile", "usemap",     "archive",  "classid",    "codebase",   "ping",
                      "itemid",  "itemtype",   "dynsrc",   "lowsrc",     "xml:base",   "xmlns"});
}

}  // namespace

Element element_of(std::string_view tag) {
    if (tag == "script") return Element::script;
    if (tag == "style") return Element::style;
    if (tag == "meta") return Element::meta;
    if (is_one_of(tag, {"title", "textarea"})) return Element::escapable;
    if (is_one_of(tag, {"iframe", "noembed", "noframes", "xmp", "plaintext"})) {
        return Element::opaque;
    }
    // SVG animations can set the href of another element, even to `javascript:`.
    if (is_one_of(tag, {"animate", "set", "animatemotion", "animatetransform", "animatecolor"})) {
        return Element::animation;
    }
    return Element::other;
}

Attribute attribute_of(Element element, std::string_view tag, std::string_view name) {
    // All of them: new events come with new browsers.
    if (name.starts_with("on")) return Attribute::event;
    if (name == "style") return Attribute::style;
    // A document and lists of URLs: one escaping covers neither.
    if (is_one_of(name, {"srcdoc", "srcset", "imagesrcset"})) return Attribute::refused;
    if (element == Element::script && name == "type") return Attribute::script_type;
    if (element == Element::animation &&
        is_one_of(name, {"to", "from", "by", "values", "attributename"})) {
        return Attribute::refused;
    }
    if (element == Element::meta && name == "content") return Attribute::content;
    if (element == Element::meta && name == "http-equiv") return Attribute::http_equiv;
    // What these load runs in the page, or decides where other URLs lead.
    const bool runs =
        (is_one_of(tag, {"script", "iframe", "frame", "embed"}) && name == "src") ||
        (tag == "object" && is_one_of(name, {"data", "codebase", "classid"})) ||
        (is_one_of(tag, {"script", "use"}) && is_one_of(name, {"href", "xlink:href"})) ||
        (is_one_of(tag, {"base", "link"}) && name == "href");
    if (runs) return Attribute::code_url;
    return is_url(name) ? Attribute::url : Attribute::plain;
}

ScriptType script_type_of(std::string_view type) {
    std::string name;
    for (const char c : type) name += to_lower(c);
    name = name.substr(0, name.find(';'));
    while (!name.empty() && is_html_space(name.back())) name.pop_back();
    name.erase(0, std::min(name.find_first_not_of(" \t\r\n\f"), name.size()));
    // JSON counts as a script, because its strings and values are written as JavaScript's are.
    const bool is_known = name.empty() || name == "module" || name == "importmap" ||
                          name == "speculationrules" || name.ends_with("javascript") ||
                          name.ends_with("ecmascript") || name.ends_with("/json") ||
                          name.ends_with("+json");
    return is_known ? ScriptType::script : ScriptType::data;
}

}  // namespace tiderace::text
