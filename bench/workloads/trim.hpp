// Asks the allocator in use to return its free pages, by its own function.
//
// Owns: the names of these functions, and their report in a result. Each allocator gets its own
// call, found once, or none. A trim without effect is no work, and an allocator without a trim
// skips work that others are timed for. So a result of a workload that trims has "trims" (did each
// trim work?) and "trim_is_timed" (does the time contain a trim in each round?). B1 and B2 trim
// once after seconds of work: there a missing trim saves too little to matter.
// malloc_trim and mallopt are also names of the C library, whose own functions would act on an
// unused heap. They count only from the library that serves malloc. snmalloc and rpmalloc export no
// way (rpmalloc's collect keeps all pages).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>

namespace bench {

enum class TrimTime { each_round, once, untimed };

class Trimmer {
 public:
  bool trim() const { return do_trim_ != nullptr && do_trim_(function_); }

  // The first that exists. mallopt comes last: in gperftools and tbbmalloc it does nothing.
  static Trimmer of_process() {
    Trimmer found;
    found.take("mi_collect", [](void* function) {
      as<void(bool)>(function)(true);
      return true;
    });
    found.take("mallctl", [](void* function) {
      // 4096 is jemalloc's documented index for "all arenas" (MALLCTL_ARENAS_ALL).
      return as<int(const char*, void*, size_t*, void*, size_t)>(function)(
                 "arena.4096.purge", nullptr, nullptr, nullptr, 0) == 0;
    });
    found.take("MallocExtension_ReleaseFreeMemory", [](void* function) {  // gperftools
      as<void()>(function)();
      return true;
    });
    found.take("MallocExtension_Internal_ReleaseMemoryToSystem", [](void* function) {  // TCMalloc
      as<size_t(size_t)>(function)(~size_t{0});
      return true;
    });
    // From libtbbmalloc, which its proxy has loaded; 0 is TBBMALLOC_CLEAN_ALL_BUFFERS.
    found.take("scalable_allocation_command", [](void* function) {
      constexpr int ok = 0;
      constexpr int no_effect = 3;  // there was nothing left to return
      const int status = as<int(int, void*)>(function)(0, nullptr);
      return status == ok || status == no_effect;
    });
    if (serves_malloc("malloc_trim")) {
      found.take("malloc_trim", [](void* function) {
        as<int(size_t)>(function)(0);  // 0 means that nothing was left to return
        return true;
      });
    }
    if (serves_malloc("mallopt")) {
      found.take("mallopt", [](void* function) {
        constexpr int purge = -101;  // scudo's M_PURGE
        return as<int(int, int)>(function)(purge, 0) == 1;
      });
    }
    return found;
  }

 private:
  using DoTrim = bool (*)(void*);

  template <class Function>
  static Function* as(void* function) {
    return reinterpret_cast<Function*>(function);
  }

  void take(const char* name, DoTrim do_trim) {
    if (do_trim_ != nullptr) return;
    function_ = dlsym(RTLD_DEFAULT, name);
    if (function_ != nullptr) do_trim_ = do_trim;
  }

  static const void* library_of(const char* name) {
    Dl_info origin{};
    void* entry = dlsym(RTLD_DEFAULT, name);
    return entry != nullptr && dladdr(entry, &origin) != 0 ? origin.dli_fbase : nullptr;
  }
  static bool serves_malloc(const char* name) {
    const void* library = library_of(name);
    return library != nullptr && library == library_of("malloc");
  }

  void* function_ = nullptr;
  DoTrim do_trim_ = nullptr;
};

// The results of this process's trims, read after its threads have ended.
struct TrimRecord {
  std::atomic<bool> shared_is_asked{false};
  std::atomic<bool> shared_is_timed{false};
  std::atomic<bool> shared_has_failed{false};

  void add(TrimTime time, bool is_done) {
    shared_is_asked.store(true, std::memory_order_relaxed);
    if (time == TrimTime::each_round) shared_is_timed.store(true, std::memory_order_relaxed);
    if (!is_done) shared_has_failed.store(true, std::memory_order_relaxed);
  }
};
inline TrimRecord trim_record;

inline void trim(TrimTime time) {
  static const Trimmer trimmer = Trimmer::of_process();
  trim_record.add(time, trimmer.trim());
}

}  // namespace bench
