// Script: a program in Lua that the server runs as a whole.
//
//   const redis::Script take("local n = redis.call('GET', KEYS[1]) …");
//   const auto left = co_await take.run<std::int64_t>(redis, redis::Keys("stock"), 5);
//
// Its text is sent only to a server that does not have it: EVALSHA, and EVAL after NOSCRIPT.
//
// Thread   Any loop's; constant.
// Errors   Error.
// Keywords: EVAL, Lua
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiderace/db/redis/client.h"

namespace tiderace::db::redis {

// The keys that a script uses: all of them, for a cluster.
class Keys {
  public:
    template <Word... Words>
    explicit Keys(const Words&... words) : words_{std::string(WordText(words).view())...} {}
    const std::vector<std::string>& words() const { return words_; }

  private:
    std::vector<std::string> words_;
};

class Script final {
  public:
    explicit Script(std::string source);

    template <typename T = Reply, Word... Arguments>
    task::Task<T> run(Client redis, const Keys& keys, const Arguments&... arguments) const {
        std::vector<std::string> all = keys.words();
        (all.emplace_back(WordText(arguments).view()), ...);
        return decoded<T>(reply_of(std::move(redis), keys.words().size(), std::move(all)));
    }

    const std::string& source() const { return source_; }
    // SHA-1, in 40 digits: its name on the server.
    const std::string& name() const { return name_; }

  private:
    template <typename T>
    static task::Task<T> decoded(task::Task<Reply> asking) {
        const Reply reply = co_await std::move(asking);
        if constexpr (!std::is_void_v<T>) co_return Decode<T>::from(reply.view());
    }
    task::Task<Reply> reply_of(Client redis, std::size_t keys, std::vector<std::string> all) const;

    std::string source_;
    std::string name_;
};

}  // namespace tiderace::db::redis
