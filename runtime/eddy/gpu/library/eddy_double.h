// double by soft float: what its files share.
#ifndef EDDY_DOUBLE_H
#define EDDY_DOUBLE_H
#include "eddy_types.h"
double eddy_sqrt64(double x);
double eddy_fma64(double a, double b, double c);
double __adddf3(double a, double b);
#endif
