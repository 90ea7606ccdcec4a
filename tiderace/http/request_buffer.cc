#include "tiderace/http/request_buffer.h"

#include <cstring>
#include <functional>
#include <utility>

#include "tiderace/base/check.h"

#if defined(__has_include) && __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#if !defined(ASAN_POISON_MEMORY_REGION)
#define ASAN_POISON_MEMORY_REGION(at, bytes) (static_cast<void>(at), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) (static_cast<void>(at), static_cast<void>(bytes))
#endif

namespace tiderace::http {
namespace {

bool is_inside(ByteView part, ByteView whole) {
    // The views may be of different objects, whose pointers < does not order.
    const std::less_equal<const char*> before;
    return !part.empty() && before(whole.data(), part.data()) &&
           before(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

RequestBuffer::RequestBuffer(std::size_t path_bytes)
    : path_(std::make_unique_for_overwrite<char[]>(path_bytes)), path_bytes_(path_bytes) {}

std::span<char> RequestBuffer::path(std::size_t bytes) {
    if (bytes > path_bytes_) {
        path_ = std::make_unique_for_overwrite<char[]>(bytes);
        path_bytes_ = bytes;
    }
    return {path_.get(), path_bytes_};
}

RequestBuffer::~RequestBuffer() {
    unpoison();
}

// Under the address sanitizer a view that outlives its request is found at its first use.
void RequestBuffer::poison() {
    ASAN_POISON_MEMORY_REGION(fields_.data(), sizeof fields_);
    ASAN_POISON_MEMORY_REGION(path_.get(), path_bytes_);
}

void RequestBuffer::unpoison() {
    ASAN_UNPOISON_MEMORY_REGION(fields_.data(), sizeof fields_);
    ASAN_UNPOISON_MEMORY_REGION(path_.get(), path_bytes_);
}

std::unique_ptr<RequestBuffer> RequestBuffers::take() {
    if (spare_ == nullptr) return std::make_unique<RequestBuffer>(path_bytes_);
    spare_->unpoison();
    return std::move(spare_);
}

void RequestBuffers::give_back(std::unique_ptr<RequestBuffer> buffer) {
    // One spare for each loop: requests that are answered at once take turns with it.
    if (buffer == nullptr || spare_ != nullptr) return;
    buffer->poison();
    spare_ = std::move(buffer);
}

void PinnedRequest::pin(wire::RequestHead& head, Request& request) {
    const ByteView old_target = head.target();
    const auto own_bytes = [&](ByteView view) {
        return is_inside(view, old_target) ? 0 : view.size();
    };
    // One allocation for all texts and the fields. A path inside the target is not copied again: it
    // moves with it.
    const std::size_t fields_bytes = head.fields().size() * sizeof(wire::Field);
    bytes_ = fields_bytes + head.method_text().size() + old_target.size() +
             head.target_authority().size() + request.protocol.size() + own_bytes(request.path) +
             own_bytes(request.raw_path) + own_bytes(request.query);
    for (const wire::Field& field : head.fields()) bytes_ += field.name.size() + field.value.size();
    memory_ = std::make_unique_for_overwrite<char[]>(bytes_);

    char* at = memory_.get() + fields_bytes;
    const auto keep = [&](ByteView text) {
        const ByteView kept(at, text.size());
        if (!text.empty()) std::memcpy(at, text.data(), text.size());
        at += text.size();
        return kept;
    };
    // The fields lie in front: new[] aligns its memory for them, and texts do not need an
    // alignment.
    head.move_to(reinterpret_cast<wire::Field*>(memory_.get()), keep);
    const auto move = [&](ByteView& view) {
        if (!is_inside(view, old_target)) {
            view = keep(view);
        } else {
            view = head.target().substr(static_cast<std::size_t>(view.data() - old_target.data()),
                                        view.size());
        }
    };
    move(request.path);
    move(request.raw_path);
    move(request.query);
    request.protocol = keep(request.protocol);
    TR_CHECK(at == memory_.get() + bytes_, "a pinned request of another size");
    request.authority = head.target_authority();
    if (request.authority.empty()) request.authority = request.header(wire::FieldName::host);
}

void PinnedRequest::clear() {
    memory_.reset();
    bytes_ = 0;
}

}  // namespace tiderace::http
