#include "tiderace/db/redis/script.h"

#include <optional>

#include "tiderace/base/ascii.h"
#include "tiderace/base/sha1.h"

namespace tiderace::db::redis {

Script::Script(std::string source) : source_(std::move(source)), name_(hex_text(sha1(source_))) {}

// `all`: as many keys, then the arguments.
task::Task<Reply> Script::reply_of(Client redis, std::size_t keys,
                                   std::vector<std::string> all) const {
    const std::string count = std::to_string(keys);
    std::vector<std::string_view> words;
    words.push_back("EVALSHA");
    words.push_back(name_);
    words.push_back(count);
    words.insert(words.end(), all.begin(), all.end());
    std::optional<Error> failure;
    try {
        co_return co_await redis.command(Arguments(words));
    } catch (const Error& error) {
        failure = error;
    }
    // It was not run, so sending it again does nothing twice.
    if (!failure->message().starts_with("NOSCRIPT")) throw *failure;
    // The server keeps the source from here on, until it restarts or SCRIPT FLUSH.
    words[0] = "EVAL";
    words[1] = source_;
    co_return co_await redis.command(Arguments(words));
}

}  // namespace tiderace::db::redis
