// Call: one command being executed: its arguments, its answer, the keys, and what is to be logged.
//
// A command answers exactly one value through `reply`. One that changes a key calls
// changed(), so that WATCH and the log notice it. The log gets the command as it came, unless
// log_as() gives it another: one that means the same whenever it is replayed ("SET k v EX 10" is
// logged with the moment at which it ends).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <tiderace/resp.h>

#include "examples/kv/answers.h"
#include "examples/kv/keyspace.h"

namespace kv {

class Client;
class Server;
namespace resp = tiderace::resp;

class Call {
  public:
    Call(Server& s, Client& c, resp::Arguments a, Answers& o);

    Server& server;
    Client& client;
    Keyspace& keys;
    resp::Arguments args;  // args[0] is the command's name
    Answers& out;
    resp::Writer reply;  // at the end of `out`; dropped when it is above the limit

    // The key's value as a T; nullptr in `value`: no such key. False: something else, and that was
    // answered.
    template <typename T>
    bool find(ByteView key, T*& value) {
        return held(keys.find(key), value);
    }
    // The same, for a key that a client may wait for. On the second try a key that holds something
    // else is as absent, as in Redis: what the client waits for may still come, or come elsewhere.
    template <typename T>
    bool find_awaited(ByteView key, T*& value) {
        Entry* entry = keys.find(key);
        const bool is_other =
            entry != nullptr && !std::holds_alternative<std::unique_ptr<T>>(entry->value);
        return held(is_other && is_second_try() ? nullptr : entry, value);
    }
    // As find(), but an absent key gets an empty T. nullptr: something else, and that was answered.
    template <typename T>
    T* find_or_make(ByteView key) {
        T* value = nullptr;
        if (!find(key, value)) return nullptr;
        if (value != nullptr) return value;
        Entry& made = keys.set(key, std::make_unique<T>());
        return std::get<std::unique_ptr<T>>(made.value).get();
    }
    // A bulk string: a part of the text, not copied if it is long.
    void answer(Text& text) { answer(text, text.view()); }
    void answer(Text& text, ByteView part);
    // Numbers that arguments are. nullopt: they are not, and that was answered.
    std::optional<std::int64_t> integer(ByteView text);
    std::optional<double> real(ByteView text);

    void changed(ByteView key);
    // After elements were removed from the key's value.
    template <typename T>
    void shrank(ByteView key, T& value) {
        if (value.size() == 0) keys.erase(key);
        changed(key);
    }
    // A change of no key in particular: FLUSHALL.
    void changed_all() { is_changed_ = true; }
    void log_as(std::initializer_list<ByteView> command);
    void log_as(std::span<const ByteView> command);
    void log_as(const std::vector<std::string>& command);

    bool is_changed() const { return is_changed_; }
    // The text of log_as(), which may be several commands; empty: the command as it came.
    const std::string& log_text() const { return log_text_; }

    // False: it is too long (Glob::bytes_max), and that was answered.
    bool takes_pattern(ByteView pattern);
    // How long a command may wait; 0: for ever. It is read before anything is taken: a command that
    // is refused changes nothing. nullopt: no such time, and that was answered.
    std::optional<double> timeout(ByteView text);
    // Answers later, when one of the keys has changed: the command is executed again then. At once,
    // where nothing may wait; not at all, if this is the second try.
    void wait_for(std::string_view name, resp::Arguments keys, double seconds);

    void syntax_error() { reply.error("ERR syntax error"); }
    void wrong_type() {
        reply.error("WRONGTYPE Operation against a key holding the wrong kind of value");
    }

  private:
    bool is_second_try() const;
    template <typename T>
    bool held(Entry* entry, T*& value) {
        value = nullptr;
        if (entry == nullptr) return true;
        if constexpr (std::is_same_v<T, Text>) {
            value = std::get_if<Text>(&entry->value);
        } else if (auto* owned = std::get_if<std::unique_ptr<T>>(&entry->value)) {
            value = owned->get();
        }
        if (value == nullptr) wrong_type();
        return value != nullptr;
    }

    std::string log_text_;
    bool is_changed_ = false;
};

// Letters of any case.
bool same_word(ByteView text, std::string_view upper);
// Exactly what Redis stores as a number: no sign but '-', no zero in front, no space.
std::optional<std::int64_t> strict_integer(ByteView text);
// As INCRBYFLOAT and ZINCRBY print it: no exponent if it can be avoided.
std::string float_text(long double value);

}  // namespace kv
