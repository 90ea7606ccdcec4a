#include "tiderace/http/filter/compressed_body.h"

#include <gtest/gtest.h>

#include <fcntl.h>

#include "tiderace/testing/content_decoder.h"
#include "tiderace/testing/recorded_exchange.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::http::filter {
namespace {

using State = BodySource::State;
using wire::ContentCoding;

class OpenFile final : public core::SharedFile {
  public:
    explicit OpenFile(const std::string& path)
        : descriptor_(core::system_kernel(), ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    int descriptor() const override { return descriptor_.get(); }

  private:
    core::Descriptor descriptor_;
};

class Failing final : public BodySource {
    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        out.append(blocks, "half of it");
        return State::failed;
    }
};

class CompressedBodyTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!coding::built_in_codings().gzip) GTEST_SKIP() << "gzip is not built in";
        encoder_ = pool_->borrow(ContentCoding::gzip, coding::Purpose::answer, {});
    }
    std::string take(core::SendQueue& queue) {
        std::string text;
        std::array<iovec, 1> piece;
        while (queue.gather(piece) == 1) {
            text.append(static_cast<const char*>(piece[0].iov_base), piece[0].iov_len);
            queue.consume(piece[0].iov_len);
        }
        return text;
    }

    std::unique_ptr<core::EventLoop> loop_ = std::move(*core::EventLoop::create({}));
    core::Ref<testing::RecordedExchange> exchange_ =
        core::make_ref<testing::RecordedExchange>(*loop_, "GET", "/");
    core::Ref<coding::EncoderPool> pool_ = core::make_ref<coding::EncoderPool>();
    coding::EncoderPool::Loan encoder_;
    testing::TemporaryFolder folder_;
};

TEST_F(CompressedBodyTest, RangesOfFilesAreReadInPieces) {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "\n";
    folder_.write("numbers.txt", text);
    core::SendQueue pieces;
    pieces.append_file(core::make_ref<OpenFile>(folder_.path() + "/numbers.txt"), 10,
                       text.size() - 10);
    CompressedBody body(*exchange_, std::move(encoder_), std::move(pieces), nullptr);
    core::SendQueue out;
    EXPECT_TRUE(body.pull_all(loop_->blocks(), out));
    EXPECT_EQ(testing::decode_all(ContentCoding::gzip, take(out)), text.substr(10));
    EXPECT_EQ(pool_->loans(), 0u);
}

TEST_F(CompressedBodyTest, AFileThatBecameShorterFails) {
    folder_.write("short.txt", "ten bytes!");
    core::SendQueue pieces;
    pieces.append_file(core::make_ref<OpenFile>(folder_.path() + "/short.txt"), 0, 1000);
    CompressedBody body(*exchange_, std::move(encoder_), std::move(pieces), nullptr);
    core::SendQueue out;
    EXPECT_FALSE(body.pull_all(loop_->blocks(), out));
    EXPECT_EQ(pool_->loans(), 0u);
}

TEST_F(CompressedBodyTest, ASourceThatFailsIsNotEndedProperly) {
    CompressedBody body(*exchange_, std::move(encoder_), {}, std::make_unique<Failing>());
    core::SendQueue out;
    EXPECT_EQ(body.pull(loop_->blocks(), out, 1000), State::failed);
    EXPECT_EQ(pool_->loans(), 0u);
}

TEST_F(CompressedBodyTest, NothingIsStillAWholeStream) {
    CompressedBody body(*exchange_, std::move(encoder_), {}, nullptr);
    core::SendQueue out;
    EXPECT_EQ(body.pull(loop_->blocks(), out, 1000), State::end);
    EXPECT_EQ(testing::decode_all(ContentCoding::gzip, take(out)), "");
}

}  // namespace
}  // namespace tiderace::http::filter
