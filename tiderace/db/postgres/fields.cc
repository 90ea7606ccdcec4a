#include "tiderace/db/postgres/fields.h"

#include <libpq-fe.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/utf8.h"
#include "tiderace/db/statement.h"

namespace tiderace::db::postgres {
namespace {

// From PostgreSQL's catalogue, where they never change.
enum Type : Oid {
    boolean = 16,
    bytea = 17,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    oid = 26,
    float4 = 700,
    float8 = 701,
    date = 1082,
    timestamp = 1114,
    timestamptz = 1184,
    numeric = 1700,
};

template <typename T>
T number(std::string_view text) {
    T value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

double real_of(std::string_view text) {
    if (text == "Infinity") return HUGE_VAL;
    if (text == "-Infinity") return -HUGE_VAL;
    if (text == "NaN") return std::nan("");
    return number<double>(text);
}

void add_cell(Batch& batch, Oid type, std::string_view text) {
    switch (type) {
        case boolean:
            return batch.add_number(Kind::boolean, text == "t" ? 1 : 0);
        case int2:
        case int4:
        case int8:
        case oid:
            return batch.add_number(Kind::integer, number<std::int64_t>(text));
        case float4:
        case float8:
            return batch.add_real(real_of(text));
        // Its digits, which a double would round.
        case numeric:
            return batch.add_bytes(Kind::decimal, text);
        case bytea:
            // "\\x00ff": what bytea_output = hex gives.
            if (!text.starts_with("\\x")) break;
            return batch.add_bytes(Kind::blob, bytes_of_hex(text.substr(2)));
        case date:
        case timestamp:
        case timestamptz:
            if (const auto time = read_time(text)) return batch.add_number(Kind::time, *time);
            break;  // "infinity", before Christ: text, which no time is read from
        default:
            break;
    }
    batch.add_bytes(Kind::text, text);
}

std::string text_of(const Value& value) {
    switch (value.kind()) {
        case Kind::boolean:
            return value.integer() != 0 ? "t" : "f";
        case Kind::integer:
            return std::to_string(value.integer());
        case Kind::real: {
            // PostgreSQL's own spellings: C++ writes "nan" and "inf".
            if (std::isnan(value.real())) return "NaN";
            if (std::isinf(value.real())) return value.real() > 0 ? "Infinity" : "-Infinity";
            std::array<char, 32> room;
            const auto end = std::to_chars(room.data(), room.data() + room.size(), value.real());
            return {room.data(), end.ptr};
        }
        case Kind::time:
            // With its offset: a timestamptz without one is read in the session's time zone, which
            // a script may have changed. A timestamp ignores it.
            return time_text(value.integer()) + "+00";
        default:
            return value.bytes();
    }
}

}  // namespace

Parameters::Parameters(const std::vector<Value>& values) {
    texts.reserve(values.size());
    for (const Value& value : values) {
        texts.push_back(text_of(value));
        pointers.push_back(value.kind() == Kind::null ? nullptr : texts.back().c_str());
        sizes.push_back(static_cast<int>(texts.back().size()));
        // Text lets the server choose the type by the column; bytes would have to be escaped for
        // that.
        formats.push_back(value.kind() == Kind::blob ? 1 : 0);
    }
}

Batch::Columns columns_of(const pg_result* result) {
    std::vector<std::string> names;
    for (int i = 0; i < PQnfields(result); ++i) names.emplace_back(PQfname(result, i));
    return std::make_shared<const std::vector<std::string>>(std::move(names));
}

void add_rows(Batch& batch, const pg_result* result) {
    const int columns = PQnfields(result);
    for (int row = 0; row < PQntuples(result); ++row) {
        for (int i = 0; i < columns; ++i) {
            if (PQgetisnull(result, row, i) != 0) {
                batch.add_null();
                continue;
            }
            const auto size = static_cast<std::size_t>(PQgetlength(result, row, i));
            add_cell(batch, PQftype(result, i), {PQgetvalue(result, row, i), size});
        }
    }
}

std::uint64_t rows_changed(pg_result* result) {
    // PQcmdTuples() counts the rows of a select as well, which has changed none.
    const bool reads = std::string_view(PQcmdStatus(result)).starts_with("SELECT");
    return reads ? 0 : number<std::uint64_t>(PQcmdTuples(result));
}

std::size_t line_of(const pg_result* result, std::string_view script, std::size_t done) {
    const char* const position = PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION);
    if (position == nullptr) {
        const std::size_t start = start_of_statement(script, done, Dialect::postgres);
        return start == script.npos ? 0 : line_at(script, start);
    }
    std::size_t characters = std::strtoull(position, nullptr, 10);  // from 1
    std::size_t byte = 0;
    for (; byte < script.size() && characters > 0; ++byte) {
        // The server counts characters; a byte that continues one is not counted.
        if (begins_character(script[byte])) --characters;
    }
    return line_at(script, byte == 0 ? 0 : byte - 1);
}

Fault fault_of(std::string_view state) {
    // The first that fits, so a whole code stands before its class (its first two characters).
    static constexpr std::array<std::pair<std::string_view, Fault>, 18> faults = {{
        {"23505", Fault::unique},
        {"23P01", Fault::unique},  // an exclusion constraint
        {"23503", Fault::foreign_key},
        {"23514", Fault::check},
        {"23502", Fault::not_null},
        {"40001", Fault::serialization},
        {"40P01", Fault::deadlock},
        {"55P03", Fault::busy},
        {"57014", Fault::timeout},
        {"53100", Fault::full},
        {"53", Fault::connection_lost},  // too many connections, no memory
        {"08", Fault::connection_lost},
        {"57P", Fault::connection_lost},  // it shuts down, or starts up
        {"42501", Fault::configuration},
        {"28", Fault::configuration},
        {"3D", Fault::configuration},
        {"42", Fault::syntax},
        {"22", Fault::parameters},
    }};
    for (const auto& [prefix, fault] : faults) {
        if (state.starts_with(prefix)) return fault;
    }
    return Fault::other;
}

Error error_of(const pg_result* result) {
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return Error(state != nullptr ? fault_of(state) : Fault::connection_lost,
                 message != nullptr ? message : PQresultErrorMessage(result));
}

}  // namespace tiderace::db::postgres
