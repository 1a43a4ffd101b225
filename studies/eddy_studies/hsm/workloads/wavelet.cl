// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The reversible 5/3 wavelet of JPEG 2000, by lifting, along rows and along columns of the first columns x rows samples
// of an image; samples beyond its sides are mirrored. An item makes a smooth sample and a detail.

void lift(global const int *in, global int *out, uint start, uint step, uint count, uint pair) {
  const uint last = count - 1, at = 2 * pair;
  const int here = in[start + at * step], odd = in[start + (at + 1) * step];
  const int next = in[start + (at + 2 > last ? last - 1 : at + 2) * step];
  const int detail = odd - ((here + next) >> 1);
  int before = detail;
  if (pair) before = in[start + (at - 1) * step] - ((in[start + (at - 2) * step] + here) >> 1);
  out[start + pair * step] = here + ((before + detail + 2) >> 2);
  out[start + (count / 2 + pair) * step] = detail;
}

kernel void wavelet_rows(global const int *in, global int *out, uint stride, uint columns) {
  lift(in, out, get_global_id(1) * stride, 1, columns, get_global_id(0));
}

kernel void wavelet_columns(global const int *in, global int *out, uint stride, uint rows) {
  lift(in, out, get_global_id(0), stride, rows, get_global_id(1));
}
