#include "tiderace/http/wire/h2/response.h"

#include <algorithm>

#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/framing.h"

namespace tiderace::http::wire {
namespace {

// About the connection, which HTTP/2 has its own means for (RFC 9113, 8.2.2).
bool speaks_of_the_connection(const HpackField& field) {
    switch (field.id) {
        case FieldName::connection:
        case FieldName::keep_alive:
        case FieldName::transfer_encoding:
        case FieldName::upgrade:
            return true;
        case FieldName::other:
            return field.name == "proxy-connection";
        default:
            return false;
    }
}

}  // namespace

bool H2ResponseJudge::take(const HpackField& field) {
    if (malformed_) return false;
    if (field.refusal != Refusal::none) {
        malformed_ = true;
    } else if (field.pseudo != PseudoField::none) {
        const bool may = field.pseudo == PseudoField::status && part_ == H2ResponsePart::head &&
                         !fields_began_ && parse_.code == 0;
        malformed_ = !may;
        if (may) take_status(field.value);
    } else if (speaks_of_the_connection(field)) {
        malformed_ = true;
    } else {
        fields_began_ = true;
        if (field.id == FieldName::content_length) take_length(field.value);
        return !malformed_;
    }
    return false;
}

void H2ResponseJudge::take_status(ByteView value) {
    malformed_ = value.size() != 3 || !std::ranges::all_of(value, is_digit) || value[0] == '0';
    if (malformed_) return;
    for (const char c : value) {
        parse_.code = static_cast<std::uint16_t>(parse_.code * 10 + (c - '0'));
    }
    // HTTP/2 has no Upgrade (RFC 9113, 8.6).
    malformed_ = parse_.code == 101;
}

void H2ResponseJudge::take_length(ByteView value) {
    const ContentLength length = parse_content_length(value);
    // Twice, or after the body, where it frames nothing any more.
    malformed_ = part_ == H2ResponsePart::trailers || length.refusal != Refusal::none ||
                 parse_.content_length.has_value();
    parse_.content_length = length.value;
}

H2ResponseParse H2ResponseJudge::end(HpackDecoder::Status status) const {
    using Status = H2ResponseParse::Status;
    H2ResponseParse parse = parse_;
    if (status == HpackDecoder::Status::corrupt) {
        parse.status = Status::compression_error;
    } else if (status == HpackDecoder::Status::too_large) {
        parse.status = Status::too_large;
    } else if (malformed_ || (parse.code == 0 && part_ == H2ResponsePart::head)) {
        parse.status = Status::malformed;
    }
    return parse;
}

}  // namespace tiderace::http::wire
