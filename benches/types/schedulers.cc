// Numbers in vectors, one vector for each kind, beside other small objects of the heap: the vectors of a
// scheduler, and the objects of the threads, are allocated one after the other and share lines.
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Sample {
  long when;
  long value;
};

struct Task {
  Task *next = nullptr;
  long id = 0;
  double weight = 0;
};

class Scheduler {
 public:
  explicit Scheduler(size_t n)
      : executed_(n),  // executed_
        idle_(n),      // idle_
        active_(n),    // active_
        loads_(n),     // loads_
        heads_(n),     // heads_
        samples_(n) {  // samples_
    for (size_t i = 0; i < n; i++) heads_[i] = new Task;  // a Task
    names_ = new char[64]();                              // names_
    flags_ = new unsigned short[64]();                    // flags_
  }

  void run(size_t number, long rounds) {
    volatile int64_t &executed = executed_[number];
    volatile int64_t &idle = idle_[number];
    volatile uint8_t &active = active_[number];
    volatile float &load = loads_[number];
    volatile unsigned short *flag = &flags_[number];
    Task *task = heads_[number];
    for (long i = 0; i < rounds; i++) {
      active = 1;
      if (i % 3)
        executed = executed + 1;
      else
        idle = idle + 1;
      load = load + 0.5f;
      *flag = *flag + 1;
      task->id++;
      task->weight += 0.25;
      samples_[number].value = i;
      samples_[number].when++;
      names_[number]++;
      active = 0;
    }
  }

  long total() const {
    long sum = 0;
    for (auto value : executed_) sum += value;
    for (auto value : idle_) sum += value;
    for (auto &sample : samples_) sum += sample.value;
    return sum;
  }

 private:
  std::vector<int64_t> executed_;
  std::vector<int64_t> idle_;
  std::vector<uint8_t> active_;
  std::vector<float> loads_;
  std::vector<Task *> heads_;
  std::vector<Sample> samples_;
  char *names_;
  unsigned short *flags_;
};

int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 4000;
  auto scheduler = std::make_unique<Scheduler>(4);  // the Scheduler
  auto best = std::make_shared<Sample>();           // best
  std::map<int, Sample> by_number;
  std::unordered_map<int, long> by_hash;
  for (int i = 0; i < 4; i++) by_number[i].when = i;  // a node of by_number
  for (int i = 0; i < 4; i++) by_hash[i] = i;         // a node of by_hash
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; t++)
    threads.emplace_back([&, t] {  // threads
      scheduler->run(t, rounds);
      by_number[(int)t].value++;
      by_hash[(int)t]++;
      best->value++;
    });
  for (auto &thread : threads) thread.join();
  return scheduler->total() + best->value + by_hash[1] == 0;
}
