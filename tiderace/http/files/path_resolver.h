// Internal. PathResolver: the meaning of a canonical path: a file, another path's file (an index, a
// clean URL), a directory, or nothing.
//
//   /a.css      -> file, with its precompressed siblings a.css.br, a.css.zst, a.css.gz
//   /docs/      -> alias of /docs/index.html, or directory
//   /docs       -> redirect to /docs/, or alias of /docs.html: clean URLs are on, and it is there
//   /.git/x     -> missing, unless hidden files are shown
//
// Thread   The loop's.
// Errors   `failed` with an errno value is the machine's fault, and no statement about the path.
// Keywords: index.html, clean URLs, try_files, SPA, 404, dotfiles
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tiderace/base/bytes.h"
#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"
#include "tiderace/core/shared.h"
#include "tiderace/http/field_block.h"
#include "tiderace/http/files/cached_file.h"
#include "tiderace/http/files/file_loader.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/mime.h"

namespace tiderace::http::route {
class Regex;
}

namespace tiderace::http::files {

enum class StandsFor : std::uint8_t { file, alias, directory, redirect, missing, refused, failed };

// The codings that a sibling may have: all of wire::ContentCoding but identity.
inline constexpr std::size_t sibling_codings = 3;

// One line of the Cache-Control rules; the first that matches counts.
struct CacheControlRule {
    std::string pattern;  // http/route/glob.h
    std::string value;
    std::shared_ptr<const route::Regex> regex = {};  // in the place of the pattern
};

// The files that are compressed for clients that accept it (file_variants.h).
struct CompressRules {
    wire::AvailableCodings codings;  // none: nothing is
    // In place of `codings`, by the path of the file. Called when a file is read, not for each
    // answer.
    std::function<wire::AvailableCodings(ByteView path)> codings_of = {};
    std::uint64_t bytes_min = wire::coded_bytes_min;
    std::uint64_t bytes_max = 8_MiB;
};

struct PathRules {
    CompressRules compress;
    std::vector<std::string> index = {"index.html"};
    bool clean_urls = false;    // "/about" answers with about.html
    bool hidden = false;        // serve names that begin with a dot
    bool precompressed = true;  // look for siblings
    // Not there for clients, whatever leads to them: paths with all below, "=/a" alone, or globs.
    std::vector<std::string> unsent = {};
    // Where the root lies in the folder that the globs with a slash are about: "/wp"; "": it is
    // that folder.
    std::string unsent_from = {};
    std::vector<CacheControlRule> cache_control;
    wire::MimeTable mime;
};

// The cached knowledge of one path. Kept by the file cache, and by answers in progress.
struct ResolvedPath final : core::Shared, ListHook {
    std::string path;
    StandsFor stands_for = StandsFor::missing;
    bool has_siblings = false;
    bool varies = false;           // with Accept-Encoding
    std::uint8_t asked = 0;        // codings that are being made, a bit each; see coding_bit()
    std::uint8_t declined = 0;     // codings that are not worth it
    wire::AvailableCodings makes;  // codings that we make, where there are no siblings
    bool expired = false;          // reported as changed: read the disk again
    bool stable = true;            // false: changing under our hands; not to be kept
    bool settled = true;    // false: it changed so recently that another change might not show
    std::uint8_t hits = 0;  // requests towards loading it into memory
    int error = 0;          // with `failed`
    core::Ref<CachedFile> file;
    // By coding, from gzip on: found on the disk, or made by us.
    std::array<core::Ref<CachedFile>, sibling_codings> siblings;
    std::string target;  // with `alias`
    ByteView content_type;
    wire::ContentCoding stored = wire::ContentCoding::identity;  // what `file` is itself: .svgz
    ByteView cache_control;                                      // "" for none
    ByteView disposition;  // a Content-Disposition; "" for none
    // The fields of a whole answer, by coding, from identity on; empty: to be added one by one.
    std::array<FieldBlock, sibling_codings + 1> fields;
    Instant checked{};                   // when the disk was last read
    Instant looked_at = Instant::min();  // when its open descriptors were
    Instant hits_since{};
    std::size_t memory_bytes = 0;  // what the cache counts for it
    std::size_t descriptors = 0;

    const FieldBlock& fields_of(wire::ContentCoding coding) const {
        return fields[static_cast<std::size_t>(coding)];
    }
    const core::Ref<CachedFile>& sibling(wire::ContentCoding coding) const {
        return siblings[static_cast<std::size_t>(coding) - 1];
    }
    wire::AvailableCodings present() const {
        return {.gzip = static_cast<bool>(sibling(wire::ContentCoding::gzip)),
                .zstd = static_cast<bool>(sibling(wire::ContentCoding::zstd)),
                .br = static_cast<bool>(sibling(wire::ContentCoding::br))};
    }
};

class PathResolver {
  public:
    // Files below `sendfile_bytes_min` go into memory at once.
    PathResolver(FileLoader loader, PathRules rules, std::uint64_t sendfile_bytes_min);

    // Reads the disk. `previous` is the known state, or nullptr: unchanged parts are
    // taken from it.
    core::Ref<ResolvedPath> resolve(ByteView path, const ResolvedPath* previous,
                                    UnixSeconds now) const;

    const FileLoader& loader() const { return loader_; }

  private:
    void resolve_file(ResolvedPath& to, FileLoader::Opened&& opened, const ResolvedPath* previous,
                      UnixSeconds now) const;
    void resolve_siblings(ResolvedPath& to, const ResolvedPath* previous, UnixSeconds now) const;
    void resolve_directory(ResolvedPath& to) const;
    void resolve_page(ResolvedPath& to) const;
    FileLoader::Loaded take(ResolvedPath& to, FileLoader::Opened&& opened, const CachedFile* known,
                            UnixSeconds now) const;
    void decide_compression(ResolvedPath& to, const ResolvedPath* previous) const;
    ByteView cache_control_of(ByteView path) const;
    bool is_sent(ByteView path) const;

    FileLoader loader_;
    PathRules rules_;
    std::uint64_t sendfile_bytes_min_;
};

constexpr std::uint8_t coding_bit(wire::ContentCoding coding) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(coding));
}

// The path of a sibling is the file's with this behind it: ".br".
ByteView suffix_of(wire::ContentCoding coding);

}  // namespace tiderace::http::files
