#include "tiderace/http/wire/field_parameters.h"

#include "tiderace/http/wire/field_syntax.h"

namespace tiderace::http::wire {

FieldParameters::FieldParameters(ByteView value) {
    const std::size_t end = value.find(';');
    essence_ = trim_ows(value.substr(0, end));
    if (end != ByteView::npos) rest_ = value.substr(end);
}

// A token or a quoted string at the front of the rest.
bool FieldParameters::take_value(FieldParameter& parameter) {
    std::size_t end = 0;
    if (rest_.starts_with('"')) {
        for (end = 1; end < rest_.size() && rest_[end] != '"'; ++end) {
            // Only before a quote or a backslash, because browsers escape no other character.
            const bool escape = rest_[end] == '\\' && end + 1 < rest_.size() &&
                                (rest_[end + 1] == '"' || rest_[end + 1] == '\\');
            if (escape) ++end;
        }
        if (end >= rest_.size()) return false;
        parameter.value = rest_.substr(1, end - 1);
        parameter.quoted = true;
        rest_.remove_prefix(end + 1);
        return true;
    }
    while (end < rest_.size() && is(token_byte, rest_[end])) ++end;
    parameter.value = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return end > 0;
}

std::optional<FieldParameter> FieldParameters::next() {
    while (!rest_.empty() && (rest_.front() == ';' || is_ows(rest_.front()))) {
        rest_.remove_prefix(1);
    }
    if (rest_.empty() || malformed_) return std::nullopt;
    FieldParameter parameter;
    const std::size_t equals = rest_.find('=');
    if (equals != ByteView::npos && is_token(rest_.substr(0, equals))) {
        parameter.name = rest_.substr(0, equals);
        rest_.remove_prefix(equals + 1);
        if (take_value(parameter)) {
            rest_ = trim_ows(rest_);
            if (rest_.empty() || rest_.front() == ';') return parameter;
        }
    }
    malformed_ = true;
    return std::nullopt;
}

bool append_unquoted(BoundedText& out, const FieldParameter& parameter) {
    if (!parameter.quoted) return out.append(parameter.value);
    const std::size_t start = out.size();
    const ByteView value = parameter.value;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const bool escape = value[i] == '\\' && i + 1 < value.size() &&
                            (value[i + 1] == '"' || value[i + 1] == '\\');
        if (escape) ++i;
        if (out.append(value[i])) continue;
        out.shrink_to(start);
        return false;
    }
    return true;
}

}  // namespace tiderace::http::wire
