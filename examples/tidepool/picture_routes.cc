// Posts with a picture, the faces of members, and the files themselves.

#include <tiderace/app.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/tidepool/post_text.h"
#include "examples/tidepool/site.h"

namespace tidepool {

using namespace tiderace;
using namespace tiderace::http;

namespace {

constexpr std::size_t alt_characters_max = 300;

// The content of a form with a file. The token comes first: no file of a stranger is taken.
struct Upload {
    bool sent = false;
    std::string body = {};
    std::string alt = {};
    std::optional<std::int64_t> parent = {};
    bool forged = false;  // something that no form of ours sends
    std::string form = {};
    Picture picture = {};
    std::string fault = {};
};

std::string words_for(PictureFault fault, const Words& words) {
    switch (fault) {
        case PictureFault::off:
            return std::string(words.picture.off);
        case PictureFault::too_large:
            return std::string(words.picture.too_large);
        case PictureFault::unknown:
            return std::string(words.picture.unknown);
        case PictureFault::too_many:
            return std::string(words.picture.too_many);
        case PictureFault::busy:
            return std::string(words.picture.busy);
        case PictureFault::broken:
            break;
    }
    return std::string(words.picture.broken);
}

std::optional<std::int64_t> number_of(const std::string& text) {
    std::int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return number;
}

// The library checks other forms; it does not know the fields of these.
Task<std::string> text_of(Multipart& form, Upload& upload) {
    std::string text = co_await form.text();
    if (!is_text(text)) upload.forged = true;
    co_return upload.forged ? std::string() : tidied(text);
}

Task<Upload> receive(Site& site, const Visitor& visitor, Multipart& form, PictureShape shape) {
    Upload upload;
    while (auto part = co_await form.next()) {
        if (upload.forged) break;
        if (part->name == "csrf") {
            upload.sent = visitor.is_member() && visitor.sent(co_await form.text());
        } else if (!upload.sent && (visitor.is_member() || part->name == "picture")) {
            break;  // of a visitor whose log-in ended the text is kept
        } else if (part->name == "body") {
            upload.body = co_await text_of(form, upload);
        } else if (part->name == "alt") {
            const std::string alt = co_await text_of(form, upload);
            upload.alt = shortened(alt, alt_characters_max - 1);
        } else if (part->name == "form") {
            upload.form = co_await text_of(form, upload);
        } else if (part->name == "parent") {
            const std::string parent = co_await form.text();
            upload.parent = number_of(parent);
            // Empty is a post that answers none.
            upload.forged |= !parent.empty() && !upload.parent;
        } else if (part->name == "picture" && part->filename && !part->filename->empty()) {
            if (!upload.picture.name.empty()) continue;  // one is enough
            const auto picture = co_await site.pictures.receive(form, shape);
            if (picture) {
                upload.picture = *picture;
            } else {
                upload.fault = words_for(picture.error(), visitor.words());
                break;  // the rest may be very long
            }
        }
    }
    co_return upload;
}

// 422, as for a form without files; what came with it goes.
Task<> refuse_forged(Site& site, Upload& upload) {
    if (!upload.forged) co_return;
    std::vector<std::string> unused;
    if (!upload.picture.name.empty()) unused.push_back(upload.picture.name);
    co_await site.pictures.remove(std::move(unused));
    throw Problem{.status = 422, .detail = "a field is not what the form sends"};
}

Task<Answer> add_post_with_picture(Visitor visitor, Multipart form, Site& site) {
    Upload upload = co_await receive(site, visitor, form, PictureShape::post);
    if (!visitor.is_member()) {
        co_return log_in_with(visitor, path_of_form(upload.parent), std::move(upload.body));
    }
    if (!upload.sent) co_return refused(visitor);
    co_await refuse_forged(site, upload);
    if (upload.fault.empty() && !is_body(upload.body)) {
        upload.fault = visitor.words().post.post_empty;
    }
    std::vector<std::string> unused;
    if (!upload.picture.name.empty()) unused.push_back(upload.picture.name);
    if (!upload.fault.empty()) {
        co_await site.pictures.remove(std::move(unused));
        Unsent unsent{std::move(upload.body), std::move(upload.fault), 422};
        co_return co_await unsent_page(site, std::move(visitor), path_of_form(upload.parent),
                                       std::move(unsent));
    }
    Draft draft{.body = upload.body,
                .parent = upload.parent,
                .picture = upload.picture,
                .picture_alt = std::move(upload.alt),
                .form = std::move(upload.form)};
    const auto added = co_await site.posts.add(visitor.id(), std::move(draft));
    // The same form came twice: the first has a picture of its own, and this one's goes.
    if (added && !added->again) co_return std::unexpected(to_post(*added));
    co_await site.pictures.remove(std::move(unused));
    if (added) co_return std::unexpected(to_post(*added));
    co_return not_found(visitor, std::move(upload.body));
}

Task<> replace_face(Site& site, std::int64_t member, std::optional<std::string> name) {
    // The row first: until it is written, pages show the former face.
    std::string before = co_await site.accounts.set_face(member, std::move(name));
    std::vector<std::string> gone;
    if (!before.empty()) gone.push_back(std::move(before));
    co_await site.pictures.remove(std::move(gone));
}

Task<Answer> set_face(Member visitor, Multipart form, Site& site) {
    Upload upload = co_await receive(site, visitor, form, PictureShape::face);
    if (!upload.sent) co_return refused(visitor);
    co_await refuse_forged(site, upload);
    if (!upload.fault.empty()) {
        co_return co_await settings_page(site, visitor, visitor.frame(), std::move(upload.fault),
                                         422);
    }
    if (!upload.picture.name.empty()) {
        co_await replace_face(site, visitor.id(), upload.picture.name);
    }
    co_return std::unexpected(Redirect{"/settings?notice=saved"});
}

Task<Answer> remove_face(Sent<PressForm> sent, Site& site) {
    co_await replace_face(site, sent.visitor.id(), std::nullopt);
    co_return std::unexpected(Redirect{"/settings?notice=saved"});
}

// Uploads that are under way lie in the same folder, under names that begin with a dot.
std::optional<Problem> only_pictures(const Request& request) {
    std::string_view name = request.path;
    name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
    if (is_picture_name(name)) return std::nullopt;
    return Problem{.status = 404};
}

void keep_for_ever(const Request&, Response& response) {
    if (response.status() >= 400) return;
    // The name has the hash of the content, so a name never gets another content.
    response.set_header("Cache-Control", "public, max-age=31536000, immutable");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace

void add_picture_routes(App& app, const std::string& folder) {
    if (!folder.empty()) {
        std::filesystem::create_directories(folder);
        app.files("/pictures", folder,
                  {only_pictures, keep_for_ever,
                   security_headers({.content_security_policy = "default-src 'none'; sandbox"})});
    }
    const auto sending = [] { return rate_limit({.per_minute = 20, .burst = 10}); };
    // More than a picture may have, so that one that is too large is answered in words.
    const auto size = [] { return body_limit(2 * picture_bytes_max); };
    app.post<"/posts/with-picture">(add_post_with_picture, sending(),
                                    shared_rate_limit("write", write_rate), size());
    app.post<"/settings/face">(set_face, sending(), size());
    add_press<"/settings/face/remove">(app, remove_face);
}

}  // namespace tidepool
