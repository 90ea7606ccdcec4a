#include "tiderace/metrics/thread_cell.h"

#include <bitset>
#include <mutex>

namespace tiderace::metrics {
namespace {

struct Cells {
    std::mutex lock;
    std::bitset<threads_max> taken;
};

// Never destroyed: threads may end after main().
Cells& cells() {
    static Cells& all = *new Cells;
    return all;
}

// Gives the cell back when the thread ends; what it counted stays.
struct Holder {
    ~Holder() {
        const std::lock_guard held(cells().lock);
        if (own_cell < threads_max) cells().taken.reset(own_cell);
        own_cell = threads_max;  // for what the thread counts after this
    }
};

}  // namespace

unsigned take_cell() {
    thread_local const Holder holder;
    const std::lock_guard held(cells().lock);
    own_cell = threads_max;
    for (unsigned i = 0; i < threads_max; ++i) {
        if (cells().taken.test(i)) continue;
        cells().taken.set(i);
        own_cell = i;
        break;
    }
    return own_cell;
}

}  // namespace tiderace::metrics
