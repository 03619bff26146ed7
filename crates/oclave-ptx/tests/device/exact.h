#define ITEMS 4096

// Whether `got` is what a fixture's kernel must compute as one of an item's eight results of the inputs x and y: 1 or 0, and -1 for
// results that are not calculated here.
int is_right(const char *kernel, unsigned item, unsigned result, unsigned x, unsigned y, unsigned got);
