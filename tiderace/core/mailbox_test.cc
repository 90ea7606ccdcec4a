#include "tiderace/core/mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tiderace::core {
namespace {

class MailboxTest : public ::testing::Test {
  protected:
    auto write(char letter) {
        return [this, letter] { letters += letter; };
    }

    int wakes = 0;
    std::string letters;
    Mailbox mailbox{4, [this] { ++wakes; }};
};

TEST_F(MailboxTest, RunsInTheOrderPosted) {
    for (char letter : {'a', 'b', 'c'}) EXPECT_TRUE(mailbox.post(write(letter)));
    EXPECT_EQ(letters, "");
    EXPECT_EQ(mailbox.drain(), 3U);
    EXPECT_EQ(letters, "abc");
    EXPECT_EQ(mailbox.drain(), 0U);
}

TEST_F(MailboxTest, ATaskThatThrowsIsOverAndTheOthersRun) {
    mailbox.post(write('a'));
    mailbox.post([] { throw std::runtime_error("thrown by a task"); });
    mailbox.post([] { throw std::bad_alloc(); });
    mailbox.post(write('b'));
    EXPECT_EQ(mailbox.drain(), 4U);
    EXPECT_EQ(letters, "ab");
    mailbox.post(write('c'));
    EXPECT_EQ(mailbox.drain(), 1U);
    EXPECT_EQ(letters, "abc");
}

TEST_F(MailboxTest, WakesOnlyWhenItWasEmpty) {
    EXPECT_EQ(wakes, 0);
    mailbox.post(write('a'));
    EXPECT_EQ(wakes, 1);
    mailbox.post(write('b'));
    EXPECT_EQ(wakes, 1);
    mailbox.drain();
    EXPECT_EQ(wakes, 1);
    mailbox.post(write('c'));
    EXPECT_EQ(wakes, 2);
}

TEST_F(MailboxTest, KnowsWhetherAnythingWaits) {
    EXPECT_TRUE(mailbox.empty());
    mailbox.post(write('a'));
    EXPECT_FALSE(mailbox.empty());
    mailbox.drain();
    EXPECT_TRUE(mailbox.empty());
}

TEST_F(MailboxTest, WhatATaskPostsRunsInTheNextDrainWithAWakeOfItsOwn) {
    mailbox.post([this] {
        letters += 'a';
        mailbox.post(write('c'));
    });
    mailbox.post(write('b'));
    EXPECT_EQ(mailbox.drain(), 2U);
    EXPECT_EQ(letters, "ab");
    EXPECT_EQ(wakes, 2);
    EXPECT_EQ(mailbox.drain(), 1U);
    EXPECT_EQ(letters, "abc");
}

TEST_F(MailboxTest, AFullOneRefusesAndCounts) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(mailbox.post(write('a')));
    EXPECT_FALSE(mailbox.post(write('x')));
    EXPECT_FALSE(mailbox.post(write('x')));
    EXPECT_EQ(mailbox.refused_full(), 2U);
    EXPECT_EQ(mailbox.refused_closed(), 0U);
    mailbox.drain();
    EXPECT_EQ(letters, "aaaa");
    EXPECT_TRUE(mailbox.post(write('b')));
}

TEST_F(MailboxTest, AClosedOneRefusesAndRunsWhatItHad) {
    mailbox.post(write('a'));
    mailbox.close();
    EXPECT_FALSE(mailbox.post(write('x')));
    EXPECT_EQ(mailbox.refused_closed(), 1U);
    EXPECT_EQ(mailbox.drain(), 1U);
    EXPECT_EQ(letters, "a");
    EXPECT_EQ(wakes, 1);
}

TEST_F(MailboxTest, ATaskDiesAsSoonAsItHasRun) {
    auto held = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = held;
    mailbox.post([held = std::move(held)] {});
    mailbox.post([this, &watch] { letters += watch.expired() ? "gone" : "held"; });
    mailbox.drain();
    EXPECT_EQ(letters, "gone");
}

TEST(Mailbox, UndrainedTasksAreDestroyedUnrunAndMayPostWhileTheyDie) {
    int posts_of_the_dying = 0;
    struct PostsOnDeath {
        Mailbox* mailbox;
        int* posts;
        ~PostsOnDeath() {
            EXPECT_FALSE(mailbox->post([] {}));
            ++*posts;
        }
    };
    {
        std::optional<Mailbox> mailbox(std::in_place, 4, [] {});
        auto dying = std::make_unique<PostsOnDeath>(&*mailbox, &posts_of_the_dying);
        mailbox->post([dying = std::move(dying)] { ADD_FAILURE() << "it ran"; });
    }
    EXPECT_EQ(posts_of_the_dying, 1);
}

// The owner sleeps until it is woken, so a lost wake-up would hang here.
TEST(Mailbox, LosesNothingBetweenSeveralThreads) {
    constexpr int producers = 4;
    constexpr int posts_each = 20'000;
    std::mutex lock;
    std::condition_variable changed;
    bool woken = false;
    Mailbox mailbox(1'000, [&] {
        const std::lock_guard held(lock);
        woken = true;
        changed.notify_one();
    });

    std::vector<std::vector<int>> seen(producers);  // only the owner's thread touches it
    std::atomic<std::uint64_t> refused = 0;
    std::vector<std::thread> threads;
    for (int producer = 0; producer < producers; ++producer) {
        threads.emplace_back([&, producer] {
            for (int number = 0; number < posts_each; ++number) {
                const auto task = [&seen, producer, number] {
                    seen[static_cast<std::size_t>(producer)].push_back(number);
                };
                while (!mailbox.post(task)) {
                    refused.fetch_add(1);
                    std::this_thread::yield();
                }
            }
        });
    }
    std::size_t ran = 0;
    while (ran < producers * posts_each) {
        {
            std::unique_lock held(lock);
            changed.wait(held, [&] { return woken; });
            woken = false;
        }
        ran += mailbox.drain();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran, std::size_t{producers * posts_each});
    EXPECT_EQ(mailbox.drain(), 0U);
    EXPECT_EQ(mailbox.refused_full(), refused.load());
    for (const std::vector<int>& numbers : seen) {
        ASSERT_EQ(numbers.size(), std::size_t{posts_each});
        for (int number = 0; number < posts_each; ++number) {
            ASSERT_EQ(numbers[static_cast<std::size_t>(number)], number);
        }
    }
}

TEST(Mailbox, AfterCloseNoThreadWakesTheOwner) {
    std::atomic<bool> closed = false;
    Mailbox mailbox(1'000, [&] { EXPECT_FALSE(closed.load()); });
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!stop.load()) mailbox.post([] {});
        });
    }
    for (int i = 0; i < 100; ++i) mailbox.drain();
    mailbox.close();
    closed = true;
    mailbox.drain();
    while (mailbox.refused_closed() < 100) std::this_thread::yield();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(mailbox.drain(), 0U);
}

TEST(MailboxDeathTest, MisuseAborts) {
    Mailbox mailbox(4, [] {});
    EXPECT_DEATH(mailbox.post(nullptr), "empty task");
    mailbox.post([&] { mailbox.drain(); });
    EXPECT_DEATH(mailbox.drain(), "inside a task");
    EXPECT_DEATH(Mailbox(4, nullptr), "wake its owner");
}

}  // namespace
}  // namespace tiderace::core
