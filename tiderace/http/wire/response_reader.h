// Internal. Response reader: what a client reads, head and body, one response after another (RFC
// 9112, 4, 6).
//
//   for (ResponseReader::Step step = reader.step(bytes);; step = reader.step(bytes)) {
//       bytes.remove_prefix(step.used);
//       …head, data, trailer: use them and go on; done: reader.next(); need_more: keep `bytes`;
//       else end
//   }
//
//   head --1xx--> head                               done --next()--> head
//     |--no body----------------------------------> done
//     |--a length--> length --its last byte-------> done
//     |--chunked---> chunked --the last chunk-----> done
//     '--neither---> until_close --end_of_stream()-> done
//   any but done --end_of_stream(), a fault--> refused
//
// Owner    The connection's reader; one for all its responses.
// Thread   Any; a reader belongs to one thread at a time.
// Errors   The server's faults are a ResponseFault, the same however the bytes were split; after
//          one, every step gives it again. Strict where two readers could disagree: a length twice,
//          a length and a coding, a coding other than chunked, a line without its CR.
// Limits   ResponseLimits. The length of the body is counted by the caller.
// Memory   64 bytes, no buffer. Data are views into what was given. The places, which are the
//          caller's, grow with the fields of a head, at most to head_bytes_max / 4 of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/chunked.h"
#include "tiderace/http/wire/field_name.h"

namespace tiderace::http::wire {

enum class ResponseFault : std::uint8_t {
    none,
    not_http,         // it does not begin with HTTP/1.
    bad_status_line,  // no three digits, or a control character in the reason
    bad_field,
    bad_length,      // no number, or two of them, or one beside a coding
    bad_coding,      // a transfer coding other than chunked
    head_too_large,  // above ResponseLimits::head_bytes_max
    too_many_interim,
    bad_chunk,
    cut_short,  // the connection ended inside a response
    count_
};
// "the head is too large"; "" for none.
std::string_view to_string(ResponseFault fault);

struct ResponseLimits {
    std::uint32_t head_bytes_max = 64_KiB;
    std::uint8_t interim_max = 16;  // 1xx before one final response
};

// Where the name and the value of each field stand in the lines of a head, in their order.
struct FieldPlace {
    std::size_t name_at;
    std::size_t name_bytes;
    std::size_t value_at;
    std::size_t value_bytes;
};
using FieldPlaces = std::vector<FieldPlace>;

struct ResponseStart {
    enum class Body : std::uint8_t { none, length, chunked, until_close };

    std::uint16_t status = 0;
    std::uint8_t version_minor = 0;
    Body body = Body::none;
    bool keep_alive = false;   // the server lets another request come
    std::uint64_t length = 0;  // of the body, when it is Body::length
};

class ResponseReader {
  public:
    enum class Status : std::uint8_t {
        need_more,  // all is used but an unfinished line or head, which must come again whole
        head,       // the final head; read it with start(). `data` is its field lines
        data,       // `data` is the next piece of the body, never empty
        trailer,    // `trailer` is one field behind a chunked body
        done,       // the response ended; what was not used belongs to the next
        refused     // fault() says why
    };
    struct Step {
        Status status = Status::need_more;
        std::size_t used = 0;  // of the bytes given, also when data points into them
        ByteView data = {};
        // Never one that frames or routes (ChunkedDecoder). Keep it apart from the head.
        Field trailer = {};
    };

    explicit ResponseReader(ResponseLimits limits = {}) : limits_(limits) {}

    // Goes on up to the next head, piece of data, or end. Heads of 1xx are passed over (101 is
    // final: what follows is another protocol). With Status::head, `places` has the fields of
    // `data`; otherwise it may have the fields of an unfinished head.
    Step step(ByteView bytes, FieldPlaces* places = nullptr);
    // After done: the next response. `to_head`: it answers a HEAD, so it has no body.
    void next(bool to_head = false);
    // The server ended the connection: the end of a body without a length, otherwise cut_short.
    // True: the response is complete.
    bool end_of_stream();

    const ResponseStart& start() const { return start_; }
    ResponseFault fault() const { return fault_; }

  private:
    //   head ---> length, chunked -- all of it --> done -- next() --> head
    //    |\----> until_close -- end_of_stream() --^
    //     \----- no body ------------------------/
    //
    //   any of them -> refused: a fault, or an end in the middle; for good
    enum class State : std::uint8_t { head, length, chunked, until_close, done, refused };
    struct Framing {
        bool has_length = false;
        bool has_coding = false;
        bool close = false;
        bool keep_alive = false;
    };

    Step read_head(ByteView bytes, FieldPlaces* places);
    std::size_t read_status_line(ByteView bytes);
    bool read_field(ByteView name, ByteView value, Framing& framing);
    void decide_body(const Framing& framing);
    Step read_length(ByteView bytes);
    Step read_chunked(ByteView bytes);
    Step refuse(ResponseFault fault);
    Step more_head(ByteView bytes);

    ResponseStart start_;
    ResponseLimits limits_;
    ChunkedDecoder chunks_;
    std::uint64_t left_ = 0;  // of a body with a length
    State state_ = State::head;
    ResponseFault fault_ = ResponseFault::none;
    std::uint8_t interim_ = 0;
    bool to_head_ = false;
};

}  // namespace tiderace::http::wire
