// tiderace-lab-asio-http: a server of the shape of Asio's example "HTTP Server 3": one io_context
// that N threads run, an object for each connection whose handlers share a strand, a parser that
// takes a character at a time, a file read into memory for each request, and HTTP/1.0 answers after
// which the connection ends.
//
//   tiderace-lab-asio-http DIR [--listen ADDRESS] [--threads N] [--keep-alive]
//
// --keep-alive: answers in HTTP/1.1 and reads on, so that it can also be measured where the others
// keep their connections.
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/version.hpp>
#include <asio/write.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lab/opponent/program.h"
#include "lab/opponent/request_parser.h"
#include "lab/opponent/served_folder.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::lab::opponent {
namespace {

using http::wire::reason_phrase;

using asio::ip::tcp;

constexpr std::array<std::string_view, 1> switches{"--keep-alive"};
constexpr auto accept_rest = std::chrono::milliseconds(100);  // when descriptors are short

// The served folder and its settings: the same for all connections.
struct Serving {
    std::optional<ServedFolder> folder;
    unsigned threads = 1;
    bool keeps_alive = false;
};

struct Reply {
    std::string head;
    std::string content;
    bool closes = true;

    std::array<asio::const_buffer, 2> buffers() const {
        return {asio::buffer(head), asio::buffer(content)};
    }
};

std::string read_whole(const ServedFile& found) {
    std::string content(found.bytes, '\0');
    std::size_t have = 0;
    while (have < content.size()) {
        const ssize_t got = ::pread(found.file.get(), &content[have], content.size() - have,
                                    static_cast<off_t>(have));
        // The file shrank since it was opened. What is missing shows in the size, and the
        // connection is closed after it, because its head promises more.
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    content.resize(have);
    return content;
}

void write_head(Reply& reply, int status, std::string_view type, std::uint64_t bytes,
                std::string_view more, bool keeps_alive) {
    reply.head = keeps_alive ? "HTTP/1.1 " : "HTTP/1.0 ";
    reply.head += std::to_string(status);
    reply.head.append(" ").append(reason_phrase(status));
    reply.head.append("\r\nContent-Length: ").append(std::to_string(bytes));
    reply.head.append("\r\nContent-Type: ").append(type);
    reply.head.append(more);
    if (keeps_alive) reply.head += reply.closes ? "\r\nConnection: close" : "";
    reply.head += "\r\n\r\n";
}

Reply reply_in_words(int status, std::string_view more, bool closes, bool keeps_alive) {
    Reply reply{.closes = closes};
    reply.content = std::to_string(status) + ' ' + std::string(reason_phrase(status)) + '\n';
    write_head(reply, status, "text/plain", reply.content.size(), more, keeps_alive);
    return reply;
}

Reply make_reply(const Serving& serving, const Request& request) {
    const bool keep = serving.keeps_alive;
    const bool closes = !keep || request.closes || request.has_body;  // a body is not read
    const bool head_only = request.method == "HEAD";
    if (!head_only && request.method != "GET") {
        return reply_in_words(405, "\r\nAllow: GET, HEAD", true, keep);
    }
    const ServedFile found = serving.folder->find(request.target);
    Reply reply{.closes = closes};
    if (found.status == 200) {
        if (!head_only) reply.content = read_whole(found);
        write_head(reply, 200, found.type, found.bytes, "", keep);
        if (!head_only && reply.content.size() != found.bytes) reply.closes = true;
        return reply;
    }
    const std::string more =
        found.status == 301 ? "\r\nLocation: " + found.location : std::string();
    reply = reply_in_words(found.status, more, closes, keep);
    // The head still has the length that GET would get (RFC 9110, 9.3.2).
    if (head_only) reply.content.clear();
    return reply;
}

class Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(const Serving& serving, tcp::socket socket)
        : serving_(serving), socket_(std::move(socket)) {}

    void read() {
        socket_.async_read_some(
            asio::buffer(received_),
            [self = shared_from_this()](const asio::error_code& error, std::size_t bytes) {
                if (!error) self->parse(self->received_.data(), bytes);
            });
    }

  private:
    //   read() -> parse() -> write() -> after_reply() -+-> read()
    //               ^                                  +-> parse() what came with it
    //               '-incomplete: read()               '-> the last handler, and the connection, go
    //
    // One request at a time: what came behind it waits in received_, which nothing reads into
    // before.
    void parse(const char* from, std::size_t bytes) {
        const auto [outcome, used] = parser_.parse({from, bytes});
        next_ = from + used;
        left_ = bytes - used;
        switch (outcome) {
            case RequestParser::Outcome::incomplete:
                return read();
            case RequestParser::Outcome::complete:
                reply_ = make_reply(serving_, parser_.take());
                return write();
            case RequestParser::Outcome::bad:
                reply_ = reply_in_words(400, "", true, serving_.keeps_alive);
                return write();
            case RequestParser::Outcome::too_large:
                reply_ = reply_in_words(431, "", true, serving_.keeps_alive);
                return write();
        }
    }

    void write() {
        asio::async_write(socket_, reply_.buffers(),
                          [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                              if (!error) self->after_reply();
                          });
    }

    void after_reply() {
        reply_.content = {};  // an idle connection closes its file
        if (reply_.closes) {
            // As the example does it; bytes that are unread then may reset the connection.
            asio::error_code ignored;
            socket_.shutdown(tcp::socket::shutdown_both, ignored);
            return;  // with the last handler the connection goes
        }
        if (left_ > 0) return parse(next_, left_);  // a request came with the one before
        read();
    }

    const Serving& serving_;
    tcp::socket socket_;
    std::array<char, 8192> received_;
    const char* next_ = nullptr;
    std::size_t left_ = 0;
    RequestParser parser_;
    Reply reply_;
};

class Server {
  public:
    Server(const Serving& serving, int listener, int stop)
        : serving_(serving),
          loop_(static_cast<int>(serving.threads)),
          acceptor_(loop_, tcp::v4(), listener),
          stop_(loop_, stop) {
        stop_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this](const asio::error_code&) { loop_.stop(); });
        accept();
    }
    // The reading end of the pipe is run_program()'s.
    ~Server() { stop_.release(); }

    Result<> run() {
        std::vector<std::thread> threads;
        auto started =
            start_threads(threads, serving_.threads - 1, [this](unsigned) { loop_.run(); });
        if (!started) loop_.stop();
        loop_.run();
        for (std::thread& thread : threads) thread.join();
        return started;
    }

  private:
    // A strand for each connection, made before it is accepted: its handlers never run side by
    // side, whichever threads run the io_context.
    void accept() {
        acceptor_.async_accept(
            asio::make_strand(loop_), [this](const asio::error_code& error, tcp::socket socket) {
                // At once, accept() would fail again, and this thread would do nothing else.
                if (error == asio::error::no_descriptors) return rest();
                if (!error) std::make_shared<Connection>(serving_, std::move(socket))->read();
                accept();
            });
    }

    // The connection that found no descriptor waits in the kernel's queue.
    void rest() {
        rest_.expires_after(accept_rest);
        rest_.async_wait([this](const asio::error_code& error) {
            if (!error) accept();
        });
    }

    const Serving& serving_;
    asio::io_context loop_;
    tcp::acceptor acceptor_;
    asio::posix::stream_descriptor stop_;
    asio::steady_timer rest_{loop_};
};

std::string version() {
    return "Asio " + std::to_string(ASIO_VERSION / 100'000) + '.' +
           std::to_string(ASIO_VERSION / 100 % 1000) + '.' + std::to_string(ASIO_VERSION % 100);
}

}  // namespace
}  // namespace tiderace::lab::opponent

int main(int count, char** words) {
    namespace opponent = tiderace::lab::opponent;
    const std::string version = opponent::version();
    const opponent::Program program{
        .name = "asio-http", .served = "DIR", .version = version, .switches = opponent::switches};
    opponent::Serving serving;
    return opponent::run_program(
        program, {words, static_cast<std::size_t>(count)},
        [&](const opponent::ProgramOptions& options) -> tiderace::Result<> {
            auto opened = opponent::ServedFolder::open(options.served);
            if (!opened) return tiderace::fail(opened.error());
            serving.folder.emplace(std::move(*opened));
            serving.threads = options.threads;
            serving.keeps_alive = options.has("--keep-alive");
            return {};
        },
        [](const opponent::ProgramOptions&) { return 1U; },
        [&](tiderace::core::Descriptor listener, int stop) -> tiderace::Result<> {
            return opponent::Server(serving, listener.release(), stop).run();
        });
}
