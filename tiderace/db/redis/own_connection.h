// OwnConnection: a link that one task has for itself: for transactions, and commands that block.
//
//   clean -- WATCH --> watching -- EXEC is answered, or recover(): UNWATCH --> clean
//   clean, watching -- MULTI --> in MULTI -- EXEC is answered --> clean
//   left in MULTI, or with a reply to come: closed
//
// Owner    A node's Reserve; lent to one task at a time.
// Thread   The loop's.
// Errors   Error.
#pragma once

#include <memory>
#include <string>

#include "tiderace/db/redis/hub.h"

namespace tiderace::db::redis {

class OwnConnection final : public Pooled {
  public:
    OwnConnection(std::shared_ptr<const Settings> settings, std::string address)
        : settings_(std::move(settings)), address_(std::move(address)) {}

    task::Task<> open(Instant deadline) override;
    task::Task<bool> recover() override;
    task::Task<bool> answers(Instant deadline) override;
    bool gone() override { return broken(); }
    bool clean() const override {
        return !broken() && !watching_ && !in_multi_ && link_->unanswered() == 0;
    }
    bool broken() const override { return link_ == nullptr || link_->broken(); }

    Link& link() { return *link_; }
    // A WATCH was sent, and neither EXEC nor UNWATCH since then.
    void set_watching(bool on) { watching_ = on; }
    bool watching() const { return watching_; }
    // A MULTI was sent, and its end is not known. One that is left so is closed.
    void set_in_multi(bool on) { in_multi_ = on; }

  private:
    std::shared_ptr<const Settings> settings_;
    std::string address_;
    LinkRef link_;
    bool watching_ = false;
    bool in_multi_ = false;
};

}  // namespace tiderace::db::redis
