// How the text of a value becomes the value of a field, and back.
#include <algorithm>
#include <charconv>

#include "server/flags.h"
#include "server/suggest.h"

namespace tiderace::server {
namespace {

using Applied = std::expected<void, std::string>;

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

struct Apply {
    std::string_view value;
    OptionsOf options;

    Applied operator()(const NoField&) const { return {}; }

    Applied operator()(const SwitchField& field) const {
        field.of(options) = field.sets;
        return {};
    }

    Applied operator()(const DurationField& field) const {
        const auto duration = parse_duration(value);
        if (!duration && is_digits(value)) {
            return std::unexpected("a time needs a unit, for example 10s, 500ms or 2m");
        }
        if (!duration) return std::unexpected("expects a time such as 10s, 500ms or 2m");
        field.of(options) = *duration;
        return {};
    }

    Applied operator()(const BytesField& field) const {
        const auto bytes = value == "off" ? std::optional<std::uint64_t>(0) : parse_bytes(value);
        if (!bytes) return std::unexpected("expects a size such as 4096, 64KiB or 1MiB");
        if (*bytes < field.smallest || *bytes > field.largest) {
            return std::unexpected("expects a size from " + format_bytes(field.smallest) + " to " +
                                   format_bytes(field.largest));
        }
        field.of(options) = *bytes;
        return {};
    }

    Applied operator()(const CountField& field) const {
        std::uint64_t count = 0;
        const auto [end, failure] =
            std::from_chars(value.data(), value.data() + value.size(), count);
        const bool whole = failure == std::errc{} && end == value.data() + value.size();
        if (!whole || count < field.smallest || count > field.largest) {
            return std::unexpected("expects a whole number from " + std::to_string(field.smallest) +
                                   " to " + std::to_string(field.largest));
        }
        field.of(options) = count;
        return {};
    }

    Applied operator()(const ChoiceField& field) const {
        const auto found = std::ranges::find(field.names, value);
        if (found == field.names.end()) {
            const std::string here = join_choices(field.names);
            const std::string_view systems = field.systems_of ? field.systems_of(value) : "";
            if (!systems.empty()) {
                return std::unexpected("it is of " + std::string(systems) + "; this machine has " +
                                       here);
            }
            std::string expects = "expects " + here;
            const std::string_view nearest = nearest_spelling(value, field.names);
            if (!nearest.empty()) expects.append("; did you mean ").append(nearest).append("?");
            return std::unexpected(std::move(expects));
        }
        field.set(options, static_cast<std::size_t>(found - field.names.begin()));
        return {};
    }

    Applied operator()(const TextField& field) const { return field.set(options, value); }
};

struct DefaultText {
    const Flag& flag;
    OptionsOf defaults;

    std::string number(std::string text, bool is_zero) const {
        if (is_zero && !flag.zero_means.empty()) return std::string(flag.zero_means);
        if (!flag.unit.empty()) text.append(" ").append(flag.unit);
        return text;
    }

    std::string operator()(const NoField&) const { return {}; }
    std::string operator()(const SwitchField&) const { return {}; }
    std::string operator()(const DurationField& field) const {
        const Duration duration = field.of(defaults);
        return number(format_duration(duration), duration == Duration::zero());
    }
    std::string operator()(const BytesField& field) const {
        const std::uint64_t bytes = field.of(defaults);
        return number(format_bytes(bytes), bytes == 0);
    }
    std::string operator()(const CountField& field) const {
        const std::uint64_t count = field.of(defaults);
        return number(std::to_string(count), count == 0);
    }
    std::string operator()(const ChoiceField& field) const {
        return std::string(field.names[field.get(defaults)]);
    }
    std::string operator()(const TextField& field) const { return field.get(defaults); }
};

}  // namespace

std::expected<void, std::string> apply_flag(const Flag& flag, std::string_view value,
                                            OptionsOf options) {
    return std::visit(Apply{value, options}, flag.field);
}

std::string default_text(const Flag& flag) {
    ServeOptions serve;
    lab::LoadOptions load;
    lab::run::RunOptions run;
    return std::visit(DefaultText{flag, OptionsOf(serve, load, run)}, flag.field);
}

std::span<const std::string_view> flag_choices(const Flag& flag) {
    const auto* choice = std::get_if<ChoiceField>(&flag.field);
    return choice ? choice->names : std::span<const std::string_view>{};
}

std::string join_choices(std::span<const std::string_view> words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

}  // namespace tiderace::server
