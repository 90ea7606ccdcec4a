#include "tiderace/base/thread_name.h"

#include <pthread.h>
#if defined(__FreeBSD__) || defined(__OpenBSD__)
#include <pthread_np.h>
#endif

#include <string>

namespace tiderace {

void name_this_thread(std::string_view name) {
    // Cut here: Linux refuses a longer name (ERANGE) instead of cutting it.
    [[maybe_unused]] const std::string text(name.substr(0, thread_name_bytes_max));
#if defined(__linux__)
    ::pthread_setname_np(::pthread_self(), text.c_str());
#elif defined(__APPLE__)
    ::pthread_setname_np(text.c_str());
#elif defined(__FreeBSD__) || defined(__OpenBSD__)
    ::pthread_set_name_np(::pthread_self(), text.c_str());
#endif
}

}  // namespace tiderace
