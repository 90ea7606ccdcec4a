// <sys/event.h> where there is none, so that core/backend/kqueue.cc compiles for the stand-in
// (testing/fake/stand_in_queue.h). Names and meanings are kqueue(2)'s; only what the stand-in does.
#pragma once

#include <cstdint>

struct kevent {
    std::uintptr_t ident;
    short filter;
    unsigned short flags;
    unsigned int fflags;
    std::int64_t data;
    void* udata;
};

constexpr short EVFILT_READ = -1;
constexpr short EVFILT_WRITE = -2;
constexpr short EVFILT_USER = -11;

// What to do.
constexpr unsigned short EV_ADD = 0x0001;
constexpr unsigned short EV_DELETE = 0x0002;
constexpr unsigned short EV_ENABLE = 0x0004;
constexpr unsigned short EV_DISABLE = 0x0008;
constexpr unsigned short EV_ONESHOT = 0x0010;
constexpr unsigned short EV_CLEAR = 0x0020;
constexpr unsigned short EV_RECEIPT = 0x0040;
// Set in returned events.
constexpr unsigned short EV_ERROR = 0x4000;
constexpr unsigned short EV_EOF = 0x8000;

constexpr unsigned int NOTE_TRIGGER = 0x01000000;
