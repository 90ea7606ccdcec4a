// ListingRows: the entries of one directory in the order they are shown, each examined when its
// turn comes.
//
// Owner    Owns the directory's descriptor and the names it sorts.
// Thread   One at a time.
// Errors   An entry that vanished, that is beyond the root or is neither file nor directory is left
//          out.
// Memory   The names that its room has a place for; none when there are more.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/http/files/file_loader.h"
#include "tiderace/http/listing/directory_reader.h"
#include "tiderace/http/listing/room.h"

namespace tiderace::http::listing {

enum class ListingSort : std::uint8_t { name, size, time };

struct ListingOrder {
    ListingSort sort = ListingSort::name;
    bool descending = false;
};

struct ListingRow {
    ByteView name;  // without a slash; lives until the next call
    bool directory = false;
    std::uint64_t bytes = 0;
    UnixSeconds modified = 0;
};

class ListingRows {
  public:
    // `directory` was opened by `loader` at `path`. `room` outlives this.
    ListingRows(files::FileLoader loader, core::Descriptor directory, std::string path, bool hidden,
                ListingOrder order, ListingRoom& room);
    ListingRows(const ListingRows&) = delete;
    ListingRows& operator=(const ListingRows&) = delete;

    std::optional<ListingRow> next();
    bool sorted() const { return sorted_; }
    int error() const { return reader_.error(); }

  private:
    struct Name {
        std::string text;
        bool directory = false;
        std::uint64_t key = 0;  // size or time, if that is the sort key
    };
    // The names' share of the room; given back also where memory for a name is lacking.
    class Places {
      public:
        explicit Places(ListingRoom& room) : room_(&room) {}
        ~Places() { drop(); }
        Places(const Places&) = delete;
        Places& operator=(const Places&) = delete;

        bool take() {
            if (!room_->keep_name(count_)) return false;
            ++count_;
            return true;
        }
        void drop() { room_->drop_names(std::exchange(count_, 0)); }

      private:
        ListingRoom* room_;
        std::size_t count_ = 0;
    };

    void collect();
    void sort();
    bool look_at(const char* name, ListingRow& row) const;
    std::optional<DirectoryReader::Entry> next_entry();

    files::FileLoader loader_;
    DirectoryReader reader_;
    std::string path_;
    bool hidden_;
    ListingOrder order_;
    Places places_;
    bool sorted_ = true;
    std::vector<Name> names_;
    std::size_t at_ = 0;
};

// "file2" before "file10", capitals beside their small letters.
bool comes_before(ByteView a, ByteView b);

}  // namespace tiderace::http::listing
