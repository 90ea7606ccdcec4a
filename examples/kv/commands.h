// The table of commands: name, function, number of arguments, what they do to the keys.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "examples/kv/call.h"

namespace kv {

// The effects of a command, as bits.
namespace flag {
inline constexpr unsigned write = 1;            // may change keys
inline constexpr unsigned grows = 2;            // may need memory: refused when there is none
inline constexpr unsigned when_subscribed = 4;  // allowed for a RESP 2 client that subscribes
inline constexpr unsigned before_auth = 8;      // allowed before AUTH
inline constexpr unsigned in_transaction = 16;  // executed inside MULTI instead of queued
inline constexpr unsigned no_transaction = 32;  // refused inside MULTI
}  // namespace flag

struct Command {
    std::string_view name;  // lower case
    void (*run)(Call& call);
    int arity;  // with the name; negative: at least so many
    unsigned flags;
    // Which arguments are keys, for COMMAND: first, last (negative: from the end) and step.
    int first_key = 0;
    int last_key = 0;
    int key_step = 0;
};

// The commands of one source file.
using Commands = std::span<const Command>;
Commands string_commands();
Commands number_commands();
Commands list_commands();
Commands hash_commands();
Commands set_commands();
Commands sorted_set_commands();
Commands sorted_set_range_commands();
Commands key_commands();
Commands scan_commands();
Commands expiry_commands();
Commands transaction_commands();
Commands pubsub_commands();
Commands connection_commands();
Commands server_commands();
Commands info_commands();

// All of them, found by their names in any case.
class CommandTable {
  public:
    CommandTable();

    const Command* find(ByteView name) const;
    std::size_t size() const { return size_; }
    template <typename F>
    void for_each(F&& f) const {
        for (const Command* each : places_) {
            if (each != nullptr) f(*each);
        }
    }

  private:
    static constexpr std::size_t places_count = 1024;
    static std::size_t place_of(ByteView name);

    std::array<const Command*, places_count> places_{};
    std::size_t size_ = 0;
};

}  // namespace kv
