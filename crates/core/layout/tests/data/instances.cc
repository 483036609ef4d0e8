// Instances of templates, packs, enumerators, an inline and an unnamed namespace, and types in functions.
enum Color { Red, Green };
namespace a { inline namespace v1 { struct Job { short s[5]; }; } namespace { struct Own { int x; }; } }
template <class T, int N = 2> struct Pool { T t[N]; };
template <class... T> struct Pack { char c[sizeof...(T) + 1]; };
template <Color C> struct Paint { int x; };
template <class T> struct Outer { struct Inner { T t; }; Inner in; };
template <class F> struct Call { F *f; };
Pool<Pool<a::Job>> pool; Pack<int, Pack<>, a::Job> pack; Paint<Green> paint; Outer<long>::Inner inner;
Call<int (*(long, const char *))[3]> call;
int use(int n) { struct Turn { Pool<a::Job, 3> jobs; } turn{}; Pool<a::Own> own{}; own.t[0].x = turn.jobs.t[0].s[0] = n; return own.t[0].x; }
