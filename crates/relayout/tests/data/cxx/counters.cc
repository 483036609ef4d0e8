// Elements of an array that `new` gives, each of one member that stands behind functions.
#include "threads.h"

struct OWN_LINES Counter {
  long load() const { return value.load(); }
  void add(long more) { value.fetch_add(more, std::memory_order_relaxed); }
  std::atomic<long> value;
};

static Counter* counters;

int main(int count, char** words) {
  counters = new Counter[kThreads]{};
  run_threads(count, words, [](int number) -> long {
    counters[number].add(1);
    return counters[number].load();
  });
}
