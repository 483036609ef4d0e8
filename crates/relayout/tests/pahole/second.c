/* The other unit: see first.c. No definition is at the same line as there: we tell definitions of
 * equal size apart by their lines. */
struct size { int x, y; } __attribute__((aligned(16)));
struct bits { int x : 4, y : 3; };
struct name { int y; };
struct order { int y, x; };
struct offset { int y; char x; };
struct type { unsigned x; };
struct array { int x[3][2]; };
struct nested { struct { int b; } x; };
struct pointed { struct type *x; };
union keyword { int x; };
struct unnamed { int k; struct { int b; }; };

struct line { int x; char y; };
struct qualified { int x; int y; };
struct empty { int x[0]; };
union either { int y; };
union same { int x; char y[2]; };

struct size b1;
struct bits b2;
struct name b3;
struct order b4;
struct offset b5;
struct type b6;
struct array b7;
struct nested b8;
struct pointed b9;
union keyword b10;
struct unnamed b11;
struct line b12;
struct qualified b13;
struct empty b14;
union either b15;
union same b16;
