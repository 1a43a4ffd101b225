// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Coefficients and number formats of the 8-point DCT-II and its inverse.
///
/// Orthonormal: C[k][n] = a_k cos((2n + 1) k pi / 16), a_0 = sqrt(1/8), a_k = 1/2, scaled by 2^13 and
/// rounded to the nearest integer. Ref: ITU-T T.81 (JPEG), A.3.3.
package dct8_pkg;

  parameter int unsigned CoefWidth = 14;
  /// Fraction bits of the coefficients.
  parameter int unsigned CoefFraction = 13;
  /// Fraction bits kept between the two passes.
  parameter int unsigned MidFraction = 3;
  parameter int unsigned SampleWidth = 16;
  /// Four samples travel together.
  typedef logic signed [3:0][SampleWidth-1:0] beat_t;
  typedef logic signed [CoefWidth-1:0] coef_t;

  /// round(2^12 cos(m pi / 16)), m = 0..8. For k = 0 the weight a_0 is that of m = 4.
  function automatic coef_t cosine(int unsigned m);
    unique case (m)
      0:       return 14'sd4096;
      1:       return 14'sd4017;
      2:       return 14'sd3784;
      3:       return 14'sd3406;
      4:       return 14'sd2896;
      5:       return 14'sd2276;
      6:       return 14'sd1567;
      7:       return 14'sd799;
      default: return 14'sd0;
    endcase
  endfunction

  /// C[k][n] scaled by 2^13: the angle is folded into the first quadrant.
  function automatic coef_t coefficient(int unsigned k, int unsigned n);
    int unsigned m;
    m = (k == 0) ? 4 : ((2 * n + 1) * k) % 32;
    if (m > 16) m = 32 - m;
    return (m > 8) ? -cosine(16 - m) : cosine(m);
  endfunction

endpackage
