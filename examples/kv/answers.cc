#include "examples/kv/answers.h"

namespace kv {
namespace {

// Longer text goes to the connection as it is, instead of by a copy.
constexpr std::size_t copied_bytes_max = 256 << 10;

}  // namespace

void Answers::share(ByteView part, core::Ref<Block> block) {
    text_to_pieces();
    pieces_.append_shared(part, std::move(block));
}

// As a block, however short: a queue would open a block of 32 KiB behind each shared piece.
void Answers::text_to_pieces() {
    if (text_.empty()) return;
    own_bytes_in_pieces_ += text_.size();
    auto block = core::make_ref<Block>(std::exchange(text_, {}), loose_);
    block->detach();
    const ByteView view = block->view();
    pieces_.append_shared(view, std::move(block));
}

void Answers::append(Answers& other) {
    if (!other.pieces_.empty()) {
        text_to_pieces();
        pieces_.append_queue(std::move(other.pieces_));
        own_bytes_in_pieces_ += std::exchange(other.own_bytes_in_pieces_, 0);
    }
    text_ += other.text_;
    other.text_.clear();
}

void Answers::send_to(net::Connection& connection) {
    if (pieces_.empty() && text_.size() <= copied_bytes_max) {
        connection.write(text_);
        text_.clear();
        return;
    }
    text_to_pieces();
    own_bytes_in_pieces_ = 0;
    connection.queue().append_queue(std::move(pieces_));
    connection.written();
}

void Answers::clear() {
    pieces_.clear();
    own_bytes_in_pieces_ = 0;
    text_.clear();
}

}  // namespace kv
