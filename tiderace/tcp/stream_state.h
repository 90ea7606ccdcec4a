// Internal. StreamState: what stands between a connection, which pushes bytes, and a Stream, whose
// task pulls them. Inside the room; a user sees stream.h.
//
//   on_data -> [ in_: lent to the task | not read yet ]  [ later_: came while in_ was lent ]
//   write   -> the connection's queue, up to its high mark; writers beyond it wait in line
//
// Owner    The Stream while there is one, and the connection until its on_close: the last one frees
//          it.
// Thread   The loop's.
// Limits   read_bytes_max of unread bytes, and one receive more; then the peer is pushed back on.
//          The connection's own limits for what is queued.
// Memory   About 300 bytes; no buffer while the task waits for a first byte.
// Keywords: back-pressure
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/core/timer_wheel.h"
#include "tiderace/net/connection.h"
#include "tiderace/net/progress_rate.h"
#include "tiderace/task/frame_pool.h"
#include "tiderace/task/runner.h"
#include "tiderace/tcp/framing.h"
#include "tiderace/tcp/stream_options.h"

namespace tiderace::tcp {

// A read or a write that waits. Unhooks when it is destroyed.
//
//   begin() --a frame or an end is there--> settled --take()--> forgotten
//      `-----wait()--> waiting --data, end, silence, stop, close--> settled, its task is woken
//
// A frame points into the state's buffer, which does not move before the next read.
class StreamReader {
  public:
    StreamReader() = default;
    StreamReader(StreamReader&&) = default;  // before it is awaited
    virtual Found look(ByteView bytes, std::size_t seen) const = 0;

  protected:
    virtual ~StreamReader() = default;

  private:
    friend class StreamState;
    task::Waiter waiter_;
    std::size_t seen_ = 0;
    bool settled_ = false;
    bool got_ = false;
    ByteView frame_;
    std::exception_ptr failure_;  // what look() threw
};

class StreamWriter : private ListHook {
  public:
    StreamWriter(StreamWriter&& other) noexcept  // before it is awaited
        : ListHook(),
          rest_(other.rest_),
          file_(std::move(other.file_)),
          offset_(other.offset_),
          file_bytes_(other.file_bytes_) {}
    explicit StreamWriter(ByteView data) : rest_(data) {}
    StreamWriter(core::Ref<core::SharedFile> file, std::uint64_t offset, std::uint64_t bytes)
        : file_(std::move(file)), offset_(offset), file_bytes_(bytes) {}

  private:
    friend class StreamState;
    template <typename T>
    friend class tiderace::IntrusiveList;
    bool all_queued() const { return rest_.empty() && file_bytes_ == 0; }

    ByteView rest_;
    core::Ref<core::SharedFile> file_;
    std::uint64_t offset_ = 0;
    std::uint64_t file_bytes_ = 0;
    task::Waiter waiter_;
    bool settled_ = false;
    bool sent_ = false;
};

// Notified of what becomes of the stream of a served connection.
class StreamObserver {
  public:
    // The peer is gone and no operation of the stream will report it: its task ends.
    virtual void on_abandoned() = 0;
    // The StreamState ends.
    virtual void on_state_ended() = 0;

  protected:
    ~StreamObserver() = default;
};

class StreamState final : public net::Session, private core::Timer {
  public:
    StreamState(net::Connection& connection, const StreamOptions& options);

    ~StreamState() override {
        if (observer_ != nullptr) observer_->on_state_ended();
    }

    // The Stream is gone: ends the connection in order, and this when that is done.
    void disown() TR_ON_LOOP;
    void set_observer(StreamObserver* observer) { observer_ = observer; }
    void set_idle(Duration idle) { options_.idle = idle; }

