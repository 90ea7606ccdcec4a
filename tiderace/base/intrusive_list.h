// Internal. IntrusiveList: a doubly linked ring through hooks inside the objects. Insert and remove
// are O(1), nothing is allocated, and an object leaves its list when it dies.
//
// Owner    Owns nothing: the objects have other owners.
// Thread   One; not synchronised.
#pragma once

#include "tiderace/base/check.h"

namespace tiderace {

class ListHook {
  public:
    ListHook() = default;
    ListHook(const ListHook&) = delete;
    ListHook& operator=(const ListHook&) = delete;
    ~ListHook() { unlink(); }

    bool linked() const { return next_ != this; }
    void unlink() {
        previous_->next_ = next_;
        next_->previous_ = previous_;
        previous_ = next_ = this;
    }

  private:
    template <typename T>
    friend class IntrusiveList;

    ListHook* previous_ = this;
    ListHook* next_ = this;
};

// T derives from ListHook.
template <typename T>
class IntrusiveList {
  public:
    bool empty() const { return !head_.linked(); }
    T& front() { return at(head_.next_); }
    T& back() { return at(head_.previous_); }

    void push_back(T& object) { insert_before(head_, object); }
    T& pop_front() {
        T& first = front();
        static_cast<ListHook&>(first).unlink();
        return first;
    }
    // Takes all of `other`, in order, to the back of this list.
    void splice_back(IntrusiveList& other) {
        if (other.empty()) return;
        ListHook* first = other.head_.next_;
        ListHook* last = other.head_.previous_;
        other.head_.previous_ = other.head_.next_ = &other.head_;
        first->previous_ = head_.previous_;
        head_.previous_->next_ = first;
        last->next_ = &head_;
        head_.previous_ = last;
    }
    // f may unlink the object it is given, and no other.
    template <typename F>
    void for_each(F&& f) {
        for (ListHook* hook = head_.next_; hook != &head_;) {
            ListHook* next = hook->next_;
            f(static_cast<T&>(*hook));
            hook = next;
        }
    }

  private:
    T& at(ListHook* hook) {
        TR_CHECK(hook != &head_, "the list is empty");
        return static_cast<T&>(*hook);
    }
    static void insert_before(ListHook& position, ListHook& hook) {
        TR_CHECK(!hook.linked(), "already in a list");
        hook.previous_ = position.previous_;
        hook.next_ = &position;
        position.previous_->next_ = &hook;
        position.previous_ = &hook;
    }

    ListHook head_;
};

}  // namespace tiderace
