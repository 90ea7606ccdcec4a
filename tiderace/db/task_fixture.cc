#include "tiderace/db/task_fixture.h"

#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace tiderace::db {

Folder::Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tiderace-db-XXXXXX").string();
    path_ = mkdtemp(name.data());
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void run_on(const std::string& engine, Task<> task) {
    auto loop = core::EventLoop::create({.engine = engine});
    if (!loop) throw std::runtime_error(loop.error().message());
    core::WorkerPool pool(4, 1'024);
    task::Runner runner(**loop, &pool);
    class Program final : public task::Root {
      public:
        explicit Program(core::EventLoop& l) : loop(&l) {}
        std::exception_ptr failure;

      private:
        void on_done(std::exception_ptr why) override {
            failure = std::move(why);
            loop->request_stop();
        }
        core::EventLoop* loop;
    } program(**loop);
    program.start(runner, std::move(task));
    (*loop)->run();
    if (program.failure) std::rethrow_exception(program.failure);
}

}  // namespace tiderace::db
