#include "tiderace/http/client/multipart_form.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/random.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/http/wire/mime.h"
#include "tiderace/task/offload.h"
#include "tiderace/tcp/open_file.h"

namespace tiderace::http {
namespace {

// False: a character that no line may have, and that browsers do not escape.
bool append_quoted(std::string& out, std::string_view name) {
    out += '"';
    for (const char c : name) {
        if (c == '"') {
            out += "%22";
        } else if (c == '\r') {
            out += "%0D";
        } else if (c == '\n') {
            out += "%0A";
        } else if (is_control_character(c)) {
            return false;
        } else {
            out += c;
        }
    }
    out += '"';
    return true;
}

[[noreturn]] void throw_changed(const std::string& path) {
    throw std::runtime_error(Error(0, "send", path, "its size changed meanwhile").message());
}

// One file while it is sent. The functions for offload() share it, because the task may end first.
class SentFile {
  public:
    SentFile(std::string path, std::uint64_t bytes) : path_(std::move(path)), left_(bytes) {}

    bool over() const { return left_ == 0; }
    // The next piece; blocks.
    std::string read() {
        if (!opened_) {
            auto opened = tcp::OpenFile::open(path_);
            if (!opened) throw std::runtime_error(opened.error().message());
            if (opened->bytes != left_) throw_changed(path_);
            opened_.emplace(std::move(*opened));
        }
        std::string piece(static_cast<std::size_t>(
                              std::min<std::uint64_t>(left_, MultipartForm::piece_bytes_max)),
                          '\0');
        const ssize_t got = ::read(opened_->file.get(), piece.data(), piece.size());
        if (got < 0 && errno == EINTR) return read();
        if (got < 0) throw std::runtime_error(Error::last("read", path_).message());
        if (got == 0) throw_changed(path_);
        piece.resize(static_cast<std::size_t>(got));
        left_ -= piece.size();
        return piece;
    }

  private:
    std::string path_;
    std::uint64_t left_;
    std::optional<tcp::OpenFile::Opened> opened_;
};

}  // namespace

MultipartForm::MultipartForm() : boundary_("tiderace-" + random_name(24)) {}

void MultipartForm::begin_part(std::string_view name, const std::string_view* file_name,
                               std::string_view type) {
    ++parts_;
    std::string& out = text();
    out.append("--").append(boundary_).append("\r\nContent-Disposition: form-data; name=");
    valid_ &= append_quoted(out, name);
    if (file_name != nullptr) {
        out += "; filename=";
        valid_ &= append_quoted(out, *file_name);
        valid_ &= wire::is_field_value(type);
        out.append("\r\nContent-Type: ").append(type);
    }
    out += "\r\n\r\n";
}

MultipartForm& MultipartForm::field(std::string_view name, std::string_view value) & {
    begin_part(name, nullptr, {});
    text().append(value).append("\r\n");
    return *this;
}

MultipartForm& MultipartForm::bytes(std::string_view name, std::string_view content,
                                    std::string_view file_name, std::string_view type) & {
    begin_part(name, &file_name, type);
    text().append(content).append("\r\n");
    return *this;
}

MultipartForm& MultipartForm::file(std::string_view name, std::string path) & {
    // rfind() gives npos without a slash, and npos + 1 is 0.
    const std::string last = path.substr(path.rfind('/') + 1);
    return file(name, std::move(path), last, wire::MimeTable().type_of(last));
}

MultipartForm& MultipartForm::file(std::string_view name, std::string path,
                                   std::string_view file_name, std::string_view type) & {
    begin_part(name, &file_name, type);
    valid_ &= !path.empty();
    stretches_.back().path = std::move(path);
    stretches_.push_back({.text = "\r\n", .path = {}});
    return *this;
}

task::Task<Result<std::uint64_t>> MultipartForm::measure() {
    std::uint64_t bytes = end().size();
    for (Stretch& each : stretches_) {
        if (!each.path.empty()) {
            // Opened again when it is sent: a form that waits for a connection holds no descriptor.
            tcp::OpenFile::Open open{each.path};
            auto opened = co_await task::offload(open);
            if (!opened) co_return fail(opened.error());
            each.file_bytes = opened->bytes;
        }
        bytes += each.text.size() + each.file_bytes;
    }
    co_return bytes;
}

task::Generator<std::string> MultipartForm::pieces(std::shared_ptr<const MultipartForm> form) {
    for (const Stretch& each : form->stretches_) {
        if (!each.text.empty()) co_yield std::string(each.text);
        if (each.path.empty()) continue;
        const auto file = std::make_shared<SentFile>(each.path, each.file_bytes);
        while (!file->over()) {
            unique_function<std::string()> read([file] { return file->read(); });
            co_yield co_await task::offload(std::move(read));
        }
    }
    co_yield form->end();
}

}  // namespace tiderace::http
