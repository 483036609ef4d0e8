// Elements of a vector, of which each thread has one.
#include "threads.h"

struct OWN_LINES Worker {
  Worker() noexcept = default;
  Worker(Worker&&) noexcept = default;
  Worker& operator=(Worker&&) = default;
  bool operator<(const Worker& other) const { return done < other.done; }
  void work() {
    done++;
    bytes += 512;
  }

  long done = 0;
  long bytes{0};
  unsigned failed : 1;
  unsigned state : 3;
};

static std::vector<Worker>* workers;

int main(int count, char** words) {
  workers = new std::vector<Worker>(kThreads);
  run_threads(count, words, [](int number) -> long {
    (*workers)[static_cast<size_t>(number)].work();
    return 1;
  });
}
