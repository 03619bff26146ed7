/*!
[config]
name: A hundred nested conditions
clc_version_min: 10

[test]
name: 104 work-items
kernel_name: q42
dimensions: 1
global_size: 104 0 0
local_size: 8 0 0
arg_out: 0 buffer uint[104] 1 4 7 10 13 16 19 22 25 28 31 34 37 40 43 46 \
  49 52 55 58 61 64 67 70 73 76 79 82 85 88 91 94 \
  97 100 103 106 109 112 115 118 121 124 127 130 133 136 139 142 \
  145 148 151 154 157 160 163 166 169 172 175 178 181 184 187 190 \
  193 196 199 202 205 208 211 214 217 220 223 226 229 232 235 238 \
  241 244 247 250 253 256 259 262 265 268 271 274 277 280 283 286 \
  289 292 295 298 5 5 5 5
arg_in: 1 uint 3
!*/

#define ONE(n) if (id == (n)) { out[n] = (n) * a + 1; return; }
#define TEN(n) ONE(n) ONE(n + 1) ONE(n + 2) ONE(n + 3) ONE(n + 4) ONE(n + 5) ONE(n + 6) ONE(n + 7) ONE(n + 8) ONE(n + 9)

kernel void q42(global uint *out, uint a)
{
    uint id = get_global_id(0);
    TEN(0) TEN(10) TEN(20) TEN(30) TEN(40) TEN(50) TEN(60) TEN(70) TEN(80) TEN(90)
    out[id] = 5;
}
