// PubSub: the subscribers of each channel and pattern.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tiderace/base/bytes.h"

namespace kv {

class Client;
using tiderace::ByteView;

class PubSub {
  public:
    using Subscribers = std::map<std::string, std::set<Client*>, std::less<>>;

    Subscribers channels;
    Subscribers patterns;

    // Sends to all subscribers; how many there are.
    std::size_t publish(ByteView channel, ByteView message);

    static void add(Subscribers& to, ByteView name, Client& client);
    static void remove(Subscribers& from, ByteView name, Client& client);
};

}  // namespace kv
