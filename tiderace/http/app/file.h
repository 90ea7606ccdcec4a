// File: a file of the disk as a handler's answer, with what App::files() gives its own: type,
// validators (304, 412), ranges (206, 416), HEAD, and no copy of large ones.
//
//   app.get<"/report">([] { return File("/srv/report.pdf"); });
//   app.get<"/invoices/{name}">([](Session session, std::string name)
//                                   -> std::expected<File, Problem> {
//       if (!may_see(session, name)) return std::unexpected(Problem{.status = 403});
//       return File::beneath("/srv/invoices", name).download(name);
//   });
//
// For a whole folder, App::files() is faster: it keeps what it has opened.
//
// Owner    The handler, until it is returned.
// Thread   The loop's. Opening it happens there, as it does for App::files().
// Errors   404: no such file, or no regular one. 403: not readable for us. 503: no descriptor or
//          memory is left.
// Limits   All files of one loop that are being sent: files::FileBudgetLimits; more are 503.
// Memory   A small file's bytes while they are sent, or a descriptor.
// Keywords: download, sendfile, Content-Disposition
#pragma once

#include <string>
#include <string_view>

#include "tiderace/http/exchange.h"
#include "tiderace/task/runner.h"

namespace tiderace::http {

class File {
  public:
    // `path` is absolute, or begins where the program runs. It is opened as it is, so it must come
    // from the program; what a client sends belongs into beneath().
    explicit File(std::string path);
    // `name` in `folder`, never outside: neither "..", nor a link that leads out. It may have
    // folders of its own. A name that begins with a dot, or lies in such a folder, is 404 as with
    // App::files(): ".git/config" and ".htpasswd" are not meant for clients. ".well-known" is.
    static File beneath(std::string folder, std::string_view name);

    // The Content-Type; otherwise the name's extension decides.
    File&& type(std::string type) &&;
    // beneath() finds names that begin with a dot, too.
    File&& with_hidden() &&;
    // Browsers save it under this name instead of showing it.
    File&& download(std::string_view as) &&;
    // A Cache-Control field, such as "private, max-age=60"; none otherwise.
    File&& cache_control(std::string value) &&;

    void answer(Exchange& exchange, task::Runner& runner) &&;

  private:
    File(std::string folder, std::string name, bool beneath);

    std::string folder_;
    std::string name_;  // begins with '/'; "": no file can have it
    bool beneath_;
    bool with_hidden_ = false;
    std::string type_;
    std::string disposition_;
    std::string cache_control_;
};

}  // namespace tiderace::http
