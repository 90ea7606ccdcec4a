#include "tiderace/http/response.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "tiderace/base/ascii.h"

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

Response& Response::push(const ResponseField& field) {
    // Most answers have few fields and allocate nothing.
    if (more_fields_.empty() && field_count_ < fields_inline) {
        inline_fields_[field_count_++] = field;
        return *this;
    }
    if (more_fields_.empty()) more_fields_.assign(inline_fields_, inline_fields_ + field_count_);
    more_fields_.push_back(field);
    return *this;
}

Response& Response::add(ByteView name, ByteView value) {
    const wire::FieldName id = wire::intern_field_name(name);
    return push({id, id == wire::FieldName::other ? name : ByteView{}, value});
}

Response& Response::add(wire::FieldName name, std::uint64_t value) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return add(name, keep({digits, static_cast<std::size_t>(end - digits)}));
}

std::span<ResponseField> Response::mutable_fields() {
    return more_fields_.empty() ? std::span<ResponseField>(inline_fields_, field_count_)
                                : std::span<ResponseField>(more_fields_);
}

void Response::shrink_to(std::size_t count) {
    if (!more_fields_.empty()) more_fields_.resize(count);
    // An emptied vector means that the inline ones count again: they are none then.
    if (more_fields_.empty()) field_count_ = count;
}

void Response::remove(wire::FieldName name) {
    take_block_apart();
    const std::span<ResponseField> all = mutable_fields();
    const auto end = std::remove_if(all.begin(), all.end(),
                                    [&](const ResponseField& field) { return field.id == name; });
    shrink_to(static_cast<std::size_t>(end - all.begin()));
}

Response& Response::set(wire::FieldName name, ByteView value) {
    remove(name);
    return add(name, value);
}

Response& Response::set(ByteView name, ByteView value) {
    const wire::FieldName id = wire::intern_field_name(name);
    if (id != wire::FieldName::other) return set(id, value);
    const std::span<ResponseField> all = mutable_fields();
    const auto end = std::remove_if(all.begin(), all.end(), [&](const ResponseField& field) {
        return field.id == wire::FieldName::other && equals_ignoring_case(field.name, name);
    });
    shrink_to(static_cast<std::size_t>(end - all.begin()));
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
    if (text.size() > text_inline_bytes - text_bytes_) return keep_string(std::string(text));
    char* copy = inline_text_ + text_bytes_;
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
        return set_body(body_text_, {});
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
