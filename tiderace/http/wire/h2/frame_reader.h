// H2FrameReader: what a peer sends, cut into frames (RFC 9113, sections 3.4, 4 and 6).
//
//   H2FrameReader reader;                        // on_data(bytes):
//   while (true) {
//       const auto step = reader.next(bytes);
//       bytes.remove_prefix(step.used);
//       if (step.status == need_more) break;     // keep what is left of bytes
//       if (step.status == fault) …              // connection scope: GOAWAY, and stop reading
//       else std::visit(…, step.frame);
//   }
//
// Holds every rule that a frame can break by itself or by its place among the frames: a client's
// preface, SETTINGS first, lengths, stream 0 or not, padding, values, a field block without gaps.
// What depends on the state of a stream is in h2_stream.h.
//
//   preface --> first_settings --> frames --DATA--> data --> padding --> frames
//                                    |  ^
//                                    |  +-- skip: an unknown type, or PRIORITY of a bad length
//                                    +--a field block without its end: CONTINUATION alone may come
//   any --a fault of connection scope--> dead
//
// Owner    The connection.
// Thread   One at a time.
// Errors   The peer's faults are an H2Fault. After one of connection scope the reader is done:
//          every later call reports it again. One of stream scope stands for its frame; go on
//          reading.
// Limits   H2ReaderLimits. Frames other than DATA and unknown ones are waited for whole, so the
//          caller keeps up to h2_frame_header_bytes + frame_bytes_max unread bytes.
// Memory   None, but while a field block comes in several frames: block_bytes_max.
// Keywords: HEADERS, CONTINUATION, PING, connection preface
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/http/wire/h2/error.h"
#include "tiderace/http/wire/h2/frame.h"

namespace tiderace::http::wire {

// Whose frames are read. A client begins with the preface; a server sends no PRIORITY_UPDATE.
// Pushes are refused from both: a client that reads with this has said that it takes none.
enum class H2Peer : std::uint8_t { client, server };

struct H2ReaderLimits {
    std::uint32_t frame_bytes_max = h2_frame_bytes_min;  // our SETTINGS_MAX_FRAME_SIZE
    std::uint32_t block_bytes_max = 64_KiB;  // a field block, compressed; ENHANCE_YOUR_CALM
    std::uint16_t continuations_max = 16;    // in one field block; ENHANCE_YOUR_CALM
};

class H2FrameReader {
  public:
    enum class Status : std::uint8_t { need_more, frame, fault };

    struct Step {
        Status status;
        std::size_t used;  // of `bytes`; may be > 0 with need_more
        H2Frame frame;     // when `frame`; its views live until the next call
        H2Fault fault;     // when `fault`
    };

    explicit H2FrameReader(const H2ReaderLimits& limits = {}, H2Peer peer = H2Peer::client)
        : limits_(limits),
          peer_(peer),
          phase_(peer == H2Peer::client ? Phase::preface : Phase::first_settings) {}

    Step next(ByteView bytes);

    // A field block began and has not ended: the peer must be quick (a deadline is the caller's).
    bool in_field_block() const { return block_stream_ != 0; }
    // The preface and the first SETTINGS have come.
    bool settled() const { return phase_ > Phase::first_settings; }

  private:
    //   preface -> first_settings -> frames --> data -> padding --> frames     DATA
    //   (a client's)
    //                                  \-----> skip --------------> frames     nothing we know
    //
    //   any of them -> dead: a fault of connection scope, for good
    enum class Phase : std::uint8_t { preface, first_settings, frames, data, padding, skip, dead };

    Step go_on(ByteView bytes, std::size_t used);
    Step read_preface(ByteView bytes);
    Step read_frame(ByteView bytes);
    H2Error judge_place(const H2FrameHeader& header) const;
    void begin_skip(const H2FrameHeader& header);
    Step skip(ByteView bytes);
    Step begin_data(const H2FrameHeader& header, ByteView bytes);
    Step read_data(ByteView bytes);
    Step read_padding(ByteView bytes);
    Step read_whole(const H2FrameHeader& header, ByteView payload);
    Step read_window_update(const H2FrameHeader& header, ByteView payload);
    Step begin_block(const H2FrameHeader& header, ByteView payload);
    Step continue_block(const H2FrameHeader& header, ByteView payload);
    Step emit_block(ByteView block, std::size_t used);
    Step dead(H2Error error);

    H2ReaderLimits limits_;
    H2Peer peer_;
    Phase phase_;
    std::uint8_t preface_used_ = 0;
    bool end_stream_ = false;         // of the DATA frame or field block under way
    bool depends_on_itself_ = false;  // of the field block under way
    std::uint16_t continuations_ = 0;
    H2Error dead_ = H2Error::no_error;
    std::uint32_t data_stream_ = 0;
    std::uint32_t data_left_ = 0;     // of DATA's data, or of an unknown frame's payload
    std::uint32_t padding_left_ = 0;  // of DATA
    std::uint32_t block_stream_ = 0;  // != 0: nothing but its CONTINUATION may come
    bool block_given_ = false;        // block_ was handed out by the last call
    std::string block_;               // the fragments so far, when there are several
};

}  // namespace tiderace::http::wire
