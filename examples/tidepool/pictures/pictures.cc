#include "examples/tidepool/pictures/pictures.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "examples/tidepool/names.h"

namespace tidepool {

using namespace tiderace;

namespace {

using Stored = std::expected<Picture, PictureFault>;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// On the pool. Written under another name first, so that a file that can be requested is complete.
Stored store(const std::string& folder, const std::string& incoming, PictureShape shape) {
    const std::string bytes = read_file(incoming);
    auto small = shrink_picture(bytes, shape);
    if (!small) return std::unexpected(small.error());
    // Two posts may have the same picture; the file of one must not go with the other.
    const std::string end = random_word().substr(0, 8);
    const std::string name = hash_of(small->webp) + "-" + end + ".webp";
    const std::string unfinished = folder + "/.new-" + name;
    std::ofstream file(unfinished, std::ios::binary);
    file.write(small->webp.data(), static_cast<std::streamsize>(small->webp.size()));
    file.close();
    if (!file) throw std::runtime_error("cannot write " + unfinished);
    std::filesystem::rename(unfinished, folder + "/" + name);
    return Picture{name, small->width, small->height};
}

// Ends with the upload, whatever became of it.
class Incoming {
  public:
    explicit Incoming(const std::string& folder) : path(folder + "/.in-" + random_word()) {}
    ~Incoming() {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
    Incoming(const Incoming&) = delete;
    Incoming& operator=(const Incoming&) = delete;
    const std::string path;
};

// A large body's Problem is a fault of the picture; others are the caller's.
Task<bool> save(http::Multipart& form, std::string path) {
    bool fits = true;
    try {
        co_await form.save(std::move(path), picture_bytes_max);
    } catch (const http::Problem& problem) {
        if (problem.status != 413) throw;
        fits = false;
    }
    co_return fits;
}

}  // namespace

bool is_picture_name(std::string_view name) {
    constexpr std::string_view ending = ".webp";
    const auto is_of_a_name = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
    };
    return name.size() > ending.size() && name.ends_with(ending) &&
           std::ranges::all_of(name.substr(0, name.size() - ending.size()), is_of_a_name);
}

class Pictures::Seat {
  public:
    explicit Seat(std::size_t& taken) : taken_(taken) { ++taken_; }
    ~Seat() { --taken_; }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

  private:
    std::size_t& taken_;
};

Task<Stored> Pictures::receive(http::Multipart& form, PictureShape shape) {
    if (!on()) co_return std::unexpected(PictureFault::off);
    if (uploads_ == uploads_max) co_return std::unexpected(PictureFault::busy);
    const Seat seat(uploads_);
    const Incoming incoming(folder_);
    Task<bool> saving = save(form, incoming.path);
    // A seat is held meanwhile: slow senders would otherwise take all of them.
    const auto fits = co_await within(upload_time, std::move(saving));
    if (!fits || !*fits) co_return std::unexpected(PictureFault::too_large);
    // Shrinking takes a processor and many MiB: one at a time on each loop.
    auto turn = co_await one_.acquire();
    auto work = [folder = folder_, path = incoming.path, shape] {
        return store(folder, path, shape);
    };
    co_return co_await offload(work, std::move(turn));
}

Task<> Pictures::remove(std::vector<std::string> names) {
    if (names.empty() || folder_.empty()) co_return;
    auto work = [folder = folder_, names = std::move(names)] {
        std::error_code ignored;
        for (const std::string& name : names) {
            std::filesystem::remove(folder + "/" + name, ignored);
        }
        return true;
    };
    co_await offload(work);
}

Task<std::vector<std::string>> Pictures::older_than(std::chrono::seconds age) {
    if (folder_.empty()) co_return std::vector<std::string>();
    auto work = [folder = folder_, age] {
        std::vector<std::string> names;
        std::error_code error;
        const auto latest = std::filesystem::file_time_type::clock::now() - age;
        // Not a range-for, whose step to the next entry throws. The next round finds the rest.
        for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
             entry.increment(error)) {
            const std::string name = entry->path().filename();
            const bool ours =
                is_picture_name(name) || name.starts_with(".in-") || name.starts_with(".new-");
            std::error_code gone;
            const auto written = entry->last_write_time(gone);
            if (ours && !gone && written <= latest) names.push_back(name);
        }
        return names;
    };
    co_return co_await offload(work);
}

}  // namespace tidepool
