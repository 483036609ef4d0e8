// One set in allocated memory: a thread counts in it what the others look up by it.
#include "threads.h"

#include "before.h"

class HashSet {
 public:
  explicit HashSet(size_t buckets)
      : item_count_(0), buckets_(new long[buckets]()), mask_(buckets - 1) {}
  long at(size_t key) const { return buckets_[key & mask_]; }
  void insert() { item_count_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<size_t> item_count_;
  long* buckets_;
  const size_t mask_;
};

int main(int count, char** words) {
  allocate_before(count, words);
  auto* set = new HashSet(1024);
  run_threads(count, words, [set](int number) -> long {
    if (number != 0) return set->at(number);
    set->insert();
    return 1;
  });
}
