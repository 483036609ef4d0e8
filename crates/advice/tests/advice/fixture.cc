// Types of C++ for made-up recordings, and wrappers as a standard library has them.

namespace std {
template <class T> struct wrapper {
	T _M_head_impl;
};
}

struct Budget {
	long spent;
	long limit;
};
alignas(64) std::wrapper<Budget> budget;
alignas(64) std::wrapper<long> ticket[2];

namespace net {
struct Node {
	long packets;
	long errors;
};
}
namespace disk {
struct Node {
	long blocks;
	long errors;
};
}
struct Cluster {
	net::Node net;
	disk::Node disk;
};
alignas(64) Cluster cluster;
alignas(64) net::Node node;

class Meter {
public:
	long ticks;
	long tocks;
};
struct Gauge : Meter {
	long rest[14];
};
alignas(64) Gauge gauge;
