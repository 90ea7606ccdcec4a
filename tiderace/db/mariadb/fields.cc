#include "tiderace/db/mariadb/fields.h"

#include <errmsg.h>
#include <mysqld_error.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace tiderace::db::mariadb {
namespace {

// The number of the character set "binary", by which alone text and bytes differ here.
constexpr unsigned binary_charset = 63;

Kind kind_of(const MYSQL_FIELD& field) {
    switch (field.type) {
        case MYSQL_TYPE_TINY:
        case MYSQL_TYPE_SHORT:
        case MYSQL_TYPE_LONG:
        case MYSQL_TYPE_INT24:
        case MYSQL_TYPE_LONGLONG:
        case MYSQL_TYPE_YEAR:
            return Kind::integer;
        case MYSQL_TYPE_FLOAT:
        case MYSQL_TYPE_DOUBLE:
            return Kind::real;
        case MYSQL_TYPE_DECIMAL:
        case MYSQL_TYPE_NEWDECIMAL:
            return Kind::decimal;
        case MYSQL_TYPE_DATE:
        case MYSQL_TYPE_DATETIME:
        case MYSQL_TYPE_TIMESTAMP:
            return Kind::time;
        case MYSQL_TYPE_NULL:
            return Kind::null;
        // A span of up to 838 hours, which is no time of day.
        case MYSQL_TYPE_TIME:
            return Kind::text;
        default:
            return field.charsetnr == binary_charset ? Kind::blob : Kind::text;
    }
}

}  // namespace

Parameters::Parameters(const std::vector<Value>& values)
    : binds_(values.size()),
      texts_(values.size()),
      integers_(values.size()),
      reals_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Value& value = values[i];
        MYSQL_BIND& bind = binds_[i];
        std::memset(&bind, 0, sizeof bind);
        integers_[i] = value.integer();
        reals_[i] = value.real();
        texts_[i] = value.kind() == Kind::time ? time_text(value.integer()) : value.bytes();
        // MariaDB's library keeps pointers until the statement is executed, so all values live
        // here.
        bind.buffer = texts_[i].data();
        bind.buffer_length = texts_[i].size();
        switch (value.kind()) {
            case Kind::null:
                bind.buffer_type = MYSQL_TYPE_NULL;
                break;
            case Kind::boolean:
            case Kind::integer:
                bind.buffer_type = MYSQL_TYPE_LONGLONG;
                bind.buffer = &integers_[i];
                break;
            case Kind::real:
                bind.buffer_type = MYSQL_TYPE_DOUBLE;
                bind.buffer = &reals_[i];
                break;
            case Kind::blob:
                bind.buffer_type = MYSQL_TYPE_BLOB;
                break;
            default:
                // Times and decimals, too: the server reads them as the column's type, without a
                // loss of digits.
                bind.buffer_type = MYSQL_TYPE_STRING;
                break;
        }
    }
}

Fields::Fields(MYSQL* mysql, MYSQL_STMT* statement) {
    const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> result(
        mysql_stmt_result_metadata(statement), mysql_free_result);
    const unsigned count = result ? mysql_num_fields(result.get()) : 0;
    // The statement's own names date from its preparation, and tables may have changed since.
    // The names that came with these rows are in the connection; nothing came if nothing has
    // changed.
    const bool is_new = mysql->fields != nullptr && mysql->field_count == count;
    std::vector<std::string> names;
    cells_.resize(count);
    binds_.resize(count);
    for (unsigned i = 0; i < count; ++i) {
        const MYSQL_FIELD& field =
            is_new ? mysql->fields[i] : *mysql_fetch_field_direct(result.get(), i);
        names.emplace_back(field.name, field.name_length);
        Column& cell = cells_[i];
        MYSQL_BIND& bind = binds_[i];
        std::memset(&bind, 0, sizeof bind);
        cell.kind = kind_of(field);
        cell.is_unsigned = (field.flags & UNSIGNED_FLAG) != 0;
        bind.is_null = &cell.is_null;
        bind.length = &cell.size;
        bind.error = &cell.is_cut;
        if (cell.kind == Kind::integer) {
            bind.buffer_type = MYSQL_TYPE_LONGLONG;
            bind.buffer = &cell.integer;
            bind.buffer_length = sizeof cell.integer;
            bind.is_unsigned = cell.is_unsigned ? 1 : 0;
        } else if (cell.kind == Kind::real) {
            bind.buffer_type = MYSQL_TYPE_DOUBLE;
            bind.buffer = &cell.real;
            bind.buffer_length = sizeof cell.real;
        } else {
            // The size of text and blobs is known with the row: then there is room for them.
            const bool is_short = cell.kind == Kind::decimal || cell.kind == Kind::time ||
                                  field.type == MYSQL_TYPE_TIME;
            bind.buffer_type = cell.kind == Kind::blob ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
            bind.buffer = cell.text.data();
            bind.buffer_length = is_short ? cell.text.size() : 0;
        }
    }
    columns_ = std::make_shared<const std::vector<std::string>>(std::move(names));
    if (count > 0) mysql_stmt_bind_result(statement, binds_.data());
}

