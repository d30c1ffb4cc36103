#ifndef SOLVER_H
#define SOLVER_H

typedef int (*solver_row)(void *context, int row);

/** Calls visit for each row; stops when it returns non-zero, and returns that. */
int solver_each_row(int rows, solver_row visit, void *context);

/** y += factor * x */
void solver_axpy(int size, double factor, const double *x, double *y);

#endif
