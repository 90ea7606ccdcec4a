#include "tiderace/tls/stream_bio.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tiderace::tls {
namespace {

class StreamBioTest : public ::testing::Test {
  protected:
    StreamBioTest() { stream_ = {.in = {}, .out = &out_, .pool = &pool_}; }
    ~StreamBioTest() override { out_.clear(); }

    // The result of a read of at most `wanted` bytes.
    std::string read(int wanted) {
        std::string text(static_cast<std::size_t>(wanted), '?');
        const int got = BIO_read(bio_.get(), text.data(), wanted);
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }

    core::BlockPool pool_;
    core::SendQueue out_;
    StreamBio stream_;
    BioPtr bio_{make_stream_bio(stream_)};
};

TEST_F(StreamBioTest, GivesWhatThereIs) {
    stream_.in = "hello";
    EXPECT_EQ(read(3), "hel");
    EXPECT_EQ(read(10), "lo");
    EXPECT_TRUE(stream_.in.empty());
    EXPECT_FALSE(BIO_should_retry(bio_.get()));
}

// SSL_get_error() looks at these marks: a call that fails must not seem to wait for bytes because
// an earlier one did.
TEST_F(StreamBioTest, WaitsForMoreUntilTheNextCall) {
    EXPECT_EQ(read(1), "");
    EXPECT_TRUE(BIO_should_read(bio_.get()));
    EXPECT_TRUE(BIO_should_retry(bio_.get()));
    stream_.in = "xy";
    EXPECT_EQ(read(1), "x");
    EXPECT_FALSE(BIO_should_retry(bio_.get()));
    stream_.in = {};
    EXPECT_EQ(read(1), "");
    EXPECT_TRUE(BIO_should_retry(bio_.get()));
    EXPECT_EQ(BIO_write(bio_.get(), "out", 3), 3);
    EXPECT_FALSE(BIO_should_retry(bio_.get()));
}

TEST_F(StreamBioTest, TakesAllThatIsWrittenAndCountsTheWrites) {
    const std::string large(40'000, 'x');
    EXPECT_EQ(BIO_write(bio_.get(), large.data(), static_cast<int>(large.size())), 40'000);
    EXPECT_EQ(BIO_write(bio_.get(), "y", 1), 1);
    EXPECT_EQ(out_.bytes(), 40'001U);
    EXPECT_EQ(stream_.writes, 2U);
    EXPECT_EQ(BIO_flush(bio_.get()), 1);
    EXPECT_EQ(BIO_pending(bio_.get()), 0);
    EXPECT_EQ(BIO_eof(bio_.get()), 0) << "a stream that waits has no end";
}

}  // namespace
}  // namespace tiderace::tls
