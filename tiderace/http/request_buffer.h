// Internal. RequestBuffer: where the head of a request is taken apart: its table of fields, and its
// path if that had to be rewritten. PinnedRequest: a request that lives on, at the size that it
// has.
//
//   parse -> RequestBuffer, the loop's -> answered at once: the next request has the buffer
//                                    -> pin(): a copy of exactly what there is, and the same
//
// Owner    An exchange has a buffer from its parsing until it is answered or pinned.
// Thread   The loop's.
// Memory   A buffer has about 13 KiB; a loop has one, and more only while more requests are in
//          their handlers at once. A pinned request: its text, and 40 bytes for each field.
//
// Builds with AddressSanitizer report a handler that reads a view too late: one from before pin(),
// from before its return, or one of on_body.
// Keywords: request buffer, header memory
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "tiderace/http/request.h"
#include "tiderace/http/wire/request_head.h"

namespace tiderace::http {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool poisons_old_views = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool poisons_old_views = true;
#else
inline constexpr bool poisons_old_views = false;
#endif
#else
inline constexpr bool poisons_old_views = false;
#endif

class RequestBuffer {
  public:
    explicit RequestBuffer(std::size_t path_bytes);
    ~RequestBuffer();

    std::span<wire::Field> fields() { return fields_; }
    // At least this many bytes: the limit of requests may have grown since it was made.
    std::span<char> path(std::size_t bytes);
    // Marks the memory unreadable for AddressSanitizer, or readable again. No-ops in other builds.
    void poison();
    void unpoison();

  private:
    std::array<wire::Field, wire::RequestHead::fields_capacity> fields_;
    std::unique_ptr<char[]> path_;
    std::size_t path_bytes_;
};

class RequestBuffers {
  public:
    // `path_bytes`: of the longest path that is accepted, as far as is known.
    explicit RequestBuffers(std::size_t path_bytes) : path_bytes_(path_bytes) {}

    std::unique_ptr<RequestBuffer> take();
    void give_back(std::unique_ptr<RequestBuffer> buffer);

  private:
    std::size_t path_bytes_;
    std::unique_ptr<RequestBuffer> spare_;
};

class PinnedRequest {
  public:
    // From here on the views of both point in here. `request.head` is `head`.
    void pin(wire::RequestHead& head, Request& request);
    void clear();
    std::size_t bytes() const { return bytes_; }

  private:
    std::unique_ptr<char[]> memory_;  // the fields, then all text
    std::size_t bytes_ = 0;
};

}  // namespace tiderace::http
