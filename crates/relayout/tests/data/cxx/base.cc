// A count in a base class, on the line of a limit that all threads read.
#include "threads.h"

class Meter {
 public:
  explicit Meter(long limit) : served_{0}, limit_(limit), burst_(limit * 2) {}
  virtual ~Meter() = default;
  void serve() { served_.fetch_add(1, std::memory_order_relaxed); }
  long room() const { return limit_ + burst_; }

 protected:
  // Requests so far.
  OWN_LINES std::atomic<long> served_;
  OWN_LINES long limit_;
  long burst_;
  char label_[104] = "meter";
};

class Server final : public Meter {
 public:
  Server() : Meter(100), port_(80) {}
  int port() const { return port_ + host_[0]; }

 private:
  int port_;
  char host_[60] = {};
};

static Server server;

int main(int count, char** words) {
  run_threads(count, words, [](int number) -> long {
    if (number == 0) {
      server.serve();
      return 1;
    }
    return server.room() + server.port();
  });
}
