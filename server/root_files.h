// RootFiles: what a server that gave up root still opens as root: certificates and keys when they
// are replaced, the access log when it was moved away; and the names of its Unix sockets, removed
// at the end.
//
//   server (nobody) -- "open file 3" --> helper process (root) -- its descriptor --> server
//
// The helper is a fork of the server from before it gave up root. It opens and removes the files
// that were named to it then, and nothing else: a request is a number, never a path. An attacker in
// the server gains the files that it had anyway. Files in folders that others than root may change,
// or behind links in such folders, are left to the server's own rights. The helper ends with the
// server.
//
// Neither a kept directory descriptor nor a capability would do: the kernel checks the user again
// at each open, and CAP_DAC_READ_SEARCH would open every file of the machine.
//
// Owner    serve(), of each process that serves: a reply goes to whatever reads the socket first.
//          It outlives the log and the loops.
// Thread   start(): the main one, before there is any other. open(), remove(): any.
// Errors   The system's, as of open(2). Without the helper: EACCES.
// Limits   files_max. A request blocks as long as opening the file does.
// Keywords: certificate reload, log rotation, privileges
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tiderace/base/result.h"

namespace tiderace::server {

class RootFiles {
  public:
    static constexpr std::size_t files_max = 1'000;

    enum class Use : std::uint8_t {
        read,    // a certificate
        append,  // a log: made where it is missing
        remove,  // a socket
    };
    struct File {
        std::string path;
        Use use;
    };

    static Result<std::unique_ptr<RootFiles>> start(std::vector<File> files);
    ~RootFiles();
    RootFiles(const RootFiles&) = delete;
    RootFiles& operator=(const RootFiles&) = delete;

    // Whether this process, which has become another user, cannot use one of the files itself.
    bool needed() const;
    // open(2) by this process; where it may not, by the helper. A descriptor, or -1 and errno:
    // ELOOP where a log is a link that root should not follow.
    int open(const std::string& path, Use use);
    // By this process alone.
    static int open_directly(const std::string& path, Use use);
    // The helper removes the socket `path` if it still is this one.
    void remove(const std::string& path, dev_t device, ino_t inode);

    pid_t helper() const { return helper_; }

  private:
    struct Request;
    struct Reply;

    RootFiles(std::vector<File> files, int socket, pid_t helper)
        : files_(std::move(files)), socket_(socket), helper_(helper) {}

    [[noreturn]] static void help(const std::vector<File>& files, int socket);
    static Reply answer(const std::vector<File>& files, const Request& request, int& opened);
    int ask(const std::string& path, Use use, dev_t device, ino_t inode);

    std::vector<File> files_;
    std::mutex asking_;  // one request at a time
    int socket_;
    pid_t helper_;
};

}  // namespace tiderace::server
