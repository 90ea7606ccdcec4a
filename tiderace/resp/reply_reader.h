// ReplyReader: what a client reads: values of RESP 2 and 3, one at a time.
//
//   while (!in.empty()) {
//       const Progress progress = reader.read(in);    // `in` moves behind what was used
//       if (progress == Progress::more) break;        // keep the reader, call again with new bytes
//       if (progress == Progress::fault) …            // the connection cannot be used any more
//       take(reader.reply());                         // a view, until the next read()
//   }
//
// A value that lies whole in the input is not copied. One that does not is gathered, each byte
// once. A push (Kind::push) belongs to no command. Streamed values are refused: no server sends
// them.
//
//   start --a part--> within --the rest--> complete --read(), release()--> start
//     '--all of it-------------------------'            any --a fault--> faulty, for good
//
// Thread   One at a time.
// Errors   The peer's are a Fault.
// Limits   resp::Limits; memory grows with the bytes that came, not with the lengths that were
//          announced: at most 24 bytes for each that came.
#pragma once

#include <cstdint>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/resp/fault.h"
#include "tiderace/resp/message_bytes.h"
#include "tiderace/resp/reply.h"

namespace tiderace::resp {

class ReplyReader {
  public:
    // `limits` outlive the reader.
    explicit ReplyReader(const Limits& limits);

    // One value. `in` moves behind the bytes that were used; with `more` it is empty.
    Progress read(ByteView& in);

    // After Progress::complete, until the next read() or release().
    Reply reply() const;
    Fault fault() const { return fault_; }
    // A value has begun and is not complete.
    bool within() const { return state_ == State::within; }
    // Memory of the value in progress.
    std::size_t held_bytes() const {
        return bytes_.held_bytes() + nodes_.capacity() * sizeof(ReplyNode);
    }
    // Frees what the last value took.
    void release();

  private:
    enum class State : std::uint8_t { start, within, complete, faulty };
    struct Open {
        std::uint32_t node;
        std::uint32_t left;  // elements
    };

    Step scan(ByteView message);
    // One value, or the head of an aggregate, at message[at_].
    Step scan_value(ByteView message);
    Step scan_line(ByteView message);
    Step scan_bulk(ByteView message);
    Step scan_aggregate(ByteView message);
    Fault take_line(char type, ByteView text);
    ReplyNode& add(Kind kind);
    void value_ended();
    Step refuse(Fault fault);

    const Limits* limits_;
    MessageBytes bytes_;
    std::vector<ReplyNode> nodes_;
    std::vector<Open> open_;   // aggregates that are not complete
    std::size_t at_ = 0;       // of the message, scanned
    std::size_t pending_ = 0;  // elements announced and not yet begun
    bool ended_ = false;
    State state_ = State::start;
    Fault fault_ = Fault::none;
};

}  // namespace tiderace::resp
