#include "tiderace/testing/fake/fault_plan.h"

#include <array>
#include <string_view>

#include "tiderace/base/random.h"

namespace tiderace::testing {
namespace {

struct NamedOdds {
    std::string_view name;
    FaultPlan::Odds FaultPlan::* odds;
    FaultPlan::Odds most;  // ends of connections are rarer, or nothing else would ever be seen
};

constexpr std::array named_odds{
    NamedOdds{"short_receive", &FaultPlan::short_receive, 5'000},
    NamedOdds{"short_send", &FaultPlan::short_send, 5'000},
    NamedOdds{"receive_again", &FaultPlan::receive_again, 4'000},
    NamedOdds{"send_again", &FaultPlan::send_again, 4'000},
    NamedOdds{"send_no_buffers", &FaultPlan::send_no_buffers, 2'000},
    NamedOdds{"interrupted", &FaultPlan::interrupted, 4'000},
    NamedOdds{"accept_aborted", &FaultPlan::accept_aborted, 2'000},
    NamedOdds{"accept_no_descriptor", &FaultPlan::accept_no_descriptor, 3'000},
    NamedOdds{"receive_reset", &FaultPlan::receive_reset, 500},
    NamedOdds{"send_reset", &FaultPlan::send_reset, 500},
    NamedOdds{"file_shrinks", &FaultPlan::file_shrinks, 500},
    NamedOdds{"spurious_ready", &FaultPlan::spurious_ready, 2'000},
};

// Down to less than a line of a request, so that even the smallest message arrives in parts.
constexpr std::array<std::size_t, 5> buffer_sizes{64_KiB, 16_KiB, 4'096, 700, 61};

}  // namespace

FaultPlan FaultPlan::from_seed(std::uint64_t seed) {
    // Another sequence than the network's own, which begins at the bare seed: or the odds and the
    // first outcomes would hang together.
    Random random(seed ^ 0x9e3779b97f4a7c15);
    FaultPlan plan{.seed = seed};
    // Some runs have no fault: several faults end connections early, and later code would seldom
    // run.
    if (random.chance(1, 4)) return plan;
    for (const NamedOdds& fault : named_odds) {
        if (random.chance(1, 3)) {
            plan.*fault.odds = static_cast<Odds>(1 + random.below(fault.most));
        }
    }
    plan.buffer_bytes = buffer_sizes[random.below(buffer_sizes.size())];
    if (random.chance(1, 2)) plan.delay_max = std::chrono::microseconds(1 + random.below(20'000));
    return plan;
}

std::string FaultPlan::describe() const {
    std::string text = "seed " + std::to_string(seed) + ": buffers " + format_bytes(buffer_bytes);
    for (const NamedOdds& fault : named_odds) {
        if (this->*fault.odds == 0) continue;
        text.append(", ").append(fault.name).append(" ").append(std::to_string(this->*fault.odds));
    }
    if (delay_max > Duration::zero()) {
        text += ", delays to " + std::to_string(delay_max / 1us) + " us";
    }
    return text;
}

}  // namespace tiderace::testing
