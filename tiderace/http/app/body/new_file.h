// NewFile: a file that is made, and removed again unless all of it was written.
//
// Owner    Shared: a task that is cancelled leaves a call of it running on a thread of the pool.
// Thread   One at a time. Its calls and its end block: opening() and the others are for offload().
// Errors   A std::runtime_error with one sentence. A file that exists is never touched.
#pragma once

#include <memory>
#include <string>

#include "tiderace/base/bytes.h"
#include "tiderace/base/unique_function.h"

namespace tiderace::http {

class NewFile {
  public:
    explicit NewFile(std::string path) : path_(std::move(path)) {}
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // Mode 0600.
    void open();
    void write(ByteView bytes);
    // From here on it stays.
    void finish();

    static unique_function<void()> opening(std::shared_ptr<NewFile> file);
    static unique_function<void()> writing(std::shared_ptr<NewFile> file, std::string bytes);
    static unique_function<void()> finishing(std::shared_ptr<NewFile> file);

  private:
    std::string path_;
    int descriptor_ = -1;
};

}  // namespace tiderace::http
