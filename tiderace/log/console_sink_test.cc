#include "tiderace/log/console_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace tiderace::log {
namespace {

class ConsoleSinkTest : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(::pipe(ends_.data()), 0); }
    void TearDown() override {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    std::string read_some() {
        std::string piece(1 << 20, '\0');
        const ssize_t bytes = ::read(ends_[0], piece.data(), piece.size());
        piece.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
        return piece;
    }

    std::array<int, 2> ends_{};
};

TEST_F(ConsoleSinkTest, WritesToItsDescriptor) {
    ConsoleSink sink(ends_[1]);
    const Sink::Written written = sink.write("one\ntwo\n");
    EXPECT_EQ(written.bytes, 8U);
    EXPECT_FALSE(written.trouble);
    EXPECT_EQ(read_some(), "one\ntwo\n");
}

TEST_F(ConsoleSinkTest, AnUnreadPipeDoesNotBlock) {
    // The pipe is in blocking mode, as a shell gives it: this test hangs if the sink relies on
    // flags.
    ASSERT_EQ(::fcntl(ends_[1], F_GETFL) & O_NONBLOCK, 0);
    ConsoleSink sink(ends_[1]);
    const std::string lines = std::string(1 << 20, 'a') + "\n";
    Sink::Written written = sink.write(lines);
    ASSERT_LT(written.bytes, lines.size());
    ASSERT_TRUE(written.trouble);
    EXPECT_EQ(written.trouble->code(), EAGAIN);
    EXPECT_EQ(written.room_at, ends_[1]);
    std::string seen = read_some();
    for (std::size_t at = written.bytes; at < lines.size(); at += written.bytes) {
        written = sink.write(ByteView(lines).substr(at));
        seen += read_some();
    }
    EXPECT_EQ(seen, lines);
}

TEST_F(ConsoleSinkTest, AReaderThatLeftIsTrouble) {
    const auto before = ::signal(SIGPIPE, SIG_IGN);
    ::close(ends_[0]);
    ends_[0] = -1;
    ConsoleSink sink(ends_[1]);
    const Sink::Written written = sink.write("one\n");
    EXPECT_EQ(written.bytes, 0U);
    ASSERT_TRUE(written.trouble);
    EXPECT_EQ(written.trouble->code(), EPIPE);
    EXPECT_EQ(written.room_at, -1);
    ::signal(SIGPIPE, before);
}

TEST_F(ConsoleSinkTest, ADescriptorThatIsNoneIsTrouble) {
    ConsoleSink sink(1 << 20);
    const Sink::Written written = sink.write("one\n");
    EXPECT_EQ(written.bytes, 0U);
    ASSERT_TRUE(written.trouble);
    EXPECT_EQ(written.trouble->code(), EBADF);
}

}  // namespace
}  // namespace tiderace::log
