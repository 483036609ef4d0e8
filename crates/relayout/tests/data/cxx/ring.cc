// A class template in a namespace: what the producer stores is beside what the consumers read.
#include <array>
#include <type_traits>

#include "threads.h"

namespace queue {

template <typename T, unsigned kSlots>
class Ring {
  static_assert(std::is_trivially_copyable<T>::value, "slots are copied");

 public:
  using value_type = T;
  enum class State { kOpen, kClosed };
  static constexpr unsigned kMask = kSlots - 1;

  explicit Ring(T first) : mask_{kMask}, first_(first) {}
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void push() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  T at(unsigned place) const { return state_ == State::kOpen ? first_ + (place & mask_) : first_; }

 private:
  friend struct RingTest;

  OWN_LINES std::atomic<unsigned long> head_{0};  // the producer's
  OWN_LINES unsigned long mask_;
  T first_;
  State state_ = State::kOpen;
  std::array<T, 14> slots_{{}};
  static inline int rings_ = 0;
};

}  // namespace queue

static queue::Ring<long, 16>* ring;

int main(int count, char** words) {
  ring = new queue::Ring<long, 16>(3);
  run_threads(count, words, [](int number) -> long {
    if (number == 0) {
      ring->push();
      return 1;
    }
    return ring->at(static_cast<unsigned>(number));
  });
}
