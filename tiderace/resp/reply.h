// Reply: a value that a server sent, of any type of RESP 2 or 3: a view of the memory of its reader
// or of an OwnedReply.
//
//   for (const Reply each : reply) …                      elements; of a map key, value, key, value
//   if (const Reply mode = reply["mode"]) …               a map's value, or RESP 2's flat array
//
// Lifetime  A Reply is valid until its reader's next read(); copy() makes one that lasts.
// Errors    A value of another type gives nothing: "" for text(), nullopt for integer().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tiderace/base/bytes.h"

namespace tiderace::resp {

enum class Kind : std::uint8_t {
    none,           // there is no value: what a lookup of an absent key gives
    null,           // "$-1", "*-1", "_"
    simple_string,  // "+OK"
    simple_error,   // "-ERR …"
    bulk_string,
    bulk_error,
    verbatim,  // text() is without "txt:"
    integer,
    real,  // a double
    boolean,
    big_number,
    array,
    set,
    map,
    push,
    attribute,  // not a value: attributes() of the one that follows
};

// One value of a reply; aggregates are followed by their elements.
struct ReplyNode {
    Kind kind;
    std::uint8_t format_bytes;  // of a verbatim string: "txt:" before the text
    std::uint32_t count;        // elements; of a map and an attribute, keys and values
    std::uint32_t end;          // the node behind this value and all it contains
    std::uint32_t offset;       // of the text in the message
    std::uint32_t bytes;        // of the text
    std::int64_t number;        // of an integer or boolean
};

class OwnedReply;

class Reply {
  public:
    Reply() = default;
    Reply(const ReplyNode* nodes, const char* base, std::uint32_t node)
        : nodes_(nodes), base_(base), first_(node), node_(behind_attributes(nodes, node)) {}

    Kind kind() const { return nodes_ != nullptr ? node().kind : Kind::none; }
    explicit operator bool() const { return kind() != Kind::none; }
    bool is_null() const { return kind() == Kind::null; }
    bool is_error() const { return kind() == Kind::simple_error || kind() == Kind::bulk_error; }
    bool is_aggregate() const { return kind() >= Kind::array; }

    // The text of a string, error, double or big number.
    ByteView text() const;
    // "txt" or "mkd", of a verbatim string only.
    ByteView format() const;
    // An integer, or a string that holds one.
    std::optional<std::int64_t> integer() const;
    // A double, an integer, or a string that holds one.
    std::optional<double> real() const;
    // A boolean, or the integers 0 and 1.
    std::optional<bool> boolean() const;

    // Elements; of a map, keys and values: twice its pairs.
    std::size_t size() const { return is_aggregate() ? node().count : 0; }
    Reply operator[](std::size_t i) const;  // walks over those before
    Reply operator[](ByteView key) const;   // of a map, or an array of keys and values
    // The server's attribute of this value; Kind::none: none.
    Reply attributes() const;

    OwnedReply copy() const;
    // As people read it: "[1, {name: value}]". For messages and tests.
    std::string describe() const;

    class Iterator {
      public:
        Iterator(const ReplyNode* nodes, const char* base, std::uint32_t node)
            : nodes_(nodes), base_(base), node_(node) {}
        Reply operator*() const { return {nodes_, base_, node_}; }
        Iterator& operator++() {
            node_ = nodes_[behind_attributes(nodes_, node_)].end;
            return *this;
        }
        bool operator==(const Iterator&) const = default;

      private:
        const ReplyNode* nodes_;
        const char* base_;
        std::uint32_t node_;
    };
    Iterator begin() const { return {nodes_, base_, is_aggregate() ? node_ + 1 : node_}; }
    Iterator end() const { return {nodes_, base_, is_aggregate() ? node().end : node_}; }

  private:
    static std::uint32_t behind_attributes(const ReplyNode* nodes, std::uint32_t node) {
        while (nodes[node].kind == Kind::attribute) node = nodes[node].end;
        return node;
    }
    const ReplyNode& node() const { return nodes_[node_]; }
    void describe(std::string& out) const;

    const ReplyNode* nodes_ = nullptr;
    const char* base_ = nullptr;
    std::uint32_t first_ = 0;  // its attributes, if it has any
    std::uint32_t node_ = 0;
};

// A reply with its own memory. Replies of it are valid as long as it stays where it is.
class OwnedReply {
  public:
    OwnedReply() = default;

    Reply view() const { return nodes_.empty() ? Reply() : Reply(nodes_.data(), text_.data(), 0); }

  private:
    friend class Reply;
    std::vector<ReplyNode> nodes_;
    std::string text_;
};

}  // namespace tiderace::resp
