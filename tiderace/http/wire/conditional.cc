#include "tiderace/http/wire/conditional.h"

#include "tiderace/http/wire/http_date.h"

namespace tiderace::http::wire {
namespace {

// Whether it changed after the date of a field; nullopt when the date is invalid, which makes the
// field no condition.
std::optional<bool> modified_since(ByteView field, const Validators& validators) {
    if (field.empty() || !validators.last_modified) return std::nullopt;
    const auto date = parse_http_date(field, validators.now);
    if (!date) return std::nullopt;
    return *validators.last_modified > *date;
}

// Steps 1 and 2: is the client still right about what it wants to act upon?
bool is_as_expected(const Conditions& conditions, const Validators& validators) {
    // If-Match makes If-Unmodified-Since void, and below If-None-Match makes If-Modified-Since void
    // (RFC 9110, 13.2.2).
    if (!conditions.if_match.empty()) {
        return tag_list_matches(conditions.if_match, validators.tag, TagCompare::strong);
    }
    return !modified_since(conditions.if_unmodified_since, validators).value_or(false);
}

// Steps 3 and 4: does the client have it already?
bool is_already_known(const Conditions& conditions, const Validators& validators,
                      bool is_get_or_head) {
    if (!conditions.if_none_match.empty()) {
        return tag_list_matches(conditions.if_none_match, validators.tag, TagCompare::weak);
    }
    return is_get_or_head &&
           !modified_since(conditions.if_modified_since, validators).value_or(true);
}

}  // namespace

// The order of the steps is RFC 9110's (13.2.2): a lost update is reported before a cache is
// served.
Precondition evaluate(const Conditions& conditions, const Validators& validators,
                      bool is_get_or_head) {
    if (!is_as_expected(conditions, validators)) return Precondition::failed;
    if (is_already_known(conditions, validators, is_get_or_head)) {
        // RFC 9110, 13.1.2: 412 for any other method.
        return is_get_or_head ? Precondition::not_modified : Precondition::failed;
    }
    return Precondition::proceed;
}

bool if_range_matches(ByteView if_range, const Validators& validators) {
    if (const auto tag = parse_entity_tag(if_range)) {
        // Parts of two bodies that are only equivalent would not fit together (RFC 9110, 13.1.5).
        return validators.tag && same_tag(*tag, *validators.tag, TagCompare::strong);
    }
    const auto date = parse_http_date(if_range, validators.now);
    return date && date == validators.last_modified;
}

}  // namespace tiderace::http::wire
