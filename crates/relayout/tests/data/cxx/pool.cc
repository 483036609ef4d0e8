#include "pool.h"

#include <utility>

namespace net {

Pool::Pool() : Pool(8, "default") {}

Pool::Pool(long limit, std::string name)
    : in_use_(0),
      limit_(limit),
      retries_(3),  // as in the manual
      name_(std::move(name)),
      spare_{} {
  tries = 1;
}

Pool::~Pool() = default;

void Pool::take() { in_use_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace net

static net::Pool pool;

int main(int count, char** words) {
  run_threads(count, words, [](int number) -> long {
    if (number == 0) {
      pool.take();
      return 1;
    }
    return pool.limit();
  });
}
