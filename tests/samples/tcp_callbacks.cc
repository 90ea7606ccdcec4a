// An echo as a callback.
#include <tiderace/tcp.h>

using namespace tiderace;

int main() {
    return tcp::Server(":7")
        .on_data([](tcp::Peer& peer, ByteView in) {
            peer.write(in);
            return in.size();
        })
        .run();
}
