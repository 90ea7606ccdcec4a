#include "tiderace/http/client/client_exchange.h"

#include <stdexcept>

#include "tiderace/http/client/client_connection.h"

namespace tiderace::http {
namespace {

// A body is copied to the connection piece by piece, so that a large one is not in memory twice.
constexpr std::size_t piece_bytes_max = 64 * 1024;

}  // namespace

ClientExchange::~ClientExchange() {
    // The upload's coroutine first: it uses the members, and may hold a wait on `writable_`.
    Root::end_frame();
    leave();
}

void EndExchange::operator()(ClientExchange* exchange) const {
    // Given up at once in both cases, so that the server sends no more of an answer that is not
    // wanted.
    exchange->leave();
    task::Root* const upload = exchange;
    // The generator of the body may run inside upload() and drop the answer that it belongs to. Its
    // own frame must not be destroyed under it.
    if (!upload->on_stack()) {
        delete upload;
    } else {
        upload->context().runner->destroy_later(std::unique_ptr<task::Root>(upload));
    }
}

void ClientExchange::leave() {
    if (link_ != nullptr) std::exchange(link_, nullptr)->give_up();
}

void ClientExchange::send(task::Runner& runner, ClientConnection& connection,
                          const ClientHead& head) {
    to_head_ = head.method == "HEAD";
    pieces_ = static_cast<bool>(pieces);
    link_ = connection.begin(*this, head);
    if (link_ == nullptr) return;
    const ByteView whole = body != nullptr ? ByteView(*body) : ByteView();
    // The usual request: head and body leave in the same turn, without a coroutine frame.
    if (!pieces_ && whole.size() <= piece_bytes_max) {
        link_->write(whole, true);
    } else {
        Root::start(runner, upload());
    }
}

// False: the connection takes no more.
task::Task<bool> ClientExchange::upload_piece(ByteView piece, bool last) {
    if (link_ == nullptr) co_return false;
    const net::Backlog backlog = link_->write(piece, last);
    // `link_` is tested after each wait: the answer may end, or the connection fail, meanwhile.
    // After the last piece nothing is left to hold back.
    while (!last && link_ != nullptr && backlog == net::Backlog::high && link_->has_backlog()) {
        co_await writable_.wait();
    }
    co_return link_ != nullptr;
}

task::Task<> ClientExchange::upload() {
    for (std::size_t at = 0; !pieces_ && at < body->size(); at += piece_bytes_max) {
        const ByteView piece = ByteView(*body).substr(at, piece_bytes_max);
        const bool last = body->size() - at <= piece_bytes_max;
        if (!co_await upload_piece(piece, last)) co_return;
    }
    while (pieces) {
        const auto piece = co_await pieces.next();
        if (!piece) break;
        if (piece_bytes_left && piece->size() > *piece_bytes_left) {
            // The server would read the surplus as the next request on the connection.
            throw std::length_error("the body is longer than its length says");
        }
        if (piece_bytes_left) *piece_bytes_left -= piece->size();
        for (std::size_t at = 0; at < piece->size(); at += piece_bytes_max) {
            const ByteView part = ByteView(*piece).substr(at, piece_bytes_max);
            if (!co_await upload_piece(part, false)) co_return;
        }
    }
    if (piece_bytes_left.value_or(0) > 0) {
        throw std::length_error("the body is shorter than its length says");
    }
    // A body that was whole has had its last piece above. A generator shows its end only now.
    if (!pieces_ || link_ == nullptr) co_return;
    if (make_trailers) request_trailers = make_trailers();
    link_->write({}, true);
}

void ClientExchange::on_done(std::exception_ptr failure) {
    // Once the answer is over, a body that fails changes nothing: the caller has its answer.
    if (!failure || over()) return;
    std::string why = "the body of the request failed";
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        why += std::string(": ") + error.what();
    } catch (...) {
    }
    leave();
    on_failed({ClientFault::Kind::body_failed, std::move(why)}, Progress::touched);
}

void ClientExchange::on_head(HttpVersion version, int status) {
    version_ = version;
    status_ = status;
    changed_.wake_all();
}

void ClientExchange::on_data(ByteView bytes) {
    buffer_ += bytes;
    if (link_ != nullptr) link_->kept(buffer_.size());
    changed_.wake_all();
}

void ClientExchange::on_end() {
    ended_ = true;
    link_ = nullptr;
    // Nothing more can come, so only what is unread still counts against the loop's ReceiveBudget.
    share_.shrink_to(buffer_.size());
    changed_.wake_all();
    writable_.wake_all();
}

void ClientExchange::on_failed(ClientFault fault, Progress progress) {
    if (over()) return;
    progress_ = progress;
    fault_ = std::move(fault);
    link_ = nullptr;
    share_.shrink_to(buffer_.size());
    changed_.wake_all();
    writable_.wake_all();
}

std::string ClientExchange::take_buffer() {
    // While the link is there, the share is the stream's whole window, which the server may fill
    // again.
    if (!buffer_.empty() && link_ != nullptr) link_->taken(buffer_.size());
    if (link_ == nullptr) share_.shrink_to(0);
    return std::exchange(buffer_, {});
}

}  // namespace tiderace::http
