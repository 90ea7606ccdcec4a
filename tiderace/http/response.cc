#include "tiderace/http/response.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/http/generator_source.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/percent.h"

namespace tiderace::http {
namespace {

// Bytes that wait for the peer: exactly as many as there are.
struct OwnedText final : core::Shared {
    explicit OwnedText(std::string bytes) : text(std::move(bytes)) {}
    std::string text;
};

// Sending it after all breaks the answer off.
struct UnsentBody final : BodySource {
    State pull(core::BlockPool&, core::SendQueue&, std::size_t) override { return State::failed; }
};

}  // namespace

void ResponseFields::push_more(const ResponseField& field) {
    if (more_.empty()) {
        more_.reserve(2 * inline_max);
        more_.assign(inline_, inline_ + count_);
    }
    more_.push_back(field);
}

void ResponseFields::take(ResponseFields& other) noexcept {
    count_ = std::exchange(other.count_, 0);
    more_ = std::exchange(other.more_, {});
    std::copy_n(other.inline_, more_.empty() ? count_ : 0, inline_);
}

ByteView Response::header(ByteView name) const {
    const wire::FieldName id = wire::intern_field_name(name);
    if (id != wire::FieldName::other) {
        const auto found = find(id);
        return found ? found->value : ByteView{};
    }
    for (const ResponseField& field : fields()) {
        if (field.id == id && equals_ignoring_case(field.name, name)) return field.value;
    }
    return {};
}

Response& Response::header(ByteView name, ByteView value) & {
    const wire::FieldName id = wire::intern_field_name(name);
    if (id == wire::FieldName::location) {
        if (value.empty()) return *this;
        std::string memory(wire::uri_growth_max * value.size(), '\0');
        wire::BoundedText uri(memory);
        wire::append_uri_reference(uri, value);
        return set(id, keep(uri.view()));
    }
    if (!wire::is_field_value(value)) return *this;
    if (id == wire::FieldName::content_type) return set(id, keep(value));
    if (id != wire::FieldName::other) return add(id, keep(value));
    if (!wire::is_token(name)) return *this;
    fields_.push({id, keep(name), keep(value)});
    return *this;
}

Response& Response::set_header(ByteView name, ByteView value) {
    // One that is left out leaves what is there.
    if (!wire::is_token(name) || !wire::is_field_value(value)) return *this;
    remove(name);
    return header(name, value);
}

Response& Response::cookie(const Cookie& cookie) & {
    wire::SetCookie one{.name = cookie.name,
                        .value = cookie.value,
                        .path = cookie.path,
                        .domain = cookie.domain,
                        .same_site = cookie.same_site,
                        .secure = cookie.secure,
                        .http_only = cookie.http_only,
                        .partitioned = cookie.partitioned};
    if (cookie.max_age) {
        one.max_age = std::chrono::duration_cast<std::chrono::seconds>(*cookie.max_age).count();
    }
    std::array<char, wire::set_cookie_bytes_max> memory;
    wire::BoundedText text(memory);
    if (wire::append_set_cookie(text, one)) {
        return add(wire::FieldName::set_cookie, keep(text.view()));
    }
    // Reported by the exchange, which has a log.
    cookie_fault_ = wire::check_cookie(one);
    return *this;
}

Response& Response::text(std::string body) & {
    set(wire::FieldName::content_type, "text/plain; charset=utf-8");
    set_body(std::move(body));
    return *this;
}

Response& Response::html(std::string body) & {
    set(wire::FieldName::content_type, "text/html; charset=utf-8");
    set_body(std::move(body));
    return *this;
}

Response& Response::body(ByteView type, std::string bytes) & {
    set(wire::FieldName::content_type, keep(type));
    set_body(std::move(bytes));
    return *this;
}

Response& Response::body(ByteView type, std::unique_ptr<BodySource> source) & {
    set(wire::FieldName::content_type, keep(type));
    set_body(std::move(source));
    return *this;
}

Response& Response::body(ByteView type, task::Generator<std::string> pieces) & {
    return body(type, std::make_unique<GeneratorSource>(std::move(pieces)));
}

void Response::take_content(Response&& other) {
    other.take_block_apart();
    for (const ResponseField& field : other.fields()) {
        const bool one = field.id == wire::FieldName::content_type;
        if (one) remove(field.id);
        fields_.push({field.id, keep(field.name), keep(field.value)});
    }
    if (cookie_fault_ == wire::CookieFault::none) cookie_fault_ = other.cookie_fault_;
    if (const ByteView copied = other.copied_body(); !copied.empty() && !other.owner_) {
        return set_body(std::string(copied));  // it may be a text that `other` keeps
    }
    body_ = std::move(other.body_);
    owner_ = std::move(other.owner_);
}

Response& Response::add(ByteView name, ByteView value) {
    const wire::FieldName id = wire::intern_field_name(name);
    fields_.push({id, id == wire::FieldName::other ? name : ByteView{}, value});
    return *this;
}

Response& Response::add(wire::FieldName name, std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return add(name, keep({digits, static_cast<std::size_t>(end - digits)}));
}

void Response::remove(wire::FieldName name) {
    take_block_apart();
    const std::span<ResponseField> all = fields_.all();
    const auto end = std::remove_if(all.begin(), all.end(),
                                    [&](const ResponseField& field) { return field.id == name; });
    fields_.shrink_to(static_cast<std::size_t>(end - all.begin()));
}

void Response::remove(ByteView name) {
    const wire::FieldName id = wire::intern_field_name(name);
    if (id != wire::FieldName::other) return remove(id);
    const std::span<ResponseField> all = fields_.all();
    const auto end = std::remove_if(all.begin(), all.end(), [&](const ResponseField& field) {
        return field.id == id && equals_ignoring_case(field.name, name);
    });
    fields_.shrink_to(static_cast<std::size_t>(end - all.begin()));
}

Response& Response::set(wire::FieldName name, ByteView value) {
    remove(name);
    return add(name, value);
}

Response& Response::set(ByteView name, ByteView value) {
    remove(name);
    return add(name, value);
}

std::optional<ResponseField> Response::find(wire::FieldName name) const {
    if (block_ != nullptr) {
        if (const FieldBlock::Entry* entry = block_->find(name)) return {{name, {}, entry->value}};
    }
    for (const ResponseField& field : fields()) {
        if (field.id == name) return field;
    }
    return std::nullopt;
}

// The block is shared, so a change of one field first copies all of them into the answer.
void Response::take_block_apart() {
    const FieldBlock* block = std::exchange(block_, nullptr);
    if (block == nullptr) return;
    for (const FieldBlock::Entry& entry : block->entries()) add(entry.id, entry.value);
}

ByteView Response::keep(ByteView text) {
    if (text.empty()) return {};
    if (text.size() > kept_bytes) return keep_string(std::string(text));
    if (text_ == nullptr) {
        text_ = std::make_unique_for_overwrite<char[]>(kept_bytes);
        text_bytes_ = 0;
    } else if (text.size() > kept_bytes - text_bytes_) {
        return keep_string(std::string(text));
    }
    char* copy = text_.get() + text_bytes_;
    std::memcpy(copy, text.data(), text.size());
    text_bytes_ += text.size();
    return {copy, text.size()};
}

ByteView Response::keep_string(std::string text) {
    // Each behind a pointer, because views of the earlier ones must not move when the list grows.
    more_text_.push_back(std::make_unique<std::string>(std::move(text)));
    return *more_text_.back();
}

void Response::set_body(std::string text) {
    // A small body is copied next to its head and leaves in the same call; a large one is shared.
    if (text.size() <= copied_bytes_max) {
        // The first one without an allocation. Views of it stay good, whatever body follows.
        if (!body_text_.empty()) return set_body(keep_string(std::move(text)), {});
        body_text_ = std::move(text);
        owner_ = {};
        body_.emplace<OwnText>();
        return;
    }
    auto owned = core::make_ref<OwnedText>(std::move(text));
    set_body(owned->text, owned);
}

// For an answer that outlives respond(): a copied body is a view of the handler's.
void Response::share_body() {
    if (owner_ || copied_body().empty()) return;
    auto owned = core::make_ref<OwnedText>(std::string(copied_body()));
    set_body(owned->text, owned);
}

void Response::set_body(std::unique_ptr<BodySource> source, std::optional<std::uint64_t> length) {
    body_ = Source{std::move(source), length};
}

void Response::set_unsent_body(std::optional<std::uint64_t> length) {
    set_body(std::make_unique<UnsentBody>(), length);
}

bool Response::has_body() const {
    return !std::holds_alternative<std::monostate>(body_);
}

std::optional<std::uint64_t> Response::body_bytes() const {
    if (std::holds_alternative<OwnText>(body_)) return body_text_.size();
    if (const auto* copied = std::get_if<ByteView>(&body_)) return copied->size();
    if (const auto* queue = std::get_if<core::SendQueue>(&body_)) return queue->bytes();
    if (const auto* source = std::get_if<Source>(&body_)) return source->length;
    return 0;
}

std::unique_ptr<BodySource> Response::take_source() {
    auto* source = std::get_if<Source>(&body_);
    return source != nullptr ? std::move(source->source) : nullptr;
}

}  // namespace tiderace::http
