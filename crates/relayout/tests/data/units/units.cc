// One thread counts in the base class of a server, the others in the server itself; all fill a text.
#include "threads.h"
#include "listener.h"

#include <cstring>
#include <memory>
#include <string>

struct Server final : net::Listener {
  std::atomic<long> served_{0};
};

int main(int count, char** words) {
  auto server = std::make_unique<Server>();
  std::string text(1000, ' ');
  run_threads(count, words, [&](int number) -> long {
    auto& counted = number == 0 ? server->accepted_ : server->served_;
    const long before = counted.fetch_add(1, std::memory_order_relaxed);
    std::memset(&text[256 + 16 * number], 'a', 1 + before % 13);
    return 1;
  });
  return server->backlog() > 0 ? 0 : 1;
}
