#include "tiderace/http/app/multipart.h"

#include <utility>

#include "tiderace/task/new_file.h"
#include "tiderace/task/offload.h"

namespace tiderace::http {
namespace {

[[noreturn]] void throw_too_large(std::string_view what) {
    throw Problem{.status = 413, .detail = std::string(what)};
}

int status_of(wire::MultipartFault fault) {
    using wire::MultipartFault;
    const bool limit =
        fault == MultipartFault::head_too_large || fault == MultipartFault::too_many_parts ||
        fault == MultipartFault::name_too_long || fault == MultipartFault::part_too_large;
    return limit ? 413 : 400;
}

}  // namespace

Multipart::Multipart(BodyStream body, ByteView boundary)
    : body_(std::move(body)), reader_(std::make_unique<wire::MultipartReader>(boundary)) {}

// Reads until something happened.
task::Task<Multipart::Event> Multipart::step() {
    for (;;) {
        const auto step = reader_->next(ByteView(held_).substr(used_));
        used_ += step.bytes;
        if (step.event == Event::failed) {
            throw Problem{.status = status_of(reader_->fault()),
                          .detail = std::string(to_string(reader_->fault()))};
        }
        // Copies, because both are views of held_, which moves below.
        if (step.event == Event::data) piece_.assign(step.data);
        if (step.event == Event::part) type_.assign(reader_->content_type());
        if (step.event == Event::part_end || step.event == Event::end) in_part_ = false;
        // The bytes after the last delimiter are read and dropped (RFC 2046, 5.1.1), so that the
        // connection can go on.
        const bool epilogue = step.event == Event::end && !body_ended_;
        if (step.event != Event::need_more && !epilogue) co_return step.event;
        if (body_ended_) {
            reader_->finish();
            continue;
        }
        // Once for each piece that arrives: after each step it would move the rest again and again.
        held_.erase(0, used_);
        used_ = 0;
        auto more = co_await body_.next();
        body_ended_ = !more;
        if (more) held_ += *more;
    }
}

task::Task<std::optional<Multipart::Part>> Multipart::next() {
    for (;;) {
        const Event event = co_await step();
        if (event == Event::end) co_return std::nullopt;
        if (event != Event::part) continue;
        in_part_ = true;
        Part part;
        part.name = reader_->name();
        if (const auto file = reader_->filename()) part.filename.emplace(*file);
        part.content_type = type_;
        co_return std::optional<Part>(std::move(part));
    }
}

task::Task<std::optional<std::string>> Multipart::read() {
    if (!in_part_) co_return std::nullopt;
    const Event event = co_await step();
    if (event == Event::data) co_return std::optional<std::string>(std::move(piece_));
    co_return std::nullopt;
}

task::Task<std::string> Multipart::text(std::size_t bytes_max) {
    std::string all;
    while (auto piece = co_await read()) {
        if (piece->size() > bytes_max - all.size()) throw_too_large("a part is too large");
        all += *piece;
    }
    co_return all;
}

task::Task<std::uint64_t> Multipart::save(std::string path, std::uint64_t bytes_max) {
    // Shared with the pool: if the client goes away meanwhile, the write that runs still has its
    // file, and the last owner removes it.
    const auto file = std::make_shared<task::NewFile>(std::move(path));
    co_await task::offload(task::NewFile::opening(file));
    std::uint64_t bytes = 0;
    while (auto piece = co_await read()) {
        if (piece->size() > bytes_max - bytes) throw_too_large("a file is too large");
        bytes += piece->size();
        co_await task::offload(task::NewFile::writing(file, std::move(*piece)));
    }
    co_await task::offload(task::NewFile::finishing(file));
    co_return bytes;
}

namespace app_parts {

std::optional<Multipart> Argument<Multipart>::find(Call& call) {
    const Request& request = call.exchange.request();
    if (call.exchange.responded()) return std::nullopt;
    const auto boundary = wire::multipart_boundary(request.header(wire::FieldName::content_type));
    if (!boundary) {
        call.fail({.status = 415, .detail = "send a form as multipart/form-data, with a boundary"});
        return std::nullopt;
    }
    const std::string kept(*boundary);  // the body's first bytes may move the head
    auto body = Argument<BodyStream>::find(call);
    if (!body) return std::nullopt;
    return std::optional<Multipart>(std::in_place, std::move(*body), kept);
}

}  // namespace app_parts
}  // namespace tiderace::http
