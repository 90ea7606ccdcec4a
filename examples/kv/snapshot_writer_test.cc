#include "examples/kv/snapshot_writer.h"

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <tiderace/resp.h>

namespace kv {
namespace {

namespace resp = tiderace::resp;

// The size of the largest command in `text`, and how many there are.
std::pair<std::size_t, std::size_t> largest(tiderace::ByteView text) {
    const resp::Limits limits;
    resp::CommandReader reader(limits);
    std::size_t bytes = 0;
    std::size_t count = 0;
    while (!text.empty()) {
        if (reader.read(text) != resp::Progress::complete) ADD_FAILURE() << "no whole commands";
        bytes = std::max(bytes, reader.encoded().size());
        ++count;
    }
    return {bytes, count};
}

TEST(SnapshotWriter, ACommandIsSmallHoweverLargeTheElementsAre) {
    Keyspace keys;
    auto list = std::make_unique<List>();
    auto hash = std::make_unique<Hash>();
    auto set = std::make_unique<Set>();
    for (char c = 'a'; c < 'a' + 20; ++c) {
        const std::string large(std::size_t{1} << 20, c);
        list->push_back(large);
        hash->insert(std::string(1, c)).first->mapped = large;
        set->insert(large);
    }
    for (Entry* entry : {&keys.set("l", std::move(list)), &keys.set("h", std::move(hash)),
                         &keys.set("s", std::move(set))}) {
        std::string text;
        const std::size_t commands = append_commands(*entry, text);
        const auto [bytes, count] = largest(text);
        EXPECT_LT(bytes, std::size_t{2} << 20) << *entry->key;
        EXPECT_EQ(commands, count) << *entry->key;
    }
}

}  // namespace
}  // namespace kv
