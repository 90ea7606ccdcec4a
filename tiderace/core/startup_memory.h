// give_back_startup_memory: what only starting up needed goes back to the system.
//
// A program that reads its command line, is relocated and opens its parts touches far more of its
// code, of its libraries and of its heap than it needs from then on; a server would hold that for
// months. Free heap is returned, and pages of program files that no one has written are let go:
// whatever is needed again is mapped again from the page cache, without the disk, at the price of a
// page fault once.
//
// Thread   Any, when starting up is over; the others may run.
// Errors   None: what cannot be given back stays. Linux alone; elsewhere nothing happens.
#pragma once

namespace tiderace::core {

void give_back_startup_memory();

}  // namespace tiderace::core
