// SeenFiles: the files of a configuration as they were when they were read, so that a change of one
// is noticed: its device, inode, times and size. Editors write anew, or rename over: both show.
//
//   note_file(), note_pattern()   before each is read; then changed(), now and again
//
// Owner    The reader of the configuration.
// Thread   One; blocks on the disk.
// Keywords: watch, inotify
#pragma once

#include <string>
#include <vector>

namespace tiderace::server {

class SeenFiles {
  public:
    void note_file(const std::string& path);
    // Of glob(3): which files it matches.
    void note_pattern(const std::string& pattern);
    std::vector<std::string> files() const;

    // Whether they are others than when they were noted, and the same as at the last call: what is
    // being written is not whole yet.
    bool changed();

  private:
    struct Entry {
        std::string path;
        bool is_pattern;
    };
    void note(Entry entry);

    std::vector<Entry> entries_;
    std::string noted_;  // how they looked
    std::string last_;   // at the last call
};

}  // namespace tiderace::server
