#include "tiderace/db/error.h"

#include "tiderace/base/enum_names.h"
#include "tiderace/base/utf8.h"

namespace tiderace::db {
namespace {

std::string text_of(Fault kind, std::string_view message, std::string_view statement) {
    std::string text = "database: ";
    text.append(name_of(kind)).append(": ").append(message);
    if (!statement.empty()) text.append(" [").append(statement).append("]");
    return text;
}

// Whole characters of UTF-8, of one line.
std::string beginning_of(std::string_view statement) {
    std::string text(whole_characters(statement, Error::statement_bytes_max));
    for (char& c : text) {
        if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    }
    if (statement.size() > Error::statement_bytes_max) text += "…";
    return text;
}

}  // namespace

std::string_view name_of(Fault fault) {
    return enum_names<Fault>[static_cast<std::size_t>(fault)].name;
}

Error::Error(Fault kind, std::string_view message, std::string_view statement)
    : std::runtime_error(text_of(kind, message, beginning_of(statement))),
      kind_(kind),
      message_(message),
      statement_(beginning_of(statement)) {}

bool Error::worth_another() const {
    // Not unknown_outcome: it may have been done, and a repetition would do it twice.
    return kind_ == Fault::serialization || kind_ == Fault::deadlock || kind_ == Fault::busy ||
           kind_ == Fault::connection_lost;
}

bool Error::is_transient() const noexcept {
    // A time-out is not repeated, because it took its time already; a later request may fare
    // better.
    return worth_another() || kind_ == Fault::timeout;
}

Error Error::with_statement(std::string_view statement) const {
    return Error(kind_, message_, statement);
}

Error Error::with_kind(Fault kind) const {
    return Error(kind, message_, statement_);
}

Error Error::with_line(std::size_t line) const {
    return Error(kind_, "line " + std::to_string(line) + ": " + message_, statement_);
}

}  // namespace tiderace::db
