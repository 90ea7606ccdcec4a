// Internal. Multipart forms (RFC 7578, over RFC 2046 5.1), read as they arrive.
//
//   preamble --boundary CRLF head CRLF CRLF data CRLF --boundary CRLF … CRLF --boundary-- epilogue
//                                    part   data…  part_end                    end
//
//   preamble -> after_delimiter --CR LF--> head -> data --delimiter--> after_delimiter
//                     '--"--"--> ended                     any --a fault--> failed
//
//   MultipartReader reader(*boundary, limits);
//   for (;;) {
//       const auto step = reader.next(unused bytes);
//       drop the first step.bytes of them; pass the rest again, with more behind it
//   }
//
// Owner    The caller keeps the bytes that were not used: at most held_bytes_max() of them while
//          next() returns need_more.
// Thread   One at a time.
// Errors   MultipartFault, once; after that next() gives the same again. finish() reports whether
//          the body may end here.
// Limits   MultipartLimits; name_bytes_max and filename_bytes_max inside a head.
// Memory   This object, about 2 KiB; no allocation.
// Keywords: multipart, form-data, boundary, upload
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/bounded_text.h"

namespace tiderace::http::wire {

struct MultipartLimits {
    std::size_t parts_max = 1'000;
    std::size_t head_bytes_max = 4'096;         // of one part
    std::uint64_t part_bytes_max = UINT64_MAX;  // of one part's data
};

enum class MultipartFault : std::uint8_t {
    none,
    no_delimiter,   // does not begin with the boundary
    bad_delimiter,  // something else than a line's end behind a boundary
    bad_head,       // a line of a part's head is no field
    not_form_data,  // a part without "Content-Disposition: form-data", or without a name
    name_too_long,  // of a part or a file
    head_too_large,
    too_many_parts,
    part_too_large,
    cut_off,  // the body ended before its last boundary
};

std::string_view to_string(MultipartFault fault);

// The boundary that a Content-Type names; nullopt: it is not multipart/form-data, or names none of
// 1 to 70 characters. A view of the field.
std::optional<ByteView> multipart_boundary(ByteView content_type);

class MultipartReader {
  public:
    static constexpr std::size_t boundary_bytes_max = 70;
    static constexpr std::size_t name_bytes_max = 256;
    static constexpr std::size_t filename_bytes_max = 1'024;
    static constexpr std::size_t preamble_bytes_max = 1'024;

    enum class Event : std::uint8_t { need_more, part, data, part_end, end, failed };
    struct Step {
        Event event;
        std::size_t bytes = 0;  // used: they do not come again
        ByteView data = {};     // with Event::data; inside what was given
    };

    // `boundary` is multipart_boundary()'s; it is copied.
    explicit MultipartReader(ByteView boundary, const MultipartLimits& limits = {});

    // Reads on in `input`, which begins behind what was used. need_more: call again when there is
    // more input. After `end` all input is used: it is the epilogue.
    Step next(ByteView input);
    // The input has ended. False: too early, fault() is cut_off.
    bool finish();

    // The part that began last. The content type is a view of the input: read it before next().
    ByteView name() const { return {name_.data(), name_bytes_}; }
    // nullopt: no file.
    std::optional<ByteView> filename() const {
        if (!is_file_) return std::nullopt;
        return ByteView(filename_.data(), filename_bytes_);
    }
    ByteView content_type() const { return content_type_; }

    MultipartFault fault() const { return fault_; }
    std::size_t parts() const { return parts_; }
    std::size_t held_bytes_max() const;

  private:
    //   preamble -> after_delimiter -> head -> data -> after_delimiter -> … -> ended
    //
    //   any of them -> failed, for good
    enum class State : std::uint8_t { preamble, after_delimiter, head, data, ended, failed };

    ByteView delimiter() const { return {delimiter_.data(), delimiter_bytes_}; }
    Step fail(MultipartFault fault);
    std::optional<bool> begins_with_boundary(ByteView input) const;
    std::optional<bool> skip_boundary_at_start(ByteView input);
    std::size_t bytes_before(ByteView input, std::size_t delimiter_at) const;
    Step step_once(ByteView input);
    Step step_preamble(ByteView input);
    Step step_after_delimiter(ByteView input);
    Step step_head(ByteView input);
    Step step_data(ByteView input);
    bool read_head(ByteView head);
    bool read_disposition(ByteView value);

    MultipartLimits limits_;
    std::array<char, boundary_bytes_max + 4> delimiter_;  // CR LF - - boundary
    std::size_t delimiter_bytes_;
    State state_ = State::preamble;
    MultipartFault fault_ = MultipartFault::none;
    bool at_start_ = true;  // of the body or a part's data, where no CR LF precedes a boundary
    bool is_named_ = false;
    bool is_file_ = false;
    std::size_t scanned_ = 0;  // of the next input, where a search goes on
    std::size_t preamble_bytes_ = 0;
    std::size_t parts_ = 0;
    std::uint64_t part_bytes_ = 0;
    ByteView content_type_;
    std::array<char, name_bytes_max> name_;
    std::array<char, filename_bytes_max> filename_;
    std::size_t name_bytes_ = 0;
    std::size_t filename_bytes_ = 0;
};

}  // namespace tiderace::http::wire
