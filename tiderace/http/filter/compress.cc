#include "tiderace/http/filter/compress.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/http/filter/compressed_body.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/cache_control.h"
#include "tiderace/http/wire/entity_tag.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/mime.h"

namespace tiderace::http::filter {
namespace {

using wire::ContentCoding;
using wire::FieldName;

constexpr std::array<ByteView, 4> digests = {"Content-Digest", "Repr-Digest", "Digest",
                                             "Content-MD5"};

bool is_event_stream(ByteView content_type) {
    const ByteView essence = trim_ows(content_type.substr(0, content_type.find(';')));
    return equals_ignoring_case(essence, "text/event-stream");
}

// Calls `each` with every value of that name, in the block and beside it, until it returns true.
bool any_value(const Response& response, FieldName name, auto&& each) {
    if (response.block() != nullptr) {
        for (const FieldBlock::Entry& entry : response.block()->entries()) {
            if (entry.id == name && each(ByteView(entry.value))) return true;
        }
    }
    for (const ResponseField& field : response.fields()) {
        if (field.id == name && each(field.value)) return true;
    }
    return false;
}

bool has_digest(const Response& response) {
    for (const ResponseField& field : response.fields()) {
        if (field.id != FieldName::other) continue;
        for (const ByteView name : digests) {
            if (equals_ignoring_case(field.name, name)) return true;
        }
    }
    return false;
}

bool is_compressible(ByteView content_type) {
    return wire::compressible(content_type) || is_event_stream(content_type);
}

void add_vary(Response& response) {
    const bool is_listed = any_value(response, FieldName::vary, [](ByteView value) {
        for (wire::ListReader list(value); list.next();) {
            if (list.element() == "*" || equals_ignoring_case(list.element(), "Accept-Encoding")) {
                return true;
            }
        }
        return false;
    });
    if (!is_listed) response.add(FieldName::vary, "Accept-Encoding");
}

// The same content, other bytes.
void weaken_tag(Response& response) {
    const auto field = response.find(FieldName::etag);
    if (!field || field->value.starts_with("W/")) return;
    const ByteView weak = response.keep("W/" + std::string(field->value));
    response.set(FieldName::etag, weak);
}

// A handler that found the weak tag of what we once compressed names its own, strong one. The
// client has nothing of that name.
void name_what_the_client_has(const Request& request, Response& response) {
    const auto field = response.find(FieldName::etag);
    if (!field || field->value.starts_with("W/")) return;
    const auto tag = wire::parse_entity_tag(field->value);
    const ByteView tags = request.header(FieldName::if_none_match);
    if (!tag || tags.empty() || tags == "*") return;
    const bool has_strong = wire::tag_list_matches(tags, tag, wire::TagCompare::strong);
    const bool has_weak = wire::tag_list_matches(tags, tag, wire::TagCompare::weak);
    if (has_weak && !has_strong) weaken_tag(response);
}

std::string accept_encoding_of(const Request& request) {
    std::string all;
    for (const wire::Field* field = request.head->find(FieldName::accept_encoding);
         field != nullptr; field = request.head->next(*field)) {
        if (!all.empty()) all += ", ";
        all += field->value;
    }
    return all;
}

}  // namespace

void Compress::filter(Exchange& exchange, Response& response) {
    if (response.as_is()) return;
    if (response.status() == 304) {
        // Its 200 would have the field (RFC 9110, 15.4.5). Most lack a type, and then it may.
        const auto type = response.find(FieldName::content_type);
        if (!type || is_compressible(type->value)) add_vary(response);
        return name_what_the_client_has(exchange.request(), response);
    }
    if (!may_compress(response)) return;
    // Before the choice: a plain answer depends on Accept-Encoding as well.
    add_vary(response);
    const std::string accept = accept_encoding_of(exchange.request());
    const ContentCoding coding = wire::choose_coding(accept, options_.codings).coding;
    if (coding == ContentCoding::identity || !compress(exchange, response, coding)) return;
    response.add(FieldName::content_encoding, wire::coding_name(coding));
    // The ranges were the plain body's.
    response.remove(FieldName::accept_ranges);
    weaken_tag(response);
}

bool Compress::may_compress(Response& response) const {
    const int status = response.status();
    // Errors are short, 204 and 205 have no body, and a part must stay a part of the plain bytes.
    if (status < 200 || status > 299 || status == 204 || status == 205 || status == 206) {
        return false;
    }
    // Encoded already, or a part.
    if (response.find(FieldName::content_encoding) || response.find(FieldName::content_range)) {
        return false;
    }
    const auto type = response.find(FieldName::content_type);
    if (!type || !is_compressible(type->value)) return false;
    if (!response.has_body()) return false;
    const auto bytes = response.body_bytes();
    if (bytes && *bytes < options_.bytes_min) return false;
    // A digest is one of the bytes that are sent (RFC 9530), and no-transform forbids it (RFC 9111,
    // 5.2.2.6).
    return !has_digest(response) && !any_value(response, FieldName::cache_control, [](ByteView v) {
        return wire::forbids_transform(v);
    });
}

// False: it goes out plain.
bool Compress::compress(Exchange& exchange, Response& response, ContentCoding coding) {
    const auto bytes = response.body_bytes();
    const bool is_head = exchange.request().method() == wire::Method::head;
    core::SendQueue* queued = response.queued_body();
    const bool is_copied = !response.copied_body().empty();
    // Short bodies are compressed now, which keeps their length and shows whether they shrink.
    if (is_copied && *bytes <= options_.at_once_bytes_max) {
        return compress_at_once(exchange, response, coding);
    }
    if (is_head) {  // the same fields as GET would have, but for the length
        response.set_unsent_body({});
        return true;
    }
    const ByteView type = response.find(FieldName::content_type)->value;
    const auto purpose = is_event_stream(type) ? coding::Purpose::events : coding::Purpose::answer;
    auto encoder = pool_->borrow(coding, purpose, bytes);
    if (!encoder) return false;
    core::SendQueue pieces;
    if (is_copied) {
        pieces.append(exchange.loop().blocks(), response.copied_body());
    } else if (queued != nullptr) {
        pieces = std::move(*queued);
    }
    response.set_body(std::make_unique<CompressedBody>(exchange, std::move(encoder),
                                                       std::move(pieces), response.take_source()));
    return true;
}

bool Compress::compress_at_once(Exchange& exchange, Response& response, ContentCoding coding) {
    const ByteView body = response.copied_body();
    auto encoder = pool_->borrow(coding, coding::Purpose::answer, body.size());
    if (!encoder) return false;
    core::BlockPool& blocks = exchange.loop().blocks();
    core::SendQueue pieces;
    pieces.append(blocks, body);
    core::SendQueue out;
    CompressedBody compressed(exchange, std::move(encoder), std::move(pieces), nullptr);
    // A body that does not shrink goes out plain.
    if (!compressed.pull_all(blocks, out) || out.bytes() >= body.size()) return false;
    response.set_body(std::move(out));
    return true;
}

}  // namespace tiderace::http::filter
