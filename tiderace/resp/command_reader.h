// CommandReader: what a server reads: commands, as arrays of bulk strings or as inline lines.
//
//   while (!in.empty()) {
//       const Progress progress = reader.read(in);    // `in` moves behind what was used
//       if (progress == Progress::more) break;        // keep the reader, call again with new bytes
//       if (progress == Progress::fault) …            // answer with to_string(fault()); close
//       run(reader.arguments());                      // views, until the next read()
//   }
//
// A command that lies whole in the input is not copied; any other is gathered, each byte once. An
// empty array and an empty line are commands without arguments, which servers ignore. A line that a
// browser may have sent is refused (foreign_protocol): close without an answer.
//
//   start --a part--> within --the rest--> complete --read(), release()--> start
//     '--all of it-------------------------'            any --a fault--> faulty, for good
//
// Thread   One at a time.
// Errors   The peer's are a Fault.
// Limits   resp::Limits; a command's memory grows with the bytes that came, not with the lengths
//          that were announced.
// Memory   Idle about 150 bytes, and at most 1 KiB of what it gathered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/resp/fault.h"
#include "tiderace/resp/inline_command.h"
#include "tiderace/resp/message_bytes.h"

namespace tiderace::resp {

// The arguments of a command; the first is its name. Views of bytes that somebody else owns.
class Arguments {
  public:
    Arguments() = default;
    Arguments(const char* base, const Range* ranges, std::size_t size)
        : base_(base), ranges_(ranges), size_(size) {}

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    ByteView operator[](std::size_t i) const {
        return {base_ + ranges_[i].offset, ranges_[i].bytes};
    }
    Arguments from(std::size_t first) const { return {base_, ranges_ + first, size_ - first}; }
    // Without those from `end` on.
    Arguments part(std::size_t first, std::size_t end) const {
        return {base_, ranges_ + first, end - first};
    }

    class Iterator {
      public:
        Iterator(const char* base, const Range* range) : base_(base), range_(range) {}
        ByteView operator*() const { return {base_ + range_->offset, range_->bytes}; }
        Iterator& operator++() {
            ++range_;
            return *this;
        }
        bool operator==(const Iterator&) const = default;

      private:
        const char* base_;
        const Range* range_;
    };
    Iterator begin() const { return {base_, ranges_}; }
    Iterator end() const { return {base_, ranges_ + size_}; }

  private:
    const char* base_ = nullptr;
    const Range* ranges_ = nullptr;
    std::size_t size_ = 0;
};

class CommandReader {
  public:
    // `limits` outlive the reader.
    explicit CommandReader(const Limits& limits);

    // From the next command on: for a peer that may do more once it has authenticated.
    void set_limits(const Limits& limits);

    // One command. `in` moves behind the bytes that were used; with `more` it is empty.
    Progress read(ByteView& in);

    // After Progress::complete, until the next read() or release().
    Arguments arguments() const { return {base_, ranges_.data(), ranges_.size()}; }
    // The command as it came, whole: for a log that repeats commands. Empty for an inline command.
    ByteView encoded() const { return encoded_; }
    Fault fault() const { return fault_; }
    // With bulk_expected: the byte that stood there.
    char found() const { return found_; }
    // A command has begun and is not complete.
    bool within() const { return state_ == State::within; }
    // Memory of the command in progress.
    std::size_t held_bytes() const {
        return bytes_.held_bytes() + ranges_.capacity() * sizeof(Range) + words_.capacity();
    }
    // Frees what the last command took.
    void release();

  private:
    enum class State : std::uint8_t { start, within, complete, faulty };

    Step scan(ByteView message);
    Step scan_head(ByteView message);
    Step scan_inline(ByteView message);
    Step refuse(Fault fault);

    const Limits* limits_ = nullptr;
    MessageBytes bytes_;
    std::vector<Range> ranges_;
    std::string words_;  // of an inline command, without quotes
    const char* base_ = nullptr;
    ByteView encoded_;
    std::size_t at_ = 0;        // of the message, scanned
    std::size_t expected_ = 0;  // arguments
    bool head_done_ = false;    // `expected_` is known
    State state_ = State::start;
    Fault fault_ = Fault::none;
    char found_ = 0;
};

}  // namespace tiderace::resp
