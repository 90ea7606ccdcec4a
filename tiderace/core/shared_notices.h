// Internal. SharedNotices: one instance of ChangeNotices for all loops of a process. A user may
// have 128 of them on Linux, all programs together. NoticeReader is one loop's part of it.
//
//   any loop, notified by its engine or before a request: take()
//       -> lock -> the kernel's notices, all there are -> the watchers of each id
//       -> its own list; the other loops are woken
//
// Every loop has the instance's descriptor in its engine, so each sees a notice before the requests
// that were sent after the change; a loop may have several readers, one for each site. behind()
// reports without a lock that another reader has taken notices, or is taking them.
//
// Owner    The creator of the loops; each reader holds it. Opened with the first reader, so that a
//          process that forks before has one for each child.
// Thread   SharedNotices: any. NoticeReader: its loop's; it ends before its loop does.
// Errors   create() fails if no instance is left, or the engine cannot hold its descriptor; watch()
//          as ChangeNotices::watch() does. Without memory notices become `lost`.
// Limits   ChangeNotices::notices_max for a reader that does not take; more are one `lost`.
// Memory   A waiting notice: 48 bytes and its name. A watch: 100 bytes beside the kernel's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tiderace/core/change_notices.h"
#include "tiderace/core/kernel.h"
#include "tiderace/core/wakeup.h"
#include "tiderace/core/watch.h"

namespace tiderace::core {

class NoticeReader;

class SharedNotices {
  public:
    explicit SharedNotices(ChangeNoticesFactory open = &open_change_notices) : open_(open) {}
    SharedNotices(const SharedNotices&) = delete;
    SharedNotices& operator=(const SharedNotices&) = delete;

  private:
    friend class NoticeReader;

    Result<> add(NoticeReader& reader);
    void remove(NoticeReader& reader);
    Result<int> watch(NoticeReader& reader, int fd, std::string_view only_entry);
    void forget(NoticeReader& reader, int id);
    void forget_locked(NoticeReader& reader, int id);
    void take(NoticeReader& reader);
    void hand_round(const ChangeNotice& notice, const NoticeReader& taker);
    void lose(const NoticeReader& taker);
    // The descriptor of the instance, or a copy of it for all readers of a loop but the first: an
    // engine takes a descriptor once.
    Result<int> descriptor_for(NoticeReader& reader);

    const ChangeNoticesFactory open_;
    std::mutex lock_;  // guards all but taking_
    std::unique_ptr<ChangeNotices> notices_;
    std::vector<NoticeReader*> readers_;
    std::unordered_map<int, std::vector<NoticeReader*>> watching_;
    // Notices have left the kernel and are not in all lists yet.
    std::atomic<bool> taking_ = false;
};

class NoticeReader final : private Wakeup, private Watch::Receiver {
  public:
    class Receiver {
      public:
        // There may be notices.
        virtual void on_notices() TR_ON_LOOP = 0;

      protected:
        ~Receiver() = default;
    };

    static Result<std::unique_ptr<NoticeReader>> create(EventLoop& loop,
                                                        std::shared_ptr<SharedNotices> shared,
                                                        Receiver& receiver);
    ~NoticeReader() override;

    // As in ChangeNotices. A file stays watched until the last loop that watches it forgets it.
    bool reports_names() const { return shared_->notices_->reports_names(); }
    Result<int> watch(int fd, std::string_view only_entry = {}) {
        return shared_->watch(*this, fd, only_entry);
    }
    void forget(int id) { shared_->forget(*this, id); }
    const std::vector<ChangeNotice>& take();

    // Whether another loop took notices for this one, or is taking some. Two loads.
    bool behind() const {
        // In this order: notices handed out before the first load are seen by the second.
        return shared_->taking_.load(std::memory_order_acquire) ||
               waiting_.load(std::memory_order_acquire);
    }
    // Whether the receiver is called. Initially it is.
    Result<> listen(bool on);

  private:
    friend class SharedNotices;

    NoticeReader(EventLoop& loop, std::shared_ptr<SharedNotices> shared, Receiver& receiver);
    void tell(const NoticeReader& taker);
    void on_ready(Watch& watch, Interest ready) override;
    void on_woken() override;

    EventLoop* loop_;
    std::shared_ptr<SharedNotices> shared_;
    Receiver* receiver_;
    Descriptor copy_;  // of the instance's descriptor, where another reader of the loop has that
    Watch watch_;
    std::atomic<bool> listening_ = true;
    std::vector<ChangeNotice> list_;     // guarded by the shared lock, as is the next one
    bool lost_ = false;                  // one of the list, or all
    std::atomic<bool> waiting_ = false;  // list_ or lost_ is set; written under the lock
    std::vector<ChangeNotice> taken_;
};

}  // namespace tiderace::core
