// Blocked: clients that wait for elements: BLPOP, BRPOP, BLMOVE, BZPOPMIN.
//
// When a key that somebody waits for changes, the commands of those who wait for it are executed
// again, in the order of their coming, after the command that changed it.
#pragma once

#include <cstdint>
#include <deque>
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
    explicit Blocked(core::EventLoop& loop);
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
    // They get what they get when their time is over.
    void end_all();
    std::size_t size() const { return waits_.size(); }

  private:
    struct Wait;

    void note(ByteView key);
    void give_up(Client& client);

    core::EventLoop* loop_;
    std::map<Client*, std::unique_ptr<Wait>> waits_;
    std::map<std::string, std::deque<Client*>, std::less<>> by_key_;
    std::set<std::string, std::less<>> ready_;
};

}  // namespace kv
