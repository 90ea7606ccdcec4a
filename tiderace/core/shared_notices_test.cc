#include "tiderace/core/shared_notices.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "tiderace/core/kernel.h"
#include "tiderace/testing/temporary_folder.h"

namespace tiderace::core {
namespace {

using NoticeKind = ChangeNotice::Kind;

// The kernel's next notices, for all that opened this.
std::vector<ChangeNotice> kernel_has;
int instances = 0;
std::vector<int> forgotten;
bool memory_fails = false;
Descriptor pipe_ends[2];

class ScriptedNotices final : public ChangeNotices {
  public:
    ScriptedNotices() { ++instances; }

    int descriptor() const override { return pipe_ends[0].get(); }
    bool reports_names() const override { return true; }
    Result<int> watch(int fd, std::string_view) override { return fd; }
    void forget(int id) override { forgotten.push_back(id); }
    const std::vector<ChangeNotice>& take() override {
        if (std::exchange(memory_fails, false)) throw std::bad_alloc();
        taken_ = std::exchange(kernel_has, {});
        return taken_;
    }

  private:
    std::vector<ChangeNotice> taken_;
};

// One loop, and the notices it received.
struct Loop final : NoticeReader::Receiver {
    explicit Loop(std::shared_ptr<SharedNotices> shared) {
        reader = std::move(*NoticeReader::create(*loop, std::move(shared), *this));
    }

    void on_notices() override { ++told; }
    std::vector<int> taken() {
        std::vector<int> ids;
        for (const ChangeNotice& notice : reader->take()) {
            ids.push_back(notice.kind == NoticeKind::lost ? -1 : notice.id);
        }
        return ids;
    }

    std::unique_ptr<EventLoop> loop = std::move(*EventLoop::create({}));
    std::unique_ptr<NoticeReader> reader;
    int told = 0;
};

class SharedNoticesTest : public ::testing::Test {
  protected:
    SharedNoticesTest() {
        kernel_has.clear();
        forgotten.clear();
        instances = 0;
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
        pipe_ends[0] = Descriptor(system_kernel(), ends[0]);
        pipe_ends[1] = Descriptor(system_kernel(), ends[1]);
        for (auto& loop : loops_) loop.emplace(shared_);
    }

    ~SharedNoticesTest() override {
        for (auto& loop : loops_) loop.reset();
        for (Descriptor& end : pipe_ends) end = Descriptor();
    }

    Loop& a() { return *loops_[0]; }
    Loop& b() { return *loops_[1]; }

