#include "tiderace/http/listing/listing.h"

#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "tiderace/base/random.h"
#include "tiderace/http/listing/page.h"
#include "tiderace/http/listing/readme.h"
#include "tiderace/http/listing/rows.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/query.h"

namespace tiderace::http::listing {
namespace {

using wire::FieldName;

constexpr std::size_t batch_bytes = 48_KiB;  // with its last row, at most 56 KiB

ListingOrder order_of(const Request& request) {
    ListingOrder order;
    std::array<char, 256> storage;
    wire::QueryPairs pairs(request.query, storage);
    while (const auto pair = pairs.next()) {
        if (pair->name == "sort") {
            order.sort = pair->value == "size"   ? ListingSort::size
                         : pair->value == "time" ? ListingSort::time
                                                 : ListingSort::name;
        } else if (pair->name == "order") {
            order.descending = pair->value == "desc";
        }
    }
    return order;
}

// The first of the usual names that there is. One that cannot be read counts as absent.
void read_readme(const files::FileLoader& loader, ListingDescription& listing) {
    for (const char* name : {"README.md", "README.txt", "README", "readme.md", "readme.txt"}) {
        const files::FileLoader::Opened opened = loader.open(listing.path, name);
        if (opened.found != files::Found::file) continue;
        std::string text(readme_bytes_max, '\0');
        const ssize_t got =
            loader.kernel().read_at(opened.descriptor.get(), text.data(), text.size(), 0);
        if (got < 0) return;
        text.resize(static_cast<std::size_t>(got));
        listing.readme_cut = opened.identity.bytes > text.size();
        listing.readme_name = name;
        listing.readme = std::move(text);
        return;
    }
}

// A directory that is being listed, in the room that it entered: what the loop and the pool's
// threads hand to each other. One of them has it at a time.
struct Listing {
    Listing(files::FileLoader l, const ListingOptions& options, const core::Address& peer)
        : loader(l),
          hidden(options.hidden),
          room(options.room),
          client(peer),
          entered(room->enter(client)) {}
    ~Listing() {
        if (entered) room->leave(client);
    }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;

    void open();
    std::string next_batch();

    files::FileLoader loader;
    bool hidden;
    std::shared_ptr<ListingRoom> room;
    const core::ClientKey client;
    const bool entered;
    int error = 0;  // errno of a directory that could not be read
    ListingDescription description;
    std::unique_ptr<ListingFormat> format;
    std::optional<ListingRows> rows;
    ListingTotals totals;
    bool begun = false;
    bool ended = false;
    bool failed = false;  // there was no memory for a batch
};

void Listing::open() {
    files::FileLoader::Opened opened = loader.open(description.path);
    if (opened.found != files::Found::directory) {
        error = opened.found == files::Found::failed ? opened.error : ENOENT;
        return;
    }
    rows.emplace(loader, std::move(opened.descriptor), description.path, hidden, description.order,
                 *room);
    error = rows->error();
    description.sorted = rows->sorted();
    if (error == 0 && format->shows_readme()) read_readme(loader, description);
}

// The next batch_bytes of the page, or less at its end.
std::string Listing::next_batch() {
    std::string batch;
    if (!std::exchange(begun, true)) batch = format->head(description);
    std::array<char, ListingFormat::row_bytes_max> memory;
    while (batch.size() < batch_bytes) {
        const auto row = rows->next();
        if (!row) {
            totals.complete = rows->error() == 0;
            batch += format->tail(description, totals);
            ended = true;
            break;
        }
        wire::BoundedText text{std::span<char>(memory)};
        // A row that does not fit is left out: names are bounded by the file system, and
        // row_bytes_max is above what one needs.
        if (!format->append_row(text, *row)) continue;
        batch += text.view();
        ++(row->directory ? totals.directories : totals.files);
        totals.bytes += row->bytes;
    }
    return batch;
}

// The page, a batch ahead of what the connection took.
class ListingSource final : public BodySource {
  public:
    // The exchange owns its source, so it outlives this.
    ListingSource(Exchange& exchange, core::BlockingJobs* jobs, std::shared_ptr<Listing> listing)
        : exchange_(&exchange), jobs_(jobs), listing_(std::move(listing)) {}
    ~ListingSource() override {
        if (making_) jobs_->cancel(making_);
    }

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t) override {
        if (making_) return State::wait;
        if (batch_.empty()) {
            make_batch();
            if (making_) return State::wait;
        }
        if (listing_->failed) return State::failed;
        out.append(blocks, std::exchange(batch_, {}));
        if (listing_->ended) return State::end;
        // The next batch is made while this one is sent.
        if (jobs_ != nullptr) make_batch();
        return State::more;
    }
    void on_batch(std::string batch) {
        making_ = {};
        batch_ = std::move(batch);
        exchange_->body_ready();
    }

  private:
    class BatchErrand;

    void make_batch();

