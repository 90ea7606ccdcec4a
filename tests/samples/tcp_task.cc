// An echo as a coroutine.
#include <tiderace/tcp.h>

using namespace tiderace;

int main() {
    return tcp::serve(":7", [](tcp::Stream s) -> Task<> {
        while (auto bytes = co_await s.read()) co_await s.write(*bytes);
    });
}
