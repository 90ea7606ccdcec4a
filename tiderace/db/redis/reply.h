// Replies as C++ types, and as errors.
//
//   std::int64_t, double, bool, std::string      that value; anything else is Error{row}
//   std::optional<T>                             empty for null
//   std::vector<T>                               of the elements, of a map keys and values
//   Reply                                        whatever came
//   void                                         checked to be no error
//
// An error reply of the server is thrown, classified as the errors of other databases are.
//
// Thread   Any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tiderace/db/error.h"
#include "tiderace/resp/reply.h"

namespace tiderace::db::redis {

// A reply with its own memory: reply.view().
using Reply = resp::OwnedReply;

// In a reply that is an error: "WRONGTYPE Operation against …".
Error error_of(resp::Reply reply);
[[noreturn]] void refuse_reply(resp::Reply reply, std::string_view expected);

template <typename T>
struct Decode;

template <>
struct Decode<void> {
    static bool from(resp::Reply) { return true; }
};
template <>
struct Decode<Reply> {
    static Reply from(resp::Reply reply) { return reply.copy(); }
};
template <>
struct Decode<std::string> {
    static std::string from(resp::Reply reply) {
        if (reply.kind() == resp::Kind::integer) return std::to_string(*reply.integer());
        if (reply.is_null() || reply.is_aggregate() || reply.kind() == resp::Kind::boolean) {
            refuse_reply(reply, "a string");
        }
        return std::string(reply.text());
    }
};
template <>
struct Decode<std::int64_t> {
    static std::int64_t from(resp::Reply reply) {
        const auto number = reply.integer();
        if (!number) refuse_reply(reply, "an integer");
        return *number;
    }
};
template <>
struct Decode<double> {
    static double from(resp::Reply reply) {
        const auto number = reply.real();
        if (!number) refuse_reply(reply, "a number");
        return *number;
    }
};
template <>
struct Decode<bool> {
    static bool from(resp::Reply reply) {
        const auto value = reply.boolean();
        if (!value) refuse_reply(reply, "a boolean");
        return *value;
    }
};
template <typename T>
struct Decode<std::optional<T>> {
    static std::optional<T> from(resp::Reply reply) {
        if (reply.is_null()) return std::nullopt;
        return Decode<T>::from(reply);
    }
};
template <typename T>
struct Decode<std::vector<T>> {
    static std::vector<T> from(resp::Reply reply) {
        if (!reply.is_aggregate()) refuse_reply(reply, "an array");
        std::vector<T> all;
        all.reserve(reply.size());
        for (const resp::Reply each : reply) all.push_back(Decode<T>::from(each));
        return all;
    }
};

}  // namespace tiderace::db::redis
