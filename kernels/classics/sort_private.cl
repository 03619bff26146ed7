// Each work-item sorts a short array of its own.

#define LENGTH 24

kernel void insertion(global const int *in, global int *out) {
    int mine[LENGTH];
    const size_t i = get_global_id(0);
    for (int k = 0; k < LENGTH; k++) mine[k] = in[i * LENGTH + k];
    for (int k = 1; k < LENGTH; k++) {
        const int value = mine[k];
        int at = k - 1;
        while (at >= 0 && mine[at] > value) {
            mine[at + 1] = mine[at];
            at--;
        }
        mine[at + 1] = value;
    }
    for (int k = 0; k < LENGTH; k++) out[i * LENGTH + k] = mine[k];
}

kernel void shell(global const int *in, global int *out) {
    int mine[LENGTH];
    const size_t i = get_global_id(0);
    for (int k = 0; k < LENGTH; k++) mine[k] = in[i * LENGTH + k];
    for (int gap = LENGTH / 2; gap > 0; gap /= 2) {
        for (int k = gap; k < LENGTH; k++) {
            const int value = mine[k];
            int at = k;
            for (; at >= gap && mine[at - gap] > value; at -= gap) mine[at] = mine[at - gap];
            mine[at] = value;
        }
    }
    for (int k = 0; k < LENGTH; k++) out[i * LENGTH + k] = mine[k];
}

kernel void selection(global const int *in, global int *out) {
    int mine[LENGTH];
    const size_t i = get_global_id(0);
    for (int k = 0; k < LENGTH; k++) mine[k] = in[i * LENGTH + k];
    for (int k = 0; k < LENGTH - 1; k++) {
        int least = k;
        for (int at = k + 1; at < LENGTH; at++)
            if (mine[at] < mine[least]) least = at;
        const int t = mine[k];
        mine[k] = mine[least];
        mine[least] = t;
    }
    for (int k = 0; k < LENGTH; k++) out[i * LENGTH + k] = mine[k];
}

// Swaps stop as soon as a pass changed nothing.
kernel void bubble(global const int *in, global int *out) {
    int mine[LENGTH];
    const size_t i = get_global_id(0);
    for (int k = 0; k < LENGTH; k++) mine[k] = in[i * LENGTH + k];
    bool changed;
    int end = LENGTH - 1;
    do {
        changed = false;
        for (int k = 0; k < end; k++) {
            if (mine[k] <= mine[k + 1]) continue;
            const int t = mine[k];
            mine[k] = mine[k + 1];
            mine[k + 1] = t;
            changed = true;
        }
        end--;
    } while (changed);
    for (int k = 0; k < LENGTH; k++) out[i * LENGTH + k] = mine[k];
}

// A heap sort, which sifts down with breaks.
void sift(int *heap, int at, const int n) {
    for (;;) {
        int child = 2 * at + 1;
        if (child >= n) break;
        if (child + 1 < n && heap[child + 1] > heap[child]) child++;
        if (heap[at] >= heap[child]) break;
        const int t = heap[at];
        heap[at] = heap[child];
        heap[child] = t;
        at = child;
    }
}

kernel void heap(global const int *in, global int *out) {
    int mine[LENGTH];
    const size_t i = get_global_id(0);
    for (int k = 0; k < LENGTH; k++) mine[k] = in[i * LENGTH + k];
    for (int k = LENGTH / 2 - 1; k >= 0; k--) sift(mine, k, LENGTH);
    for (int n = LENGTH - 1; n > 0; n--) {
        const int t = mine[0];
        mine[0] = mine[n];
        mine[n] = t;
        sift(mine, 0, n);
    }
    for (int k = 0; k < LENGTH; k++) out[i * LENGTH + k] = mine[k];
}

// A quicksort with a stack instead of recursion.
kernel void quick(global const int *in, global int *out) {
    int mine[LENGTH];
    int stack[2 * LENGTH];
    int top = 0;
    const size_t i = get_global_id(0);
    for (int k = 0; k < LENGTH; k++) mine[k] = in[i * LENGTH + k];
    stack[top++] = 0;
    stack[top++] = LENGTH - 1;
    while (top > 0) {
        const int high = stack[--top], low = stack[--top];
        if (low >= high) continue;
        const int pivot = mine[high];
        int at = low;
        for (int k = low; k < high; k++) {
            if (mine[k] < pivot) {
                const int t = mine[k];
                mine[k] = mine[at];
                mine[at++] = t;
            }
        }
        mine[high] = mine[at];
        mine[at] = pivot;
        stack[top++] = low;
        stack[top++] = at - 1;
        stack[top++] = at + 1;
        stack[top++] = high;
    }
    for (int k = 0; k < LENGTH; k++) out[i * LENGTH + k] = mine[k];
}
