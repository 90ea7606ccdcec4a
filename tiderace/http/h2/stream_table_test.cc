#include "tiderace/http/h2/stream_table.h"

#include <gtest/gtest.h>

#include <map>

#include "tiderace/base/random.h"
#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

class Table : public testing::H2Test {
  protected:
    core::Ref<H2Exchange> numbered(std::uint32_t stream) {
        auto exchange = core::make_ref<H2Exchange>(stage_->service());
        exchange->set_stream(stream);
        return exchange;
    }
    H2StreamTable table_;
};

INSTANTIATE_TEST_SUITE_P(Worlds, Table, ::testing::Values("fake"));

TEST_P(Table, IsEmptyAtFirst) {
    EXPECT_TRUE(table_.empty());
    EXPECT_EQ(table_.find(1), nullptr);
    EXPECT_TRUE(table_.all().empty());
}

TEST_P(Table, RandomWorkAgreesWithAMap) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Random random(seed);
        H2StreamTable table;
        std::map<std::uint32_t, H2Exchange*> model;
        std::uint32_t next = 1;
        for (int i = 0; i < 400; ++i) {
            if (random.chance(1, 2) || model.empty()) {
                next += 2 * static_cast<std::uint32_t>(1 + random.below(40));
                auto exchange = numbered(next);
                model[next] = exchange.get();
                table.insert(std::move(exchange));
            } else {
                auto at = model.begin();
                std::advance(at, random.below(model.size()));
                EXPECT_EQ(table.take(at->first).get(), at->second);
                model.erase(at);
            }
            ASSERT_EQ(table.size(), model.size());
            for (const auto& [stream, exchange] : model) {
                ASSERT_EQ(table.find(stream), exchange) << "seed " << seed << " step " << i;
            }
            ASSERT_EQ(table.find(next + 2), nullptr);
        }
        EXPECT_EQ(table.all().size(), model.size());
    }
}

}  // namespace
}  // namespace tiderace::http
