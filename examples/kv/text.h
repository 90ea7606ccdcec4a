// Text: the value of a string. A long one is shared with the answers that send it: a GET copies
// nothing, and clients that read slowly hold one block together.
//
//   own text -- share() --> Block, held by the Text and by answers
//      ^                      |    the Text changes or goes: answers keep the Block as it was
//      '------- edit() -------'    moved back if no answer holds it, copied otherwise
//
// Owner    The key. Blocks live as long as their last holder.
// Thread   The loop's.
// Limits   Blocks that answers alone hold are counted in LooseBytes; the server closes clients when
//          these pass its limit.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "tiderace/base/bytes.h"
#include "tiderace/net/connection.h"

namespace kv {

namespace core = tiderace::core;
using tiderace::ByteView;

// Memory of blocks that no key holds, of all clients together.
struct LooseBytes final : core::Shared {
    std::size_t bytes = 0;
};

class Block final : public core::Shared {
  public:
    Block(std::string text, core::Ref<LooseBytes> loose)
        : text_(std::move(text)), loose_(std::move(loose)) {}
    ~Block() override {
        if (is_loose_) loose_->bytes -= memory();
    }

    ByteView view() const { return text_; }
    // No key holds it, from now on.
    void detach() {
        is_loose_ = true;
        loose_->bytes += memory();
    }

  private:
    friend class Text;
    std::size_t memory() const { return text_.capacity() + sizeof(Block); }

    std::string text_;
    core::Ref<LooseBytes> loose_;
    bool is_loose_ = false;
};

class Text {
  public:
    // Shorter ones are copied, which costs less than a block and a piece of a queue.
    static constexpr std::size_t shared_bytes_min = 32 << 10;

    Text() = default;
    // Not explicit: a Value is made of a string.
    Text(std::string text) : own_(std::move(text)) {}
    Text(Text&& other) noexcept
        : own_(std::move(other.own_)), shared_(std::exchange(other.shared_, {})) {}
    Text& operator=(Text&& other) noexcept;
    ~Text() { drop_block(); }

    ByteView view() const { return shared_ ? shared_->view() : ByteView(own_); }
    std::size_t size() const { return view().size(); }

    void assign(ByteView text);
    // To be changed in place.
    std::string& edit();
    // The text for an answer, which keeps it as it is now.
    core::Ref<Block> share(const core::Ref<LooseBytes>& loose);

  private:
    void drop_block();

    std::string own_;  // empty while the text is shared
    core::Ref<Block> shared_;
};

}  // namespace kv
