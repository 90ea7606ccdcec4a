// Stream: one connection as a task sees it: read what comes, write what goes.
//
//   Task<> session(tcp::Stream stream) {
//       while (auto line = co_await stream.read(tcp::Line{})) {       // nothing: see end()
//           if (!co_await stream.write(answer_to(*line))) co_return;  // false: the peer is gone
//       }
//   }
//
// The result of a read is a view of the stream's buffer, valid until the next read of this stream.
// A write keeps its bytes only until it returns. A read or a write that can complete at once does
// not suspend; 128 of them in a row give way to other tasks.
//
// A time-out is within(5s, stream.read()), or set_idle_timeout(). Cancelling a task at a read loses
// nothing: what had arrived is there for the next read. At a write, some of it may have left.
//
// Owner    The task. Its end closes the connection in order, after all that was written.
// Thread   The loop's. One read at a time; writes of several tasks leave one after the other.
// Errors   The peer's faults: std::nullopt or false, and end(), reason().
// Limits   StreamOptions; net::ConnectionLimits for what the peer leaves unread.
// Memory   About 500 bytes with its connection, and no buffer while it waits for a first byte.
// Keywords: read, write, half close, back-pressure
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiderace/base/result.h"
#include "tiderace/task/runner.h"
#include "tiderace/tcp/framing.h"
#include "tiderace/tcp/stream_options.h"
#include "tiderace/tcp/stream_state.h"

namespace tiderace::tcp {

template <Framing F>
class [[nodiscard("co_await it")]] Read final : private StreamReader {
  public:
    Read(StreamState& state, F framing) : state_(&state), framing_(framing) {}
    Read(Read&& other) noexcept
        : StreamReader(std::move(other)),
          state_(std::exchange(other.state_, nullptr)),
          framing_(other.framing_) {}
    ~Read() override {
        if (state_ != nullptr) state_->forget(*this);
    }

    bool await_ready() { return state_->begin(*this) && task::Context::here().runner->spend(); }
    void await_suspend(std::coroutine_handle<> handle) { state_->wait(*this, handle); }
    std::optional<ByteView> await_resume() { return state_->take(*this); }

  private:
    Found look(ByteView bytes, std::size_t seen) const override { return framing_(bytes, seen); }

    StreamState* state_;
    F framing_;
};

class [[nodiscard("co_await it")]] Write final : private StreamWriter {
  public:
    template <typename... What>
    explicit Write(StreamState& state, What&&... what)
        : StreamWriter(std::forward<What>(what)...), state_(&state) {}
    Write(Write&&) = default;

    bool await_ready() { return state_->begin(*this) && task::Context::here().runner->spend(); }
    void await_suspend(std::coroutine_handle<> handle) { state_->wait(*this, handle); }
    bool await_resume() const { return StreamState::result(*this); }

  private:
    StreamState* state_;
};

class Stream final {
  public:
    // Takes its place as the session of a connection that has none.
    Stream(net::Connection& connection, const StreamOptions& options);
    explicit Stream(StreamState& state) : state_(&state) {}
    Stream(Stream&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Stream& operator=(Stream&& other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~Stream();

    // The bytes that have come, at least one; or one frame. std::nullopt: no more comes, see end().
    Read<Any> read() { return {*state_, Any{}}; }
    template <Framing F>
    Read<F> read(F framing) {
        return {*state_, framing};
    }
    Read<Fixed> read_exactly(std::size_t bytes) { return {*state_, Fixed{bytes}}; }
    // Without the mark, which is not empty and outlives the read.
    Read<Delimiter> read_until(std::string_view mark, std::size_t bytes_max = 8_KiB) {
        return {*state_, Delimiter{mark, bytes_max}};
    }

    // Returns when all is queued and the queue is below its high mark. False: it was not, because
    // the connection ended, or finish() was called before.
    Write write(ByteView bytes) { return Write(*state_, bytes); }
    // A range of a file, from the page cache to the socket; its length, or why it is none. The file
    // is opened on the worker pool. Result: a fault of the file; 0 bytes where the peer is gone.
    task::Task<Result<std::uint64_t>> send_file(std::string path, std::uint64_t offset = 0,
                                                std::uint64_t bytes_max = UINT64_MAX);
    // Ends our direction, after all that was written. Reading goes on.
    void finish() { state_->finish(); }
    // Closes without sending what is queued; reads and writes that wait end.
    void abort() { state_->abort(); }

    // For reads that begin from now on; 0: none.
    void set_idle_timeout(Duration idle) { state_->set_idle(idle); }
    // False: there is no socket below, or it refuses.
    bool tune(const net::SocketOptions& options);

    // For tasks of this loop, which a stream's are: its loop, for time and timers, and its runner,
    // for what libraries keep for all connections of the loop: `stream.runner().local<Cache>()` is
    // made as Cache(runner) at the first call. Programs have states (tcp/serve.h).
    core::EventLoop& loop() const { return runner().loop(); }
    task::Runner& runner() const { return *task::Context::here().runner; }

    bool open() const { return state_->connection() != nullptr; }
    End end() const { return state_->end(); }                     // of the last read
    net::CloseReason reason() const { return state_->reason(); }  // once it is not open()
    const core::Address& peer() const { return state_->peer(); }  // also afterwards
    // A client's verified certificate, ALPN, version …; nullptr: in clear text, or not open().
    const net::TransportSecurity* security() const;
    std::uint64_t unsent_bytes() const;

    StreamState& state() const { return *state_; }  // for this room

  private:
    StreamState* state_;
};

}  // namespace tiderace::tcp
