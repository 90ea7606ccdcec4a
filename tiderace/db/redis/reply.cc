#include "tiderace/db/redis/reply.h"

#include <array>
#include <utility>

namespace tiderace::db::redis {

// The first that fits; the code is the first word of an error.
Error error_of(resp::Reply reply) {
    static constexpr std::array<std::pair<std::string_view, Fault>, 25> faults = {{
        {"NOAUTH ", Fault::configuration},
        {"WRONGPASS ", Fault::configuration},
        {"NOPERM ", Fault::configuration},
        {"DENIED ", Fault::configuration},
        {"READONLY ", Fault::configuration},
        {"LOADING ", Fault::busy},
        {"BUSY ", Fault::busy},
        {"TRYAGAIN ", Fault::busy},
        {"CLUSTERDOWN ", Fault::busy},
        {"MASTERDOWN ", Fault::busy},
        {"NOREPLICAS ", Fault::busy},
        {"OOM ", Fault::full},
        {"MISCONF ", Fault::full},
        {"WRONGTYPE ", Fault::row},
        {"CROSSSLOT ", Fault::parameters},
        {"EXECABORT ", Fault::syntax},
        {"ERR max number of clients", Fault::connection_lost},
        {"ERR invalid password", Fault::configuration},
        {"ERR AUTH ", Fault::configuration},
        {"ERR Client sent AUTH", Fault::configuration},
        {"ERR DB index", Fault::configuration},
        {"ERR unknown ", Fault::syntax},
        {"ERR wrong number ", Fault::syntax},
        {"ERR syntax error", Fault::syntax},
        {"ERR value is not", Fault::parameters},
    }};
    const std::string_view text = reply.text();
    Fault kind = Fault::other;
    for (const auto& [beginning, fault] : faults) {
        if (!text.starts_with(beginning)) continue;
        kind = fault;
        break;
    }
    // It quotes arguments of a command that it does not know.
    constexpr std::string_view quoted = ", with args beginning with:";
    return Error(kind, text.substr(0, text.find(quoted)));
}

void refuse_reply(resp::Reply reply, std::string_view expected) {
    if (reply.is_error()) throw error_of(reply);
    static constexpr std::array<std::string_view, 16> names = {
        "nothing",  "null",       "a string", "an error",  "a string",     "an error",
        "a string", "an integer", "a number", "a boolean", "a big number", "an array",
        "a set",    "a map",      "a push",   "attributes"};
    throw Error(Fault::row, "the reply is " +
                                std::string(names[static_cast<std::size_t>(reply.kind())]) +
                                " and not " + std::string(expected));
}

}  // namespace tiderace::db::redis
