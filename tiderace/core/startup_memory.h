// give_back_startup_memory: returns memory to the system that only the start needed.
//
// A program that reads its command line, is relocated and opens its parts touches far more of its
// code, of its libraries and of its heap than it needs from then on; a server would hold that for
// months. Free heap is returned, and unmodified pages of program files are dropped:
// a page that is needed again is mapped again from the page cache, without the disk, at the price
// of a page fault once.
//
// Thread   Any, when starting up is over; the others may run.
// Errors   None: memory that cannot be returned stays. Linux only; elsewhere nothing happens.
#pragma once

namespace tiderace::core {

void give_back_startup_memory();
// The heap's part alone: after other work that took far more memory than what goes on. The threads
// that allocate meanwhile wait, for milliseconds where much is free.
void give_back_free_heap();

}  // namespace tiderace::core