    std::shared_ptr<SharedNotices> shared_ = std::make_shared<SharedNotices>(
        [] { return Result<std::unique_ptr<ChangeNotices>>(std::make_unique<ScriptedNotices>()); });
    std::optional<Loop> loops_[2];
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(SharedNoticesTest, OneInstanceServesAllAndEachHasWhatItWatches) {
    EXPECT_EQ(instances, 1);
    ASSERT_TRUE(a().reader->watch(1));
    ASSERT_TRUE(a().reader->watch(3));
    ASSERT_TRUE(b().reader->watch(2));
    ASSERT_TRUE(b().reader->watch(3));
    ASSERT_TRUE(b().reader->watch(3));
    for (const int id : {1, 2, 3, 4}) kernel_has.push_back({id, NoticeKind::content, "x"});
    EXPECT_FALSE(b().reader->behind());
    EXPECT_THAT(a().taken(), ElementsAre(1, 3));
    EXPECT_TRUE(b().reader->behind());
    EXPECT_FALSE(a().reader->behind());
    EXPECT_THAT(b().taken(), ElementsAre(2, 3));
    EXPECT_FALSE(b().reader->behind());
    EXPECT_THAT(b().taken(), IsEmpty());
}

TEST_F(SharedNoticesTest, AReaderThatTookNothingIsWokenOnceUnlessItDoesNotListen) {
    ASSERT_TRUE(a().reader->watch(1));
    ASSERT_TRUE(b().reader->watch(1));
    for (const bool listens : {true, false}) {
        ASSERT_TRUE(b().reader->listen(listens));
        b().told = 0;
        for (int i = 0; i < 3; ++i) {
            kernel_has.push_back({1, NoticeKind::content, "x"});
            a().taken();
        }
        b().loop->turn(0s);
        EXPECT_EQ(b().told, listens ? 1 : 0);
        EXPECT_THAT(b().taken(), ElementsAre(1, 1, 1));
    }
    EXPECT_EQ(::write(pipe_ends[1].get(), "x", 1), 1);  // the kernel's word
    b().loop->turn(0s);
    EXPECT_EQ(b().told, 0);
    ASSERT_TRUE(b().reader->listen(true));
    b().loop->turn(0s);
    EXPECT_EQ(b().told, 1);
}

TEST_F(SharedNoticesTest, AWatchEndsWithTheLastThatForgetsIt) {
    ASSERT_TRUE(a().reader->watch(1));
    ASSERT_TRUE(b().reader->watch(1));
    ASSERT_TRUE(b().reader->watch(2));
    a().reader->forget(1);
    a().reader->forget(1);
    a().reader->forget(2);  // not its own
    EXPECT_THAT(forgotten, IsEmpty());
    kernel_has.push_back({1, NoticeKind::content, ""});
    EXPECT_THAT(a().taken(), IsEmpty());
    EXPECT_THAT(b().taken(), ElementsAre(1));
    loops_[1].reset();
    EXPECT_THAT(forgotten, ::testing::UnorderedElementsAre(1, 2));
    kernel_has.push_back({1, NoticeKind::content, ""});
    EXPECT_THAT(a().taken(), IsEmpty());
}

TEST_F(SharedNoticesTest, AnEndedWatchIsReportedToAllAndForgotten) {
    ASSERT_TRUE(a().reader->watch(1));
    ASSERT_TRUE(b().reader->watch(1));
    kernel_has.push_back({1, NoticeKind::ended, ""});
    EXPECT_THAT(a().taken(), ElementsAre(1));
    EXPECT_THAT(b().taken(), ElementsAre(1));
    kernel_has.push_back({1, NoticeKind::content, ""});
    EXPECT_THAT(a().taken(), IsEmpty());
    loops_[0].reset();
    loops_[1].reset();
    EXPECT_THAT(forgotten, IsEmpty()) << "its number may be another's";
}

TEST_F(SharedNoticesTest, ANoticeThatCannotBeKeptIsLostForItsReaders) {
    ASSERT_TRUE(a().reader->watch(1));
    ASSERT_TRUE(b().reader->watch(2));
    for (std::size_t i = 0; i <= ChangeNotices::notices_max; ++i) {
        kernel_has.push_back({2, NoticeKind::content, ""});
        EXPECT_THAT(a().taken(), IsEmpty());
    }
    EXPECT_THAT(b().taken(), ElementsAre(-1));
    kernel_has.push_back({});  // the kernel lost some
    EXPECT_THAT(a().taken(), ElementsAre(-1));
    EXPECT_THAT(b().taken(), ElementsAre(-1));
    memory_fails = true;
    EXPECT_THAT(a().taken(), ElementsAre(-1));
    EXPECT_TRUE(b().reader->behind());
    EXPECT_THAT(b().taken(), ElementsAre(-1));
    EXPECT_THAT(b().taken(), IsEmpty());
}

// As the sites of one loop do, each of which watches its own folders.
TEST(SharedNoticesOfTheKernel, ReadersOfOneLoopAreToldEach) {
    struct Counted final : NoticeReader::Receiver {
        void on_notices() override { told += reader->take().empty() ? 0 : 1; }
        std::unique_ptr<NoticeReader> reader;
        int told = 0;
    };
    testing::TemporaryFolder folders[2];
    const auto loop = std::move(*EventLoop::create({}));
    const auto shared = std::make_shared<SharedNotices>();
    Counted readers[2];
    for (int i = 0; i < 2; ++i) {
        readers[i].reader = std::move(*NoticeReader::create(*loop, shared, readers[i]));
        const Descriptor folder(system_kernel(), ::open(folders[i].path().c_str(), O_RDONLY));
        ASSERT_TRUE(readers[i].reader->watch(folder.get()));
    }
    for (int i = 0; i < 2; ++i) {
        folders[i].write("a.txt", "");
        for (int turn = 0; turn < 1'000 && readers[i].told == 0; ++turn) loop->turn(1ms);
        EXPECT_GT(readers[i].told, 0);
        EXPECT_EQ(readers[1 - i].told > 0, i == 1);
    }
}

// Each thread sees, right after a change, that there is a notice of it: from the kernel, or by
// behind() if another thread took it first.
TEST(SharedNoticesOfTheKernel, AChangeIsKnownToEveryThreadAsSoonAsItIsMade) {
    constexpr int changes = 1'000;
    testing::TemporaryFolder folder;
    const Descriptor directory(system_kernel(), ::open(folder.path().c_str(), O_RDONLY));
    const auto shared = std::make_shared<SharedNotices>();
    std::atomic<int> change = 0, seen = 0, missed = 0;
    const auto follow = [&] {
        Loop own(shared);
        ASSERT_TRUE(own.reader->watch(directory.get()));
        ++seen;
        for (int i = 1; i <= changes; ++i) {
            while (change.load() < i) std::this_thread::yield();
            own.told = 0;
            own.loop->turn(0s);
            missed += own.told == 0 && !own.reader->behind();
            own.reader->take();
            ++seen;
        }
    };
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) thread = std::thread(follow);
    for (int i = 1; i <= changes; ++i) {
        while (seen.load() < i * 3) std::this_thread::yield();
        if (i % 2 == 1) {
            folder.write("b.txt", "");
        } else {
            folder.remove("b.txt");
        }
        change.store(i);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(missed.load(), 0);
}

}  // namespace
}  // namespace tiderace::core
