// Files that become shorter than was announced while they are sent. On every engine.
#include <sys/mman.h>
#include <unistd.h>

#include "tiderace/testing/h2_fixture.h"

namespace tiderace::http {
namespace {

using testing::H2Client;
using wire::H2Error;
using wire::H2SettingId;

class H2FilesThatShrink : public testing::H2Test {};

INSTANTIATE_TEST_SUITE_P(Worlds, H2FilesThatShrink, ::testing::ValuesIn(testing::world_names()),
                         [](const auto& world) { return testing::label_of_world(world.param); });

// A file of `has` bytes that was `announced` long when the answer began.
struct ShorterFile final : core::SharedFile {
    explicit ShorterFile(std::size_t has) : fd(::memfd_create("shorter", 0)) {
        const std::string bytes(has, 'f');
        EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    ~ShorterFile() override { ::close(fd); }
    int descriptor() const override { return fd; }
    int fd;
};

struct Shorter {
    std::size_t has;
    std::size_t announced;
    std::size_t behind;  // in memory, behind the file
};

TEST_P(H2FilesThatShrink, AFileThatBecomesShorterResetsItsStreamAlone) {
    Shorter file{};
    stage_->on("/file", [&](Exchange& exchange) {
        core::SendQueue queue;
        queue.append(world_->loop().blocks(), "before");
        queue.append_file(core::make_ref<ShorterFile>(file.has), 0, file.announced);
        queue.append(world_->loop().blocks(), std::string(file.behind, 'b'));
        Response response;
        response.set_body(std::move(queue));
        exchange.respond(response);
    });
    for (const Shorter each :
         {Shorter{50'000, 200'000, 0}, Shorter{59'999, 60'000, 0}, Shorter{0, 10, 0},
          Shorter{0, 10, 100}, Shorter{5, 10, 40'000}, Shorter{0, 1, 0}, Shorter{0, 1, 5},
          Shorter{100, 1'000'000, 9}, Shorter{16'370, 16'375, 1}}) {
        SCOPED_TRACE(std::to_string(each.has) + " of " + std::to_string(each.announced));
        file = each;
        H2Client& client = connect({{H2SettingId::initial_window_size, 2'000'000}});
        client.window_update(0, 10'000'000);
        client.hold();
        const auto first = client.get("/large", {{"priority", "i"}});
        const auto shorter = client.get("/file", {{"priority", "i"}});
        const auto again = client.get("/file", {{"priority", "i"}});
        const auto last = client.get("/large", {{"priority", "i"}});
        client.say_all();
        ASSERT_TRUE(run_until([&] {
            return client.goaway() || peer_->over() ||
                   (client.answer(first).ended && client.answer(last).ended &&
                    client.answer(shorter).reset && client.answer(again).reset);
        }));
        ASSERT_FALSE(peer_->over());
        EXPECT_TRUE(client.answer(first).body == large_);
        EXPECT_TRUE(client.answer(last).body == large_);
        for (const auto stream : {shorter, again}) {
            EXPECT_EQ(client.answer(stream).reset, H2Error::internal_error);
            EXPECT_FALSE(client.answer(stream).ended) << "what came would be taken for whole";
            EXPECT_TRUE(
                client.answer(stream).body.starts_with("before" + std::string(each.has, 'f')));
        }
        EXPECT_EQ(client.resets(), 2U);
        const auto next = client.get("/hello");
        ASSERT_TRUE(ended(next));
        EXPECT_EQ(client.answer(next).body, "hello\n");
    }
}

TEST_P(H2FilesThatShrink, AFileThatBecomesShorterTakesNoMoreOfTheWindowThanWasSent) {
    stage_->on("/file", [&](Exchange& exchange) {
        core::SendQueue queue;
        queue.append_file(core::make_ref<ShorterFile>(1'000), 0, 60'000);
        Response response;
        response.set_body(std::move(queue));
        exchange.respond(response);
    });
    // An answer that waits for that window already goes on by itself.
    for (const bool waits : {false, true}) {
        SCOPED_TRACE(waits);
        H2Client& client = connect({{H2SettingId::initial_window_size, 2'000'000}});
        if (waits) client.hold();
        const auto file = client.get("/file");
        if (!waits) {
            ASSERT_TRUE(reset(file));
        }
        const auto large = client.get("/large");
        if (waits) client.say_all();
        ASSERT_TRUE(run_until([&] {
            return client.answer(file).body.size() + client.answer(large).body.size() == 65'535;
        }));
        client.window_update(0, 1'000'000);
        ASSERT_TRUE(ended(large));
        EXPECT_TRUE(client.answer(large).body == large_);
    }
}

// While its frames wait in the queue, others come behind them.
class H2ShorterFiles : public testing::H2Test {
  protected:
    void serve(const std::string& path, std::size_t has, std::size_t announced) {
        stage_->on(path, [has, announced](Exchange& exchange) {
            core::SendQueue queue;
            queue.append_file(core::make_ref<ShorterFile>(has), 0, announced);
            Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        });
    }
    H2Client& connect_with_open_windows() {
        H2Client& client = connect(
            {{H2SettingId::initial_window_size, 2'000'000}, {H2SettingId::header_table_size, 0}});
        client.window_update(0, 10'000'000);
        return client;
    }
    void expect_only(std::initializer_list<std::uint32_t> streams) {
        for (const std::uint32_t stream : streams) {
            ASSERT_TRUE(run_until([&] { return peer_->over() || client_->answer(stream).reset; }));
            EXPECT_EQ(client_->answer(stream).reset, H2Error::internal_error);
            EXPECT_FALSE(client_->answer(stream).ended);
        }
        EXPECT_FALSE(client_->goaway());
        EXPECT_FALSE(peer_->over());
        EXPECT_EQ(client_->resets(), streams.size());
    }
};

INSTANTIATE_TEST_SUITE_P(Worlds, H2ShorterFiles, ::testing::Values("fake", "epoll"),
                         [](const auto& world) { return std::string(world.param); });

TEST_P(H2ShorterFiles, AreFoundBehindEachOther) {
    serve("/first", 50'000, 200'000);
    serve("/second", 72'000, 200'000);
    H2Client& client = connect_with_open_windows();
    client.hold();
    const auto first = client.get("/first", {{"priority", "i"}});
    const auto large = client.get("/large", {{"priority", "i"}});
    const auto second = client.get("/second", {{"priority", "i"}});
    client.say_all();
    expect_only({first, second});
    ASSERT_TRUE(ended(large));
    EXPECT_TRUE(client.answer(large).body == large_);
}

TEST_P(H2ShorterFiles, AreFoundThoughAnswersCameMeanwhile) {
    for (std::size_t has = 20'000; has < 400'000; has += 15'000) {
        SCOPED_TRACE(has);
        serve("/file", has, 600'000);
        H2Client& client = connect_with_open_windows();
        peer_->set_listening(false);
        const auto file = client.get("/file");
        world_->settle();
        client.request("POST", "/upload", {{"expect", "100-continue"}}, false);
        world_->settle();
        std::uint32_t last = 0;
        for (int i = 0; i < 3; ++i) {
            last = client.request("HEAD", "/hello", {}, true);
            world_->settle();
        }
        peer_->set_listening(true);
        expect_only({file});
        ASSERT_TRUE(ended(last));
        EXPECT_TRUE(client.answer(file).body.starts_with(std::string(has, 'f')));
    }
}

// The dropped bytes go back into the connection's window, which the peer has opened meanwhile.
TEST_P(H2ShorterFiles, EndAConnectionWhoseWindowIsThenTooLarge) {
    if (GetParam() != "fake") GTEST_SKIP() << "a socket's room is not known";
    serve("/file", 0, 40'000);
    stage_->on("/page", [text = std::string(80'000, 'b')](Exchange& exchange) {
        Response response;
        response.set_body(ByteView(text));
        exchange.respond(response);
    });
    H2Client& client = connect({{H2SettingId::initial_window_size, 2'000'000}});
    client.window_update(0, 1'000'000);
    world_->settle();
    peer_->set_listening(false);
    client.get("/page");
    const auto file = client.get("/file");
    world_->settle();
    // All of both is in the queue: the window may grow by as much, and by no byte more.
    client.window_update(0, wire::h2_window_bytes_max - 1'065'535 + 120'000);
    world_->settle();
    EXPECT_FALSE(peer_->over());
    peer_->set_listening(true);
    ASSERT_TRUE(run_until([&] { return peer_->over(); }));
    EXPECT_EQ(client.goaway(), H2Error::flow_control_error);
    EXPECT_TRUE(client.answer(file).body.starts_with(std::string(100, '\0')));
}

// More than a block of short frames: the header of one or another lies across two blocks.
TEST_P(H2ShorterFiles, AreDroppedFromAmongFramesWhereverThoseLie) {
    serve("/file", 200'000, 600'000);
    std::size_t pad = 0;
    stage_->on("/padded", [&](Exchange& exchange) {
        Response response(204);
        const std::string text(pad, 'p');
        response.add("x-pad", text);
        exchange.respond(response);
    });
    for (pad = 1; pad <= 12; ++pad) {
        SCOPED_TRACE(pad);
        H2Client& client = connect_with_open_windows();
        peer_->set_listening(false);
        const auto file = client.get("/file");
        world_->settle();
        client.hold();
        std::uint32_t last = 0;
        for (int i = 0; i < 1'000; ++i) last = client.get("/padded");
        client.say_all();
        world_->settle();
        peer_->set_listening(true);
        expect_only({file});
        ASSERT_TRUE(ended(last));
        for (std::uint32_t stream = file + 2; stream <= last; stream += 2) {
            ASSERT_EQ(client.answer(stream).header("x-pad").size(), pad) << stream;
        }
    }
}

// Windows so small that far more frames than are kept track of would be in the queue at once.
TEST_P(H2FilesThatShrink, AFileThatBecomesShorterAmongManySmallFramesResetsItsStreamAlone) {
    constexpr std::size_t bytes = 10;
    const auto answer_with = [&](std::size_t has) {
        return [&, has](Exchange& exchange) {
            core::SendQueue queue;
            queue.append_file(core::make_ref<ShorterFile>(has), 0, bytes);
            Response response;
            response.set_body(std::move(queue));
            exchange.respond(response);
        };
    };
    stage_->on("/short", answer_with(0));
    stage_->on("/whole", answer_with(bytes));
    H2Client& client = connect({{H2SettingId::initial_window_size, bytes}});
    client.hold();
    const auto shorter = client.get("/short");
    std::vector<std::uint32_t> whole;
    for (std::size_t i = 0; i < 3 * H2FileFrames::frames_max; ++i) {
        whole.push_back(client.get("/whole"));
    }
    client.say_all();
    ASSERT_TRUE(run_until([&] { return peer_->over() || client.answer(whole.back()).ended; }));
    ASSERT_FALSE(peer_->over());
    EXPECT_EQ(client.answer(shorter).reset, H2Error::internal_error);
    for (const std::uint32_t stream : whole) {
        EXPECT_TRUE(client.answer(stream).ended);
        EXPECT_EQ(client.answer(stream).body, std::string(bytes, 'f'));
    }
    EXPECT_EQ(client.resets(), 1U);
}

}  // namespace
}  // namespace tiderace::http
