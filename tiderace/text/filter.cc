#include "tiderace/text/filter.h"

#include <charconv>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"
#include "tiderace/text/escape.h"
#include "tiderace/text/type_of.h"

namespace tiderace::text {

constinit const Type& string_type = type_of<std::string>;
constinit const Type& view_type = type_of<std::string_view>;
constinit const Type& integer_type = type_of<std::int64_t>;

namespace {

// The text of a value that has one; the caller has checked that.
std::string_view text_in(Ref value, NumberRoom room) {
    return text_of(value, room).value_or(std::string_view());
}

Ref text_made(const FilterCall& call) {
    return {&string_type, &call.scratch.text};
}
Ref integer_made(const FilterCall& call, std::size_t number) {
    call.scratch.integer = static_cast<std::int64_t>(number);
    return {&integer_type, &call.scratch.integer};
}
// Without a type: the renderer reports `problem` at the filter's place in the template.
Ref wrong(const FilterCall& call, std::string problem) {
    call.problem = std::move(problem);
    return {};
}

// ASCII letters alone: the bytes of others have the highest bit, and stay as they are.
Ref by_character(const FilterCall& call, char (*change)(char)) {
    std::array<char, number_bytes_max> room;
    call.scratch.text = text_in(call.value, room);
    for (char& c : call.scratch.text) c = change(c);
    return text_made(call);
}
Ref upper(const FilterCall& call) {
    return by_character(call, to_upper);
}
Ref lower(const FilterCall& call) {
    return by_character(call, to_lower);
}
Ref capitalize(const FilterCall& call) {
    std::array<char, number_bytes_max> room;
    call.scratch.text = text_in(call.value, room);
    if (!call.scratch.text.empty()) call.scratch.text[0] = to_upper(call.scratch.text[0]);
    return text_made(call);
}

Ref trim(const FilterCall& call) {
    std::array<char, number_bytes_max> room;
    call.scratch.text = tiderace::trim<is_space>(text_in(call.value, room));
    return text_made(call);
}

Ref truncate(const FilterCall& call) {
    const Ref limit = plain(call.arguments[0]);
    if (limit.type->kind != Kind::integer || integer_of(limit) < 1) {
        return wrong(call, "truncate: expects a number of characters, as in truncate: 80");
    }
    std::array<char, number_bytes_max> room;
    const std::string_view text = text_in(call.value, room);
    const std::int64_t characters_max = integer_of(limit);
    std::int64_t characters = 0;
    std::size_t before_last = text.size();  // where the last character that fits begins
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!begins_character(text[at])) continue;
        // One character too many: the last that fits makes room for the dots.
        if (characters == characters_max) {
            call.scratch.text = text.substr(0, before_last);
            call.scratch.text += "…";
            return text_made(call);
        }
        before_last = at;
        ++characters;
    }
    call.scratch.text = text;
    return text_made(call);
}

Ref replace(const FilterCall& call) {
    std::array<char, number_bytes_max> room;
    std::array<char, number_bytes_max> from_room;
    std::array<char, number_bytes_max> to_room;
    const std::string_view text = text_in(call.value, room);
    const std::string_view from = text_in(call.arguments[0], from_room);
    const std::string_view to = text_in(call.arguments[1], to_room);
    // It is found everywhere and moves nothing: the loop below would not end.
    if (from.empty()) return wrong(call, "replace: expects a text to look for that is not empty");
    call.scratch.text.clear();
    std::size_t at = 0;
    for (std::size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size()) {
        // Two texts of a client's could otherwise make one of the product of their sizes.
        if (call.scratch.text.size() > call.bytes_max) return text_made(call);
        call.scratch.text += text.substr(at, found - at);
        call.scratch.text += to;
    }
    call.scratch.text += text.substr(at);
    return text_made(call);
}

Ref use_default(const FilterCall& call) {
    const Ref value = plain(call.value);
    std::array<char, number_bytes_max> room;
    const bool is_empty = value.type->kind == Kind::nothing ||
                          (value.type->kind == Kind::text && text_in(value, room).empty());
    return is_empty ? call.arguments[0] : value;
}

Ref length(const FilterCall& call) {
    const Ref value = plain(call.value);
    if (value.type->kind == Kind::list || value.type->kind == Kind::map) {
        return integer_made(call, value.type->size(value.at));
    }
    std::array<char, number_bytes_max> room;
    const std::string_view text = text_in(value, room);
    return integer_made(call, count_characters(text));
}

struct Found {
    const void* at = nullptr;
    bool only_first = false;
};
Ref element_of_list(const FilterCall& call, bool only_first) {
    const Ref list = plain(call.value);
    if (list.type->kind == Kind::nothing) return nothing;
    Found found = {nullptr, only_first};
    list.type->each(list.at, &found, [](void* context, std::string_view, const void* element) {
        auto& to = *static_cast<Found*>(context);
        to.at = element;
        return !to.only_first;
    });
    return found.at ? Ref{list.type->element, found.at} : nothing;
}
Ref first(const FilterCall& call) {
    return element_of_list(call, true);
}
Ref last(const FilterCall& call) {
    return element_of_list(call, false);
}

struct Joining {
    std::string& out;
    std::string_view between;
    const Type* element;
    std::size_t bytes_max;
    bool is_first = true;
    bool is_good = true;
};
Ref join(const FilterCall& call) {
    const Ref list = plain(call.value);
    std::array<char, number_bytes_max> room;
    call.scratch.text.clear();
    if (list.type->kind == Kind::nothing) return text_made(call);
    Joining joining = {call.scratch.text, text_in(call.arguments[0], room), list.type->element,
                       call.bytes_max};
    list.type->each(list.at, &joining, [](void* context, std::string_view, const void* element) {
        auto& to = *static_cast<Joining*>(context);
        std::array<char, number_bytes_max> own_room;
        const auto text = text_of({to.element, element}, own_room);
        if (!text) return to.is_good = false;  // and `each` ends
        if (!to.is_first) to.out += to.between;
        to.is_first = false;
        to.out += *text;
        return to.out.size() <= to.bytes_max;  // the renderer refuses what is longer
    });
    if (!joining.is_good) return wrong(call, "join: expects a list of texts or numbers");
    return text_made(call);
}

