#include "tiderace/http/listing/rows.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/ascii.h"

namespace tiderace::http::listing {
namespace {

using Kind = DirectoryReader::Kind;

ByteView take_digits(ByteView& text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) ++count;
    ByteView digits = text.substr(0, count);
    text.remove_prefix(count);
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    return digits;
}

}  // namespace

bool comes_before(ByteView a, ByteView b) {
    ByteView rest_a = a, rest_b = b;
    while (!rest_a.empty() && !rest_b.empty()) {
        if (is_digit(rest_a.front()) && is_digit(rest_b.front())) {
            const ByteView number_a = take_digits(rest_a), number_b = take_digits(rest_b);
            // Without leading zeros the longer number is the larger one: file9 before file10.
            if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
            if (number_a != number_b) return number_a < number_b;
            continue;
        }
        const auto x = static_cast<unsigned char>(to_lower(rest_a.front()));
        const auto y = static_cast<unsigned char>(to_lower(rest_b.front()));
        if (x != y) return x < y;
        rest_a.remove_prefix(1);
        rest_b.remove_prefix(1);
    }
    if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
    return a < b;  // the same but for case or leading zeros: by bytes, so that the order is total
}

ListingRows::ListingRows(files::FileLoader loader, core::Descriptor directory, std::string path,
                         bool hidden, ListingOrder order, ListingRoom& room)
    : loader_(loader),
      reader_(loader.kernel(), std::move(directory)),
      path_(std::move(path)),
      hidden_(hidden),
      order_(order),
      places_(room) {
    collect();
    if (sorted_) sort();
}

std::optional<DirectoryReader::Entry> ListingRows::next_entry() {
    for (;;) {
        const auto entry = reader_.next();
        if (!entry) return std::nullopt;
        if (entry->kind == Kind::other) continue;
        if (!hidden_ && entry->name[0] == '.') continue;
        return entry;
    }
}

void ListingRows::collect() {
    while (const auto entry = next_entry()) {
        if (places_.take()) {
            names_.push_back({std::string(entry->view()), entry->kind == Kind::directory, 0});
            continue;
        }
        // Too many to sort. From the start again, keeping none.
        files::FileLoader::Opened again = loader_.open(path_);
        if (again.found != files::Found::directory) return;  // removed: the rows so far are all
        reader_ = DirectoryReader(loader_.kernel(), std::move(again.descriptor));
        names_ = {};
        places_.drop();
        sorted_ = false;
        return;
    }
}

void ListingRows::sort() {
    if (order_.sort != ListingSort::name) {
        for (Name& name : names_) {
            ListingRow row;
            if (!look_at(name.text.c_str(), row)) continue;
            name.directory = row.directory;
            // The sign bit turned: times before 1970 come first.
            constexpr std::uint64_t sign = std::uint64_t{1} << 63;
            name.key = order_.sort == ListingSort::size
                           ? row.bytes
                           : static_cast<std::uint64_t>(row.modified) ^ sign;
        }
    }
    const auto before = [&](const Name& a, const Name& b) {
        if (a.directory != b.directory) return a.directory;  // folders first, in either direction
        if (a.key != b.key) return order_.descending ? a.key > b.key : a.key < b.key;
        return order_.descending && order_.sort == ListingSort::name ? comes_before(b.text, a.text)
                                                                     : comes_before(a.text, b.text);
    };
    std::sort(names_.begin(), names_.end(), before);
}

// False: it is not to be shown.
bool ListingRows::look_at(const char* name, ListingRow& row) const {
    struct stat status{};
    if (loader_.kernel().entry_status(reader_.descriptor(), name, &status) < 0) return false;
    files::FileIdentity identity(status);
    row.directory = S_ISDIR(status.st_mode);
    if (S_ISLNK(status.st_mode)) {
        // A link shows what a request for it would get.
        const files::FileLoader::Opened target = loader_.open(path_, name);
        if (target.found != files::Found::file && target.found != files::Found::directory)
            return false;
        row.directory = target.found == files::Found::directory;
        identity = target.identity;
    } else if (!S_ISREG(status.st_mode) && !row.directory) {
        return false;
    }
    row.name = name;
    row.bytes = row.directory ? 0 : identity.bytes;
    row.modified = identity.modified;
    return true;
}

std::optional<ListingRow> ListingRows::next() {
    ListingRow row;
    if (!sorted_) {
        while (const auto entry = next_entry()) {
            if (look_at(entry->name, row)) return row;
        }
        return std::nullopt;
    }
    while (at_ < names_.size()) {
        if (look_at(names_[at_++].text.c_str(), row)) return row;
    }
    return std::nullopt;
}

}  // namespace tiderace::http::listing
