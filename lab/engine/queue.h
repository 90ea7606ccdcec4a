// The engine `queue`: one listening thread, a bounded queue, N epoll loops (net/hand_off.h).
#pragma once

#include <memory>

#include "lab/engine/threading_model.h"

namespace tiderace::lab::engine {

std::unique_ptr<ThreadingModel> arrange_queue();

}  // namespace tiderace::lab::engine
