// TemporaryFolder: a real directory of a test's own, gone with all that is in it at the end.
//
//     tiderace::testing::TemporaryFolder folder;  // before what keeps files in it
//     tiderace::db::Database db = tiderace::db::open("sqlite:" + folder.path_of("test.db"));
//
// Owner    The test. A file that somebody else makes in it meanwhile may stay behind: the end of a
//          test is no place for an error.
// Errors   Every call must succeed: a test that cannot make its files aborts.
#pragma once

#include <string>
#include <string_view>

#include "tiderace/base/language.h"

namespace tiderace::testing {

class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string path_of(std::string_view name) const;

    // Makes the folders on the way. Writes in place: the file keeps its inode, should it be there.
    void write(std::string_view name, std::string_view bytes) const;
    // Writes another file and renames it over this one, as a careful deployment does.
    void replace(std::string_view name, std::string_view bytes) const;
    void truncate(std::string_view name, std::size_t bytes) const;
    void remove(std::string_view name) const;
    void make_folder(std::string_view name) const;
    void make_fifo(std::string_view name) const;
    void link(std::string_view name, std::string_view target) const;  // symbolic
    // Seconds since 1970, for the time of modification.
    void set_time(std::string_view name, long seconds) const;

  private:
    void make_parent(std::string_view name) const;

    std::string path_;
};

}  // namespace tiderace::testing
