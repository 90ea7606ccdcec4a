#include "server/config/table_reader.h"

#include <string>

namespace tiderace::server::config {
namespace {

// Whether the table has the key, and it is built.
bool is_key(TableKind kind, const Member& member, const Reading& reading) {
    const Key* const key = find_key(kind, member.key);
    if (key == nullptr) {
        refuse_key(kind, member, reading.problems);
        return false;
    }
    if (key->later.empty()) return true;
    reading.problems.error(member.at, "\"" + member.key + "\" does not work yet",
                           std::string(key->later));
    return false;
}

}  // namespace

void read_table(TableKind kind, const Table& table, ServeOptions& options, const Reading& reading,
                const std::function<bool(const Member&)>& own) {
    for (const Member& member : table.members) {
        if (!is_key(kind, member, reading) || own(member)) continue;
        const Key& key = *find_key(kind, member.key);
        if (!key.flag.empty()) read_key(key, member.value, options, reading);
    }
}

void refuse_unknown(TableKind kind, const Table& table, const Reading& reading) {
    for (const Member& member : table.members) is_key(kind, member, reading);
}

const Table* table_in(const Table& table, std::string_view name, const Reading& reading) {
    const Member* const member = table.find(name);
    if (member == nullptr) return nullptr;
    const Table* const found = member->value.get<Table>();
    if (found == nullptr) {
        reading.problems.error(member->at, "\"" + std::string(name) +
                                               "\" is a table, and this is " +
                                               std::string(member->value.noun()));
    }
    return found;
}

void for_each_table(const Table& table, std::string_view name, const Reading& reading,
                    const std::function<void(const Member& at, const Table&)>& each) {
    const Member* const member = table.find(name);
    if (member == nullptr) return;
    const std::string list = "write [[" + std::string(name) + "]] with two brackets";
    const Array* const array = member->value.get<Array>();
    if (array == nullptr) {
        reading.problems.error(member->at, "\"" + std::string(name) + "\" is a list of tables",
                               list);
        return;
    }
    for (const Value& value : *array) {
        const Table* const inner = value.get<Table>();
        if (inner == nullptr) {
            reading.problems.error(value.at, "\"" + std::string(name) +
                                                 "\" is a list of tables, and this is " +
                                                 std::string(value.noun()));
            continue;
        }
        each({member->key, value.at, {}}, *inner);
    }
}

}  // namespace tiderace::server::config