Ref date(const FilterCall& call) {
    const Ref time = plain(call.value);
    std::array<char, number_bytes_max> room;
    call.scratch.text.clear();
    if (time.type->kind == Kind::nothing) return text_made(call);
    if (!append_time(call.scratch.text, time.type->seconds(time.at),
                     text_in(call.arguments[0], room))) {
        return wrong(call, "date: expects a format of %Y %m %d %H %M %S %y %e %j %B %b %A %a %%");
    }
    return text_made(call);
}

Ref fixed(const FilterCall& call) {
    const Ref number = plain(call.value);
    const Ref digits = plain(call.arguments[0]);
    if (digits.type->kind != Kind::integer || integer_of(digits) < 0 ||
        integer_of(digits) > fixed_digits_max) {
        return wrong(call, "fixed: expects a number of digits from 0 to 18, as in fixed: 2");
    }
    call.scratch.text.clear();
    if (number.type->kind == Kind::nothing) return text_made(call);
    std::array<char, 400> room;  // the largest double has 309 digits before the point
    const auto written =
        std::to_chars(room.data(), room.data() + room.size(), number_of(number),
                      std::chars_format::fixed, static_cast<int>(integer_of(digits)));
    call.scratch.text.assign(room.data(), written.ptr);
    return text_made(call);
}

Ref urlencode(const FilterCall& call) {
    std::array<char, number_bytes_max> room;
    const std::string_view text = text_in(call.value, room);
    call.scratch.text.clear();
    append_escaped(call.scratch.text, Escape::url_part, text);
    return text_made(call);
}

// That it may stand where it stands was decided when the template was compiled.
Ref safe(const FilterCall& call) {
    return plain(call.value);
}

Ref call_user(const Filter& filter, const FilterCall& call) {
    std::array<std::array<char, number_bytes_max>, filter_arguments_max> rooms;
    std::array<std::string_view, filter_arguments_max> texts;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
        const auto text = text_of(call.arguments[i], rooms[i]);
        if (!text) return wrong(call, filter.name + ": an argument is no text");
        texts[i] = *text;
    }
    std::array<char, number_bytes_max> room;
    call.scratch.text.clear();
    filter.user(call.scratch.text, text_in(call.value, room),
                std::span(texts).first(call.arguments.size()));
    return text_made(call);
}

}  // namespace

std::span<const Filter> filters_in_the_box() {
    using Takes = Filter::Takes;
    using Gives = Filter::Gives;
    static const std::vector<Filter> all = {
        {"capitalize", 0, Takes::text, Gives::text, capitalize},
        {"date", 1, Takes::time, Gives::text, date},
        {"default", 1, Takes::anything, Gives::value, use_default},
        {"first", 0, Takes::list, Gives::element, first},
        {"fixed", 1, Takes::number, Gives::text, fixed},
        {"join", 1, Takes::list, Gives::text, join},
        {"last", 0, Takes::list, Gives::element, last},
        {"length", 0, Takes::list_or_text, Gives::integer, length},
        {"lower", 0, Takes::text, Gives::text, lower},
        {"replace", 2, Takes::text, Gives::text, replace},
        {"safe", 0, Takes::html, Gives::html, safe},
        {"trim", 0, Takes::text, Gives::text, trim},
        {"truncate", 1, Takes::text, Gives::text, truncate},
        {"upper", 0, Takes::text, Gives::text, upper},
        {"urlencode", 0, Takes::text, Gives::text, urlencode},
    };
    return all;
}

const Filter* find_filter(std::span<const Filter> filters, std::string_view name) {
    for (const Filter& filter : filters) {
        if (filter.name == name) return &filter;
    }
    return nullptr;
}

std::string_view expected_by(Filter::Takes takes, Kind kind) {
    const bool is_list = kind == Kind::list;
    const bool is_scalar = kind != Kind::list && kind != Kind::map && kind != Kind::object;
    // An empty optional passes through any filter; each of them makes nothing or "" of it.
    if (kind == Kind::nothing && takes != Filter::Takes::html) return {};
    switch (takes) {
        case Filter::Takes::text:
            return is_scalar ? "" : "a text";
        case Filter::Takes::number:
            return kind == Kind::integer || kind == Kind::number ? "" : "a number";
        case Filter::Takes::time:
            return kind == Kind::time ? "" : "a time";
        case Filter::Takes::list:
            return is_list ? "" : "a list";
        case Filter::Takes::list_or_text:
            return kind != Kind::object ? "" : "a list, a map or a text";
        case Filter::Takes::html:
            return kind == Kind::html || kind == Kind::nothing ? "" : "a text::SafeHtml";
        case Filter::Takes::anything:
            break;
    }
    return {};
}

Ref apply_filter(const Filter& filter, const FilterCall& call) {
    const Kind kind = plain(call.value).type->kind;
    const std::string_view expected = expected_by(filter.takes, kind);
    if (!expected.empty()) {
        return wrong(call, filter.name + ": expects " + std::string(expected) + ", found " +
                               std::string(kind_text(kind)));
    }
    return filter.user ? call_user(filter, call) : filter.apply(call);
}

}  // namespace tiderace::text
