// The programs of docs/rooms.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/documents/program.h"
#include "tiderace/task.h"
#include "tiderace/tcp.h"

namespace documents {
namespace {

namespace tcp = tiderace::tcp;
using tiderace::Task;

struct Case {
    std::string name;
    std::string output;
};

class Rooms : public ::testing::TestWithParam<Case> {};

TEST_P(Rooms, PrintsWhatItShould) {
    const tiderace::testing::TemporaryFolder folder;
    folder.write("one.txt", "1");
    folder.write("two.txt", "2");
    Program program(folder, "rooms/" + GetParam().name);
    EXPECT_EQ(program.wait(), 0);
    EXPECT_EQ(program.output(), GetParam().output);
}

const Case cases[] = {
    {"an_event_loop", "on the loop's thread\n"},
    {"timers", "3\n2\n1\n"},
    {"a_foreign_descriptor", "through a pipe\n"},
    {"a_pool_of_threads", "2 files\n"},
    {"a_pool_of_threads_2", "there is room\n"},
    {"a_cache", "<h1>Ebb</h1>\n/flood\n"},
    {"json",
     "[{\"place\":\"pier\",\"metres\":3.5}]\n"
     "metres: expected a number from 0 to 20, found 35 (byte 28)\n"},
    {"templates", "<p title=\"the &#34;pier&#34;\">3.5 m</p>\n"},
    {"channels_between_loops", "5050\n"},
};
INSTANTIATE_TEST_SUITE_P(Each, Rooms, ::testing::ValuesIn(cases),
                         [](const auto& at) { return at.param.name; });

TEST(Rooms, LogARecord) {
    const tiderace::testing::TemporaryFolder folder;
    Program program(folder, "rooms/a_log");
    EXPECT_EQ(program.wait(), 0);
    EXPECT_THAT(program.output(), ::testing::HasSubstr("tides: measured metres=3.5 place=pier"));
}

Task<std::string> echo(std::string place) {
    auto stream = co_await tcp::connect(place);
    if (!stream) co_return stream.error().message();
    co_await stream->write("high tide");
    stream->finish();
    std::string heard;
    while (auto bytes = co_await stream->read()) heard += *bytes;
    co_return heard;
}

TEST(Rooms, EchoWithASession) {
    const tiderace::testing::TemporaryFolder folder;
    Program program(folder, "rooms/a_protocol_on_connections");
    EXPECT_EQ(tiderace::run(echo(program.place())), "high tide");
    EXPECT_EQ(program.end(), 0);
}

}  // namespace
}  // namespace documents
