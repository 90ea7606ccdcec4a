// Internal. Statements: what a Database and a Transaction have in common: one(), all(), exec(),
// stream().
//
// Owner, thread, errors: database.h. Each `?` takes one value (value.h); rows become C++ values by
// row.h. A std::vector<Value> among the values stands for all that are in it: for a statement that
// is put together at run time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/db/batch.h"
#include "tiderace/db/error.h"
#include "tiderace/db/row.h"
#include "tiderace/task/generator.h"
#include "tiderace/task/task.h"

namespace tiderace::db {

enum class Wanted : std::uint8_t { one_row, all_rows, no_rows };

class Statements {
  public:
    // The row, or nullopt where there is none. Two are Error{row}.
    template <typename T, typename... A>
    task::Task<std::optional<T>> one(std::string_view sql, const A&... values) {
        return one_of<T>(fetch(Wanted::one_row, std::string(sql), bound(values...)));
    }
    // At most Options::rows_max rows.
    template <typename T, typename... A>
    task::Task<std::vector<T>> all(std::string_view sql, const A&... values) {
        return all_of<T>(fetch(Wanted::all_rows, std::string(sql), bound(values...)));
    }
    template <typename... A>
    task::Task<Done> exec(std::string_view sql, const A&... values) {
        return done_of(fetch(Wanted::no_rows, std::string(sql), bound(values...)));
    }
    // Rows one at a time, with a portion read ahead. It holds a connection until it ends.
    //   auto rows = db.stream<Member>("select …");
    //   while (auto row = co_await rows.next()) use(*row);
    template <typename T, typename... A>
    task::Generator<T> stream(std::string_view sql, const A&... values) {
        return rows_of<T>(batches(std::string(sql), bound(values...)));
    }

  protected:
    Statements() = default;
    Statements(const Statements&) = default;
    Statements& operator=(const Statements&) = default;
    ~Statements() = default;

    template <typename... A>
    static std::vector<Value> bound(const A&... values) {
        std::vector<Value> made;
        made.reserve(sizeof...(A));
        (bind(made, values), ...);
        return made;
    }
    template <typename A>
    static void bind(std::vector<Value>& made, const A& value) {
        constexpr bool is_list = std::same_as<A, std::vector<Value>>;
        constexpr bool is_known = is_list || std::constructible_from<Value, const A&>;
        static_assert(is_known,
                      "a statement cannot bind a value of this type;"
                      " tiderace/db/value.h lists the types that it can");
        if constexpr (is_list) {
            made.insert(made.end(), value.begin(), value.end());
        } else if constexpr (is_known) {
            made.push_back(Value(value));
        }
    }
    template <typename T>
    static task::Task<std::optional<T>> one_of(task::Task<Batch> fetched) {
        const Batch batch = co_await std::move(fetched);
        const RowReader<T> reader(batch);
        if (batch.rows() == 0) co_return std::nullopt;
        if (batch.rows() > 1) throw Error(Fault::row, "one() found more than one row");
        co_return reader.read(batch, 0);
    }
    template <typename T>
    static task::Task<std::vector<T>> all_of(task::Task<Batch> fetched) {
        const Batch batch = co_await std::move(fetched);
        const RowReader<T> reader(batch);
        std::vector<T> rows;
        rows.reserve(batch.rows());
        for (std::size_t i = 0; i < batch.rows(); ++i) rows.push_back(reader.read(batch, i));
        co_return rows;
    }
    static task::Task<Done> done_of(task::Task<Batch> fetched) {
        const Batch batch = co_await std::move(fetched);
        co_return batch.done;
    }
    template <typename T>
    static task::Generator<T> rows_of(task::Generator<Batch> from) {
        std::optional<RowReader<T>> reader;
        while (auto batch = co_await from.next()) {
            if (!reader) reader.emplace(*batch);
            for (std::size_t i = 0; i < batch->rows(); ++i) co_yield reader->read(*batch, i);
        }
    }

  private:
    virtual task::Task<Batch> fetch(Wanted wanted, std::string sql, std::vector<Value> values) = 0;
    virtual task::Generator<Batch> batches(std::string sql, std::vector<Value> values) = 0;
};

}  // namespace tiderace::db
