// The client's HTTP/2 and whatever a hostile server may send it. The first byte chooses what is
// asked and how the bytes are cut. For all input, every request ends once, the client sends only
// frames that a server accepts, and nothing is left over.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/client/client.h"
#include "tiderace/http/wire/h2/frame_reader.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/net/tcp_server.h"
#include "tiderace/task/task.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/scripted_session.h"

namespace tiderace::http {
namespace {

constexpr std::size_t bytes_max = 4'096;
constexpr int requests = 3;

struct Manner {
    bool greets, byte_by_byte, uploads, is_head, gives_up, ends;

    explicit Manner(unsigned char byte)
        : greets((byte & 1) != 0),
          byte_by_byte((byte & 2) != 0),
          uploads((byte & 4) != 0),
          is_head((byte & 8) != 0),
          gives_up((byte & 16) != 0),
          ends((byte & 32) != 0) {}
};

class Server {
  public:
    Server(testing::FakeWorld& world, ByteView bytes, const Manner& manner)
        : manner_(manner), bytes_(bytes), server_(world.loop(), sessions_, {}) {
        sessions_.on_open = [this](net::Connection&) {
            reader_ = wire::H2FrameReader();
            held_.clear();
        };
        sessions_.on_data = [this](net::Connection& connection, ByteView data) {
            check(data);
            if (!std::exchange(spoke_, true)) speak(connection);
            return data.size();
        };
        server_.listen(world.listen());
        url = "http://" + world.listening_at().to_string() + "/";
    }
    ~Server() { server_.abort_all(); }

    // The rest, one byte at a turn. False: there is none.
    bool speak_on() {
        if (sessions_.connection == nullptr || bytes_.empty()) return false;
        sessions_.connection->write(bytes_.substr(0, 1));
        bytes_.remove_prefix(1);
        return true;
    }
    void finish() {
        if (manner_.ends && sessions_.connection != nullptr) sessions_.connection->finish();
    }

    std::string url;

  private:
    void speak(net::Connection& connection) {
        std::array<char, 64> greeting;
        if (manner_.greets) {
            connection.write(ByteView(greeting.data(), wire::write_h2_settings(greeting, {})));
        }
        if (!manner_.byte_by_byte) connection.write(std::exchange(bytes_, {}));
    }
    void check(ByteView data) {
        held_ += data;
        for (;;) {
            const auto step = reader_.next(held_);
            held_.erase(0, step.used);
            TR_CHECK(step.status != wire::H2FrameReader::Status::fault);
            if (step.status == wire::H2FrameReader::Status::need_more) return;
        }
    }

    Manner manner_;
    ByteView bytes_;
    testing::ScriptedSessions sessions_;
    net::TcpServer server_;
    wire::H2FrameReader reader_;
    std::string held_;
    bool spoke_ = false;
};

task::Generator<std::string> pieces() {
    for (int i = 0; i < 40; ++i) co_yield std::string(1'000, 'p');
}

task::Task<> ask(Client& client, std::string url, Manner manner, int number, int& ended) {
    const char* const method = manner.uploads ? "POST" : manner.is_head ? "HEAD" : "GET";
    ClientRequest request(method, std::move(url));
    if (manner.uploads && number == 1) request.stream("a/b", pieces());
    if (manner.uploads && number == 2) request.content(Content("a/b", std::string(30'000, 'b')));
    if (manner.gives_up && number == 0) {
        const auto stream = co_await client.open(std::move(request));
        if (stream) TR_CHECK(stream->status() >= 200 && stream->status() <= 999);
    } else {
        const auto answer = co_await client.request(std::move(request));
        if (answer) TR_CHECK(answer->status >= 200 && answer->status <= 999);
        if (answer && manner.is_head && !manner.uploads) TR_CHECK(answer->body.empty());
        if (!answer) TR_CHECK(!answer.error().message.empty());
    }
    ++ended;
}

void talk(ByteView bytes, const Manner& manner) {
    testing::FakeWorld world;
    {
        Server server(world, bytes, manner);
        task::Runner runner(world.loop());
        ClientOptions options;
        options.timeout = 10s;
        options.versions = ClientVersions::http_2;
        options.proxy_from_environment = false;
        options.pool.connections_per_host_max = 1;
        std::optional<Client> client(std::in_place, nullptr, options);
        const core::Ref<ReceiveBudget> room = ClientConnections::of(runner)->receive_budget();
        int ended = 0;
        for (int i = 0; i < requests; ++i) {
            runner.spawn(ask(*client, server.url, manner, i, ended));
        }
        world.settle();
        while (server.speak_on()) world.settle();
        server.finish();
        world.advance(1min);
        TR_CHECK(ended == requests);
        TR_CHECK(room->taken() == 0 && client->pool()->waiting() == 0);
        client.reset();
        world.settle();
    }
    TR_CHECK(world.loop().blocks().taken() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min(size, bytes_max));
    if (!bytes.empty()) talk(bytes.substr(1), Manner(input[0]));
    return 0;
}

}  // namespace tiderace::http
