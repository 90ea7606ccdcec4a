#include "tiderace/resp/reply.h"

#include "tiderace/resp/number.h"

namespace tiderace::resp {
namespace {

bool has_text(Kind kind) {
    switch (kind) {
        case Kind::simple_string:
        case Kind::simple_error:
        case Kind::bulk_string:
        case Kind::bulk_error:
        case Kind::verbatim:
        case Kind::real:
        case Kind::big_number:
            return true;
        default:
            return false;
    }
}

}  // namespace

ByteView Reply::text() const {
    if (!has_text(kind())) return {};
    return {base_ + node().offset + node().format_bytes, node().bytes - node().format_bytes};
}

ByteView Reply::format() const {
    if (kind() != Kind::verbatim) return {};
    return {base_ + node().offset, static_cast<std::size_t>(node().format_bytes) - 1};
}

std::optional<std::int64_t> Reply::integer() const {
    if (kind() == Kind::integer) return node().number;
    return is_error() ? std::nullopt : parse_integer(text());
}

std::optional<double> Reply::real() const {
    if (kind() == Kind::integer) return static_cast<double>(node().number);
    return is_error() ? std::nullopt : parse_double(text());
}

std::optional<bool> Reply::boolean() const {
    // RESP 2 has no booleans: servers send 0 and 1.
    if (kind() != Kind::boolean && kind() != Kind::integer) return std::nullopt;
    if (node().number != 0 && node().number != 1) return std::nullopt;
    return node().number == 1;
}

Reply Reply::operator[](std::size_t i) const {
    if (i >= size()) return {};
    // Elements differ in how many nodes they have, so there is no step to the i-th.
    Iterator at = begin();
    while (i-- > 0) ++at;
    return *at;
}

Reply Reply::operator[](ByteView key) const {
    // Key and value are neighbours, in maps and in RESP 2's flat arrays alike.
    for (Iterator at = begin(); at != end(); ++at) {
        const bool found = has_text((*at).kind()) && (*at).text() == key;
        if (++at == end()) break;  // an array of an odd number of elements
        if (found) return *at;
    }
    return {};
}

Reply Reply::attributes() const {
    if (first_ == node_) return {};
    // The constructor would step over it.
    Reply attributes;
    attributes.nodes_ = nodes_;
    attributes.base_ = base_;
    attributes.first_ = attributes.node_ = first_;
    return attributes;
}

OwnedReply Reply::copy() const {
    OwnedReply owned;
    if (nodes_ == nullptr) return owned;
    // From its attributes on, and all that it contains: the nodes of a value stand together.
    for (std::uint32_t i = first_; i < node().end; ++i) {
        ReplyNode copied = nodes_[i];
        copied.end -= first_;
        copied.offset = static_cast<std::uint32_t>(owned.text_.size());
        if (has_text(copied.kind)) owned.text_.append(base_ + nodes_[i].offset, copied.bytes);
        owned.nodes_.push_back(copied);
    }
    return owned;
}

std::string Reply::describe() const {
    std::string out;
    describe(out);
    return out;
}

void Reply::describe(std::string& out) const {
    const Kind of = kind();
    if (of == Kind::none) out += "nothing";
    if (of == Kind::null) out += "null";
    if (of == Kind::integer) out += std::to_string(node().number);
    if (of == Kind::boolean) out += node().number != 0 ? "true" : "false";
    if (is_error()) out += "error: ";
    if (has_text(of)) out += text();
    if (!is_aggregate()) return;
    const bool pairs = of == Kind::map || of == Kind::attribute;
    if (of == Kind::push) out += "push ";
    out += pairs ? '{' : of == Kind::set ? '(' : '[';
    std::size_t i = 0;
    for (const Reply each : *this) {
        if (i > 0) out += pairs && i % 2 == 1 ? ": " : ", ";
        each.describe(out);
        ++i;
    }
    out += pairs ? '}' : of == Kind::set ? ')' : ']';
}

}  // namespace tiderace::resp
