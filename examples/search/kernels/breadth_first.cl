// Breadth-first search with queues.
//
// The ways from crossing v lead to ends[first[v]], …, ends[first[v + 1] - 1]. All crossings of one distance are the
// frontier. The state has the distance of the frontier, and how many crossings are in it and in the next one.

/// The distance of a crossing that was not reached yet.
#define UNSEEN 0xffffffffu

/// A search begins at a crossing.
kernel void begin(global const uint *start, global uint *frontier, global uint *state, global uint *distances)
{
    frontier[0] = start[0];
    distances[start[0]] = 0;
    state[0] = 0;
    state[1] = 1;
    state[2] = 0;
}

/// Writes the distance of all crossings that a way leads to from the frontier, and puts them into the next one. Any number of
/// work-items shares the frontier.
kernel void expand(global const uint *first, global const uint *ends, global const uint *frontier, global uint *next,
                   global uint *state, global uint *distances)
{
    uint distance = state[0] + 1, count = state[1];
    for (uint i = get_global_id(0); i < count; i += get_global_size(0)) {
        uint from = frontier[i];
        for (uint way = first[from]; way < first[from + 1]; way++) {
            uint to = ends[way];
            if (distances[to] == UNSEEN && atomic_cmpxchg(&distances[to], UNSEEN, distance) == UNSEEN)
                next[atomic_inc(&state[2])] = to;
        }
    }
}

/// The next frontier becomes the frontier.
kernel void turn(global uint *state)
{
    state[0] += 1;
    state[1] = state[2];
    state[2] = 0;
}
