// Internal. ClientResponseStream: an answer whose body is read piece by piece, as it comes.
//
//   auto answer = co_await client.open(ClientRequest("GET", url));
//   if (!answer) co_return fail(answer.error());
//   while (true) {
//       auto piece = co_await answer->read();
//       if (!piece || piece->empty()) break;      // a fault, or the end
//       use(*piece);
//   }
//   or: auto bytes = co_await answer->save("/srv/data.csv");
//
// Owner    The task. Its end before the body's closes the connection, or resets its stream of
//          HTTP/2. The Client outlives it.
// Thread   The loop's; save() writes on threads of the pool.
// Errors   read(): a ClientFault; the pieces before it are not the whole body. save(): also
//          save_failed (the disk is full, say) and too_large; then, and when the task ends before,
//          the file that was begun is removed, and one that had its name is as it was.
// Limits   Of the body, ClientOptions::body_bytes_max holds for get() and request() alone: what is
//          read here is bounded by the reader. read_timeout for each read().
// Memory   At most some 200 KiB (HTTP/2: 256 KiB, and 256 MiB for all answers on a loop together,
//          receive_budget.h) that were received and not read, and the decoder's (answer_memory.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tiderace/base/unique_function.h"
#include "tiderace/http/client/answer_memory.h"
#include "tiderace/http/client/client_exchange.h"
#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/headers.h"
#include "tiderace/http/client/url.h"
#include "tiderace/http/coding/content_decoder.h"
#include "tiderace/task/offload.h"
#include "tiderace/task/task.h"

namespace tiderace::http {

struct SaveOptions {
    std::uint64_t bytes_max = 16_GiB;  // of the decoded body
    // True: save() returns once the disk has the file and its name (fsync). False: a power cut may
    // lose what was saved.
    bool on_disk = false;
};

struct SaveProgress {
    std::uint64_t bytes = 0;             // written
    std::optional<std::uint64_t> total;  // nullopt: the server did not say, or the body was encoded
};

// The fault of an answer for which AnswerMemory has no more.
ClientFault out_of_answer_memory(const Url& url);

class ClientResponseStream final {
  public:
    static constexpr std::size_t read_bytes_max = 64 * 1024;  // of decoded bodies, at a time

    ClientResponseStream(OwnedExchange exchange, Url&& url, Duration read_timeout);
    ~ClientResponseStream();
    ClientResponseStream(ClientResponseStream&&) noexcept;
    ClientResponseStream& operator=(ClientResponseStream&&) noexcept;

    int status() const { return exchange_->status(); }
    HttpVersion version() const { return exchange_->version(); }
    const Headers& headers() const { return exchange_->fields(); }
    // Moves them out, once the answer's body was read.
    Headers take_headers() && { return std::move(exchange_->fields()); }
    Headers take_trailers() && { return std::move(exchange_->trailers()); }
    // Behind the body, once read() gave its end: HTTP/2, and chunked bodies of HTTP/1.1.
    const Headers& trailers() const { return exchange_->trailers(); }
    std::string_view header(std::string_view name) const { return headers().find(name); }
    // Where it came from, after all redirects.
    const Url& url() const { return exchange_->url; }

    // The next piece, decoded; "": the end.
    task::Task<ClientResult<std::string>> read();
    // Writes the rest of the body into a file of mode 0600, and returns its bytes. A file beside
    // it, "PATH.….part", takes the name in one step when all of it is written, and the place of a
    // file that had it.
    task::Task<ClientResult<std::uint64_t>> save(std::string path, SaveOptions options = {}) {
        return save_reporting(std::move(path), {}, options);
    }
    // progress(const SaveProgress&) is called on the loop after each write. What it throws ends the
    // save.
    template <typename F>
        requires std::invocable<std::remove_cvref_t<F>&, const SaveProgress&>
    task::Task<ClientResult<std::uint64_t>> save(std::string path, F&& progress,
                                                 SaveOptions options = {}) {
        static_assert(task::survives_co_await<F>(),
                      "g++ 12 destroys the captures of a lambda twice when it is written inside"
                      " co_await: give it a name first");
        return save_reporting(std::move(path), std::forward<F>(progress), options);
    }
    // The received bytes of a body without a coding, without a task. "": none; call read().
    std::string take_received() {
        return decoding_ == nullptr ? exchange_->take_buffer() : std::string();
    }
    // True: the whole body was read. False: read() finds out.
    bool ended() const { return decoding_ == nullptr && exchange_->all_taken(); }

    // Undoes Content-Encoding from now on, with a decoder in `memory`. False: a coding that is not
    // built in.
    bool decode(const core::Ref<AnswerMemory>& memory);

  private:
    using OnProgress = unique_function<void(const SaveProgress&)>;

    task::Task<ClientResult<std::uint64_t>> save_reporting(std::string path, OnProgress progress,
                                                           SaveOptions options);
    task::Task<ClientResult<std::string>> read_raw(Duration limit);
    task::Task<ClientResult<std::string>> read_decoded();
    ClientFault described(ClientFault fault) const;

    struct Decoding {
        Decoding(std::unique_ptr<coding::ContentDecoder> made, core::Ref<AnswerMemory> memory)
            : decoder(std::move(made)), share(std::move(memory)) {}

        std::unique_ptr<coding::ContentDecoder> decoder;
        AnswerShare share;           // the decoder's
        std::string encoded;         // received, not decoded yet
        bool encoded_began = false;  // a byte of it came
    };

    // Little, because it is moved with each result that holds it.
    OwnedExchange exchange_;
    Duration read_timeout_;
    std::unique_ptr<Decoding> decoding_;  // nullptr: there is nothing to undo
};

}  // namespace tiderace::http
