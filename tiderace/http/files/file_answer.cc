#include "tiderace/http/files/file_answer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiderace/http/coding/content_encoder.h"
#include "tiderace/http/files/range_body.h"
#include "tiderace/http/wire/conditional.h"
#include "tiderace/http/wire/range.h"

namespace tiderace::http::files {
namespace {

using wire::ContentCoding;
using wire::FieldName;

// The bytes of this answer: the file itself, or one of its siblings.
struct Representation {
    core::Ref<CachedFile> file;
    ContentCoding coding = ContentCoding::identity;
    ContentCoding missing = ContentCoding::identity;  // wanted, but not made yet
};

wire::EntityTagText coded_tag(const CachedFile& file, ContentCoding coding) {
    return wire::append_to_tag(file.etag(), coding::tag_suffix_of(coding));
}

// `to` is a Response or a FieldBlock.
void add_policy(auto& to, const ResolvedPath& path) {
    if (!path.cache_control.empty()) to.add(FieldName::cache_control, path.cache_control);
    if (path.varies) to.add(FieldName::vary, "Accept-Encoding");
}

// All lines of a list field as one value, which means the same (RFC 9110, 5.3).
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

// Whether the client means the plain bytes of a file that we compress: its condition names them, or
// it asks for a range and does not name the compressed bytes. (Ranges of the two must not be
// joined, and a file that is compressed now was sent plain a moment ago.)
bool means_plain_bytes(const Request& request, const ResolvedPath& path,
                       const wire::CodingChoice& wanted) {
    const wire::EntityTag plain{false, path.file->etag()};
    if (request.has(FieldName::if_none_match)) {
        const auto coded = coded_tag(*path.file, wanted.coding);
        std::string storage;
        const ByteView tags = joined(request, FieldName::if_none_match, storage);
        const auto has = [&](const wire::EntityTag& tag) {
            // "*" matches any representation, so it does not name a particular one.
            return tags != "*" && wire::tag_list_matches(tags, tag, wire::TagCompare::weak);
        };
        if (has({false, coded.view()})) return false;
        if (has(plain)) return true;
    }
    if (!request.has(FieldName::range) || request.method() != wire::Method::get ||
        !wanted.identity_acceptable) {
        return false;
    }
    // A range to be joined to bytes that the client holds: If-Range names which ones.
    const auto part_of = wire::parse_entity_tag(request.header(FieldName::if_range));
    return !part_of || wire::same_tag(*part_of, plain, wire::TagCompare::strong);
}

Representation choose_made(const Request& request, ResolvedPath& path, FileVariants* variants,
                           ByteView accept) {
    const wire::CodingChoice wanted = wire::choose_coding(accept, path.makes);
    if (wanted.coding == ContentCoding::identity || means_plain_bytes(request, path, wanted)) {
        return {path.file};
    }
    if (const auto& made = path.sibling(wanted.coding)) return {made, wanted.coding};
    // Compressed in the background; this request gets what is there.
    if (variants != nullptr) variants->want(path, wanted.coding);
    const ContentCoding now = wire::choose_coding(accept, path.present()).coding;
    if (now != ContentCoding::identity) return {path.sibling(now), now};
    return {path.file, ContentCoding::identity, wanted.coding};
}

Representation choose(const Request& request, ResolvedPath& path, FileVariants* variants) {
    if (!path.varies) return {path.file};
    std::string storage;
    const ByteView accept = joined(request, FieldName::accept_encoding, storage);
    // No Accept-Encoding: any coding would be allowed (RFC 9110, 12.5.3), but only plain bytes are
    // understood by every client.
    if (accept.empty()) return {path.file};
    if (!path.has_siblings) return choose_made(request, path, variants, accept);
    const wire::CodingChoice choice = wire::choose_coding(accept, path.present());
    if (choice.coding == ContentCoding::identity) return {path.file};
    return {path.sibling(choice.coding), choice.coding};
}

// The client already holds the variant that we will make later, so the answer is 304. The other
// conditions come before If-None-Match (RFC 9110, 13.2.2), and are judged on a real file.
bool answer_known_variant(Exchange& exchange, const ResolvedPath& path,
                          const Representation& chosen) {
    const Request& request = exchange.request();
    if (chosen.missing == ContentCoding::identity || !request.has(FieldName::if_none_match) ||
        request.has(FieldName::if_match) || request.has(FieldName::if_unmodified_since)) {
        return false;
    }
    std::string storage;
    const ByteView tags = joined(request, FieldName::if_none_match, storage);
    const auto tag = coded_tag(*path.file, chosen.missing);
    if (tags == "*" ||
        !wire::tag_list_matches(tags, wire::EntityTag{false, tag.view()}, wire::TagCompare::weak)) {
        return false;
    }
    Response response(304);
    response.set_as_is();
    response.add(FieldName::etag, tag.view());
    add_policy(response, path);
    exchange.respond(response);
    return true;
}

wire::Validators validators_of(const CachedFile& file, UnixSeconds now) {
    return {.tag = wire::EntityTag{false, file.etag()},
            .last_modified = file.identity().modified,
            .now = now};
}

wire::Precondition evaluate_conditions(const Request& request, const CachedFile& file,
                                       UnixSeconds now) {
    static constexpr auto asked = {FieldName::if_match, FieldName::if_none_match,
                                   FieldName::if_modified_since, FieldName::if_unmodified_since};
    // Another method has done its work by now, and its condition was about that (RFC 9110, 13.2.1).
    if (!request.is_get_or_head()) return wire::Precondition::proceed;
    // The usual request has no condition, and skips the work below.
    if (std::ranges::none_of(asked, [&](FieldName name) { return request.has(name); })) {
        return wire::Precondition::proceed;
    }
    std::string match, none_match;
    const wire::Conditions conditions{
        .if_match = joined(request, FieldName::if_match, match),
        .if_none_match = joined(request, FieldName::if_none_match, none_match),
        .if_modified_since = request.header(FieldName::if_modified_since),
        .if_unmodified_since = request.header(FieldName::if_unmodified_since)};
    return wire::evaluate(conditions, validators_of(file, now), true);
}

// Fields that a 304 repeats (RFC 9110, 15.4.5), and that every other answer about the file has.
// `to` is a Response or a FieldBlock.
void add_validators(auto& to, const ResolvedPath& path, const CachedFile& file) {
    to.add(FieldName::etag, file.etag());
    add_policy(to, path);
}

void add_description(auto& to, const ResolvedPath& path, const CachedFile& file,
                     ContentCoding coding, UnixSeconds now) {
    if (coding == ContentCoding::identity) coding = path.stored;
    // A file from the future would claim a change that has not happened yet (RFC 9110 8.8.2.1). One
    // of before 1970 has no date that we write.
    const UnixSeconds modified = file.identity().modified;
    if (modified >= 0 && modified <= now) to.add(FieldName::last_modified, file.last_modified());
    if (coding != ContentCoding::identity) {
        to.add(FieldName::content_encoding, wire::coding_name(coding));
    }
    to.add(FieldName::accept_ranges, "bytes");
    // Browsers must not guess a type: a text that looks like HTML would run as a page.
    to.add(FieldName::x_content_type_options, "nosniff");
}

void add_disposition(Response& response, const ResolvedPath& path) {
    if (!path.disposition.empty()) response.add(FieldName::content_disposition, path.disposition);
}

// Only GET has ranges (RFC 9110, 14.2). A Range that was sent twice is ignored, like a malformed
// one.
wire::RangeResult range_of(const Request& request, const CachedFile& file, UnixSeconds now) {
    if (request.method() != wire::Method::get || request.head->repeated(FieldName::range)) {
        return {};
    }
    if (request.has(FieldName::if_range) &&
        !wire::if_range_matches(request.header(FieldName::if_range), validators_of(file, now))) {
        return {};
    }
    return wire::parse_range(request.header(FieldName::range), file.size());
}

void answer_unsatisfiable(Exchange& exchange, const ResolvedPath& path, const CachedFile& file) {
    Response response(416);
    response.set_as_is();
    const auto text = wire::format_unsatisfied_range(file.size());
    response.add(FieldName::content_range, response.keep(text.view()));
    response.add(FieldName::accept_ranges, "bytes");
    if (path.varies) response.add(FieldName::vary, "Accept-Encoding");
    exchange.respond(response);
}

void set_whole_body(Exchange& exchange, Response& response, CachedFile& file,
                    std::size_t small_copy_bytes_max, DiskReads& disk) {
    // A small body is copied behind the head: one piece to send, and no reference to keep.
    if (file.in_memory() && file.size() <= small_copy_bytes_max) {
        response.set_body(file.bytes(), core::Ref<core::Shared>(&file));
        return;
    }
    core::SendQueue queue;
    file.append_to(queue, 0, file.size());
    disk.set_body(exchange, response, std::move(queue), file);
}

void answer_whole(Exchange& exchange, const ResolvedPath& path, const Representation& chosen,
                  std::size_t small_copy_bytes_max, DiskReads& disk) {
    CachedFile& file = *chosen.file;
    Response response(200);
    response.set_as_is();
    if (const FieldBlock& block = path.fields_of(chosen.coding); !block.empty()) {
        response.set_block(block);
    } else {
        add_validators(response, path, file);
        add_description(response, path, file, chosen.coding, exchange.loop().unix_now());
        response.add(FieldName::content_type, path.content_type);
    }
    add_disposition(response, path);
    if (exchange.request().method() != wire::Method::head) {
        set_whole_body(exchange, response, file, small_copy_bytes_max, disk);
    } else {
        response.set_unsent_body(file.size());
    }
    exchange.respond(response);
}

// False: the field does not count, so the answer is the whole file.
bool answer_range(Exchange& exchange, const ResolvedPath& path, const Representation& chosen,
                  DiskReads& disk) {
    CachedFile& file = *chosen.file;
    const UnixSeconds now = exchange.loop().unix_now();
    const wire::RangeResult range = range_of(exchange.request(), file, now);
    switch (range.kind) {
        case wire::RangeResult::Kind::unsatisfiable:
            answer_unsatisfiable(exchange, path, file);
            return true;
        case wire::RangeResult::Kind::satisfiable: {
            Response response(206);
            response.set_as_is();
            add_validators(response, path, file);
            add_description(response, path, file, chosen.coding, now);
            add_disposition(response, path);
            disk.set_body(exchange, response,
                          make_range_body(response, range.ranges, file, path.content_type), file);
            exchange.respond(response);
            return true;
        }
        case wire::RangeResult::Kind::ignore:
            break;
    }
    return false;
}

}  // namespace

// In the order of RFC 9110, 13.2.2: which representation, then the conditions, then the range. Each
// step works on what the one before has chosen, and the tag and length belong to that choice.
void answer_file(Exchange& exchange, ResolvedPath& path, std::size_t small_copy_bytes_max,
                 DiskReads& disk, FileVariants* variants) {
    const Request& request = exchange.request();
    const UnixSeconds now = exchange.loop().unix_now();
    const Representation chosen = choose(request, path, variants);
    CachedFile& file = *chosen.file;
    if (answer_known_variant(exchange, path, chosen)) return;

    const wire::Precondition condition = evaluate_conditions(request, file, now);
    if (condition == wire::Precondition::failed) return exchange.respond_status(412);
    if (condition == wire::Precondition::not_modified) {
        Response response(304);
        response.set_as_is();
        add_validators(response, path, file);
        return exchange.respond(response);
    }
    // The usual request asks for no range, and does without room for the ranges.
    if (request.has(FieldName::range) && answer_range(exchange, path, chosen, disk)) return;
    answer_whole(exchange, path, chosen, small_copy_bytes_max, disk);
}

void answer_opened(Exchange& exchange, const FileLoader& loader, FileLoader::Opened&& opened,
                   const OneFile& how, DiskReads& disk) {
    const bool small = opened.identity.bytes < how.sendfile_bytes_min;
    FileLoader::Loaded loaded = loader.load(std::move(opened), small);
    if (!loaded.file) return answer_fault(exchange, loaded.error);
    const auto path = core::make_ref<ResolvedPath>();
    path->stands_for = StandsFor::file;
    path->file = std::move(loaded.file);
    path->content_type = how.content_type;
    if (wire::is_stored_as_gzip(how.name, how.content_type)) path->stored = ContentCoding::gzip;
    path->cache_control = how.cache_control;
    path->disposition = how.disposition;
    answer_file(exchange, *path, how.small_copy_bytes_max, disk);
}

// 503 where the next attempt may succeed; 500 where the disk or the code is at fault.
void answer_fault(Exchange& exchange, int error) {
    const bool exhausted =
        error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN || error == EINTR;
    Response response(exhausted ? 503 : 500);
    if (exhausted) response.add(FieldName::retry_after, "1");
    exchange.respond(response);
}

void render_fields(ResolvedPath& path, UnixSeconds now) {
    for (FieldBlock& block : path.fields) block.clear();
    const auto render = [&](const core::Ref<CachedFile>& file, ContentCoding coding) {
        // Without a block the fields are made for each answer: a modification time in the future
        // must not be sent (RFC 9110, 8.8.2.1), and it may pass while the block is kept.
        if (!file || file->identity().modified > now) return;
        FieldBlock& block = path.fields[static_cast<std::size_t>(coding)];
        add_validators(block, path, *file);
        add_description(block, path, *file, coding, now);
        block.add(FieldName::content_type, path.content_type);
    };
    render(path.file, ContentCoding::identity);
    for (const ContentCoding coding :
         {ContentCoding::gzip, ContentCoding::zstd, ContentCoding::br}) {
        render(path.sibling(coding), coding);
    }
}

}  // namespace tiderace::http::files
