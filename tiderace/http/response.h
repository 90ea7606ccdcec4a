// Internal. Response: status, fields and body of one answer, the same for every version of HTTP.
//
// Framing fields (Content-Length, Transfer-Encoding, Connection, Date, Server) are the connection's
// business: it adds them from the body and drops any that were set here.
//
// Owner    Made on the stack by a handler, consumed by Exchange::respond.
// Thread   One loop's.
// Memory   Views are not copied: they live until respond() returns. keep() makes a copy that does.
//          No allocation up to fields_inline fields and text_inline_bytes kept bytes.
// Keywords: header, status
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/http/field_block.h"
#include "tiderace/http/wire/field_name.h"

namespace tiderace::http {

// A body that is made while it is sent. Pulled when the connection has room; never while it has
// not.
class BodySource {
  public:
    enum class State : std::uint8_t {
        more,  // pull again when there is room; without bytes, see empty_pulls_max
        wait,  // nothing now: call Exchange::body_ready() when there is
        end,
        failed,  // cannot go on: the connection is broken off, so that the peer sees it
    };
    static constexpr std::size_t pull_bytes = 31_KiB;  // with its frame it fits in a block
    // After so many pulls in a row that returned `more` without a byte, the next comes in the next
    // turn of the loop, so that others are served. It keeps the loop busy: `wait` costs nothing.
    static constexpr std::uint8_t empty_pulls_max = 16;

    virtual ~BodySource() = default;
    // Appends about `bytes_wanted` to `out`. Called on the loop; must not block.
    virtual State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) = 0;
};

struct ResponseField {
    wire::FieldName id;  // FieldName::other: `name` has it
    ByteView name;
    ByteView value;
};

class Response {
  public:
    static constexpr std::size_t fields_inline = 24;
    static constexpr std::size_t text_inline_bytes = 512;
    static constexpr std::size_t copied_bytes_max = 64_KiB;  // larger bodies are shared

    explicit Response(int status = 200) : status_(status) {}
    Response(const Response&) = delete;
    Response& operator=(const Response&) = delete;

    int status() const { return status_; }
    void set_status(int status) { status_ = status; }

    // Adds a field; does not look whether there is one of that name.
    Response& add(wire::FieldName name, ByteView value) { return push({name, {}, value}); }
    Response& add(ByteView name, ByteView value);
    Response& add(wire::FieldName name, std::uint64_t value);
    // Replaces all of that name.
    Response& set(wire::FieldName name, ByteView value);
    Response& set(ByteView name, ByteView value);
    void remove(wire::FieldName name);
    // Fields rendered beforehand, sent before the others. The block outlives respond().
    void set_block(const FieldBlock& block) { block_ = &block; }
    const FieldBlock* block() const { return block_; }
    // The first of that name, in the block or beside it.
    std::optional<ResponseField> find(wire::FieldName name) const;
    // The fields beside the block.
    std::span<const ResponseField> fields() const {
        return more_fields_.empty() ? std::span<const ResponseField>(inline_fields_, field_count_)
                                    : std::span<const ResponseField>(more_fields_);
    }
    // A copy of `text` that lives as long as this object.
    ByteView keep(ByteView text);

    // The body, one of these; the last one counts. HEAD, 204 and 304 send none, whatever is set.
    void set_body(ByteView copied) { set_body(copied, {}); }
    // Bytes that `owner` keeps: copied if that is cheaper, or if the answer does not wait for the
    // peer.
    void set_body(ByteView bytes, core::Ref<core::Shared> owner) {
        body_.emplace<ByteView>(bytes);
        owner_ = std::move(owner);
    }
    void set_body(std::string text);
    void set_body(const char* text) { set_body(ByteView(text)); }
    // Ready pieces: shared bytes, file ranges.
    void set_body(core::SendQueue queue) { body_ = std::move(queue); }
    // A body of unknown length (chunked), or of exactly `length` bytes.
    void set_body(std::unique_ptr<BodySource> source, std::optional<std::uint64_t> length = {});
    // For HEAD: the body that GET would have, with its length where that is known. It is not made.
    void set_unsent_body(std::optional<std::uint64_t> length);

    // The handler has chosen the bytes, by Accept-Encoding among others: no filter changes them.
    void set_as_is() { as_is_ = true; }
    bool as_is() const { return as_is_; }

    // Why the request was not taken, in a sentence of ours. The body has no more, in plain text;
    // error pages put it into a page instead.
    void explain(ByteView sentence) { explanation_ = sentence; }
    ByteView explanation() const { return explanation_; }

    bool has_body() const;
    // nullopt: unknown until it ends.
    std::optional<std::uint64_t> body_bytes() const;
    // The value of the Content-Length field. HEAD has GET's or none (RFC 9110, 8.6), and no body at
    // all has no information about GET's.
    std::optional<std::uint64_t> content_length(bool to_head) const {
        return to_head && !has_body() ? std::nullopt : body_bytes();
    }

    // "" unless it is one
    ByteView copied_body() const {
        const auto* copied = std::get_if<ByteView>(&body_);
        return copied != nullptr ? *copied : ByteView{};
    }
    const core::Ref<core::Shared>& body_owner() const { return owner_; }
    bool has_source() const { return std::holds_alternative<Source>(body_); }
    core::SendQueue* queued_body() { return std::get_if<core::SendQueue>(&body_); }
    std::unique_ptr<BodySource> take_source();
    // The bytes of a copied body get an owner where they have none, so that they may wait.
    void share_body();
    // The same where copying them once more would be dear.
    void share_large_body() {
        if (copied_body().size() > copied_bytes_max) share_body();
    }
    void drop_body() { body_ = std::monostate{}; }

  private:
    struct Source {
        std::unique_ptr<BodySource> source;
        std::optional<std::uint64_t> length;
    };

    Response& push(const ResponseField& field);
    ByteView keep_string(std::string text);
    std::span<ResponseField> mutable_fields();
    void shrink_to(std::size_t count);
    void take_block_apart();

    int status_;
    bool as_is_ = false;
    ByteView explanation_;
    const FieldBlock* block_ = nullptr;
    std::size_t field_count_ = 0;
    std::size_t text_bytes_ = 0;
    std::variant<std::monostate, ByteView, core::SendQueue, Source> body_;
    core::Ref<core::Shared> owner_;           // of the copied body; empty if it lives on the stack
    std::vector<ResponseField> more_fields_;  // all of them, once there are more than fit inside
    std::string body_text_;                   // the body, where it was given as a small text
    std::vector<std::unique_ptr<std::string>> more_text_;
    union {  // so that they are not initialised: a request is answered in 300 ns
        ResponseField inline_fields_[fields_inline];
    };
    char inline_text_[text_inline_bytes];
};

}  // namespace tiderace::http
