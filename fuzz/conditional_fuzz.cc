// Five lines of input are the five conditional fields. The outcome follows the order of RFC 9110
// section 13.2.2 as far as it can be determined without parsing the fields.
#include "tiderace/base/check.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/conditional.h"

namespace tiderace::http::wire {
namespace {

ByteView take_line(ByteView& text) {
    const std::size_t end = text.find('\n');
    const ByteView line = text.substr(0, end);
    text.remove_prefix(end == ByteView::npos ? text.size() : end + 1);
    return line;
}

void check_conditions(const Conditions& conditions, const Validators& validators) {
    const Precondition get = evaluate(conditions, validators, true);
    const Precondition put = evaluate(conditions, validators, false);
    TR_CHECK(put != Precondition::not_modified);
    TR_CHECK((get == Precondition::failed) <= (put == Precondition::failed));
    TR_CHECK(conditions.any() || get == Precondition::proceed);
    if (get == Precondition::not_modified) {
        TR_CHECK(!conditions.if_none_match.empty() || !conditions.if_modified_since.empty());
    }
    if (get == Precondition::failed) {
        TR_CHECK(!conditions.if_match.empty() || !conditions.if_unmodified_since.empty());
    }
    // A condition that overrules another makes it irrelevant.
    Conditions fewer = conditions;
    if (!fewer.if_match.empty()) fewer.if_unmodified_since = {};
    if (!fewer.if_none_match.empty()) fewer.if_modified_since = {};
    TR_CHECK(evaluate(fewer, validators, true) == get);
    TR_CHECK(evaluate(fewer, validators, false) == put);
}

void check_tag(ByteView text) {
    const auto tag = parse_entity_tag(text);
    if (!tag) return;
    TR_CHECK(tag_list_matches(text, tag, TagCompare::weak));
    TR_CHECK(tag_list_matches(text, tag, TagCompare::strong) == !tag->weak);
    TR_CHECK(if_range_matches(text, {.tag = tag}) == !tag->weak);
}

void check_accept(ByteView value) {
    const AvailableCodings some{.gzip = true, .br = true};
    TR_CHECK(choose_coding(value, some).coding != ContentCoding::zstd);
    TR_CHECK(choose_coding(value, {}).coding == ContentCoding::identity);
    const int quality = quality_of(value, "text/html");
    TR_CHECK(quality >= 0 && quality <= quality_max);
    TR_CHECK(!prefers_json(value) || quality_of(value, "application/json") >= quality);
}

void check_fields(ByteView text) {
    Conditions conditions;
    conditions.if_match = take_line(text);
    conditions.if_none_match = take_line(text);
    conditions.if_modified_since = take_line(text);
    conditions.if_unmodified_since = take_line(text);
    const ByteView if_range = take_line(text);
    check_conditions(conditions, {EntityTag{false, "\"now\""}, 784'111'777, 1'767'225'600});
    check_conditions(conditions, {});
    TR_CHECK(!if_range_matches(if_range, {}));
    for (const ByteView value : {conditions.if_match, conditions.if_none_match, if_range}) {
        check_tag(value);
        check_accept(value);
    }
}

}  // namespace
}  // namespace tiderace::http::wire

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    tiderace::http::wire::check_fields({reinterpret_cast<const char*>(data), size});
    return 0;
}
