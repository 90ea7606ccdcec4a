#include "tiderace/testing/fake/socket.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tiderace::testing {
namespace {

class FakeSocketPair : public ::testing::Test {
  protected:
    FakeSocketPair() { FakeSocket::join(near_, far_, 10); }

    static std::string take(FakeSocket& socket, std::size_t wanted = 100) {
        char buffer[100];
        const ssize_t got = socket.take(buffer, wanted);
        return got >= 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
    }
    static ssize_t take_error(FakeSocket& socket) {
        char byte;
        return socket.take(&byte, 1);
    }

    std::shared_ptr<FakeSocket> near_ = std::make_shared<FakeSocket>();
    std::shared_ptr<FakeSocket> far_ = std::make_shared<FakeSocket>();
};

TEST_F(FakeSocketPair, HoldsNoMoreThanItsBuffer) {
    EXPECT_EQ(near_->put("0123456789abcdef"), 10);
    EXPECT_FALSE(near_->writable());
    EXPECT_EQ(near_->put("abcdef"), -EAGAIN);
    EXPECT_EQ(take(*far_, 4), "0123");
    EXPECT_TRUE(near_->writable());
    EXPECT_EQ(near_->put("abcdef"), 4);
    EXPECT_EQ(take(*far_), "456789abcd");
    EXPECT_EQ(take_error(*far_), -EAGAIN);
}

TEST_F(FakeSocketPair, HalfCloseLeavesTheOtherDirectionOpen) {
    near_->put("last");
    near_->shut_down_sending();
    EXPECT_EQ(near_->put("more"), -EPIPE);
    EXPECT_EQ(take(*far_), "last");
    EXPECT_TRUE(far_->readable());
    EXPECT_EQ(take_error(*far_), 0);
    EXPECT_FALSE(far_->failed());
    EXPECT_EQ(far_->put("answer"), 6);
    EXPECT_EQ(take(*near_), "answer");
    far_->shut_down_sending();
    EXPECT_TRUE(far_->failed());  // both ways: EPOLLHUP
}

TEST_F(FakeSocketPair, AnOrderlyCloseDeliversWhatWasSent) {
    near_->put("last");
    near_->close();
    EXPECT_EQ(take(*far_), "last");
    EXPECT_EQ(take_error(*far_), 0);
}

TEST_F(FakeSocketPair, ACloseWithUnreadBytesResetsAndTheAnswerIsLost) {
    far_->put("unread");
    near_->put("answer");
    near_->close();
    EXPECT_EQ(take_error(*far_), -ECONNRESET);
    EXPECT_TRUE(far_->failed());
    EXPECT_EQ(far_->put("x"), -EPIPE);
}

TEST_F(FakeSocketPair, BytesAfterACloseLeaveAndAreAnsweredByAReset) {
    near_->put("answer");
    near_->close();
    EXPECT_EQ(far_->put("late"), 4);
    EXPECT_EQ(take_error(*far_), -ECONNRESET);
    EXPECT_EQ(far_->put("later"), -EPIPE);
}

TEST_F(FakeSocketPair, ALingerOfZeroResets) {
    near_->reset_on_close = true;
    near_->close();
    EXPECT_EQ(take_error(*far_), -ECONNRESET);
}

TEST_F(FakeSocketPair, TellsItsOwnerOfBytesRoomAndTheEnd) {
    int told = 0;
    far_->on_change = [&] { ++told; };
    near_->put("0123456789");
    EXPECT_EQ(told, 1);
    far_->put("x");
    take(*near_);
    EXPECT_EQ(told, 2);
    near_->shut_down_sending();
    EXPECT_EQ(told, 3);
    near_->reset();
    EXPECT_EQ(told, 4);
}

TEST(FakeSocket, AListenersCloseResetsWaitingConnections) {
    auto near = std::make_shared<FakeSocket>();
    auto waiting = std::make_shared<FakeSocket>();
    FakeSocket::join(near, waiting, 10);
    FakeSocket listener;
    listener.listen(5);
    EXPECT_FALSE(listener.readable());
    listener.backlog.push_back(waiting);
    EXPECT_TRUE(listener.readable());
    listener.close();
    EXPECT_TRUE(near->failed());
}

}  // namespace
}  // namespace tiderace::testing
