#include "examples/serving.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tiderace/core/process_limits.h"
#include "tiderace/net/listener.h"

namespace tiderace::examples {

void die(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    std::_Exit(1);
}

std::size_t parse_threads(std::string_view text) {
    std::size_t threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (error != std::errc{} || end != text.data() + text.size() || threads < 1 || threads > 64) {
        die("--threads takes a number from 1 to 64");
    }
    return threads;
}

core::Address listen(const std::vector<net::TcpServer*>& servers, const std::string& where,
                     const std::vector<net::TransportLayer*>& layers) {
    core::Kernel& kernel = core::system_kernel();
    core::Address address = take(core::Address::parse(where));
    for (std::size_t i = 0; i < servers.size(); ++i) {
        core::Descriptor listener =
            take(net::open_listener(kernel, address, {.reuse_port = servers.size() > 1}));
        address = net::local_address(kernel, listener);
        servers[i]->listen(std::move(listener), layers.empty() ? nullptr : layers[i]);
    }
    return address;
}

core::Signals prepare_process() {
    core::ignore_sigpipe();
    (void)core::raise_descriptor_limit();  // fewer connections are no reason not to start
    const int numbers[] = {SIGINT, SIGTERM};
    return take(core::Signals::open(numbers));
}

StopOnSignal::StopOnSignal(net::LoopGroup& group, core::Signals signals)
    : group_(&group), signals_(std::move(signals)) {
    core::Backend& backend = group.loop(0).backend();
    handle_ = take(backend.attach(signals_.descriptor(), *this));
    backend.watch(handle_, true, false);
}

StopOnSignal::~StopOnSignal() {
    group_->loop(0).backend().detach(handle_);
}

void StopOnSignal::on_ready(bool, bool) {
    while (signals_.next()) group_->stop();
}

}  // namespace tiderace::examples
