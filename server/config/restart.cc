#include "server/config/restart.h"

namespace tiderace::server::config {

std::vector<std::string> changes_that_need_a_restart(const ServeOptions& before,
                                                     const ServeOptions& now) {
    std::vector<std::string> all;
    const auto compare = [&](bool is_same, const char* key) {
        if (!is_same) all.push_back(std::string(key) + " has another value: it needs a restart");
    };
    compare(before.threads == now.threads, "server.threads");
    compare(before.engine == now.engine, "server.engine");
    compare(before.accept == now.accept, "server.accept");
    compare(before.user == now.user, "server.user");
    // Its sockets are not the loops' own.
    compare(before.backlog == now.backlog || now.accept != AcceptMode::queue, "listen.backlog");
    compare(before.tls.on() == now.tls.on(), "[tls], on or off,");
    return all;
}

}  // namespace tiderace::server::config
