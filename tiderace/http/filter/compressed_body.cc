#include "tiderace/http/filter/compressed_body.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "tiderace/base/check.h"

namespace tiderace::http::filter {

CompressedBody::CompressedBody(Exchange& exchange, coding::EncoderPool::Loan encoder,
                               core::SendQueue&& pieces, std::unique_ptr<BodySource> source)
    : exchange_(&exchange),
      encoder_(std::move(encoder)),
      pieces_(std::move(pieces)),
      source_(std::move(source)) {}

BodySource::State CompressedBody::pull(core::BlockPool& blocks, core::SendQueue& out,
                                       std::size_t bytes_wanted) {
    const State state = pull_more(blocks, out, bytes_wanted);
    // The encoder is returned at the end of input, before the last bytes are sent.
    if (state == State::end || state == State::failed) {
        source_.reset();
        pieces_.clear();
        encoder_.give_back();
    }
    return state;
}

BodySource::State CompressedBody::pull_more(core::BlockPool& blocks, core::SendQueue& out,
                                            std::size_t bytes_wanted) {
    while (out.bytes() < bytes_wanted) {
        if (!pieces_.empty()) {
            if (!may_go_on()) return State::wait;
            if (!take_piece(blocks, out)) return State::failed;
            continue;
        }
        if (source_ == nullptr) {
            return feed(blocks, out, {}, Until::finished) ? State::end : State::failed;
        }
        switch (source_->pull(blocks, pieces_, piece_bytes)) {
            case State::more:
                // The source has no data yet and is not waiting either: the caller pulls again.
                if (pieces_.empty()) return State::more;
                break;
            case State::wait:
                if (!pieces_.empty()) break;
                // The source waits: what the encoder holds back is part of an answer that a client
                // may need now, such as an event.
                if (std::exchange(unflushed_, false) && !feed(blocks, out, {}, Until::flushed)) {
                    return State::failed;
                }
                return State::wait;
            case State::end:
                source_.reset();
                break;
            case State::failed:
                return State::failed;
        }
    }
    return State::more;
}

bool CompressedBody::pull_all(core::BlockPool& blocks, core::SendQueue& out) {
    TR_CHECK(source_ == nullptr, "a source may have to wait");
    at_once_ = true;
    return pull(blocks, out, SIZE_MAX) == State::end;
}

// False: enough for this turn; the exchange comes back in the next.
bool CompressedBody::may_go_on() {
    if (at_once_) return true;
    core::EventLoop& loop = exchange_->loop();
    if (turn_ != loop.turns()) {
        turn_ = loop.turns();
        turn_bytes_ = 0;
    }
    if (turn_bytes_ < turn_bytes_max) return true;
    // A mailbox that is full lets us go on: late is better than never.
    return !loop.post([exchange = core::Ref<Exchange>(exchange_)] { exchange->body_ready(); });
}

bool CompressedBody::take_piece(core::BlockPool& blocks, core::SendQueue& out) {
    std::array<char, piece_bytes> buffer;
    std::array<iovec, 1> front;
    ByteView piece;
    if (pieces_.gather(front) == 1) {
        piece = {static_cast<const char*>(front[0].iov_base),
                 std::min(front[0].iov_len, piece_bytes)};
    } else {
        const core::SendQueue::FileRange range = pieces_.front_file();
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(range.bytes, buffer.size()));
        ssize_t got = -EINTR;
        while (got == -EINTR) {
            got = exchange_->loop().kernel().read_at(range.descriptor, buffer.data(), wanted,
                                                     static_cast<off_t>(range.offset));
        }
        // The file became shorter than its answer announced.
        if (got <= 0) return false;
        piece = {buffer.data(), static_cast<std::size_t>(got)};
    }
    if (!feed(blocks, out, piece, Until::taken)) return false;
    unflushed_ = true;
    turn_bytes_ += piece.size();
    pieces_.consume(piece.size());
    return true;
}

bool CompressedBody::feed(core::BlockPool& blocks, core::SendQueue& out, ByteView piece,
                          Until until) {
    std::array<char, 16_KiB> room;
    for (;;) {
        const auto step = encoder_->step(piece, room, until);
        if (step.failed) return false;
        out.append(blocks, {room.data(), step.made});
        encoder_.count(step.made);
        piece.remove_prefix(step.used);
        if (step.done) return true;
    }
}

}  // namespace tiderace::http::filter
