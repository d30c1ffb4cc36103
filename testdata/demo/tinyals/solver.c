#include "solver.h"

int solver_each_row(int rows, solver_row visit, void *context)
{
    for (int row = 0; row < rows; row++) {
        int failed = visit(context, row);
        if (failed)
            return failed;
    }
    return 0;
}

void solver_axpy(int size, double factor, const double *x, double *y)
{
    for (int i = 0; i < size; i++)
        y[i] += factor * x[i];
}
