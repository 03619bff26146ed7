// Variables at program scope that no marker makes device globals.

global int seven = 7;
global int none;
global int table[3] = { 4, 5, 6 };

kernel void program_scope_look(global int *out)
{
    out[0] = seven;
    out[1] = none;
    out[2] = table[1];
}

kernel void program_scope_change(int by)
{
    seven += by;
    none -= by;
    table[1] *= by;
}
