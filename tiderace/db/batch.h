// Internal. Batch: rows that a connection has read, in one block, and the other results of a
// statement.
//
// Owner    The one that reads it; a Cell is a view of it.
// Thread   One at a time; it travels from a thread of the pool to the loop as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/db/value.h"
#include "tiderace/task/frame_pool.h"

namespace tiderace::db {

// The result of exec().
struct Done {
    std::uint64_t rows = 0;    // inserted, changed or deleted
    std::int64_t last_id = 0;  // SQLite and MariaDB: of the row inserted last. PostgreSQL has none:
                               // use `returning id` and one<std::int64_t>
    bool operator==(const Done&) const = default;
};

struct Cell {
    Kind kind = Kind::null;
    std::int64_t integer = 0;  // boolean, integer; time in microseconds
    double real = 0;
    std::string_view bytes;  // text, blob, decimal
};

class Batch {
    struct Slot {
        Kind kind = Kind::null;
        std::int64_t integer = 0;  // or where its bytes begin
        double real = 0;
        std::size_t size = 0;
    };

  public:
    using Columns = std::shared_ptr<const std::vector<std::string>>;

    // Memory for rows to come. The loop makes it where it can, because a thread of the pool has
    // none that was free before: all that it makes ends on the loop.
    struct Room {
        std::vector<Slot, task::FrameAllocator<Slot>> slots;
        std::basic_string<char, std::char_traits<char>, task::FrameAllocator<char>> bytes;
    };
    // How much a result took.
    struct Extent {
        std::size_t slots = 0;
        std::size_t bytes = 0;
    };
    // For a result like the last one of its statement, as long as that was small.
    static Room room_for(const Extent& last) {
        Room room;
        if (last.slots == 0 || last.slots > room_slots_max) return room;
        room.slots.reserve(last.slots);
        room.bytes.reserve(std::clamp(last.bytes, row_bytes, room_bytes_max));
        return room;
    }

    Batch() : columns_(std::make_shared<const std::vector<std::string>>()) {}
    explicit Batch(Columns columns, Room room = {})
        : columns_(std::move(columns)), room_(std::move(room)) {}

    const Columns& columns() const { return columns_; }
    std::size_t width() const { return columns_->size(); }
    std::size_t rows() const { return width() == 0 ? 0 : room_.slots.size() / width(); }
    std::size_t bytes() const { return room_.bytes.size() + room_.slots.size() * sizeof(Slot); }
    Extent extent() const { return {.slots = room_.slots.size(), .bytes = room_.bytes.size()}; }
    Cell cell(std::size_t row, std::size_t column) const {
        const Slot& slot = room_.slots[row * width() + column];
        Cell made{.kind = slot.kind, .integer = slot.integer, .real = slot.real, .bytes = {}};
        if (slot.size > 0) {
            made.bytes = std::string_view(room_.bytes)
                             .substr(static_cast<std::size_t>(slot.integer), slot.size);
        }
        return made;
    }

    // Room for a row, in one piece.
    void expect_row() {
        room_.slots.reserve(room_.slots.size() + width());
        room_.bytes.reserve(room_.bytes.size() + row_bytes);
    }
    void add_null() { room_.slots.push_back({}); }
    void add_number(Kind kind, std::int64_t value) { room_.slots.push_back({kind, value, 0, 0}); }
    void add_real(double value) { room_.slots.push_back({Kind::real, 0, value, 0}); }
    void add_bytes(Kind kind, std::string_view value) {
        const auto begin = static_cast<std::int64_t>(room_.bytes.size());
        room_.slots.push_back({kind, begin, 0, value.size()});
        room_.bytes.append(value);
    }

    Done done;
    bool more = false;  // the connection has further rows
    bool in_transaction = false;
    bool wants_writer = false;  // nothing was done: this connection only reads
    std::uint64_t steps = 0;    // of SQLite's machine, once all rows are read

  private:
    static constexpr std::size_t row_bytes = 240;  // of texts, of most rows
    // Limits of room_for().
    static constexpr std::size_t room_slots_max = 64;
    static constexpr std::size_t room_bytes_max = 1'024;

    Columns columns_;
    Room room_;
};

}  // namespace tiderace::db
