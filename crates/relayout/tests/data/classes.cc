// Objects of C++ that four threads share: of a class in a namespace, a template, a class with a base, and
// elements of a vector.
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace net {
class Pool {
 public:
  explicit Pool(long limit) : limit_(limit) {}
  void use() { in_use_.fetch_add(1, std::memory_order_relaxed); }
  long limit() const { return limit_ + retries_; }

 private:
  std::atomic<long> in_use_{0};
  long limit_;
  long retries_ = 3;
  char name_[104] = "pool";
};
}  // namespace net

template <typename T>
struct Stats {
  T hits{};
  T misses{};
  char label[112];
};

struct Epoch {
  long current = 0;
  long seen = 0;
};
struct Domain : Epoch {
  long own = 0;
  char rest[104];
};

struct Worker {
  long done = 0;
};

static net::Pool* pool;
static Stats<unsigned long>* stats;
static Domain* domain;
static std::vector<Worker>* workers;

// The threads wait for each other so often, so that they take turns on a busy machine too.
static const long rounds_apart = 32;
static pthread_barrier_t together;

static void run(int number, long rounds) {
  Worker* worker = &(*workers)[number];
  long sum = 0;
  for (long i = 0; i < rounds; i++) {
    if (i % rounds_apart == 0) pthread_barrier_wait(&together);
    asm volatile("" ::: "memory");
    if (number == 0) {
      pool->use();
      domain->current++;
    } else {
      sum += pool->limit() + domain->seen + domain->own;
    }
    if (number == 1)
      stats->hits++;
    else if (number == 2)
      stats->misses++;
    worker->done++;
  }
  if (sum == 0 && number > 0) std::puts("nothing");
}

int main(int count, char** words) {
  long rounds = count > 1 ? std::atol(words[1]) : 20000;
  pthread_barrier_init(&together, nullptr, 4);
  pool = new net::Pool(8);
  stats = new Stats<unsigned long>();
  domain = new Domain();
  workers = new std::vector<Worker>(4);
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; number++) threads.emplace_back(run, number, rounds);
  for (auto& thread : threads) thread.join();
}