    // True: settled, see frame() and end().
    bool begin(StreamReader& reader) TR_ON_LOOP;
    void wait(StreamReader& reader, std::coroutine_handle<> handle) TR_ON_LOOP;
    // Its outcome, once; what its framing threw is thrown here.
    std::optional<ByteView> take(StreamReader& reader);
    // For a reader that is destroyed. The bytes it did not take remain for the next one.
    void forget(StreamReader& reader) TR_ON_LOOP;

    bool begin(StreamWriter& writer) TR_ON_LOOP;
    void wait(StreamWriter& writer, std::coroutine_handle<> handle) TR_ON_LOOP;
    static bool result(const StreamWriter& writer) { return writer.sent_; }

    void finish() TR_ON_LOOP;
    void abort() TR_ON_LOOP;

    net::Connection* connection() const { return connection_; }  // nullptr: it is closed
    const core::Address& peer() const { return peer_; }
    End end() const { return end_; }
    net::CloseReason reason() const { return reason_; }

  private:
    friend task::Task<std::string> until_secured(StreamState& state);
    class Secured;

    std::size_t on_data(net::Connection& connection, ByteView data) TR_ON_LOOP override;
    void on_secured(net::Connection&) TR_ON_LOOP override;
    void on_drained(net::Connection&) TR_ON_LOOP override;
    void on_peer_finished(net::Connection&) TR_ON_LOOP override;
    void on_deadline(net::Connection&) TR_ON_LOOP override;
    void on_drain(net::Connection&) TR_ON_LOOP override;
    void on_close(net::Connection&, net::CloseReason reason) TR_ON_LOOP override;
    core::HeldBytes held_bytes() const override {
        return {.copied = in_.capacity() + later_.capacity()};
    }
    void on_expired() TR_ON_LOOP override;

    void reclaim();
    bool try_settle(StreamReader& reader) TR_ON_LOOP;
    void settle(StreamReader& reader, End end);
    void wake_reader(End end) TR_ON_LOOP;
    void wake_reader_in_receive() TR_ON_LOOP;
    void wait_for_peer() TR_ON_LOOP;
    void stop_waiting() TR_ON_LOOP;
    net::ProgressRate frame_rate() const;
    void update_reading() TR_ON_LOOP;
    bool waiting() const { return reader_ != nullptr && !reader_->settled_; }
    bool waits_at_boundary() const { return waiting() && begin_ == in_.size(); }
    bool try_settle(StreamWriter& writer) TR_ON_LOOP;
    void push(StreamWriter& writer) TR_ON_LOOP;
    void serve_writers() TR_ON_LOOP;
    void finish_if_asked() TR_ON_LOOP;
    ByteView unread() const { return ByteView(in_).substr(begin_); }

    // In the memory of coroutine frames, because it comes and goes as they do.
    using PooledText = std::basic_string<char, std::char_traits<char>, task::FrameAllocator<char>>;

    net::Connection* connection_;
    core::Address peer_;
    StreamObserver* observer_ = nullptr;
    StreamReader* reader_ = nullptr;  // until its outcome is taken
    Secured* securing_ = nullptr;
    IntrusiveList<StreamWriter> writers_;
    PooledText in_, later_;
    std::size_t begin_ = 0;  // start of the unread bytes in in_; those before it were taken
    std::size_t lent_ = 0;   // of the unread: the last frame, until the next read
    StreamOptions options_;
    net::LagClock slow_;  // runs while a read waits for the rest of a frame
    Instant idle_until_ = Instant::max();
    std::uint64_t resumed_turn_ = 0;  // in which on_data() last ran its task
    End end_ = End::none;
    net::CloseReason reason_ = net::CloseReason::finished;
    std::uint8_t quiet_rounds_ = 0;
    bool disowned_ = false;
    bool peer_finished_ = false;
    bool draining_ = false;
    bool secured_ = false;
    bool finish_asked_ = false;
    bool end_reported_ = false;  // a write reported that the peer is gone
};

// Until the handshake of TLS is over, or the connection is: then the text has the cause. By one
// task at a time.
task::Task<std::string> until_secured(StreamState& state);

}  // namespace tiderace::tcp
