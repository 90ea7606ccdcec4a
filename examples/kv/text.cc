#include "examples/kv/text.h"

namespace kv {

Text& Text::operator=(Text&& other) noexcept {
    if (this == &other) return *this;
    drop_block();
    own_ = std::move(other.own_);
    shared_ = std::exchange(other.shared_, {});
    return *this;
}

void Text::drop_block() {
    if (shared_ && !shared_.only_owner()) shared_->detach();
    shared_ = {};
}

void Text::assign(ByteView text) {
    drop_block();
    // Memory of the last text is used again, unless most of it would stay unused.
    constexpr std::size_t kept_bytes_max = 1 << 10;
    if (own_.capacity() > kept_bytes_max && own_.capacity() / 2 > text.size()) {
        std::string().swap(own_);
    }
    own_.assign(text);
}

std::string& Text::edit() {
    if (!shared_) return own_;
    if (shared_.only_owner()) {
        own_ = std::move(shared_->text_);
    } else {
        own_ = shared_->view();
    }
    drop_block();
    return own_;
}

core::Ref<Block> Text::share(const core::Ref<LooseBytes>& loose) {
    if (!shared_) shared_ = core::make_ref<Block>(std::exchange(own_, {}), loose);
    return shared_;
}

}  // namespace kv
