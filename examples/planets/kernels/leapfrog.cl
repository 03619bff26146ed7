/* Steps of a leapfrog integrator: bodies as x, y, z in double precision, the massive ones first. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

/* Moves bodies along their velocities for some days. Range: three times the bodies. */
kernel void drift(global double *positions, global const double *velocities, double days) {
    size_t i = get_global_id(0);
    positions[i] += days * velocities[i];
}

/* Changes velocities by what the massive bodies pull in some days; gm: their masses times the constant of gravitation. Range: bodies. */
kernel void kick(global const double *positions, global double *velocities, global const double *gm, int massive,
                 double days) {
    size_t body = get_global_id(0);
    double x = positions[3 * body], y = positions[3 * body + 1], z = positions[3 * body + 2];
    double ax = 0, ay = 0, az = 0;
    for (int other = 0; other < massive; ++other) {
        double dx = positions[3 * other] - x, dy = positions[3 * other + 1] - y, dz = positions[3 * other + 2] - z;
        double square = dx * dx + dy * dy + dz * dz;
        /* A body does not pull itself. */
        double pull = square > 0 ? gm[other] / (square * sqrt(square)) : 0;
        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    velocities[3 * body] += days * ax;
    velocities[3 * body + 1] += days * ay;
    velocities[3 * body + 2] += days * az;
}
