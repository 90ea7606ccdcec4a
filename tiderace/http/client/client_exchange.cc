#include "tiderace/http/client/client_exchange.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tiderace/http/client/client_connection.h"
#include "tiderace/http/wire/chunked.h"

namespace tiderace::http {
namespace {

constexpr std::size_t piece_bytes_max = 64 * 1024;

}  // namespace

ClientExchange::~ClientExchange() {
    Root::end_frame();
    leave();
}

void ClientExchange::leave() {
    if (connection_ != nullptr) std::exchange(connection_, nullptr)->give_up();
}

void ClientExchange::send(task::Runner& runner, ClientConnection& connection) {
    connection_ = &connection;
    connection.begin(*this);
    connection.write(head);
    const ByteView whole = body != nullptr ? ByteView(*body) : ByteView();
    if (!pieces && whole.size() <= piece_bytes_max) {
        connection.write(whole);
        connection.end_request();
    } else {
        Root::start(runner, upload());
    }
}

// False: the connection takes no more.
task::Task<bool> ClientExchange::upload_piece(ByteView piece) {
    if (connection_ == nullptr) co_return false;
    net::Backlog backlog = net::Backlog::low;
    if (chunked && !piece.empty()) {
        std::array<char, wire::chunk_head_bytes_max> line{};
        const std::size_t bytes = wire::format_chunk_head(piece.size(), line.data());
        connection_->write(ByteView(line.data(), bytes));
        connection_->write(piece);
        backlog = connection_->write(wire::chunk_end);
    } else {
        backlog = connection_->write(piece);
    }
    while (connection_ != nullptr && backlog == net::Backlog::high && connection_->has_backlog()) {
        co_await writable_.wait();
    }
    co_return connection_ != nullptr;
}

task::Task<> ClientExchange::upload() {
    for (std::size_t at = 0; body != nullptr && at < body->size(); at += piece_bytes_max) {
        const ByteView piece = ByteView(*body).substr(at, piece_bytes_max);
        if (!co_await upload_piece(piece)) co_return;
    }
    while (pieces) {
        const auto piece = co_await pieces.next();
        if (!piece) break;
        if (!chunked && piece->size() > piece_bytes_left) {
            throw std::length_error("the body is longer than its length says");
        }
        if (!chunked) piece_bytes_left -= piece->size();
        for (std::size_t at = 0; at < piece->size(); at += piece_bytes_max) {
            const ByteView part = ByteView(*piece).substr(at, piece_bytes_max);
            if (!co_await upload_piece(part)) co_return;
        }
    }
    if (piece_bytes_left > 0) throw std::length_error("the body is shorter than its length says");
    if (connection_ == nullptr) co_return;
    if (chunked) connection_->write(wire::last_chunk);
    connection_->end_request();
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
    on_failed({ClientFault::Kind::body_failed, std::move(why)}, true);
}

void ClientExchange::on_head(int status, ByteView lines) {
    status_ = status;
    fields_.add_lines(lines);
    changed_.wake_all();
}

void ClientExchange::on_data(ByteView bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= buffer_bytes_high && connection_ != nullptr) {
        connection_->set_reading(false);
    }
    changed_.wake_all();
}

void ClientExchange::on_end() {
    ended_ = true;
    connection_ = nullptr;
    changed_.wake_all();
    writable_.wake_all();
}

void ClientExchange::on_failed(ClientFault fault, bool touched) {
    if (over()) return;
    touched_ = touched;
    fault_ = std::move(fault);
    connection_ = nullptr;
    changed_.wake_all();
    writable_.wake_all();
}

std::string ClientExchange::take_buffer() {
    if (buffer_.size() >= buffer_bytes_high && connection_ != nullptr) {
        connection_->set_reading(true);
    }
    return std::exchange(buffer_, {});
}

}  // namespace tiderace::http
