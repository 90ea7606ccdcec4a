// Internal. NewFile: a file that is made, and removed again unless all of it was written.
//
//   open() -> write()… -> finish()              it stays under its own name
//                      \-> finish_as(path)      it takes that name, and the place of a file there
//
// Owner    Shared: a task that is cancelled leaves a call of it running on a thread of the pool.
//          Removing waits for the disk as well, so the functions for offload() release the file
//          on the pool's thread, and dispose() gives it to the pool.
// Thread   One at a time. Its calls and its end block: opening() and the others are for offload().
// Errors   A std::runtime_error with one sentence. open() never touches a file that exists.
// Keywords: atomic rename, temporary file, fsync
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/bytes.h"
#include "tiderace/base/unique_function.h"
#include "tiderace/core/worker_pool.h"

namespace tiderace::task {

class NewFile {
  public:
    // What finish_as() waits for.
    enum class Kept : std::uint8_t {
        by_kernel,  // the kernel has it: a power cut may lose it
        on_disk,    // the disk has the file and its name (fsync of both)
    };

    explicit NewFile(std::string path) : path_(std::move(path)) {}
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // A name in the folder of `path`, which no other file has: "path.3f9a….part".
    static std::string beside(const std::string& path);

    // Mode 0600.
    void open();
    void write(ByteView bytes);
    // From here on it stays.
    void finish();
    void finish_as(const std::string& path, Kept kept);

    static unique_function<void()> opening(std::shared_ptr<NewFile> file);
    static unique_function<void()> writing(std::shared_ptr<NewFile> file, std::string bytes);
    static unique_function<void()> finishing(std::shared_ptr<NewFile> file);
    static unique_function<void()> finishing_as(std::shared_ptr<NewFile> file, std::string path,
                                                Kept kept);
    // Ends this reference on a thread of the pool; here if the pool is full.
    static void dispose(std::shared_ptr<NewFile> file, core::WorkerPool* pool);

  private:
    [[noreturn]] void fail_finish(std::string_view operation, const std::string& to);

    std::string path_;
    int descriptor_ = -1;
};

}  // namespace tiderace::task
