#include "tiderace/testing/world.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/core/backend/readiness.h"
#include "tiderace/testing/engine.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/socket_world.h"

namespace tiderace::testing {

core::LoopOptions World::options() {
    return {.backend = {.kernel = kernel_.get()}, .clock = &clock_};
}

void World::start(core::Kernel& below, std::unique_ptr<core::Poller> poller) {
    kernel_ = std::make_unique<FailNth>(below);
    loop_ = make_loop_on(std::move(poller));
}

bool World::wait_for_pool(const std::function<bool()>& done) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
        if (std::chrono::steady_clock::now() > patience) return false;
        std::this_thread::yield();
        settle();
    }
    return true;
}

std::unique_ptr<core::EventLoop> World::make_loop_on(std::unique_ptr<core::Poller> poller) {
    const core::LoopOptions chosen = options();
    return std::make_unique<core::EventLoop>(
        std::make_unique<core::ReadinessBackend>("fake", std::move(poller), chosen.backend),
        chosen);
}

void World::start(core::Kernel& below, std::string_view engine) {
    kernel_ = std::make_unique<FailNth>(below);
    const core::LoopOptions chosen = options();
    auto made = make_engine(engine, chosen.backend);
    TR_CHECK(made.has_value(), "no such engine");
    loop_ = std::make_unique<core::EventLoop>(std::move(*made), chosen);
}

Listening listen_on_loopback(core::Kernel& kernel, int backlog) {
    core::Descriptor listener(kernel, kernel.open_socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_storage storage{};
    socklen_t bytes = core::Address::loopback(0).to_sockaddr(storage);
    auto* const raw = reinterpret_cast<sockaddr*>(&storage);
    TR_CHECK(kernel.bind(listener.get(), raw, bytes) == 0);
    const int on = 1;  // as net::open_listener does: connections inherit it
    kernel.set_option(listener.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    TR_CHECK(kernel.listen(listener.get(), backlog) == 0);
    bytes = sizeof storage;
    TR_CHECK(kernel.local_address(listener.get(), raw, &bytes) == 0);
    return {std::move(listener), *core::Address::from_sockaddr(raw, bytes)};
}

core::Descriptor World::listen(int backlog) {
    Listening made = listen_on_loopback(*kernel_, backlog);
    listening_at_ = made.at;
    return std::move(made.socket);
}

std::vector<std::string> world_names() {
    std::vector<std::string> names = engine_names();
    names.insert(names.begin(), "fake");
    return names;
}

std::vector<std::string> main_world_names() {
    std::vector<std::string> names = world_names();
    std::erase_if(names, [](const std::string& name) {
        return name == "io_uring-together" || is_stand_in(name);
    });
    return names;
}

std::string label_of_world(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
}

std::unique_ptr<World> make_world(std::string_view name) {
    if (name == "fake") return std::make_unique<FakeWorld>();
    return std::make_unique<SocketWorld>(name);
}

}  // namespace tiderace::testing
