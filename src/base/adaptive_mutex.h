#pragma once

#include <pthread.h>

#include <mutex>

namespace assay {

/// A mutex that many threads hold for a microsecond or two each. Whoever finds it taken looks again
/// for about as long before it sleeps: a sleep and its wake cost both threads more than that. Waits
/// on condition variables as a std::unique_lock<std::mutex>.
class AdaptiveMutex : public std::mutex {
 public:
  /// The C library's own kind of that name, in place of the default one.
  AdaptiveMutex() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    ::pthread_mutex_destroy(native_handle());
    ::pthread_mutex_init(native_handle(), &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
};

}  // namespace assay
