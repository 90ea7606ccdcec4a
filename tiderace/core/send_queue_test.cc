#include "tiderace/core/send_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "tiderace/base/random.h"

namespace tiderace::core {
namespace {

struct OwnedText : Shared {
    OwnedText(std::string t, int& count) : text(std::move(t)), deaths(&count) {}
    ~OwnedText() override { ++*deaths; }
    std::string text;
    int* deaths;
};

struct NumberedFile : SharedFile {
    explicit NumberedFile(int n) : number(n) {}
    int descriptor() const override { return number; }
    int number;
};

// The bytes that a transport would see, taken in steps of at most `step` bytes; a file range reads
// as "<fd>".
std::string drain(SendQueue& queue, std::size_t step) {
    std::string out;
    while (!queue.empty()) {
        iovec pieces[4];
        const std::size_t count = queue.gather(pieces);
        if (count == 0) {
            const SendQueue::FileRange range = queue.front_file();
            out += "<" + std::to_string(range.descriptor) + ":" + std::to_string(range.offset) +
                   "+" + std::to_string(range.bytes) + ">";
            queue.consume(range.bytes);
            continue;
        }
        std::size_t offered = 0;
        for (std::size_t i = 0; i < count && offered < step; ++i) {
            const std::size_t take = std::min(step - offered, pieces[i].iov_len);
            out.append(static_cast<const char*>(pieces[i].iov_base), take);
            offered += take;
        }
        queue.consume(offered);
    }
    return out;
}

TEST(SendQueue, EmptyHoldsNothing) {
    BlockPool pool;
    SendQueue queue;
    queue.append(pool, "");
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(pool.taken(), 0U);
}

TEST(SendQueue, BytesComeOutInOrderAtEveryStep) {
    for (const std::size_t step : {1, 2, 3, 7, 100, 40'000, 1'000'000}) {
        BlockPool pool;
        int deaths = 0;
        SendQueue queue;
        const std::string large(70'000, 'b');
        queue.append(pool, "a");
        queue.append(pool, large);
        const auto shared = make_ref<OwnedText>("shared", deaths);
        queue.append_shared(shared->text, shared);
        queue.append(pool, "c");
        EXPECT_EQ(queue.bytes(), 1 + 70'000 + 6 + 1U);
        EXPECT_EQ(queue.copied_bytes(), 1 + 70'000 + 1U);
        EXPECT_EQ(drain(queue, step), "a" + large + "shared" + "c") << "step " << step;
        EXPECT_EQ(queue.bytes(), 0U);
        EXPECT_EQ(queue.copied_bytes(), 0U);
        EXPECT_EQ(pool.taken(), 0U) << "blocks go back as soon as they are sent";
        EXPECT_TRUE(shared.only_owner());
    }
}

TEST(SendQueue, SharedBytesLiveUntilTheyAreSent) {
    int deaths = 0;
    SendQueue queue;
    {
        auto shared = make_ref<OwnedText>("held", deaths);
        queue.append_shared(shared->text, shared);
    }
    EXPECT_EQ(deaths, 0);
    queue.consume(3);
    EXPECT_EQ(deaths, 0);
    queue.consume(1);
    EXPECT_EQ(deaths, 1);
}

TEST(SendQueue, AFileRangeStopsTheGatheringAndMovesOn) {
    BlockPool pool;
    SendQueue queue;
    queue.append(pool, "head");
    queue.append_file(make_ref<NumberedFile>(9), 100, 50);
    iovec pieces[4];
    ASSERT_EQ(queue.gather(pieces), 1U);
    EXPECT_TRUE(queue.file_after(1));
    queue.consume(4);
    EXPECT_EQ(queue.gather(pieces), 0U);
    queue.consume(20);
    EXPECT_EQ(queue.front_file().offset, 120U);
    EXPECT_EQ(queue.front_file().bytes, 30U);
    queue.consume(30);
    EXPECT_TRUE(queue.empty());
}

// An empty piece in front would never be sent, and what is behind it would wait for ever.
TEST(SendQueue, NothingOfAFileAddsNothing) {
    BlockPool pool;
    SendQueue queue;
    queue.append_file(make_ref<NumberedFile>(9), 100, 0);
    EXPECT_TRUE(queue.empty());
    queue.append(pool, "bytes");
    iovec pieces[2];
    EXPECT_EQ(queue.gather(pieces), 1U);
    EXPECT_FALSE(queue.file_after(0));
}

TEST(SendQueue, HasNoFileInFrontWhereThereAreBytesOrNothing) {
    BlockPool pool;
    SendQueue queue;
    EXPECT_EQ(queue.front_file().bytes, 0U);
    queue.append(pool, "bytes");
    queue.append_file(make_ref<NumberedFile>(7), 10, 20);
    EXPECT_EQ(queue.front_file().bytes, 0U);
    EXPECT_EQ(queue.front_file().descriptor, SendQueue::FileRange{}.descriptor);
    queue.consume(5);
    EXPECT_EQ(queue.front_file().bytes, 20U);
}

TEST(SendQueue, NothingFollowsPlainBytes) {
    BlockPool pool;
    SendQueue queue;
    queue.append(pool, "only");
    EXPECT_FALSE(queue.file_after(1));
}

TEST(SendQueue, AReservationThatWroteNothingLeavesNothing) {
    BlockPool pool;
    SendQueue queue;
    EXPECT_GE(queue.reserve(pool, 10).size(), 10U);
    queue.commit(0);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(pool.taken(), 0U);
    queue.append(pool, "x");
    queue.consume(1);
    EXPECT_TRUE(queue.empty());
}

TEST(SendQueue, ReservesOnePieceOnRequest) {
    BlockPool pool;
    SendQueue queue;
    for (const std::size_t bytes : {1_B, 10'000_B, BlockPool::block_room_bytes, 100_B}) {
        const std::span<char> room = queue.reserve_at_least(pool, bytes);
        ASSERT_GE(room.size(), bytes);
        std::fill(room.begin(), room.end(), 'x');
        queue.commit(bytes);
    }
    EXPECT_EQ(pool.taken(), 3U);  // the second fitted behind the first
    EXPECT_EQ(queue.bytes(), 10'101U + BlockPool::block_room_bytes);
    queue.consume(queue.bytes());
    EXPECT_EQ(pool.taken(), 0U);
}

TEST(SendQueue, ABlockIsFilledToItsLastByte) {
    BlockPool pool;
    SendQueue queue;
    const std::size_t room = queue.reserve(pool, 1 << 20).size();
    queue.commit(0);
    queue.append(pool, std::string(room - 10, 'x'));
    EXPECT_EQ(queue.reserve_at_least(pool, 10).size(), 10U);
    EXPECT_EQ(pool.taken(), 1U);
    queue.commit(10);
    EXPECT_GE(queue.reserve_at_least(pool, 11).size(), 11U);
    queue.commit(11);
    EXPECT_EQ(pool.taken(), 2U);
    queue.clear();
}

TEST(SendQueue, AppendingAQueueMovesItsPieces) {
    BlockPool pool;
    SendQueue first;
    SendQueue second;
    first.append(pool, "one ");
    second.append(pool, "two ");
    second.append_file(make_ref<NumberedFile>(3), 0, 5);
    first.append_queue(std::move(second));
    EXPECT_TRUE(second.empty());  // NOLINT(bugprone-use-after-move): moved-from is empty
    EXPECT_EQ(second.bytes(), 0U);
    first.append(pool, "three");
    EXPECT_EQ(drain(first, 100), "one two <3:0+5>three");
}

TEST(SendQueue, AFrontIsMovedInPiecesOfAnySize) {
    for (std::uint64_t part = 1; part <= 30; ++part) {
        BlockPool pool;
        int deaths = 0;
        SendQueue from, to;
        from.append(pool, "copied ");
        from.append_shared("shared ", make_ref<OwnedText>("", deaths));
        from.append_file(make_ref<NumberedFile>(3), 10, 8);
        from.append(pool, "the end");
        std::string moved;
        while (!from.empty()) {
            to.append_front(pool, from, std::min(part, from.bytes()));
            moved += drain(to, 3);
        }
        EXPECT_EQ(deaths, 1);
        std::string expected = "copied shared ";
        std::uint64_t at = 14;
        while (at < 22) {  // the file's range is cut where the parts are
            const std::uint64_t end = std::min<std::uint64_t>(22, (at / part + 1) * part);
            expected += "<3:" + std::to_string(10 + at - 14) + "+" + std::to_string(end - at) + ">";
            at = end;
        }
        EXPECT_EQ(moved, expected + "the end") << "in parts of " << part;
        EXPECT_EQ(pool.taken(), 0U);
    }
}

TEST(SendQueue, AFrontOfFullBlocksIsMovedWithoutACopy) {
    BlockPool pool;
    SendQueue from, to;
    from.append(pool, std::string(100'000, 'x'));
    iovec before[1], after[1];
    from.gather(before);
    to.append_front(pool, from, before[0].iov_len);
    to.gather(after);
    EXPECT_EQ(before[0].iov_base, after[0].iov_base);
    EXPECT_EQ(to.bytes() + from.bytes(), 100'000U);
    EXPECT_EQ(to.copied_bytes(), to.bytes());
    EXPECT_EQ(from.copied_bytes(), from.bytes());
}

TEST(SendQueue, AMillionPiecesAreFreedWithoutRecursion) {
    int deaths = 0;
    const auto shared = make_ref<OwnedText>("x", deaths);
    SendQueue queue;
    for (int i = 0; i < 1'000'000; ++i) queue.append_shared(shared->text, shared);
    queue.clear();
    EXPECT_TRUE(shared.only_owner());
}

TEST(SendQueue, RandomWorkAgreesWithAString) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Random random(seed);
        BlockPool pool;
        SendQueue queue;
        std::string model;
        for (int i = 0; i < 300; ++i) {
            if (random.chance(1, 2)) {
                const std::string text(random.below(20'000), static_cast<char>('a' + i % 26));
                queue.append(pool, text);
                model += text;
            } else if (!model.empty()) {
                iovec pieces[3];
                const std::size_t count = queue.gather(pieces);
                std::string seen;
                for (std::size_t p = 0; p < count; ++p) {
                    seen.append(static_cast<const char*>(pieces[p].iov_base), pieces[p].iov_len);
                }
                ASSERT_EQ(seen, model.substr(0, seen.size())) << "seed " << seed;
                const std::uint64_t taken = random.below(seen.size() + 1);
                queue.consume(taken);
                model.erase(0, taken);
            }
            ASSERT_EQ(queue.bytes(), model.size()) << "seed " << seed;
        }
    }
}

// As much as is queued, wherever it is moved and however it goes.
TEST(SendQueue, SharedBytesCountInThePoolForAsLongAsTheyAreQueued) {
    BlockPool pool;
    const std::string body(100'000, 'x');
    SendQueue queue;
    queue.append(pool, "head");
    queue.append_shared(body, {}, &pool);
    queue.append_shared(body, {});  // somebody else bounds these
    EXPECT_EQ(pool.shared_bytes(), 100'000U);
    EXPECT_EQ(queue.held().shared, 100'000U);
    EXPECT_EQ(queue.held().copied, 4U);
    queue.consume(4 + 30'000);
    EXPECT_EQ(pool.shared_bytes(), 70'000U);
    SendQueue other;
    other.append_front(pool, queue, 20'000);
    EXPECT_EQ(pool.shared_bytes(), 70'000U);
    EXPECT_EQ(queue.held().shared, 50'000U);
    EXPECT_EQ(other.held().shared, 20'000U);
    other.append_front(pool, queue, 60'000);
    EXPECT_EQ(other.held().shared, 70'000U);
    EXPECT_EQ(pool.shared_bytes(), 70'000U);
    SendQueue moved = std::move(other);
    moved.consume(25'000);
    EXPECT_EQ(pool.shared_bytes(), 45'000U);
    moved.clear();
    EXPECT_EQ(pool.shared_bytes(), 0U);
}

}  // namespace
}  // namespace tiderace::core
