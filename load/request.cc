#include "load/request.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/base/ascii.h"
#include "tiderace/http/wire/h2/hpack_encoder.h"
#include "tiderace/http/wire/h2/hpack_field.h"
#include "tiderace/http/wire/h2/hpack_integer.h"
#include "tiderace/http/wire/h2/hpack_static_table.h"

namespace tiderace::load {
namespace {

namespace wire = http::wire;

// These methods mean a body, and servers ask for its length (RFC 9110, 8.6).
bool says_length(const LoadOptions& options) {
    const std::string_view verb = options.verb();
    return options.body_bytes > 0 || verb == "POST" || verb == "PUT" || verb == "PATCH";
}

std::string render_head(const LoadTarget& target, const LoadOptions& options) {
    std::string text(options.verb());
    text += " " + target.path + " HTTP/" + std::string(to_string(options.http));
    text += "\r\nHost: " + options.host.value_or(target.host) + "\r\n";
    for (const std::string& field : options.fields) text += field + "\r\n";
    if (says_length(options)) {
        text += "Content-Length: " + std::to_string(options.body_bytes) + "\r\n";
    }
    const bool old = options.http == LoadHttp::v1_0;
    // RFC 9112, 9.3: HTTP/1.0 closes by default, HTTP/1.1 keeps.
    if (old && !options.close) text += "Connection: keep-alive\r\n";
    if (!old && options.close) text += "Connection: close\r\n";
    return text + "\r\n";
}

struct Field {
    std::string name;
    std::string value;
};

// The pseudo-fields first, as RFC 9113, 8.3, requires.
std::vector<Field> fields_of(const LoadTarget& target, const LoadOptions& options) {
    std::vector<Field> fields{{":method", std::string(options.verb())},
                              {":scheme", target.tls ? "https" : "http"},
                              {":authority", options.host.value_or(target.host)},
                              {":path", target.path}};
    for (const std::string& line : options.fields) {
        const std::size_t colon = line.find(':');
        // HTTP/2 has names in lower case alone (RFC 9113, 8.2.1). +2: the flag has made each line
        // "Name: value".
        fields.push_back({lower_case(line.substr(0, colon)), line.substr(colon + 2)});
    }
    if (says_length(options)) {
        fields.push_back({"content-length", std::to_string(options.body_bytes)});
    }
    return fields;
}

void append_number(std::string& block, std::uint8_t pattern, unsigned prefix, std::size_t value) {
    std::array<char, wire::hpack_integer::bytes_max> room;
    const char* end =
        wire::hpack_integer::write(room.data(), pattern, prefix, static_cast<std::uint32_t>(value));
    block.append(room.data(), static_cast<std::size_t>(end - room.data()));
}

void append_text(std::string& block, std::string_view text) {
    // No Huffman coding: these bytes go once for each connection, and are easily read in a capture.
    append_number(block, 0, 7, text.size());
    block += text;
}

// The static table's entry with this name and value, and the first one with this name; 0: none.
std::pair<std::uint32_t, std::uint32_t> known(const Field& field) {
    std::uint32_t name = 0;
    for (std::uint32_t i = 1; i <= wire::hpack_static::entries; ++i) {
        const wire::HpackField& entry = wire::hpack_static::entry(i);
        if (entry.name != field.name) continue;
        if (entry.value == field.value) return {i, i};
        if (name == 0) name = i;
    }
    return {0, name};
}

//   block_first   0x40 name value: enters the server's table      the first request of a connection
//   block_again   0x80 | index                                    all later ones: a few bytes
//   block_plain   0x00 name value: leaves the table alone         where the server has none
//
// Fields of the static table are 0x80 | index in all three.
void render_blocks(const std::vector<Field>& fields, LoadRequest& request) {
    std::size_t inserted_bytes = 0;
    std::vector<std::size_t> inserted;  // in fields
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto [whole, name] = known(fields[i]);
        // 0x80 refers to an entry, 0x40 enters the table, 0x00 does not (RFC 7541, 6).
        if (whole != 0) {
            append_number(request.block_first, 0x80, 7, whole);
            append_number(request.block_plain, 0x80, 7, whole);
            continue;
        }
        const std::size_t bytes =
            fields[i].name.size() + fields[i].value.size() + wire::hpack_field_overhead;
        // Never more than fits: an eviction would move the indexes of all later requests.
        const bool insert = inserted_bytes + bytes <= wire::HpackEncoder::default_table_bytes;
        if (insert) {
            inserted.push_back(i);
            inserted_bytes += bytes;
        }
        append_number(request.block_first, insert ? 0x40 : 0x00, insert ? 6 : 4, name);
        append_number(request.block_plain, 0x00, 4, name);
        for (std::string* block : {&request.block_first, &request.block_plain}) {
            if (name == 0) append_text(*block, fields[i].name);
            append_text(*block, fields[i].value);
        }
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto [whole, name] = known(fields[i]);
        const auto at = std::ranges::find(inserted, i);
        if (whole != 0 || at != inserted.end()) {
            // The newest entry of the table follows the static ones.
            const auto age = static_cast<std::uint32_t>(inserted.end() - at);
            append_number(request.block_again, 0x80, 7,
                          whole != 0 ? whole : wire::hpack_static::entries + age);
            continue;
        }
        append_number(request.block_again, 0x00, 4, name);
        if (name == 0) append_text(request.block_again, fields[i].name);
        append_text(request.block_again, fields[i].value);
    }
}

// Bytes that differ, so that nothing on the way can compress them to almost nothing.
std::string generated_body(std::uint64_t bytes) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::string body(static_cast<std::size_t>(bytes), ' ');
    for (std::size_t i = 0; i < body.size(); ++i) {
        body[i] = letters[(i * i + i / 97) % letters.size()];
    }
    return body;
}

}  // namespace

LoadRequest render_request(const LoadTarget& target, const LoadOptions& options) {
    LoadRequest request;
    request.is_head = options.verb() == "HEAD";
    request.has_body = options.body_bytes > 0;
    request.body = options.body.empty() ? generated_body(options.body_bytes) : options.body;
    if (options.http == LoadHttp::v2) {
        render_blocks(fields_of(target, options), request);
        return request;
    }
    if (!options.echoes()) request.head = render_head(target, options);
    request.bytes = request.head.size() + request.body.size();
    // A copy for each depth, so that a full pipeline is one write; large bodies are lent instead.
    if (request.bytes <= LoadRequest::batch_bytes_max / options.pipeline) {
        for (std::uint64_t i = 0; i < options.pipeline; ++i) {
            request.batch += request.head + request.body;
        }
    }
    return request;
}

}  // namespace tiderace::load
