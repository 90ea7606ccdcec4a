#include "tiderace/http/client/client_exchange.h"

#include <stdexcept>

#include "tiderace/http/client/client_connection.h"

namespace tiderace::http {
namespace {

constexpr std::size_t piece_bytes_max = 64 * 1024;

}  // namespace

ClientExchange::~ClientExchange() {
    Root::end_frame();
    leave();
}

void EndExchange::operator()(ClientExchange* exchange) const {
    exchange->leave();
    task::Root* const upload = exchange;
    if (!upload->on_stack()) {
        delete upload;
    } else {
        upload->context().runner->destroy_later(std::unique_ptr<task::Root>(upload));
    }
}

void ClientExchange::leave() {
    if (link_ != nullptr) std::exchange(link_, nullptr)->give_up();
}

void ClientExchange::send(task::Runner& runner, ClientConnection& connection) {
    pieces_ = static_cast<bool>(pieces);
    link_ = connection.begin(*this);
    if (link_ == nullptr || tunnels()) return;
    const ByteView whole = body != nullptr ? ByteView(*body) : ByteView();
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
    if (!pieces_ || link_ == nullptr) co_return;
    if (make_trailers) request_trailers = make_trailers();
    link_->write({}, true);
}

void ClientExchange::on_done(std::exception_ptr failure) {
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

void ClientExchange::on_head(HttpVersion version, int status, Fields fields) {
    version_ = version;
    status_ = status;
    fields_ = std::move(fields);
    changed_.wake_all();
}

void ClientExchange::on_data(ByteView bytes) {
    buffer_ += bytes;
    if (link_ != nullptr) link_->kept(buffer_.size());
    changed_.wake_all();
    notify();
}

void ClientExchange::on_end() {
    ended_ = true;
    link_ = nullptr;
    share_.shrink_to(buffer_.size());
    changed_.wake_all();
    writable_.wake_all();
    notify();
}

void ClientExchange::on_failed(ClientFault fault, Progress progress) {
    if (over()) return;
    progress_ = progress;
    fault_ = std::move(fault);
    link_ = nullptr;
    share_.shrink_to(buffer_.size());
    changed_.wake_all();
    writable_.wake_all();
    notify();
}

std::string ClientExchange::take_buffer() {
    if (!buffer_.empty() && link_ != nullptr) link_->taken(buffer_.size());
    if (link_ == nullptr) share_.shrink_to(0);
    return std::exchange(buffer_, {});
}

}  // namespace tiderace::http
