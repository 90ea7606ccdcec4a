// Internal. Request head: the request line and the fields of one HTTP/1 request (RFC 9112, sections
// 2 to 5).
//
//   receive view -> parse_request_head -> RequestHead (views into the bytes) -> frame_request
//
// Strict: doubtful input is refused, never repaired. Each line ends with CR LF; one empty line
// before the request line is skipped, as RFC 9112 2.2 requires.
//
// Owner    The connection's reader. The head's views point into the parsed bytes:
//          they end when those move or are overwritten.
// Thread   Any; a head belongs to one thread at a time.
// Errors   The peer's faults are a Refusal. The answer does not depend on how the bytes were split.
// Limits   HeadLimits, and fields_capacity.
// Memory   A head's table is 5 KiB, its own or lent. Keep one per loop and use it again: clearing
//          costs two stores.
// Keywords: request line, header parser, 431, absolute-form
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tiderace/base/bytes.h"
#include "tiderace/base/check.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/field_name.h"
#include "tiderace/http/wire/method.h"
#include "tiderace/http/wire/refusal.h"

namespace tiderace::http::wire {

struct HeadLimits {
    std::size_t request_line_bytes_max = 8_KiB;  // with its CR LF; passing it is 414
    std::size_t head_bytes_max = 32_KiB;         // with the empty line at its end; 431
    std::size_t fields_max = 100;                // at most fields_capacity; 431
};

// The four forms of a target (RFC 9112, 3.2).
enum class TargetForm : std::uint8_t {
    origin,     // "/path?query"
    absolute,   // "http://host/path?query", https too
    authority,  // "host:port", with CONNECT and only there
    asterisk    // "*", with OPTIONS and only there
};

class RequestHead {
  public:
    static constexpr std::size_t fields_capacity = 128;

    // With a table of its own for fields_capacity.
    RequestHead();
    // With room for as many as there is; more is lent later.
    explicit RequestHead(std::span<Field> room) { lend(room); }

    Method method() const { return method_; }
    ByteView method_text() const { return method_text_; }
    ByteView target() const { return target_; }
    TargetForm target_form() const { return target_form_; }
    // The host and port inside an absolute or authority target; "" for the other forms. Where it is
    // not empty it takes the place of Host (RFC 9112, 3.2.2).
    ByteView target_authority() const { return target_authority_; }
    // 0 for HTTP/1.0; 1 for HTTP/1.1 and for 1.2 to 1.9, which are answered as 1.1.
    int version_minor() const { return version_minor_; }

    std::span<const Field> fields() const { return {fields_, fields_count_}; }
    // The first field of that name, or nullptr. Constant time. Not for FieldName::other.
    const Field* find(FieldName name) const {
        return has(name) ? &fields_[first_[static_cast<std::size_t>(name)]] : nullptr;
    }
    bool has(FieldName name) const { return (present_ & bit(name)) != 0; }
    // True when it was sent more than once.
    bool repeated(FieldName name) const { return (repeated_ & bit(name)) != 0; }
    // The next field with the same name after `field`, which must be one of this head's; or
    // nullptr.
    const Field* next(const Field& field) const;
    // The first field of any name, without regard to case, or nullptr. Linear.
    const Field* find(ByteView name) const;

    // Fields go to `room` from here on, which outlives them. There must be none.
    void lend(std::span<Field> room) {
        TR_CHECK(fields_count_ == 0, "the fields of a head cannot move");
        fields_ = room.data();
        capacity_ = static_cast<std::uint8_t>(room.size() < fields_capacity ? room.size()
                                                                            : fields_capacity);
    }
    // Moves all fields to `room`, which has exactly room for them, and makes each view what
    // `keep` returns for it.
    template <typename Keep>
    void move_to(Field* room, Keep&& keep) {
        method_text_ = keep(method_text_);
        target_ = keep(target_);
        target_authority_ = keep(target_authority_);
        for (std::size_t i = 0; i < fields_count_; ++i) {
            const ByteView name = keep(fields_[i].name);
            std::construct_at(room + i, Field{name, keep(fields_[i].value), fields_[i].id});
        }
        fields_ = room;
        capacity_ = fields_count_;
    }

    // For code that fills a head: the parser, and protocols with another encoding of the same
    // meaning. Nothing of the last request remains readable.
    void clear() {
        clear_fields();
        method_text_ = target_ = target_authority_ = {};
        method_ = Method::other;
        target_form_ = TargetForm::origin;
        version_minor_ = 1;
    }
    void clear_fields() {
        fields_count_ = 0;
        present_ = 0;
        repeated_ = 0;
    }
    void set_method(ByteView text) {
        method_text_ = text;
        method_ = parse_method(text);
    }
    void set_target(ByteView target, TargetForm form, ByteView authority) {
        target_ = target;
        target_form_ = form;
        target_authority_ = authority;
    }
    // The bytes that all views point into were copied to a place `by` further on.
    void rebase(std::ptrdiff_t by);
    void set_version_minor(int minor) { version_minor_ = static_cast<std::uint8_t>(minor); }
    // Gives one of this head's fields another value.
    void set_value(const Field& field, ByteView value) {
        fields_[static_cast<std::size_t>(&field - fields_)].value = value;
    }
    // False when there is no room for it.
    bool add_field(ByteView name, ByteView value) {
        return add_field(name, value, intern_field_name(name));
    }
    // `id` is intern_field_name(name).
    bool add_field(ByteView name, ByteView value, FieldName id) {
        if (fields_count_ == capacity_) return false;
        // Word by word: a struct that g++ puts together in memory is read back in one piece, and
        // waits there for its stores. That was half the time of a head that comes over HTTP/2.
        Field& field = fields_[fields_count_];
        std::construct_at(&field.name, name.data(), name.size());
        std::construct_at(&field.value, value.data(), value.size());
        field.id = id;
        repeated_ |= present_ & bit(id);
        if (!has(id)) first_[static_cast<std::size_t>(id)] = fields_count_;
        present_ |= bit(id);
        ++fields_count_;
        return true;
    }

    // From here on clear() leaves what was there: nothing reaches it. For tests.
    const void* scratch() const { return first_.data(); }

  private:
    static constexpr std::uint64_t bit(FieldName name) {
        return std::uint64_t{1} << static_cast<unsigned>(name);
    }

    ByteView method_text_;
    ByteView target_;
    ByteView target_authority_;
    std::uint64_t present_ = 0;   // by FieldName; first_ is valid only where set
    std::uint64_t repeated_ = 0;  // by FieldName
    Method method_ = Method::other;
    TargetForm target_form_ = TargetForm::origin;
    std::uint8_t version_minor_ = 1;
    std::uint8_t fields_count_ = 0;
    std::uint8_t capacity_ = 0;
    std::array<std::uint8_t, field_names_max> first_{};
    Field* fields_ = nullptr;
    std::unique_ptr<Field[]> own_;
};

struct HeadParse {
    ParseStatus status;
    std::size_t bytes;  // of the head with its end, when complete; else 0
    Refusal refusal;    // none unless refused
};

// Parses the head that begins at data's first byte. On need_more nothing is kept: call again with
// the same bytes and more after them. Call only when a new '\n' arrived or data reached a limit:
// every call parses from the start, so that rule bounds the work to one parse for each line (and
// makes a head that comes in one piece cost one parse). A refusal, once given for some bytes, is
// given for every continuation of them; it is given as soon as it is certain.
// `head` is meaningful only when complete.
HeadParse parse_request_head(ByteView data, const HeadLimits& limits, RequestHead& head);

}  // namespace tiderace::http::wire
