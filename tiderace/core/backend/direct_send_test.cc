#include "tiderace/core/backend/direct_send.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <string>
#include <vector>

namespace tiderace::core {
namespace {

// Each send takes what the script says, or fails with it; after that all is taken.
class SendingKernel final : public SystemKernel {
  public:
    explicit SendingKernel(std::deque<ssize_t> script) : script_(std::move(script)) {}

    ssize_t send(int, const iovec* pieces, int count, bool more) override {
        more_.push_back(more);
        std::size_t offered = 0;
        for (int i = 0; i < count; ++i) offered += pieces[i].iov_len;
        return answer(offered);
    }
    ssize_t send_file(int, int, off_t* offset, std::size_t bytes) override {
        file_bytes_.push_back(bytes);
        const ssize_t sent = answer(bytes);
        if (sent > 0) *offset += sent;
        return sent;
    }
    const std::vector<bool>& more() const { return more_; }
    const std::vector<std::size_t>& file_bytes() const { return file_bytes_; }

  private:
    ssize_t answer(std::size_t offered) {
        if (script_.empty()) return static_cast<ssize_t>(offered);
        const ssize_t said = script_.front();
        script_.pop_front();
        return said;
    }

    std::deque<ssize_t> script_;
    std::vector<bool> more_;
    std::vector<std::size_t> file_bytes_;
};

struct SomeFile final : SharedFile {
    int descriptor() const override { return 9; }
};

class DirectSends : public ::testing::Test {
  protected:
    DirectSend send(SendingKernel& kernel, std::size_t file_bytes_max = 100) {
        return send_directly(kernel, 3, queue_, file_bytes_max);
    }
    DirectSend send(std::deque<ssize_t> script) {
        SendingKernel kernel(std::move(script));
        return send(kernel);
    }

    BlockPool pool_;
    SendQueue queue_;
};

TEST_F(DirectSends, AFullSocketAndAKernelShortOfMemoryAreNoErrors) {
    for (const int error : {EAGAIN, EWOULDBLOCK, ENOBUFS, ENOMEM}) {
        queue_.clear();
        queue_.append(pool_, "hello");
        const DirectSend sent = send({-error});
        EXPECT_TRUE(sent.no_room) << error;
        EXPECT_EQ(sent.error, 0) << error;
        EXPECT_EQ(queue_.bytes(), 5U) << error;
    }
    for (const int error : {EPIPE, ECONNRESET, EIO}) {
        const DirectSend sent = send({-error});
        EXPECT_FALSE(sent.no_room) << error;
        EXPECT_EQ(sent.error, -error);
    }
}

TEST_F(DirectSends, AnInterruptedCallIsMadeAgain) {
    queue_.append(pool_, "hello");
    EXPECT_EQ(send({-EINTR, -EINTR}).bytes, 5U);
    queue_.append_file(make_ref<SomeFile>(), 0, 10);
    EXPECT_EQ(send({-EINTR, -EINTR}).bytes, 10U);
}

TEST_F(DirectSends, WhatIsTakenInPartIsConsumedAndTheRestWaits) {
    queue_.append(pool_, "hello");
    const DirectSend sent = send({2, -EPIPE});
    EXPECT_EQ(sent.bytes, 2U);
    EXPECT_TRUE(sent.no_room);
    EXPECT_EQ(sent.error, 0) << "the full socket is not asked again";
    EXPECT_EQ(queue_.bytes(), 3U);
}

// POSIX lets a send take nothing. The loop must not spin on such a socket, nor count an error.
TEST_F(DirectSends, ASendThatTakesNothingWaitsForRoom) {
    queue_.append(pool_, "hello");
    const DirectSend sent = send({0, -EPIPE});
    EXPECT_EQ(sent.bytes, 0U);
    EXPECT_TRUE(sent.no_room);
    EXPECT_EQ(sent.error, 0);
    EXPECT_EQ(queue_.bytes(), 5U);
}

TEST_F(DirectSends, BytesBeforeAFileSayThatMoreFollows) {
    queue_.append(pool_, "head");
    queue_.append_file(make_ref<SomeFile>(), 0, 10);
    queue_.append(pool_, "tail");
    SendingKernel kernel({});
    const DirectSend sent = send(kernel);
    EXPECT_EQ(sent.bytes, 18U);
    EXPECT_FALSE(sent.no_room);
    EXPECT_EQ(kernel.more(), (std::vector{true, false}));
    EXPECT_TRUE(queue_.empty());
}

TEST_F(DirectSends, ALargeFileGivesWayAfterItsShareThoughTheSocketHasRoom) {
    queue_.append_file(make_ref<SomeFile>(), 0, 250);
    SendingKernel kernel({});
    for (const std::size_t share : {100U, 100U}) {
        const DirectSend sent = send(kernel);
        EXPECT_EQ(sent.bytes, share);
        EXPECT_TRUE(sent.no_room);
    }
    const DirectSend last = send(kernel);
    EXPECT_EQ(last.bytes, 50U);
    EXPECT_FALSE(last.no_room);
    EXPECT_EQ(kernel.file_bytes(), (std::vector<std::size_t>{100, 100, 50}));
}

TEST_F(DirectSends, AFileThatBecameShorterIsAnError) {
    queue_.append_file(make_ref<SomeFile>(), 0, 10);
    const DirectSend sent = send({0});
    EXPECT_EQ(sent.error, -EBADMSG);
    EXPECT_FALSE(sent.no_room);
    EXPECT_EQ(queue_.bytes(), 10U);
}

}  // namespace
}  // namespace tiderace::core
