// Blocked: clients that wait for elements: BLPOP, BLMPOP, BLMOVE, BZPOPMIN, BZMPOP …
//
// After a command changed a key that clients wait for, their commands are executed again, in the
// order in which they came.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "examples/kv/client.h"
#include "tiderace/core/event_loop.h"

namespace kv {

class Call;

class Blocked {
  public:
    Blocked(core::EventLoop& loop, core::Ref<LooseBytes> loose);
    ~Blocked();
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

    // The call's client waits until one of the keys changes, at most for `seconds` (0: for ever).
    void wait(Call& call, const Command& command, resp::Arguments keys, double seconds);
    void key_changed(ByteView key) {
        if (!by_key_.empty()) note(key);
    }
    bool ready() const { return !ready_.empty(); }
    void serve(Server& server);
    void forget(Client& client);
    // Answers all of them as if their time were over.
    void end_all();
    std::size_t size() const { return waits_.size(); }

  private:
    struct Wait;

    void note(ByteView key);
    void give_up(Client& client);

    core::EventLoop* loop_;
    core::Ref<LooseBytes> loose_;
    std::map<Client*, std::unique_ptr<Wait>> waits_;
    // By the order in which they came.
    std::map<std::string, std::map<std::uint64_t, Client*>, std::less<>> by_key_;
    std::uint64_t waits_so_far_ = 0;
    std::set<std::string, std::less<>> ready_;
};

}  // namespace kv
