s a b
struct s {
	int a;
#ifdef X
	int b,	/* of b */
		c;

	/* of d */
	int d;
#else /* !X */
#if Y && !Z
	int e;
#elif Z
	int f;
#endif
#endif
	struct { u8 g, h; u8 i; };
#define J 1
	int j;
};
