#include "tiderace/http/handler/file_answer.h"

#include <utility>

#include "tiderace/http/handler/range_body.h"
#include "tiderace/http/wire/conditional.h"
#include "tiderace/http/wire/range.h"

namespace tiderace::http::handler {
namespace {

using wire::ContentCoding;
using wire::FieldName;

// The bytes that this answer is about: the file itself, or one of its siblings.
struct Representation {
    core::Ref<CachedFile> file;
    ContentCoding coding = ContentCoding::identity;
};

// All lines of a list field as one value. The parser keeps them apart; they mean the same joined.
ByteView joined(const Request& request, FieldName name, std::string& storage) {
    const wire::Field* field = request.head->find(name);
    if (field == nullptr) return {};
    if (!request.head->repeated(name)) return field->value;
    for (; field != nullptr; field = request.head->next(*field)) {
        if (!storage.empty()) storage += ", ";
        storage += field->value;
    }
    return storage;
}

Representation choose(const Request& request, const ResolvedPath& path) {
    if (!path.has_siblings) return {path.file};
    std::string storage;
    const ByteView accept = joined(request, FieldName::accept_encoding, storage);
    const wire::CodingChoice choice =
        wire::choose_coding(accept, {.gzip = static_cast<bool>(path.sibling(ContentCoding::gzip)),
                                     .zstd = static_cast<bool>(path.sibling(ContentCoding::zstd)),
                                     .br = static_cast<bool>(path.sibling(ContentCoding::br))});
    if (choice.coding == ContentCoding::identity) return {path.file};
    return {path.sibling(choice.coding), choice.coding};
}

wire::Validators validators_of(const CachedFile& file, UnixSeconds now) {
    return {.tag = wire::EntityTag{false, file.etag()},
            .last_modified = file.identity().modified(),
            .now = now};
}

wire::Precondition evaluate_conditions(const Request& request, const CachedFile& file,
                                       UnixSeconds now) {
    std::string match, none_match;
    const wire::Conditions conditions{
        .if_match = joined(request, FieldName::if_match, match),
        .if_none_match = joined(request, FieldName::if_none_match, none_match),
        .if_modified_since = request.field(FieldName::if_modified_since),
        .if_unmodified_since = request.field(FieldName::if_unmodified_since)};
    if (!conditions.any()) return wire::Precondition::proceed;
    return wire::evaluate(conditions, validators_of(file, now), true);
}

// What a 304 repeats, and every other answer about the file holds too.
void add_validators(Response& response, const ResolvedPath& path, const CachedFile& file) {
    response.add(FieldName::etag, file.etag());
    if (!path.cache_control.empty()) response.add(FieldName::cache_control, path.cache_control);
    if (path.has_siblings) response.add(FieldName::vary, "Accept-Encoding");
}

void add_description(Response& response, const Representation& chosen, UnixSeconds now) {
    // A file from the future would claim a change that has not happened yet (RFC 9110 8.8.2.1).
    if (chosen.file->identity().modified() <= now) {
        response.add(FieldName::last_modified, chosen.file->last_modified());
    }
    if (chosen.coding != ContentCoding::identity) {
        response.add(FieldName::content_encoding, wire::coding_name(chosen.coding));
    }
    response.add(FieldName::accept_ranges, "bytes");
    response.add(FieldName::x_content_type_options, "nosniff");
}

// Only GET has ranges; a Range that was sent twice is not understood, as one that is malformed.
wire::RangeResult range_of(const Request& request, const CachedFile& file, UnixSeconds now) {
    if (!request.has(FieldName::range) || request.method() != wire::Method::get ||
        request.head->repeated(FieldName::range)) {
        return {};
    }
    if (request.has(FieldName::if_range) &&
        !wire::if_range_matches(request.field(FieldName::if_range), validators_of(file, now))) {
        return {};
    }
    return wire::parse_range(request.field(FieldName::range), file.size());
}

void answer_unsatisfiable(Exchange& exchange, const ResolvedPath& path, const CachedFile& file) {
    Response response(416);
    const auto text = wire::format_unsatisfied_range(file.size());
    response.add(FieldName::content_range, response.keep(text.view()));
    response.add(FieldName::accept_ranges, "bytes");
    if (path.has_siblings) response.add(FieldName::vary, "Accept-Encoding");
    exchange.respond(response);
}

void set_whole_body(Response& response, CachedFile& file, std::size_t small_copy_bytes_max) {
    if (file.in_memory() && file.size() <= small_copy_bytes_max) {
        response.set_body(file.bytes());
        return;
    }
    core::SendQueue queue;
    file.append_to(queue, 0, file.size());
    response.set_body(std::move(queue));
}

}  // namespace

void answer_file(Exchange& exchange, const ResolvedPath& path, std::size_t small_copy_bytes_max) {
    const Request& request = exchange.request();
    const UnixSeconds now = exchange.loop().unix_now();
    const Representation chosen = choose(request, path);
    CachedFile& file = *chosen.file;

    const wire::Precondition condition = evaluate_conditions(request, file, now);
    if (condition == wire::Precondition::failed) return exchange.respond_status(412);
    Response response(condition == wire::Precondition::not_modified ? 304 : 200);
    add_validators(response, path, file);
    if (condition == wire::Precondition::not_modified) return exchange.respond(response);

    const wire::RangeResult range = range_of(request, file, now);
    if (range.kind == wire::RangeResult::Kind::unsatisfiable) {
        return answer_unsatisfiable(exchange, path, file);
    }
    add_description(response, chosen, now);
    if (range.kind == wire::RangeResult::Kind::satisfiable) {
        set_range_body(response, range.ranges, file, path.content_type);
        return exchange.respond(response);
    }
    response.add(FieldName::content_type, path.content_type);
    if (request.method() == wire::Method::get) {
        set_whole_body(response, file, small_copy_bytes_max);
    } else {
        response.set_length_hint(file.size());
    }
    exchange.respond(response);
}

}  // namespace tiderace::http::handler
