# Only so that Cython finds the package.
