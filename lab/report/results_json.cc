#include "lab/report/results_json.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "tiderace/json.h"

namespace tiderace::lab::report {
namespace {

// The file may come from another machine, and from an older or newer version of this program:
// what the text lacks has its default, and what this program does not know is ignored.
constexpr json::Options reading = {.size_bytes_max = results_bytes_max,
                                   .depth_max = 16,  // the format has 6
                                   .elements_max = 4'000'000,
                                   .unknown = json::Unknown::ignore,
                                   .missing = json::Missing::keep};

struct Head {
    std::string format;
    std::uint64_t format_version = 0;
};

}  // namespace

std::string results_json(const Results& results) {
    return json::write(results) + "\n";
}

std::expected<Results, std::string> parse_results(std::string_view text) {
    const auto head = json::read<Head>(text, reading);
    if (!head && head.error().kind() != json::Error::Kind::content) {
        return std::unexpected("not JSON: " + head.error().message());
    }
    if (!head || head->format != results_format) {
        return std::unexpected("not the results of a run: its format is not " +
                               std::string(results_format));
    }
    if (head->format_version != results_format_version) {
        return std::unexpected("of format version " + std::to_string(head->format_version) +
                               "; this program reads version " +
                               std::to_string(results_format_version));
    }
    auto results = json::read<Results>(text, reading);
    if (!results) return std::unexpected(results.error().message());
    return std::move(*results);
}

Result<> write_file(const std::string& folder, std::string_view name, std::string_view text) {
    const std::string path = folder + "/" + std::string(name);
    const std::string beside = path + ".new";
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) return fail(Error(failure.value(), "make folder", folder));
    std::FILE* file = std::fopen(beside.c_str(), "wb");
    if (file == nullptr) return fail(Error::last("write", beside));
    // The cause is read before the next call, which has an errno of its own.
    std::optional<Error> fault;
    const auto note = [&](const std::string& what) {
        if (!fault) fault.emplace(Error::last("write", what));
    };
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) note(beside);
    // On a full disk it is mostly the close that fails: until then the text is in a buffer.
    if (std::fclose(file) != 0) note(beside);
    if (!fault && std::rename(beside.c_str(), path.c_str()) != 0) note(path);
    if (!fault) return {};
    // Half a report would be taken for one, and in the user's folder nothing else would remove it.
    std::remove(beside.c_str());
    return fail(std::move(*fault));
}

Result<> try_folder(const std::string& folder) {
    // The three files of a full run were 1.1 MB.
    constexpr std::size_t report_bytes = 1'500'000;
    // A name of the run's own: the folder may be the user's, and what stands there is not ours.
    const std::string name = std::string(results_name) + ".room";
    auto written = write_file(folder, name, std::string(report_bytes, ' '));
    std::remove((folder + "/" + name).c_str());
    return written;
}

std::string result_in(const std::string& folder) {
    for (const std::string_view name : {results_name, page_name, markdown_name}) {
        std::error_code failure;
        // The link and not its target: a link that leads nowhere would be overwritten as well.
        const auto status = std::filesystem::symlink_status(
            std::filesystem::path(folder) / std::string(name), failure);
        if (std::filesystem::exists(status)) return std::string(name);
    }
    return {};
}

std::expected<Results, std::string> read_results(const std::string& folder) {
    const std::string path = folder + "/" + std::string(results_name);
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    std::ifstream file(path, std::ios::binary);
    if (failure || !file) {
        return std::unexpected(path + ": cannot be read; tiderace lab run --out " + folder +
                               " writes it");
    }
    if (bytes > results_bytes_max) {
        return std::unexpected(path + ": longer than the " + std::to_string(results_bytes_max) +
                               " bytes that are read");
    }
    std::string text(static_cast<std::size_t>(bytes), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    // It may have become shorter since; the parser then finds where it breaks off.
    text.resize(static_cast<std::size_t>(file.gcount()));
    auto results = parse_results(text);
    if (!results) return std::unexpected(path + ": " + results.error());
    return results;
}

}  // namespace tiderace::lab::report
