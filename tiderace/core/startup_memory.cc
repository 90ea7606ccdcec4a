#include "tiderace/core/startup_memory.h"

#if defined(__linux__)
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "tiderace/core/kernel.h"
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tiderace::core {

#if defined(__linux__)
namespace {

struct Pages {
    std::uintptr_t begin;
    std::size_t count;
};

// Pages that the process wrote to (by a relocation, or a debugger's breakpoint) would come back
// with the file's content. /proc/self/pagemap has a word for each page: bit 61 means that it is the
// file's; bits 62 and 63, that it is swapped out, or in memory.
bool are_as_in_the_file(int pagemap, std::size_t page_bytes, Pages pages) {
    constexpr std::uint64_t is_files = std::uint64_t{1} << 61;
    constexpr std::uint64_t is_anywhere = std::uint64_t{3} << 62;
    std::vector<std::uint64_t> words(pages.count);
    const std::size_t bytes = words.size() * sizeof words[0];
    const auto offset = static_cast<off_t>(pages.begin / page_bytes * sizeof words[0]);
    if (::pread(pagemap, words.data(), bytes, offset) != static_cast<ssize_t>(bytes)) return false;
    return std::ranges::all_of(words, [](std::uint64_t word) {
        return (word & is_anywhere) == 0 || (word & is_files) != 0;
    });
}

// Returns the read-only parts of one program or library.
int give_back_object(dl_phdr_info* object, std::size_t, void* context) {
    const int pagemap = *static_cast<const int*>(context);
    const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // In reverse, because the list itself lies in the first part, which would come back at once.
    const std::span parts(object->dlpi_phdr, object->dlpi_phnum);
    for (const auto& part : std::views::reverse(parts)) {
        if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
        const std::uintptr_t begin = (object->dlpi_addr + part.p_vaddr) & ~(page_bytes - 1);
        const std::uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
        const Pages pages{begin, (end - begin + page_bytes - 1) / page_bytes};
        if (!are_as_in_the_file(pagemap, page_bytes, pages)) continue;
        ::madvise(reinterpret_cast<void*>(begin), pages.count * page_bytes, MADV_DONTNEED);
    }
    return 0;
}

}  // namespace
#endif

// Code and data that only the start needed are dropped; if they are needed again, the kernel reads
// them from the file. It makes an idle server smaller by the size of its start.
void give_back_startup_memory() {
#if defined(__linux__)
    const Descriptor pagemap(system_kernel(), ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    int fd = pagemap.get();
    if (pagemap) ::dl_iterate_phdr(give_back_object, &fd);
#endif
    give_back_free_heap();
}

void give_back_free_heap() {
#if defined(__GLIBC__)
    ::malloc_trim(0);
#endif
}

}  // namespace tiderace::core
