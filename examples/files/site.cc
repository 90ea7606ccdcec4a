// The routes: a page with a plain form, uploads that can be resumed (tus 1.0), downloads.
#include "examples/files/site.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>
#include <variant>

#include "examples/files/tus.h"
#include "tiderace/base/calendar.h"

using namespace tiderace;
using namespace tiderace::http;
using namespace std::chrono_literals;

namespace {

using Shared = std::shared_ptr<Uploads>;
using WriterRef = std::shared_ptr<Uploads::Writer>;

struct Row {
    std::string name;
    std::string size;
    std::string when;
};
struct FilesPage {
    std::string fault;
    std::vector<Row> files;
    std::string free;
};
struct Removal {
    std::string name;
};

UnixSeconds now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

// "12.4 MB": powers of 1,000, as file managers count.
std::string readable(std::uint64_t bytes) {
    constexpr std::array units{"bytes", "kB", "MB", "GB", "TB"};
    auto shown = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; shown >= 999.95 && unit + 1 < units.size(); ++unit) shown /= 1000;
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", shown, units[unit]);
    return text;
}

std::string readable_date(UnixSeconds when) {
    char room[tiderace::rfc3339_bytes_max];
    std::string text(tiderace::write_rfc3339(room, when, 1).substr(0, 16));
    std::ranges::replace(text, 'T', ' ');
    return text;
}

std::string client_of(const Request& request) {
    // Behind a Unix socket stands a proxy, for clients that we cannot tell apart.
    if (request.peer == nullptr || request.peer->is_unix()) return "";
    char text[core::Address::ip_text_bytes_max];
    return {text, request.peer->subscriber().format_ip(text)};
}

// --- the page and its form --------------------------------------------------------------------

Task<Page> show(Shared uploads, std::string fault = "", Response response = Response()) {
    auto list = [uploads] { return uploads->files(); };
    const std::vector<StoredFile> files = co_await offload(list);
    auto look = [uploads] { return uploads->room(now()); };
    FilesPage shown{.fault = std::move(fault)};
    shown.free = readable(co_await offload(look));
    for (const StoredFile& file : files) {
        shown.files.push_back({file.name, readable(file.bytes), readable_date(file.changed)});
    }
    co_return page<"files.html">(std::move(shown), std::move(response));
}

Task<> write(const WriterRef& writer, std::string bytes) {
    unique_function<void()> step = [writer, bytes = std::move(bytes)] {
        writer->add(bytes, now());
    };
    co_await offload(std::move(step));
}

Task<UploadState> finish(WriterRef writer) {
    auto step = [writer = std::move(writer)] { return writer->finish(); };
    co_return co_await offload(step);
}

// One file of the form. `bytes_max`: all of the form, which is more than the file.
Task<> keep_part(const Shared& uploads, Multipart& form, std::string name, std::uint64_t bytes_max,
                 std::string client) {
    auto begin = [uploads, name = std::move(name), bytes_max, client = std::move(client)] {
        const auto made = uploads->create(name, bytes_max, Uploads::Length::at_most, client, now());
        return uploads->write(made.id, 0, {}, now());
    };
    const WriterRef writer = co_await offload(begin);
    while (auto bytes = co_await form.read()) co_await write(writer, std::move(*bytes));
    co_await finish(writer);
}

Task<> keep_form(const Shared& uploads, const Request& request, Multipart& form) {
    // Room is reserved for a form as for any upload, and its length is the only figure there is.
    if (request.header("Content-Length").empty()) {
        throw Problem{.status = 411, .detail = "a form has to say its length"};
    }
    const std::uint64_t bytes_max = tus::number(request, "Content-Length");
    const std::string client = client_of(request);
    while (auto part = co_await form.next()) {
        // A form without a chosen file has a part without a name.
        if (!part->filename || part->filename->empty()) continue;
        co_await keep_part(uploads, form, *part->filename, bytes_max, client);
    }
}

void add_page(App& app, const Shared& uploads) {
    app.get<"/">([uploads] { return show(uploads); });
    app.post<"/">(
        [uploads](const Request& request, Multipart form) -> Task<std::variant<Redirect, Page>> {
            Problem fault;
            bool kept = true;
            // The page is made behind the catch, where no co_await may stand.
            try {
                co_await keep_form(uploads, request, form);
            } catch (const Problem& problem) {
                fault = problem;
                kept = false;
            }
            if (kept) co_return Redirect{"/"};
            Response status(fault.status);
            co_return co_await show(uploads, fault.detail, std::move(status));
        },
        body_limit(uploads->limits().file_bytes_max));
    app.post<"/remove">([uploads](Form<Removal> form) -> Task<Redirect> {
        auto step = [uploads, name = form->name] { uploads->remove_file(name); };
        co_await offload(step);
        co_return Redirect{"/"};
    });
}

// --- uploads that can be resumed --------------------------------------------------------------

Response with_state(int status, const UploadState& state) {
    return Response(status)
        .header("Upload-Offset", std::to_string(state.offset))
        .header("Upload-Length", std::to_string(state.length))
        .header("Upload-Expires", tus::http_date(state.expires))
        .header("Cache-Control", "no-store");
}

// In any case, and whatever parameters it has.
bool has_bytes(const Request& request) {
    const std::string_view type = request.header("Content-Type");
    return tiderace::equals_ignoring_case(tiderace::trim_ows(type.substr(0, type.find(';'))),
                                          "application/offset+octet-stream");
}

