// PubSub: the subscribers of each channel and pattern.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "examples/kv/text.h"
#include "tiderace/base/bytes.h"

namespace kv {

class Client;

class PubSub {
  public:
    using Subscribers = std::map<std::string, std::set<Client*>, std::less<>>;

    explicit PubSub(core::Ref<LooseBytes> loose) : loose_(std::move(loose)) {}

    Subscribers channels;
    Subscribers patterns;

    // Sends to all subscribers; how many there are.
    std::size_t publish(ByteView channel, ByteView message);

    static void add(Subscribers& to, ByteView name, Client& client);
    static void remove(Subscribers& from, ByteView name, Client& client);

  private:
    core::Ref<LooseBytes> loose_;
};

}  // namespace kv
