// Answers: the unsent answers of one client, in order: text that was written for it, and blocks
// that are sent without a copy.
//
//   pieces [text][block][text][block] | text, to which resp::Writer appends
//
// Thread   The loop's.
// Memory   Empty: no allocation. Text in pieces counts as loose (text.h), and so does long text
//          that is moved to a connection.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "examples/kv/text.h"
#include "tiderace/net/connection.h"

namespace kv {

namespace net = tiderace::net;

class Answers {
  public:
    explicit Answers(core::Ref<LooseBytes> loose) : loose_(std::move(loose)) {}

    const core::Ref<LooseBytes>& loose() const { return loose_; }
    // The text behind the pieces.
    std::string& text() { return text_; }
    bool empty() const { return text_.empty() && pieces_.empty(); }
    std::size_t bytes() const { return text_.size() + static_cast<std::size_t>(pieces_.bytes()); }

    // Without the parts of blocks, which answers share with each other and with keys.
    std::size_t own_bytes() const { return text_.size() + own_bytes_in_pieces_; }

    // A part of the block.
    void share(ByteView part, core::Ref<Block> block);
    // Empties `other`.
    void append(Answers& other);
    // Empties it.
    void send_to(net::Connection& connection);
    void clear();

  private:
    void text_to_pieces();

    core::Ref<LooseBytes> loose_;
    core::SendQueue pieces_;
    std::size_t own_bytes_in_pieces_ = 0;
    std::string text_;
};

}  // namespace kv
