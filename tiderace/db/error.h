// Error: why a statement, a transaction or a connection failed. Every co_await of this room throws
// it, and nothing else.
//
//   try {
//       co_await db.exec("insert into member (name) values (?)", name);
//   } catch (const db::Error& error) {
//       if (error.kind() == db::Fault::unique) co_return "taken";
//       throw;
//   }
//
// The room adds no value of a parameter to it. PostgreSQL keeps values out of its primary message;
// MariaDB repeats a duplicate key in its own.
//
// Thread   Any; a value.
// Keywords: deadlock, unique violation, 503
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tiderace/base/transient_error.h"

namespace tiderace::db {

enum class Fault : std::uint8_t {
    unique,           // another row has this key
    foreign_key,      // it refers to a row that is not there, or others refer to it
    check,            // a condition of the table
    not_null,         // a value is missing
    serialization,    // another transaction came first: do it again from its start
    deadlock,         // ended so that others go on: do it again from its start
    connection_lost,  // or never made; nothing was done
    timeout,          // it took longer than it may; nothing was done
    busy,             // no connection, or no lock, within the time
    unknown_outcome,  // the connection was lost while it was being done: it was done, or it was not
    syntax,           // the statement: its grammar, or names that the database does not know
    parameters,       // their number, or a value that the database cannot hold
    row,              // a row is not what the program expects: a column is missing, extra, of
                      // another type; two rows where one was expected
    full,             // the disk, or a limit on the size
    configuration,    // the URL, the options, the log-in; trying again does not help
    other,
};

// "unique", "foreign_key", …
std::string_view name_of(Fault fault);

class Error : public std::runtime_error, public TransientError {
  public:
    static constexpr std::size_t statement_bytes_max = 200;

    Error(Fault kind, std::string_view message, std::string_view statement = {});

    Fault kind() const { return kind_; }
    // In the words of the database, or of this room.
    const std::string& message() const { return message_; }
    // The beginning of its text, without values. Empty: none was sent.
    const std::string& statement() const { return statement_; }
    // It failed before anything was done, and may well succeed from its start: serialization,
    // deadlock, busy, connection_lost.
    bool worth_another() const;
    // These, and timeout: an App answers 503. An unknown outcome does not pass: the statement may
    // have been executed.
    bool is_transient() const noexcept override;

    Error with_statement(std::string_view statement) const;
    Error with_kind(Fault kind) const;
    // "line 3: " before the message.
    Error with_line(std::size_t line) const;

  private:
    Fault kind_;
    std::string message_;
    std::string statement_;
};

}  // namespace tiderace::db
