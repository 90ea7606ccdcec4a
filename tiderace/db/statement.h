// Internal. Statement: the text of one statement as every database reads it: where its `?` are, and
// what kind of statement it is.
//
//   "select '?' from t where a = ? -- ?"      one parameter; quotes and comments are left alone
//   rewritten for PostgreSQL                  "select '?' from t where a = $1 -- ?"
//
// Known: '…' and "…" (doubled quotes inside), `…`, -- to the end of the line, /* … */; E'…',
// $tag$…$tag$ and nested comments of PostgreSQL; backslashes in '…' and # to the end of the line of
// MariaDB. PostgreSQL's operators with a `?` (jsonb) are written with `??`.
//
// These change something, though they begin with select or explain: select … into, nextval, setval
// and pg_notify; explain analyze; what MariaDB executes in a comment. A function of the program's
// own may do so as well, which no text shows.
//
// Thread   Any; pure functions.
// Keywords: prepared statements, placeholders, SQL parameters
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::db {

enum class Dialect : std::uint8_t { sqlite, postgres, mariadb };
// "sqlite", "postgres", "mariadb".
std::string_view name_of(Dialect dialect);

struct Scanned {
    std::string text;            // for the database
    std::size_t parameters = 0;  // how many `?`
    bool reads = false;          // begins with select, values, show or explain, and changes nothing
    bool with = false;           // begins with `with`: may read or write
    bool many = false;           // text follows a `;`
    bool listens = false;        // PostgreSQL's listen
};

Scanned scan(std::string_view sql, Dialect dialect);

// Where the statement with this index, from 0, begins in a text of several; npos: there are fewer.
// It does not handle bodies of triggers and procedures, which have semicolons inside.
std::size_t start_of_statement(std::string_view script, std::size_t index, Dialect dialect);
// The line, from 1, that holds this byte.
std::size_t line_at(std::string_view text, std::size_t byte);

}  // namespace tiderace::db
