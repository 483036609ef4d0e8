/* One of two units, which define the same names differently. */
struct size { int x, y; };
struct bits { int x : 3, y : 4; };
struct name { int x; };
struct order { int x, y; };
struct offset { char x; int y; };
struct type { int x; };
struct array { int x[2][3]; };
struct nested { struct { int a; } x; };
struct pointed { struct size *x; };
struct keyword { int x; };
struct unnamed { struct { int a; }; int k; };
struct line { int x; char y; };
struct qualified { int x; const int y; };
struct empty { };
union either { int x; };
union same { int x; char y[3]; };

struct size a1;
struct bits a2;
struct name a3;
struct order a4;
struct offset a5;
struct type a6;
struct array a7;
struct nested a8;
struct pointed a9;
struct keyword a10;
struct unnamed a11;
struct line a12;
struct qualified a13;
struct empty a14;
union either a15;
union same a16;

int main(void)
{
	struct local { int x; } local = { 0 };
	return local.x;
}
