// Each thread fills a run of neighbouring elements of a vector.
#include <cstdlib>
#include <new>
#include <vector>

#include "threads.h"

#ifdef REPAIRED
template <typename T> struct OnLines {
    using value_type = T;
    OnLines() = default;
    template <typename U> OnLines(const OnLines<U> &) {}
    T *allocate(std::size_t n) {
        return static_cast<T *>(::operator new(n * sizeof(T), std::align_val_t(64)));
    }
    void deallocate(T *p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
    bool operator==(const OnLines &) const { return true; }
    bool operator!=(const OnLines &) const { return false; }
};
static std::vector<int, OnLines<int>> cells;
const long run_length = 32;
#else
static std::vector<int> cells;
const long run_length = 25;
#endif

int main(int count, char **words) {
  cells.resize(kThreads * run_length);
  run_threads(count, words, [](int number) -> long {
    for (long i = number * run_length; i < (number + 1) * run_length; i++) cells[i] += int(i);
    return 1;
  });
}
