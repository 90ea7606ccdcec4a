// Batch: rows that a connection has read, in one block, and what else a statement came to.
//
// Owner    The one that reads it; a Cell is a view of it.
// Thread   One at a time; it travels from a thread of the pool to the loop as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiderace/db/value.h"

namespace tiderace::db {

// What exec() gives.
struct Done {
    std::uint64_t rows = 0;    // inserted, changed or deleted
    std::int64_t last_id = 0;  // SQLite and MariaDB: of the row inserted last. PostgreSQL has none:
                               // say `returning id` and one<std::int64_t>
    bool operator==(const Done&) const = default;
};

struct Cell {
    Kind kind = Kind::null;
    std::int64_t integer = 0;  // boolean, integer; time in microseconds
    double real = 0;
    std::string_view bytes;  // text, blob, decimal
};

class Batch {
  public:
    using Columns = std::shared_ptr<const std::vector<std::string>>;

    Batch() : columns_(std::make_shared<const std::vector<std::string>>()) {}
    explicit Batch(Columns columns) : columns_(std::move(columns)) {}

    const Columns& columns() const { return columns_; }
    std::size_t width() const { return columns_->size(); }
    std::size_t rows() const { return width() == 0 ? 0 : slots_.size() / width(); }
    std::size_t bytes() const { return bytes_.size() + slots_.size() * sizeof(Slot); }
    Cell cell(std::size_t row, std::size_t column) const {
        const Slot& slot = slots_[row * width() + column];
        Cell made{.kind = slot.kind, .integer = slot.integer, .real = slot.real, .bytes = {}};
        if (slot.size > 0) {
            made.bytes =
                std::string_view(bytes_).substr(static_cast<std::size_t>(slot.integer), slot.size);
        }
        return made;
    }

    // Room for a row, in one piece: a thread of the pool makes what the loop frees.
    void expect_row() {
        slots_.reserve(slots_.size() + width());
        bytes_.reserve(bytes_.size() + row_bytes);
    }
    void add_null() { slots_.push_back({}); }
    void add_number(Kind kind, std::int64_t value) { slots_.push_back({kind, value, 0, 0}); }
    void add_real(double value) { slots_.push_back({Kind::real, 0, value, 0}); }
    void add_bytes(Kind kind, std::string_view value) {
        slots_.push_back({kind, static_cast<std::int64_t>(bytes_.size()), 0, value.size()});
        bytes_.append(value);
    }

    Done done;
    bool more = false;  // the connection has further rows
    bool in_transaction = false;
    bool wants_writer = false;  // nothing was done: this connection only reads
    std::uint64_t steps = 0;    // of SQLite's machine, once all rows are read

  private:
    static constexpr std::size_t row_bytes = 240;  // of texts, of most rows
    struct Slot {
        Kind kind = Kind::null;
        std::int64_t integer = 0;  // or where its bytes begin
        double real = 0;
        std::size_t size = 0;
    };

    Columns columns_;
    std::vector<Slot> slots_;
    std::string bytes_;
};

}  // namespace tiderace::db
