// CompressedBody: a body, of ready pieces or made while it is sent, in a content coding.
//
//   pieces, BodySource -> at most piece_bytes at a time -> encoder -> out
//
// When the source waits, all that it gave so far is flushed: an event reaches the client when it
// happens. When turn_bytes_max went through in one turn of the loop, the rest waits for the next,
// so that a large body does not keep the others waiting.
//
// Owner    The exchange that sends it. Gone with it: the encoder goes back to its pool.
// Thread   The loop's.
// Errors   A file that became shorter, a source or an encoder that failed: `failed`.
// Memory   The encoder, and what the source gave at once.
#pragma once

#include <memory>

#include "tiderace/http/coding/encoder_pool.h"
#include "tiderace/http/exchange.h"

namespace tiderace::http::filter {

class CompressedBody final : public BodySource {
  public:
    static constexpr std::size_t piece_bytes = 32_KiB;
    static constexpr std::size_t turn_bytes_max = 256_KiB;  // of the source; about 5 ms

    // `pieces`, then what `source` makes, where there is one.
    CompressedBody(Exchange& exchange, coding::EncoderPool::Loan encoder, core::SendQueue&& pieces,
                   std::unique_ptr<BodySource> source);

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) override;
    // All of it now, however long it takes; for small ones without a source. False: it failed.
    bool pull_all(core::BlockPool& blocks, core::SendQueue& out);

  private:
    using Until = coding::ContentEncoder::Until;

    State pull_more(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted);
    bool take_piece(core::BlockPool& blocks, core::SendQueue& out);
    bool feed(core::BlockPool& blocks, core::SendQueue& out, ByteView piece, Until until);
    bool may_go_on();

    Exchange* exchange_;
    coding::EncoderPool::Loan encoder_;
    core::SendQueue pieces_;
    std::unique_ptr<BodySource> source_;
    std::uint64_t turn_ = 0;
    std::size_t turn_bytes_ = 0;
    bool unflushed_ = false;
    bool at_once_ = false;
};

}  // namespace tiderace::http::filter
