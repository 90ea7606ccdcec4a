// What serves files when memory runs out, at any single allocation and from any one on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/testing/static_site.h"

#if !defined(TIDERACE_SANITIZED)

namespace {

// On the thread that asks: others of this program have all they want.
thread_local long allocations_left = -1;  // -1: no end
thread_local bool fails_once = false;

void* allocate(std::size_t bytes) noexcept {
    if (allocations_left == 0) {
        if (fails_once) allocations_left = -1;
        return nullptr;
    }
    if (allocations_left > 0) --allocations_left;
    return std::malloc(bytes > 0 ? bytes : 1);
}
void* allocate_or_throw(std::size_t bytes) {
    if (void* const memory = allocate(bytes)) return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
    return allocate_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
    return allocate_or_throw(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return allocate(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace tiderace::http::handler {
namespace {

class StaticFilesMemoryTest : public testing::StaticSite {
  protected:
    enum class End : std::uint8_t { answered, broken_off };

    // Asks while memory is as scarce as that, and says how it ended.
    End ask_without(long allocations, bool once, const char* path) {
        exchange_ = core::make_ref<testing::RecordedExchange>(*loop_, "GET", path);
        server();
        End end = End::answered;
        fails_once = once;
        allocations_left = allocations;
        try {
            server().handle(*exchange_);
        } catch (const std::bad_alloc&) {
            end = End::broken_off;
        }
        ran_out_ = once ? allocations_left == -1 : allocations_left == 0;
        allocations_left = -1;
        return end;
    }

    bool ran_out_ = false;
};

TEST_F(StaticFilesMemoryTest, EveryAllocationMayFail) {
    options_.watch.on = true;
    options_.listing = true;
    options_.cache.hot_requests = 2;
    folder_.write("a.txt", "some text");
    folder_.write("a.txt.gz", "packed");
    folder_.write("big.bin", std::string(200'000, 'x'));
    folder_.write("docs/index.html", "docs");
    folder_.write("list/x.txt", "x");
    folder_.link("link", "docs/index.html");
    for (const char* path : {"/a.txt", "/big.bin", "/docs/", "/docs", "/link", "/absent"}) {
        server_.reset();
        const int right = get(path).status();
        const std::string whole = exchange_->body();
        for (const bool once : {true, false}) {
            for (const int known : {0, 1, 2}) {  // to the cache, since so many requests
                bool more = true;
                for (long n = 0; more; ++n) {
                    SCOPED_TRACE(std::string(path) + " allocation " + std::to_string(n) +
                                 (once ? " only" : " and all after") + ", known " +
                                 std::to_string(known));
                    server_.reset();
                    for (int i = 0; i < known; ++i) get(path);
                    const End end = ask_without(n, once, path);
                    more = ran_out_;
                    if (end == End::answered) {
                        EXPECT_THAT(exchange_->status(), ::testing::AnyOf(right, 503));
                        // What failed in the answer's own making was broken off.
                        if (exchange_->status() == right && !exchange_->body().empty()) {
                            EXPECT_EQ(exchange_->body(), whole);
                        }
                    } else {
                        EXPECT_TRUE(!once || exchange_->responded());
                    }
                    // And it serves on: from what it knows, and what it has yet to learn.
                    EXPECT_EQ(get(path).status(), right);
                    EXPECT_EQ(exchange_->body(), whole);
                    EXPECT_EQ(get("/docs/").body(), "docs");
                }
            }
        }
    }
}

TEST_F(StaticFilesMemoryTest, WhatIsCachedMakesRoom) {
    folder_.write("a.txt", "a");
    folder_.write("b.txt", "b");
    get("/a.txt");
    EXPECT_EQ(server().cache().paths(), 1U);
    EXPECT_EQ(ask_without(0, true, "/b.txt"), End::answered);
    EXPECT_EQ(exchange_->body(), "b");
    EXPECT_EQ(server().cache().paths(), 1U) << "the new one";
}

TEST_F(StaticFilesMemoryTest, TheLackIsInTheLogAtMostOnceASecond) {
    log::Doorbell bell;
    log::Ring ring(64_KiB, bell);
    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    Time time;
    log::Logger logger(ring, time);
    loop_->set_log(&logger);
    int asked = 0;
    for (const Duration waited : {Duration(0s), Duration(999ms), Duration(1s), Duration(1s)}) {
        pass(waited);
        time.ms += waited / 1ms;
        for (int i = 0; i < 10; ++i) {
            const std::string path = "/absent" + std::to_string(asked++);  // not in the cache
            ask_without(0, true, path.c_str());
            EXPECT_TRUE(ran_out_);
        }
        const std::string lines = log::take_all(ring);
        EXPECT_EQ(std::ranges::count(lines, '\n'), waited == 999ms ? 0 : 1) << lines;
        EXPECT_EQ(lines.find("out of memory: the file cache was dropped") != lines.npos,
                  waited != 999ms)
            << lines;
    }
    EXPECT_EQ(logger.may_log(log::Often::out_of_memory), std::nullopt) << "shared with all others";
    loop_->set_log(nullptr);
}

}  // namespace
}  // namespace tiderace::http::handler

#endif
