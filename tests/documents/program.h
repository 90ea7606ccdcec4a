// Program: a program of a document, in a process of its own, as a reader runs it.
//
//   Program program(folder, "library/routes");
//   EXPECT_EQ(get(program.url("/")).body, "hello\n");
//   EXPECT_EQ(program.end(), 0);
//
// The process is documents_test itself, called with --program and the name; the blocks of the
// documents are compiled into it (cmake/Documents.cmake).
//
// Owner    The test. A program that still runs at its end is killed.
// Thread   One.
// Errors   A failure of the test: a program that does not start, or does not print where it
//          listens.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/client.h"
#include "tiderace/core/child_process.h"
#include "tiderace/testing/temporary_folder.h"

namespace documents {

// The main of a block. One that returns nothing means 0, as C++ has it for the real one.
struct Registered {
    using Main = int (*)(int, char**);

    Registered(const char* name, void (*main)());
    Registered(const char* name, int (*main)());
    Registered(const char* name, Main main);
};

// In a program: the URL of the server that the test started for it.
std::string server();

class Program {
  public:
    // It runs in `folder`; `server` is what server() returns there.
    Program(const tiderace::testing::TemporaryFolder& folder, const std::string& name,
            std::vector<std::string> words = {}, const std::string& server = "");

    // "127.0.0.1:4711": waits until it prints where it listens; the first place with this scheme.
    std::string place(const std::string& scheme = "");
    std::string url(const std::string& path);
    // Waits until it has printed this.
    void wait_for(const std::string& text);
    // Ends it by SIGTERM, or waits until it ends by itself. The exit status; -1: a signal's.
    int end();
    int wait();
    // Its output so far, standard output and errors: all of it, once it has ended.
    const std::string& output() const { return output_; }

  private:
    bool read_some();

    tiderace::core::Pipe pipe_;
    std::optional<tiderace::core::ChildProcess> process_;
    std::string output_;
};

// One request, without following redirects. A request without an answer fails the test.
using Headers = std::initializer_list<std::pair<std::string, std::string>>;
tiderace::http::ClientResponse ask(const std::string& method, const std::string& url,
                                   const std::string& body = "", const std::string& type = "",
                                   Headers fields = {});
inline tiderace::http::ClientResponse get(const std::string& url, Headers fields = {}) {
    return ask("GET", url, "", "", fields);
}

// A block of a document in another language: the first one after `mark`.
std::string block_after(const std::string& document, const std::string& mark);

// The names of all programs that are compiled in, and of the programs that were started so far.
std::vector<std::string> names();
std::vector<std::string> started();
int call_main(const std::string& name, int argc, char** argv);

}  // namespace documents
