// Runs a scenario in the fake world under many seeds: the plan of faults and the scenario's own
// choices come from the seed alone, so a failing one is replayed by its number.
//
//   seeds_test                               every scenario, seeds 1 … 10,000
//   seeds_test --seeds 200                   fewer; TIDERACE_SEEDS=200 is the same
//   seeds_test --gtest_filter=X --seed 7     one seed; TIDERACE_SEED=7 is the same
//   … --trace                                and each system call of it, with its virtual time
//
// A new scenario is a file here with TEST(NetSeeds, Echo) { run_seeds(echo); }.
#pragma once

#include <cstdint>
#include <functional>

#include "tiderace/base/random.h"
#include "tiderace/testing/fake_world.h"

namespace tiderace::testing {

// Checks with EXPECT_*. Everything it makes dies before the world, which the runner then checks:
// no descriptor, no memory block left over, virtual time within `virtual_time_max`.
using Scenario = std::function<void(FakeWorld& world, Random& random)>;

struct SeedLimits {
    Duration virtual_time_max = 2h;
    // For a scenario that costs more than others: run for one in this many seeds, unless the user
    // asks for a number of them.
    std::uint64_t one_in = 1;
    std::uint64_t one_in_sanitized = 1;  // of those, under a sanitizer
};

// Stops at the first seed that fails, and says how to replay it.
void run_seeds(const Scenario& scenario, const SeedLimits& limits = {});

}  // namespace tiderace::testing