void Fields::add_row(Batch& batch, MYSQL_STMT* statement) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        Column& cell = cells_[i];
        if (cell.is_null != 0 || cell.kind == Kind::null) {
            batch.add_null();
        } else if (cell.kind == Kind::integer && cell.is_unsigned && cell.integer < 0) {
            // Above the largest signed integer: kept as digits, which read_unsigned() takes.
            batch.add_bytes(Kind::decimal,
                            std::to_string(static_cast<unsigned long long>(cell.integer)));
        } else if (cell.kind == Kind::integer) {
            batch.add_number(Kind::integer, cell.integer);
        } else if (cell.kind == Kind::real) {
            batch.add_real(cell.real);
        } else if (binds_[i].buffer_length > 0) {
            const std::string_view text(cell.text.data(),
                                        std::min<std::size_t>(cell.size, cell.text.size()));
            const auto time = cell.kind == Kind::time ? read_time(text) : std::nullopt;
            if (time) {
                batch.add_number(Kind::time, *time);
            } else {  // "0000-00-00" is text, which no time is read from
                batch.add_bytes(cell.kind == Kind::time ? Kind::text : cell.kind, text);
            }
        } else {
            room_.resize(cell.size);
            MYSQL_BIND bind = binds_[i];
            bind.buffer = room_.data();
            bind.buffer_length = room_.size();
            if (!room_.empty()) {
                // The second look at the row: the first gave its size.
                mysql_stmt_fetch_column(statement, &bind, static_cast<unsigned>(i), 0);
            }
            batch.add_bytes(cell.kind, room_);
        }
    }
}

Fault fault_of(unsigned number) {
    switch (number) {
        case ER_DUP_ENTRY:
        case ER_DUP_ENTRY_WITH_KEY_NAME:
            return Fault::unique;
        case ER_NO_REFERENCED_ROW:
        case ER_NO_REFERENCED_ROW_2:
        case ER_ROW_IS_REFERENCED:
        case ER_ROW_IS_REFERENCED_2:
            return Fault::foreign_key;
        case 4025:  // MariaDB's ER_CONSTRAINT_FAILED
        case 3819:  // MySQL's
            return Fault::check;
        case ER_BAD_NULL_ERROR:
        case ER_NO_DEFAULT_FOR_FIELD:
            return Fault::not_null;
        case ER_LOCK_DEADLOCK:
        // InnoDB's error for a deadlock in which the lock of a table's numbers takes part. A
        // column whose numbers have all been given gets it, too; three attempts cost it little.
        case ER_AUTOINC_READ_FAILED:
            return Fault::deadlock;
        case ER_CHECKREAD:
            return Fault::serialization;
        // innodb_lock_wait_timeout is over: the statement, and not the transaction, was rolled
        // back.
        case ER_LOCK_WAIT_TIMEOUT:
            return Fault::busy;
        case ER_QUERY_INTERRUPTED:
        case 1969:  // MariaDB's ER_STATEMENT_TIMEOUT
            return Fault::timeout;
        case ER_PARSE_ERROR:
        case ER_BAD_FIELD_ERROR:
        case ER_NO_SUCH_TABLE:
        case ER_SP_DOES_NOT_EXIST:
        case ER_TABLE_EXISTS_ERROR:
        case ER_EMPTY_QUERY:
            return Fault::syntax;
        case ER_WARN_DATA_OUT_OF_RANGE:
        case ER_DATA_TOO_LONG:
        case ER_TRUNCATED_WRONG_VALUE:
        case ER_TRUNCATED_WRONG_VALUE_FOR_FIELD:
            return Fault::parameters;
        case ER_DISK_FULL:
        case ER_RECORD_FILE_FULL:
            return Fault::full;
        case ER_ACCESS_DENIED_ERROR:
        case ER_DBACCESS_DENIED_ERROR:
        case ER_BAD_DB_ERROR:
        case 1698:  // MariaDB's ER_ACCESS_DENIED_NO_PASSWORD_ERROR
            return Fault::configuration;
        // Not a fault of ours: the connection may be had again once others have ended.
        case ER_CON_COUNT_ERROR:
        case ER_SERVER_SHUTDOWN:
        case 1927:  // MariaDB's ER_CONNECTION_KILLED
        case CR_CONNECTION_ERROR:
        case CR_CONN_HOST_ERROR:
        case CR_SERVER_GONE_ERROR:
        case CR_SERVER_LOST:
        case CR_SERVER_LOST_EXTENDED:
            return Fault::connection_lost;
        default:
            return Fault::other;
    }
}

}  // namespace tiderace::db::mariadb
