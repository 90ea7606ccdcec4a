// ProgramFolder: from the path of a request to a program beneath a folder, and the rest of the
// path.
//
//   /hello.sh/a/b  ->  program hello.sh, PATH_INFO /a/b
//
// The first part of the path that is a file is the program. It is opened beneath the folder
// (openat2 with RESOLVE_BENEATH), where no link and no ".." leads out, and must be a regular file
// that may be executed: other files are refused and never sent, because they are often what
// programs keep their passwords in. Names that begin with a dot are not found.
//
// Owner    The handler.
// Thread   Any.
// Errors   Found names the outcome; `failed` comes with an errno value.
// Limits   Paths of path_bytes_max; a longer one is missing.
// Keywords: PATH_INFO, SCRIPT_NAME
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/result.h"
#include "tiderace/core/kernel.h"

namespace tiderace::http::cgi {

class ProgramFolder {
  public:
    static constexpr std::size_t path_bytes_max = 4096;

    enum class Found : std::uint8_t { program, missing, refused, failed };
    struct Opened {
        Found found = Found::missing;
        int error = 0;
        core::Descriptor program;
        core::Descriptor folder;  // where it lies; none: the folder itself
        std::string script;       // its path beneath the folder: "/hello.sh"
        std::string path_info;    // "" or "/a/b"
        std::vector<std::string> arguments;
        bool is_script = false;
    };

    // Fails where `path` is no folder.
    static Result<ProgramFolder> open(core::Kernel& kernel, std::string path);

    // `path` is canonical, without the prefix: "/hello.sh/a/b". `arguments_by_ampersand`: what
    // follows a '&' in the program's own segment are its arguments, "/add&1&2".
    Opened find(ByteView path, bool arguments_by_ampersand = false) const;
    // Whether `path` is a regular file beneath the folder, executable or not.
    bool has_file(ByteView path) const;

    int descriptor() const { return folder_.get(); }
    // As a program sees it: absolute.
    const std::string& path() const { return path_; }

  private:
    ProgramFolder(core::Kernel& kernel, core::Descriptor folder, std::string path)
        : kernel_(&kernel), folder_(std::move(folder)), path_(std::move(path)) {}

    core::Kernel* kernel_;
    core::Descriptor folder_;
    std::string path_;
};

}  // namespace tiderace::http::cgi
