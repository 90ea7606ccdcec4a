// Response: status, headers and body of one answer, the same for every version of HTTP: what
// handlers return, what middleware sees, and what is sent.
//
//   return Response(201).header("Location", "/users/7").text("made\n");
//   app.use([](const Request&, Response& response) { response.header("X-Harbour", "north"); });
//
// Framing fields (Content-Length, Transfer-Encoding, Connection, Date, Server) are the connection's
// business: it adds them from the body and drops any that were set here.
//
// Owner    The handler, until it returns it or gives it to Exchange::respond.
// Thread   One loop's.
// Errors   header() leaves out what no message may hold: a line break in a value would begin a
//          field of its author's. With add() and set() such an answer becomes a 500.
// Memory   header(), cookie() and the bodies that are strings are the Response's own. add() and
//          set() copy nothing: their arguments live until respond() returns, or are kept by
//          keep(). A move moves no text, so views of it stay good. No allocation up to
//          ResponseFields::inline_max fields and without a kept text.
// Keywords: Response, answer, header, status
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/core/send_queue.h"
#include "tiderace/http/body_source.h"
#include "tiderace/http/cookie.h"
#include "tiderace/http/field_block.h"
#include "tiderace/http/response_fields.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/refusal.h"

namespace tiderace::task {
template <typename T>
class Generator;
}

namespace tiderace::http {

class Response {
  public:
    static constexpr std::size_t kept_bytes = 512;           // of texts, in one allocation
    static constexpr std::size_t copied_bytes_max = 64_KiB;  // larger bodies are shared

    explicit Response(int status = 200) : status_(status) {}
    Response(Response&&) noexcept = default;
    Response& operator=(Response&&) noexcept = default;

    int status() const { return status_; }
    void set_status(int status) { status_ = status; }

    // The value of the first header of that name, in any case; "" without one.
    ByteView header(ByteView name) const;
    // Adds a header; Content-Type and Location, of which there is one, are replaced. In a Location,
    // what a URI cannot hold is escaped.
    Response& header(ByteView name, ByteView value) &;
    Response&& header(ByteView name, ByteView value) && { return std::move(header(name, value)); }
    // The same in the place of all of that name.
    Response& set_header(ByteView name, ByteView value);
    // Sets a cookie. One that no client would keep (wire::check_cookie) is left out, with a line
    // in the log.
    Response& cookie(const Cookie& cookie) &;
    Response&& cookie(const Cookie& one) && { return std::move(cookie(one)); }

    // The body and its type; the last one counts. HEAD, 204 and 304 send none, whatever is set.
    Response& text(std::string body) &;
    Response& html(std::string body) &;
    Response& body(ByteView type, std::string bytes) &;
    Response& body(ByteView type, std::unique_ptr<BodySource> source) &;
    // A body that is made while it is sent, as a handler's result of pieces alone
    // (http/app/stream.h): a client that reads slowly slows the generator down. It may take views
    // of the request that the handler was given, but none of the handler's own variables.
    Response& body(ByteView type, task::Generator<std::string> pieces) &;
    Response&& text(std::string body) && { return std::move(text(std::move(body))); }
    Response&& html(std::string body) && { return std::move(html(std::move(body))); }
    template <typename B>
    Response&& body(ByteView type, B&& bytes_or_source) && {
        return std::move(body(type, std::forward<B>(bytes_or_source)));
    }
    // Takes the body and the headers of another, whose status does not count. Without a body, its
    // own is dropped.
    void take_content(Response&& other);

    // Adds a field; does not look whether there is one of that name.
    Response& add(wire::FieldName name, ByteView value) {
        fields_.push({name, {}, value});
        return *this;
    }
    Response& add(ByteView name, ByteView value);
    Response& add(wire::FieldName name, std::uint64_t value);
    // Replaces all of that name.
    Response& set(wire::FieldName name, ByteView value);
    Response& set(ByteView name, ByteView value);
    void remove(wire::FieldName name);
    void remove(ByteView name);
    // Fields rendered beforehand, sent before the others. The block outlives respond().
    void set_block(const FieldBlock& block) { block_ = &block; }
    const FieldBlock* block() const { return block_; }
    // The first of that name, in the block or beside it.
    std::optional<ResponseField> find(wire::FieldName name) const;
    // The fields beside the block.
    std::span<const ResponseField> fields() const { return fields_.all(); }
    // A copy of `text` that lives as long as this object.
    ByteView keep(ByteView text);

    // A body without a type.
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

    void set_turned_away(wire::TurnedAway why) { turned_away_ = why; }
    wire::TurnedAway turned_away() const { return turned_away_; }

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
        if (std::holds_alternative<OwnText>(body_)) return body_text_;
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
    // BodySource::attach, where it has one.
    void attach_source(Exchange& exchange) {
        auto* made = std::get_if<Source>(&body_);
        if (made != nullptr && made->source != nullptr) made->source->attach(exchange);
    }
    wire::CookieFault cookie_fault() const { return cookie_fault_; }

  private:
    struct Source {
        std::unique_ptr<BodySource> source;
        std::optional<std::uint64_t> length;
    };

    struct OwnText {};  // body_text_; a view of it would not survive a move

    ByteView keep_string(std::string text);
    void take_block_apart();

    int status_;
    bool as_is_ = false;
    wire::TurnedAway turned_away_ = wire::TurnedAway::no;
    wire::CookieFault cookie_fault_ = wire::CookieFault::none;
    ByteView explanation_;
    const FieldBlock* block_ = nullptr;
    std::variant<std::monostate, ByteView, OwnText, core::SendQueue, Source> body_;
    core::Ref<core::Shared> owner_;  // of the copied body; empty if it lives on the stack
    std::string body_text_;          // the body, where it was given as a small text
    std::unique_ptr<char[]> text_;   // kept texts, kept_bytes together
    std::size_t text_bytes_ = 0;
    std::vector<std::unique_ptr<std::string>> more_text_;
    ResponseFields fields_;
};

}  // namespace tiderace::http
