#include "tiderace/log/sink.h"

#include <gtest/gtest.h>

#include <memory>

namespace tiderace::log {
namespace {

// The least that a sink must have.
class ForgettingSink final : public Sink {
  public:
    explicit ForgettingSink(bool& destroyed) : destroyed_(destroyed) {}
    ~ForgettingSink() override { destroyed_ = true; }
    Written write(ByteView lines) override { return {lines.size(), std::nullopt}; }

  private:
    bool& destroyed_;
};

TEST(Sink, NeedsOnlyWriteAndIsDestroyedThroughItsBase) {
    bool destroyed = false;
    std::unique_ptr<Sink> sink = std::make_unique<ForgettingSink>(destroyed);
    EXPECT_EQ(sink->write("line\n").bytes, 5U);
    EXPECT_FALSE(sink->write("line\n").trouble);
    EXPECT_TRUE(sink->reopen().has_value()) << "nothing to reopen is no failure";
    sink.reset();
    EXPECT_TRUE(destroyed);
}

}  // namespace
}  // namespace tiderace::log
