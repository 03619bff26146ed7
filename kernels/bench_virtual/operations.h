// What objects of eight kinds do; the same for virtual functions, for a switch and for pointers to functions.
static inline int apply_0(int k, int x) { return x * 3 + k; }
static inline int apply_1(int k, int x) { return (x ^ k) + 7; }
static inline int apply_2(int k, int x) { return x + (x >> 3) - k; }
static inline int apply_3(int k, int x) { return (x << 1) - k * 5; }
static inline int apply_4(int k, int x) { return x * k - 11; }
static inline int apply_5(int k, int x) { return (x | k) - (x >> 5); }
static inline int apply_6(int k, int x) { return (x & ~k) + 13; }
static inline int apply_7(int k, int x) { return 17 - x * k; }
