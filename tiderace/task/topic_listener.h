// TopicListener: follows a topic with a callback: a session, or a peer of a tcp::Server.
// TopicQueue: follows it with a task.
//
//   struct Follower final : TopicListener {
//       void on_messages(TopicBatch& batch) override {
//           for (const auto& message : batch.messages) peer->write(message->payload);
//       }
//       tcp::Peer* peer = nullptr;
//   };
//   tcp::Server(":7000").state<Topics>(topics()).on_accept([](tcp::Peer& peer) {
//       peer.state<Follower>().peer = &peer;
//       peer.state<Follower>().join(peer.loop_state<Topics>(), "news");
//   })
//
// Owner    The application. It leaves its topic when it ends.
// Thread   The loop's.
// Errors   An on_messages() that throws misses the batch, which is one log line; the others get it.
// Limits   A TopicQueue holds at most bytes_max; it ends when its task is slower than that, so it
//          never makes a publisher wait.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tiderace/base/intrusive_list.h"
#include "tiderace/base/units.h"
#include "tiderace/task/channel.h"
#include "tiderace/task/task.h"
#include "tiderace/task/topics.h"

namespace tiderace::task {

class TopicListener : public ListHook {
  public:
    TopicListener() = default;
    TopicListener(const TopicListener&) = delete;
    TopicListener& operator=(const TopicListener&) = delete;
    virtual ~TopicListener() { leave(); }

    // One topic at a time. False: a limit. Messages that were published before are not for it; but
    // of those that are being delivered, when it joins inside an on_messages().
    bool join(Topics& topics, std::string_view topic) { return topics.add_listener(*this, topic); }
    void leave();
    // The topic that it follows; "": none.
    std::string_view topic() const;

    // It may leave and publish in this call, and must not end in it.
    virtual void on_messages(TopicBatch& batch) = 0;
    virtual void on_failed() {}  // that threw

  private:
    friend class Topics;
    Topics* topics_ = nullptr;
    Topics::Topic* topic_ = nullptr;
};

class TopicQueue final : private TopicListener {
  public:
    explicit TopicQueue(std::size_t bytes_max = 256_KiB) : bytes_max_(bytes_max) {}
    TopicQueue(Topics& topics, std::string_view topic, std::size_t bytes_max = 256_KiB)
        : TopicQueue(bytes_max) {
        if (!join(topics, topic)) messages_.close();
    }

    // The next one; nullptr: a limit refused the topic, or the task was too slow and has all that
    // came in time.
    Task<SharedMessage> next();

  private:
    void on_messages(TopicBatch& batch) override;

    Channel<SharedMessage> messages_{SIZE_MAX};
    std::size_t bytes_ = 0;
    std::size_t bytes_max_;
};

// One that waits while members are behind (Topics::hold).
class TopicPublisher : public ListHook {
  public:
    virtual ~TopicPublisher() = default;
    // It publishes nothing until this is false again.
    virtual void set_held(bool held) = 0;
    virtual void on_failed() = 0;  // that threw
};

// A part of the loop whose members are in topics; either may end first.
class TopicUser : public ListHook {
  public:
    Topics* topics() const { return topics_; }  // nullptr where there are none

  private:
    friend class Topics;
    Topics* topics_ = nullptr;
};

}  // namespace tiderace::task

namespace tiderace {

using task::TopicBatch;
using task::TopicListener;
using task::TopicQueue;

}  // namespace tiderace
