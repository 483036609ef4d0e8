// A record for each thread, from one `new` each: neighbours share lines.
#include "threads.h"

#include "before.h"

struct ThreadRecord {
  std::atomic<unsigned> control{0};
  ThreadRecord* next = nullptr;
  std::atomic<unsigned long> owner{0};
};

int main(int count, char** words) {
  allocate_before(count, words);
  ThreadRecord* records[kThreads];
  for (int number = 0; number < kThreads; number++) {
    records[number] = new ThreadRecord;
    records[number]->owner = number;
    records[number]->next = number > 0 ? records[number - 1] : nullptr;
  }
  run_threads(count, words, [&records](int number) -> long {
    records[number]->control.store(1);
    records[number]->control.store(0, std::memory_order_release);
    return 1;
  });
}
