#include "examples/kv/commands.h"

#include <algorithm>
#include <cstdlib>

namespace kv {
namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(ByteView any_case, std::string_view name) {
    return std::ranges::equal(any_case, name, [](char a, char b) { return lower(a) == b; });
}

}  // namespace

// The names are ours and few, so a simple hash does.
std::size_t CommandTable::place_of(ByteView name) {
    std::uint32_t hash = 2'166'136'261;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c | 0x20)) * 16'777'619;
    return (hash ^ hash >> 15) & (places_count - 1);
}

CommandTable::CommandTable() {
    for (const Commands& some :
         {string_commands(), number_commands(), list_commands(), hash_commands(), set_commands(),
          sorted_set_commands(), sorted_set_range_commands(), key_commands(), scan_commands(),
          expiry_commands(), transaction_commands(), pubsub_commands(), connection_commands(),
          server_commands(), info_commands()}) {
        for (const Command& each : some) {
            std::size_t place = place_of(each.name);
            // Open addressing without deletes: a search ends at the first empty place.
            while (places_[place] != nullptr) {
                // A command has one function.
                if (places_[place]->name == each.name) std::abort();
                place = (place + 1) & (places_count - 1);
            }
            places_[place] = &each;
            ++size_;
        }
    }
}

const Command* CommandTable::find(ByteView name) const {
    for (std::size_t place = place_of(name); places_[place] != nullptr;
         place = (place + 1) & (places_count - 1)) {
        if (same_name(name, places_[place]->name)) return places_[place];
    }
    return nullptr;
}

}  // namespace kv
