// From a flag's value to the field of the options, and from a default to its text.
//
// Thread   Any.
// Errors   For a value that a flag does not accept: what the flag expects, as a sentence for the
//          user, without the flag's name.
#pragma once

#include <type_traits>
#include <utility>

#include "server/command_line/flags.h"

namespace tiderace::server {

template <typename Options>
struct FlagWriter {
    std::string_view value;
    Options& options;

    template <typename Value>
    Applied put(std::expected<Value, std::string> parsed, const Place<Options, Value>& place) {
        if (!parsed) return std::unexpected(std::move(parsed.error()));
        std::visit([&](auto of) { of(options) = *parsed; }, place);
        return {};
    }

    Applied operator()(const NoField&) { return {}; }
    Applied operator()(const SwitchField<Options>& field) {
        return put<bool>(field.sets, field.of);
    }
    Applied operator()(const DurationField<Options>& field) {
        return put<Duration>(duration_value(value), field.of);
    }
    Applied operator()(const BytesField<Options>& field) {
        return put<std::uint64_t>(bytes_value(value, field.smallest, field.largest, field.has_off),
                                  field.of);
    }
    Applied operator()(const CountField<Options>& field) {
        return put<std::uint64_t>(count_value(value, field.smallest, field.largest), field.of);
    }
    Applied operator()(const ChoiceField<Options>& field) {
        const auto index = choice_value(value, field.names, field.systems_of);
        if (!index) return std::unexpected(index.error());
        field.set(options, *index);
        return {};
    }
    Applied operator()(const TextField<Options>& field) { return field.set(options, value); }
};

template <typename Options>
struct DefaultText {
    const FlagText& flag;
    Options& defaults;  // read only; a Place returns fields that may be written

    // nullopt: the option is unset.
    template <typename Value>
    std::optional<Value> get(const Place<Options, Value>& place) {
        return std::visit([&](auto of) { return std::optional<Value>(of(defaults)); }, place);
    }
    std::string number(std::string text, bool is_unset) const {
        if (is_unset && !flag.unset_means.empty()) return std::string(flag.unset_means);
        if (!flag.unit.empty()) text.append(" ").append(flag.unit);
        return text;
    }

    std::string operator()(const NoField&) { return {}; }
    std::string operator()(const SwitchField<Options>&) { return {}; }
    std::string operator()(const DurationField<Options>& field) {
        const Duration duration = get<Duration>(field.of).value_or(Duration::zero());
        return number(format_duration(duration), duration == Duration::zero());
    }
    std::string operator()(const BytesField<Options>& field) {
        const std::uint64_t bytes = get<std::uint64_t>(field.of).value_or(0);
        return number(format_bytes(bytes), bytes == 0);
    }
    std::string operator()(const CountField<Options>& field) {
        const std::uint64_t count = get<std::uint64_t>(field.of).value_or(0);
        return number(std::to_string(count), count == 0);
    }
    std::string operator()(const ChoiceField<Options>& field) {
        return std::string(field.names[field.get(defaults)]);
    }
    std::string operator()(const TextField<Options>& field) {
        return field.get != nullptr ? field.get(defaults) : std::string();
    }
};

// The name in help of a value that the flag itself gives none.
struct ValueName {
    template <typename Field>
    std::string_view operator()(const Field&) const {
        return "";
    }
    template <typename Options>
    std::string_view operator()(const DurationField<Options>&) const {
        return "TIME";
    }
    template <typename Options>
    std::string_view operator()(const BytesField<Options>&) const {
        return "SIZE";
    }
    template <typename Options>
    std::string_view operator()(const CountField<Options>&) const {
        return "N";
    }
};

// Writes the value into the options.
template <typename Options>
Applied apply_flag(const Flag<Options>& flag, std::string_view value,
                   std::type_identity_t<Options>& options) {
    return std::visit(FlagWriter<Options>{value, options}, flag.field);
}

// The flag as text, with its default.
template <typename Options>
FlagHelp describe(const Flag<Options>& flag, Options& defaults) {
    FlagHelp help{flag.text};
    if (help.value.empty()) help.value = std::visit(ValueName{}, flag.field);
    help.default_text = std::visit(DefaultText<Options>{flag.text, defaults}, flag.field);
    if (const auto* choice = std::get_if<ChoiceField<Options>>(&flag.field)) {
        help.choices = choice->names;
    }
    return help;
}

template <typename Options>
std::vector<FlagHelp> describe(std::span<const Flag<Options>> flags) {
    std::vector<FlagHelp> all;
    Options defaults;
    for (const Flag<Options>& flag : flags) {
        FlagHelp help = describe(flag, defaults);
        if (help.group == Group::as_above) help.group = all.back().group;
        all.push_back(std::move(help));
    }
    return all;
}

}  // namespace tiderace::server
