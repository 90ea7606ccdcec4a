#include "tiderace/tcp/stream.h"

#include <algorithm>

#include "tiderace/task/offload.h"
#include "tiderace/tcp/open_file.h"

namespace tiderace::tcp {

Stream::Stream(net::Connection& connection, const StreamOptions& options)
    : state_(new StreamState(connection, options)) {
    connection.start(*state_);
}

Stream::~Stream() {
    if (state_ != nullptr) state_->disown();
}

task::Task<Result<std::uint64_t>> Stream::send_file(std::string path, std::uint64_t offset,
                                                    std::uint64_t bytes_max) {
    OpenFile::Open open{std::move(path)};
    // On a thread of the pool: open() waits for the disk, or for a server on a network file system.
    auto opened = co_await task::offload(open);
    if (!opened) co_return fail(opened.error());
    const std::uint64_t bytes =
        std::min(bytes_max, opened->bytes - std::min(offset, opened->bytes));
    if (bytes == 0) co_return 0;
    core::Ref<core::SharedFile> file = core::make_ref<OpenFile>(std::move(opened->file));
    Write write(*state_, std::move(file), offset, bytes);
    const bool sent = co_await write;
    co_return sent ? bytes : 0;
}

bool Stream::tune(const net::SocketOptions& options) {
    return open() && state_->connection()->tune(options);
}

const net::TransportSecurity* Stream::security() const {
    return open() ? state_->connection()->security() : nullptr;
}

std::uint64_t Stream::unsent_bytes() const {
    return open() ? state_->connection()->queue_bytes() : 0;
}

}  // namespace tiderace::tcp
