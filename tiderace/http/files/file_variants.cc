#include "tiderace/http/files/file_variants.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tiderace/http/coding/content_encoder.h"

namespace tiderace::http::files {
namespace {

using coding::ContentEncoder;
using wire::ContentCoding;

constexpr std::size_t piece_bytes = 64_KiB;  // part of the recipe, see content_encoder.cc
[[maybe_unused]] constexpr int background_niceness = 10;

// A gain of less than a twentieth is not worth the client's work of decoding.
std::uint64_t worthwhile_bytes(std::uint64_t source_bytes) {
    return source_bytes - source_bytes / 20;
}

// On Linux a thread has a niceness of its own. Elsewhere this would slow the whole process.
void step_back() {
#if defined(__linux__)
    ::setpriority(PRIO_PROCESS, 0, background_niceness);
#endif
}

}  // namespace

class FileVariants::Job final : public core::BlockingJob {
  public:
    Job(FileVariants& variants, const ResolvedPath& path, ContentCoding coding)
        : variants_(&variants),
          loader_(variants.cache_->loader()),
          store_(variants.store_),
          stopping_(&variants.stopping_),
          path_(path.path),
          key_{path.file->identity(), coding} {}

    void work() override {
        step_back();
        try {
            // One store for all loops: whichever claims first compresses, and the others share the
            // result.
            VariantStore::Claimed claimed = store_->claim(key_);
            outcome_ = claimed.claim;
            bytes_ = std::move(claimed.bytes);
        } catch (const std::bad_alloc&) {
            return;  // stays `busy`: requested again later
        }
        if (outcome_ != VariantStore::Claim::yours) return;
        try {
            make();
        } catch (const std::bad_alloc&) {
        }
        // The claim must be released on every path, or the other loops would wait for it for ever.
        if (outcome_ != VariantStore::Claim::made) store_->give_up(key_);
    }

    void done() override {
        try {
            variants_->cache_take(*this);
        } catch (const std::bad_alloc&) {  // the file goes as it is
        }
    }

  private:
    friend class FileVariants;

    enum class Read : std::uint8_t { whole, not_smaller, failed };

    void make() {
        // A restarted server finds its variants on disk.
        if (const auto files = store_->files()) {
            if (auto kept = files->read(key_, worthwhile_bytes(key_.file.bytes))) {
                bytes_ = std::make_shared<const std::string>(std::move(*kept));
                store_->put(key_, bytes_, true);
                outcome_ = VariantStore::Claim::made;
                return;
            }
        }
        std::string coded;
        const Read read = compress(coded);
        if (read == Read::failed) return;
        if (read == Read::whole) {
            // Kept for long, so the spare capacity is freed.
            coded.shrink_to_fit();
            bytes_ = std::make_shared<const std::string>(std::move(coded));
        }
        store_->put(key_, bytes_, false);
        outcome_ = VariantStore::Claim::made;
        const auto files = store_->files();
        if (files != nullptr && bytes_ != nullptr) files->write(key_, *bytes_);
    }

    Read compress(std::string& coded) {
        // Opened anew, on a thread: the path may lead to another file by now.
        FileLoader::Opened source = loader_.open(path_);
        if (source.found != Found::file || source.identity != key_.file) return Read::failed;
        const auto encoder = coding::make_encoder(key_.coding, coding::Purpose::file);
        if (encoder == nullptr || !encoder->reset(key_.file.bytes)) return Read::failed;
        std::string piece(piece_bytes, '\0');
        for (std::uint64_t at = 0; at < key_.file.bytes;) {
            // A file may be large, and the server must be able to end.
            if (stopping_->load(std::memory_order_relaxed)) return Read::failed;
            const auto wanted = static_cast<std::size_t>(
                std::min<std::uint64_t>(piece_bytes, key_.file.bytes - at));
            if (!loader_.read_exactly(source.descriptor.get(), std::span(piece).first(wanted),
                                      at)) {
                return Read::failed;
            }
            at += wanted;
            const auto until = at == key_.file.bytes ? ContentEncoder::Until::finished
                                                     : ContentEncoder::Until::taken;
            const Read fed = feed(*encoder, ByteView(piece).substr(0, wanted), until, coded);
            if (fed != Read::whole) return fed;
        }
        // The file must not have changed meanwhile: its bytes would be a mix.
        return loader_.has_identity(source.descriptor.get(), key_.file) ? Read::whole
                                                                        : Read::failed;
    }

    Read feed(ContentEncoder& encoder, ByteView piece, ContentEncoder::Until until,
              std::string& coded) const {
        char room[16_KiB];
        for (;;) {
            const ContentEncoder::Step step = encoder.step(piece, room, until);
            if (step.failed) return Read::failed;
            piece.remove_prefix(step.used);
            coded.append(room, step.made);
            // It will not be worth it, so stop here; "not smaller" is also remembered.
            if (coded.size() > worthwhile_bytes(key_.file.bytes)) return Read::not_smaller;
            if (step.done) return Read::whole;
        }
    }

    FileVariants* variants_;  // on the loop only
    FileLoader loader_;
    VariantStore* store_;
    const std::atomic<bool>* stopping_;
    std::string path_;
    VariantKey key_;
    VariantStore::Claim outcome_ = VariantStore::Claim::busy;
    VariantStore::Bytes bytes_;
};

FileVariants::FileVariants(core::EventLoop& loop, FileCache& cache, VariantStore& store,
                           core::WorkerPool& pool)
    : loop_(&loop), cache_(&cache), store_(&store), jobs_(loop, pool, jobs_max) {}

FileVariants::~FileVariants() {
    // Running jobs end at their next piece; jobs_ then waits for them.
    stopping_ = true;
}

void FileVariants::want(ResolvedPath& path, ContentCoding coding) {
    const std::uint8_t bit = coding_bit(coding);
    // A file that changed a moment ago may change again within the same tick of its clock, unseen.
    if (((path.asked | path.declined) & bit) != 0 || !path.settled || !path.stable) return;
    path.asked |= bit;
    std::unique_ptr<core::BlockingJob> job = std::make_unique<Job>(*this, path, coding);
    jobs_.start(job);  // if refused, requested again when the disk is next read
}

void FileVariants::cache_take(Job& job) {
    if (job.outcome_ != VariantStore::Claim::made) return;
    ResolvedPath* path = cache_->known(job.path_);
    // The file may have changed, or left the cache, while we compressed.
    if (path == nullptr || !path->file || path->file->identity() != job.key_.file) return;
    // Not worth it, which is remembered, so that it is not tried for each request.
    if (job.bytes_ == nullptr) {
        path->declined |= coding_bit(job.key_.coding);
        return;
    }
    auto place = cache_->loader().place_in_memory(job.bytes_->size());
    if (!place) return;  // send the plain file until the disk is checked again
    cache_->add_variant(
        job.path_, job.key_.file, job.key_.coding,
        core::make_ref<CachedFile>(*path->file, std::move(job.bytes_),
                                   coding::tag_suffix_of(job.key_.coding), std::move(*place)),
        loop_->unix_now());
}

}  // namespace tiderace::http::files
