// save(): a body into a file.
//
//   read() -> offload(write) -> read() … -> offload(rename)
//
// While a piece is written no more is read, so a slow disk holds the server back.
#include <stdexcept>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/http/client/client_response_stream.h"
#include "tiderace/task/new_file.h"
#include "tiderace/task/offload.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {
namespace {

using Kind = ClientFault::Kind;
using task::NewFile;

// The file of a save that may end at any await. Its removal waits for the disk, and so it happens
// on the pool.
class Unfinished {
  public:
    explicit Unfinished(const std::string& path)
        : pool_(task::Context::here().runner->pool()),
          file_(std::make_shared<NewFile>(NewFile::beside(path))) {}
    ~Unfinished() { NewFile::dispose(std::move(file_), pool_); }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    std::shared_ptr<NewFile> file() const { return file_; }

  private:
    core::WorkerPool* pool_;
    std::shared_ptr<NewFile> file_;
};

// What the disk refuses is the caller's to know, and no fault of ours.
task::Task<ClientResult<void>> on_pool(unique_function<void()> work) {
    try {
        co_await task::offload(std::move(work));
    } catch (const std::runtime_error& error) {
        co_return std::unexpected(ClientFault(Kind::save_failed, error.what()));
    }
    co_return ClientResult<void>();
}

}  // namespace

task::Task<ClientResult<std::uint64_t>> ClientResponseStream::save_reporting(std::string path,
                                                                             OnProgress progress,
                                                                             SaveOptions options) {
    SaveProgress done;
    // decode() removed the length of an encoded body, and after HEAD no body comes.
    if (!exchange_->to_head()) {
        done.total = parse_number<std::uint64_t>(header("Content-Length"));
    }
    const auto too_large = [&] {
        return std::unexpected(
            ClientFault(Kind::too_large, url().text() + ": the body is too large to save"));
    };
    if (done.total.value_or(0) > options.bytes_max) co_return too_large();
    const Unfinished unfinished(path);
    const auto opened = co_await on_pool(NewFile::opening(unfinished.file()));
    if (!opened) co_return std::unexpected(opened.error());
    while (true) {
        auto piece = co_await read();
        if (!piece) co_return std::unexpected(std::move(piece.error()));
        if (piece->empty()) break;
        if (piece->size() > options.bytes_max - done.bytes) co_return too_large();
        done.bytes += piece->size();
        const auto written =
            co_await on_pool(NewFile::writing(unfinished.file(), std::move(*piece)));
        if (!written) co_return std::unexpected(written.error());
        if (progress) progress(done);
    }
    const auto kept = options.on_disk ? NewFile::Kept::on_disk : NewFile::Kept::by_kernel;
    const auto named = co_await on_pool(NewFile::finishing_as(unfinished.file(), path, kept));
    if (!named) co_return std::unexpected(named.error());
    co_return done.bytes;
}

}  // namespace tiderace::http