Task<UploadState> receive(const Shared& uploads, std::string id, std::uint64_t offset,
                          Uploads::Digest digest, BodyStream& body) {
    auto begin = [uploads, id = std::move(id), offset, digest] {
        return uploads->write(id, offset, digest, now());
    };
    const WriterRef writer = co_await offload(begin);
    while (auto bytes = co_await body.next()) co_await write(writer, std::move(*bytes));
    co_return co_await finish(writer);
}

Task<Response> create(const Shared& uploads, const Request& request, BodyStream& body) {
    const std::uint64_t length = tus::number(request, "Upload-Length");
    const auto name = tus::metadata(request.header("Upload-Metadata"), "filename");
    const auto digest = tus::checksum(request);
    const bool with_bytes = has_bytes(request) && length > 0;
    auto begin = [uploads, name = name.value_or("file"), length, client = client_of(request)] {
        return uploads->create(name, length, Uploads::Length::exact, client, now());
    };
    UploadState state = co_await offload(begin);
    // Its first bytes may come with it. If they fail, the client learns no Location and begins
    // anew; what was made expires.
    const std::string id = state.id;
    if (with_bytes) state = co_await receive(uploads, id, 0, digest, body);
    co_return with_state(201, state).header("Location", "/uploads/" + id);
}

Task<Response> show_state(Shared uploads, std::string id) {
    auto step = [uploads, id = std::move(id)] { return uploads->find(id); };
    co_return with_state(200, co_await offload(step));
}

Task<Response> go_on(Shared uploads, std::string id, const Request& request, BodyStream body) {
    if (!has_bytes(request)) {
        throw Problem{.status = 415,
                      .detail = "send Content-Type: application/offset+octet-stream"};
    }
    const std::uint64_t offset = tus::number(request, "Upload-Offset");
    const auto digest = tus::checksum(request);
    co_return with_state(204, co_await receive(uploads, std::move(id), offset, digest, body));
}

Task<Response> remove(Shared uploads, std::string id) {
    auto step = [uploads, id = std::move(id)] { uploads->remove(id); };
    co_await offload(step);
    co_return Response(204);
}

Task<Response> no_such_method() {
    co_return Response(405).header("Allow", "GET, HEAD, PATCH, DELETE, OPTIONS");
}

// The fields of every answer of the protocol, and the answer to OPTIONS.
void describe(const UploadLimits& limits, const Request& request, Response& response) {
    response.set_header("Tus-Resumable", "1.0.0");
    if (request.method() != wire::Method::options) return;
    response.set_header("Tus-Version", "1.0.0");
    response.set_header("Tus-Extension",
                        "creation,creation-with-upload,expiration,checksum,termination");
    response.set_header("Tus-Checksum-Algorithm", tus::checksum_algorithms);
    response.set_header("Tus-Max-Size", std::to_string(limits.file_bytes_max));
}

void add_uploads(Group<0> tus, const Shared& uploads) {
    tus.use([limits = uploads->limits()](const Request& request, Response& response) {
        describe(limits, request, response);
    });
    tus.use([](const Request& request) -> std::optional<Response> {
        const bool asks = request.method() == wire::Method::options;
        if (asks || request.header("Tus-Resumable") == "1.0.0") return std::nullopt;
        return Response(412).header("Tus-Version", "1.0.0").text("send Tus-Resumable: 1.0.0\n");
    });
    tus.use(body_limit(uploads->limits().file_bytes_max));
    tus.post<"/">([uploads](const Request& request, BodyStream body) -> Task<Response> {
        co_return co_await create(uploads, request, body);
    });
    // HEAD, too: how far it came.
    tus.get<"/{id}">([uploads](std::string id) { return show_state(uploads, std::move(id)); });
    tus.patch<"/{id}">([uploads](std::string id, const Request& request, BodyStream body) {
        return go_on(uploads, std::move(id), request, std::move(body));
    });
    tus.del<"/{id}">([uploads](std::string id) { return remove(uploads, std::move(id)); });
    // For networks that pass GET and POST only. Honoured on a POST only, which cross_origin()
    // checks.
    tus.post<"/{id}">([uploads](std::string id, const Request& request, BodyStream body) {
        const std::string_view method = request.header("X-HTTP-Method-Override");
        if (method == "PATCH") return go_on(uploads, std::move(id), request, std::move(body));
        if (method == "DELETE") return remove(uploads, std::move(id));
        if (method == "HEAD") return show_state(uploads, std::move(id));
        return no_such_method();
    });
}

}  // namespace

App make_files(const std::shared_ptr<Uploads>& uploads, const std::vector<std::string>& hosts) {
    App app;
    // A page of another site whose name was pointed here would read all files (DNS rebinding).
    app.use(allowed_hosts(hosts)).use(request_ids()).use(security_headers()).use(cross_origin());
    // An uploaded file is saved, never shown: a page among it would be one of this site's.
    app.use([](const Request& request, Response& response) {
        if (!request.path.starts_with("/files/") || response.status() >= 400) return;
        response.set_header("Content-Disposition", "attachment");
        response.set_header("Content-Security-Policy", "sandbox; default-src 'none'");
    });
    // The next new upload may come in half a second (UploadLimits::rate).
    app.use([](const Request&, Response& response) {
        if (response.status() == 429) response.set_header("Retry-After", "1");
    });
    app.templates(FILES_FOLDER "/templates");
    app.files("/static", FILES_FOLDER "/page").files("/files", uploads->folder());
    app.health("/healthz");
    add_page(app, uploads);
    add_uploads(app.group("/uploads"), uploads);
    app.background(
        [uploads]() -> Task<> {
            for (;;) {
                auto step = [uploads] { uploads->sweep(now()); };
                co_await offload(step);
                co_await sleep(1min);
            }
        },
        {.restart = 1min});
    return app;
}
