// Connector/C's results and parameters as cells, values and faults of this room.
//
// Thread   Any; on objects that the caller owns.
#pragma once

#include <mysql.h>

#include <array>
#include <vector>

#include "tiderace/db/batch.h"
#include "tiderace/db/error.h"

namespace tiderace::db::mariadb {

// The parameters of one statement, in the library's array.
class Parameters {
  public:
    explicit Parameters(const std::vector<Value>& values);
    MYSQL_BIND* binds() { return binds_.data(); }

  private:
    std::vector<MYSQL_BIND> binds_;
    std::vector<std::string> texts_;
    std::vector<long long> integers_;
    std::vector<double> reals_;
};

// Where the library puts the columns of a row.
class Fields {
  public:
    // Reads and binds the fields of a statement that was executed.
    Fields(MYSQL* mysql, MYSQL_STMT* statement);

    const Batch::Columns& columns() const { return columns_; }
    // The row that was fetched.
    void add_row(Batch& batch, MYSQL_STMT* statement);

  private:
    struct Column {
        Kind kind = Kind::text;
        bool is_unsigned = false;
        long long integer = 0;
        double real = 0;
        std::array<char, 128> text;  // decimals, times
        unsigned long size = 0;
        my_bool is_null = 0;
        my_bool is_cut = 0;
    };

    Batch::Columns columns_;
    std::vector<Column> cells_;
    std::vector<MYSQL_BIND> binds_;
    std::string room_;
};

Fault fault_of(unsigned number);

}  // namespace tiderace::db::mariadb
