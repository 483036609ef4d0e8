// Two counts that share a declaration, on the line of what each pick reads.
#include "threads.h"

class Peer {
 public:
  explicit Peer(const char* name) : name_(name) {}
  long pick() const { return name_[0] + weight_ + limit_ + timeout_; }
  void count(long round) {
    taken_.fetch_add(1, std::memory_order_relaxed);
    if (round % 4 == 0) failed_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  const char* name_;
  long weight_ = 3;
  long limit_ = 100;
  OWN_LINES std::atomic<long> taken_{0}, failed_{0};  // both are counted
  OWN_LINES long timeout_ = 10;
};

static Peer peers[2] = {Peer("a"), Peer("b")};

int main(int count, char** words) {
  static std::atomic<long> round;
  run_threads(count, words, [](int number) -> long {
    if (number > 0) return peers[number % 2].pick();
    long now = round.load(std::memory_order_relaxed);
    round.store(now + 1, std::memory_order_relaxed);
    peers[now % 2].count(now);
    return 1;
  });
}
