// websocket_talk HTTP-URL WS-URL: a WebSocket by a client that speaks HTTP/2 in clear text. It
// requests the first; then it sends three messages, which the server is to echo, and "end", at
// which it is to close. Prints what each step gave.
#include <tiderace/client.h>
#include <tiderace/task.h>
#include <tiderace/websocket.h>

#include <cstdio>
#include <string>

using namespace tiderace;
using namespace tiderace::http;

static Task<int> talk(std::string http_url, std::string websocket_url) {
    Client client({.versions = ClientVersions::http_2});
    const auto answer = co_await client.get(http_url);
    if (!answer) {
        std::printf("%s\n", answer.error().message.c_str());
        co_return 1;
    }
    std::printf("%d %s\n", answer->status, answer->text().c_str());
    auto socket = co_await connect_websocket(client, websocket_url);
    if (!socket) {
        std::printf("%s\n", socket.error().message.c_str());
        co_return 1;
    }
    if (const auto greeting = co_await socket->receive()) {
        std::printf("%s\n", std::string(greeting->text()).c_str());
    }
    for (const std::string& said :
         {std::string(), std::string("hello"), std::string(70'000, 'x')}) {
        co_await socket->send(said);
        const auto heard = co_await socket->receive();
        std::printf("%s\n", heard && heard->text() == said ? "echoed" : "not echoed");
    }
    co_await socket->send("end");
    while (const auto more = co_await socket->receive()) std::puts("more than was asked for");
    std::printf("closed %d %s\n", socket->close_code(),
                std::string(socket->close_reason()).c_str());
    co_return 0;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    return run(talk(argv[1], argv[2]));
}