    Exchange* exchange_;
    core::BlockingJobs* jobs_;
    std::shared_ptr<Listing> listing_;
    std::string batch_;
    SlotId making_;
};

class ListingSource::BatchErrand final : public core::BlockingJob {
  public:
    BatchErrand(ListingSource& source, std::shared_ptr<Listing> listing)
        : source_(&source), listing_(std::move(listing)) {}

    void work() override {
        try {
            batch_ = listing_->next_batch();
        } catch (const std::bad_alloc&) {
            listing_->failed = true;
        }
    }
    void done() override { source_->on_batch(std::move(batch_)); }

  private:
    ListingSource* source_;
    std::shared_ptr<Listing> listing_;
    std::string batch_;
};

// On the pool, or, where it has no room, here.
void ListingSource::make_batch() {
    if (jobs_ != nullptr) {
        std::unique_ptr<core::BlockingJob> job = std::make_unique<BatchErrand>(*this, listing_);
        making_ = jobs_->start(job);
        if (making_) return;
    }
    batch_ = listing_->next_batch();
}

// A nonce is for HTML.
void add_fields(Response& response, const std::string& nonce) {
    const bool json = nonce.empty();
    response.add(FieldName::content_type, json ? "application/json" : "text/html; charset=utf-8");
    response.add(FieldName::cache_control, "no-cache");
    response.add(FieldName::vary, "Accept");
    response.add(FieldName::x_content_type_options, "nosniff");
    if (json) return;
    // Names of files come from strangers. Should one ever get past the escaping, no script of it
    // runs.
    const std::string policy = "default-src 'none'; style-src 'nonce-" + nonce +
                               "'; script-src 'nonce-" + nonce +
                               "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    response.add("Content-Security-Policy", response.keep(policy));
}

void answer_busy(Exchange& exchange) {
    Response response(503);
    response.add(FieldName::retry_after, "1");
    exchange.respond(response);
}

void answer_unreadable(Exchange& exchange, int error) {
    // A shortage passes, so the client may come again.
    const bool exhausted = error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
    exchange.respond_status(error == ENOENT ? 404 : error == EACCES ? 403 : exhausted ? 503 : 500);
}

void answer_opened(Exchange& exchange, core::BlockingJobs* jobs, std::shared_ptr<Listing> listing) {
    if (exchange.abandoned()) return;
    if (listing->error != 0) return answer_unreadable(exchange, listing->error);
    Response response(200);
    add_fields(response, listing->description.nonce);
    response.set_body(std::make_unique<ListingSource>(exchange, jobs, std::move(listing)));
    exchange.respond(response);
}

// Answers once the directory was opened, and sorted where it is small enough.
class OpenErrand final : public core::BlockingJob {
  public:
    OpenErrand(core::Ref<Exchange> exchange, core::BlockingJobs* jobs,
               std::shared_ptr<Listing> listing)
        : exchange_(std::move(exchange)), jobs_(jobs), listing_(std::move(listing)) {}

    void work() override {
        try {
            listing_->open();
        } catch (const std::bad_alloc&) {
            listing_->error = ENOMEM;
        }
    }
    void done() override { answer_opened(*exchange_, jobs_, listing_); }

  private:
    core::Ref<Exchange> exchange_;  // the loop's
    core::BlockingJobs* jobs_;
    std::shared_ptr<Listing> listing_;
};

}  // namespace

void answer_listing(Exchange& exchange, const files::FileLoader& loader,
                    const ListingOptions& options, core::BlockingJobs* jobs) {
    const Request& request = exchange.request();
    auto listing = std::make_shared<Listing>(loader, options, *request.peer);
    if (!listing->entered) return answer_busy(exchange);
    ListingDescription& description = listing->description;
    description.host = request.authority.empty() ? ByteView("Home") : request.authority;
    description.path = options.path;
    description.order = order_of(request);
    if (wire::prefers_json(request.header(FieldName::accept))) {
        listing->format = std::make_unique<JsonListing>();
    } else {
        listing->format = std::make_unique<HtmlListing>();
        description.nonce = random_name(16);
    }
    // On the loop: one open, without reading. It fails as GET's open would.
    if (request.method() == wire::Method::head) {
        const files::FileLoader::Opened opened = loader.open(options.path);
        if (opened.found == files::Found::failed) return answer_unreadable(exchange, opened.error);
        if (opened.found != files::Found::directory) return exchange.respond_status(404);
        // The length is unknown, as in the answer to GET.
        Response response(200);
        add_fields(response, description.nonce);
        response.set_unsent_body({});
        return exchange.respond(response);
    }

    if (jobs == nullptr) {
        listing->open();
        return answer_opened(exchange, jobs, std::move(listing));
    }
    std::unique_ptr<core::BlockingJob> job =
        std::make_unique<OpenErrand>(exchange.defer(), jobs, listing);
    const SlotId opening = jobs->start(job);
    // Sorting a large directory takes longer than others can be kept waiting.
    if (!opening) return answer_busy(exchange);
    exchange.on_abandoned([jobs, opening] { jobs->cancel(opening); });
}

}  // namespace tiderace::http::listing
